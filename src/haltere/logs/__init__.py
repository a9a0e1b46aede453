"""Readers of logs: one file in, one `Flight` out, with units, frames, rates, gaps and clock settled."""

from haltere.logs.builder import LogError
from haltere.logs.registry import LogFormat, read, sniff

__all__ = ["LogError", "LogFormat", "read", "sniff"]
