"""Readers of logs: one file in, one `Flight` out, with units, frames, rates, gaps and clock settled."""

from haltere.logs.fault import LogError
from haltere.logs.mapping import Mapping, load_mapping
from haltere.logs.registry import read_log
from haltere.logs.sniff import Kind, sniff

__all__ = ["Kind", "LogError", "Mapping", "load_mapping", "read_log", "sniff"]
