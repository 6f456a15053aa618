"""Pure decisions: values in, values out. No clock, no chance, no I/O; standard library only."""
