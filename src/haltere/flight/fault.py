"""The error of everything that has to do with records of flights, and what a record may hold as numbers."""

from typing import Any

import numpy as np

from haltere.foundation import HaltereError
from haltere.foundation.numbers import Floats, Times

_EXACT = 2**53  # integers up to here are all float64 numbers


class FlightError(HaltereError):
    """A record of a flight, or a file with one, that cannot be used as it stands."""


def is_text(value: Any, empty: bool = False) -> bool:
    """Whether a value is a text of one line, and not empty unless that is allowed."""
    return isinstance(value, str) and value.isprintable() and (empty or value != "")


def is_texts(value: Any) -> bool:
    """Whether a value is a list or tuple of texts; a text alone is none, though its letters are."""
    return isinstance(value, list | tuple) and all(isinstance(item, str) for item in value)


def as_times(time: Any, owner: str) -> Times:
    """Return a copy of time stamps as int64 (T,), ns; they must be integers and increase.

    Stamps that nobody can change any more, see `sealed`, are not copied.
    """
    array = np.asarray(time)
    if array.ndim != 1:
        raise FlightError(f"{owner}: time has shape {array.shape}; give one stamp per sample, shape (T,)")
    if array.size == 0:
        return np.empty(0, np.int64)
    if array.dtype.kind not in "iu":
        raise FlightError(
            f"{owner}: time is {array.dtype}; give integer nanoseconds (haltere.flight.nanoseconds makes them of s)"
        )
    if array.dtype.kind == "u" and int(array.max()) > np.iinfo(np.int64).max:
        raise FlightError(f"{owner}: time {int(array.max())} ns does not fit into int64; give smaller stamps")
    stamps = array if _is_sealed(array, np.int64) else np.array(array, np.int64)
    back = np.flatnonzero(stamps[1:] <= stamps[:-1])
    if back.size:
        first = int(back[0])
        raise FlightError(
            f"{owner}: time does not increase at sample {first + 1} ({stamps[first]} ns, then {stamps[first + 1]} "
            "ns); sort the samples and drop repeated ones"
        )
    return stamps


def as_values(values: Any, owner: str) -> Floats:
    """Return a copy of values as float64; other real numbers are taken if they are float64 numbers exactly.

    Values that nobody can change any more, see `sealed`, are not copied.
    """
    try:
        array = np.asarray(values)
    except ValueError:
        raise FlightError(
            f"{owner}: values are of unequal lengths; give one row of numbers per sample"
        ) from None
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise FlightError(f"{owner}: values are {array.dtype}; give real numbers, such as float64")
    if array.dtype.kind in "iu" and array.size and max(-int(array.min()), int(array.max())) > _EXACT:
        raise FlightError(
            f"{owner}: values hold integers beyond 2^53, which float64 would change; scale them"
        )
    return array if _is_sealed(array, np.float64) else np.array(array, np.float64, order="C")


def sealed(array: Any) -> Any:
    """Make an array read-only that its maker hands over, so that a channel need not copy it; return it."""
    if array.base is None:
        array.setflags(write=False)
    return array


def _is_sealed(array: Any, dtype: Any) -> bool:
    flags = array.flags
    return bool(array.base is None and array.dtype == dtype and flags.c_contiguous and not flags.writeable)


def nanoseconds(seconds: Any) -> Times:
    """Return times (T,) in s as int64 ns, rounded to the nearest."""
    array = np.asarray(seconds, np.float64)
    if not np.all(np.isfinite(array)) or np.any(np.abs(array) >= 2.0**63 * 1e-9):
        raise FlightError("times in s must be finite and below 292 years; drop the other samples")
    whole = np.floor(array)
    return (whole.astype(np.int64) * 1_000_000_000 + np.rint((array - whole) * 1e9).astype(np.int64)).astype(
        np.int64
    )
