"""A flight world that shares no code with the package: plant, vehicles, sensors, flights with their truth."""
