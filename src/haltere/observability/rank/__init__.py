"""What sensors can tell of a vehicle at all: exact ranks, and the directions that nothing shows."""
