"""Scenarios flown: a controller, a vehicle and its sensors put together."""
