"""Errors and array types that every other package may use (`haltere.foundation.arrays` imports JAX)."""

from haltere.foundation.errors import HaltereError, PrecisionError

__all__ = ["HaltereError", "PrecisionError"]
