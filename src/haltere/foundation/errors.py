"""The one base class of every error that a user reads.

A message says what was got, what was expected and what to try, in one line.
"""


class HaltereError(Exception):
    """An error that the user can correct; the command line shows its message as one line and exits with 1."""


class PrecisionError(HaltereError):
    """A function that needs 64-bit numbers was called while JAX computes with 32 bits."""
