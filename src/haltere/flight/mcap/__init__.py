"""Flights as MCAP files: ROS 2 messages, written whole, read and checked."""

from haltere.flight.mcap.reader import read_mcap
from haltere.flight.mcap.writer import write_mcap

__all__ = ["read_mcap", "write_mcap"]
