"""Haltere: what a multirotor can find out about its own body, from what it does and what its sensors say."""

__version__ = "0.1.0"
