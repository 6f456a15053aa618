"""What the server says about itself: events and health."""
