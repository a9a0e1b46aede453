"""The record of a flight, and tools for sampled signals; NumPy and SciPy only."""

from haltere.flight.channel import Channel, FlightError, nanoseconds
from haltere.flight.flight import Flight

__all__ = ["Channel", "Flight", "FlightError", "nanoseconds"]
