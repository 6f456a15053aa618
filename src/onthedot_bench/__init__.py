"""`onthedot bench`: the product measures itself. The engine does not know that it is measured."""
