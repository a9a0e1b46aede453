"""The record of a flight, its MCAP file, and tools for sampled signals; NumPy and SciPy only."""

from haltere.flight.channel import Channel, FlightError, nanoseconds
from haltere.flight.delay import Delay, estimate_delay
from haltere.flight.derivatives import Derivative, angular_velocity, derivative
from haltere.flight.filters import Butterworth
from haltere.flight.flight import Flight
from haltere.flight.mcap.reader import read_mcap
from haltere.flight.mcap.writer import write_mcap
from haltere.flight.resampling import common_clock, resample, resample_flight

__all__ = [
    "Butterworth",
    "Channel",
    "Delay",
    "Derivative",
    "Flight",
    "FlightError",
    "angular_velocity",
    "common_clock",
    "derivative",
    "estimate_delay",
    "nanoseconds",
    "read_mcap",
    "resample",
    "resample_flight",
    "write_mcap",
]
