"""The command line: parse, call one function, show. Nothing here computes."""

from haltere.cli.app import main

__all__ = ["main"]
