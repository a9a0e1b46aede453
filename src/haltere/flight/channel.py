"""One immutable, time-stamped signal of a flight with its unit and frame, and what it may hold as times and values.

Names are words joined by dots, as in `imu.accel`. The arrays are read-only; those given are copied unless they are
already. NaN stands for "no value"; `finite` tells where there is one. Anything else is a `FlightError`.
"""

import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from haltere.foundation import HaltereError
from haltere.foundation.numbers import Bools, Floats, Times

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
    """Make an array read-only that belongs to the channel from now on, so that it need not be copied; return it."""
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


_NAME = re.compile(r"[\w-]+(\.[\w-]+)*")


@dataclass(frozen=True, eq=False)
class Channel:
    """A signal: T samples of a number, a vector or an array.

    Attributes:
        name: Words joined by dots.
        time: (T,) int64, ns, strictly increasing.
        values: (T,) or (T, k, ...) float64, in `unit`, expressed in `frame`.
        unit: SI, such as "m/s2"; "1" without dimension.
        frame: "world", "body", or the name of a sensor or link; "" where none makes sense.
        columns: Names of the k columns of two-dimensional values, or ().
    """

    name: str
    time: Times
    values: Floats
    unit: str
    frame: str
    columns: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not is_text(self.name) or not _NAME.fullmatch(self.name):
            raise FlightError(f"channel name {self.name!r}; give words joined by dots, such as 'imu.accel'")
        owner = f"channel '{self.name}'"
        time, values = as_times(self.time, owner), as_values(self.values, owner)
        if values.ndim == 0:
            raise FlightError(
                f"{owner}: values are a single number; give one per sample, shape (T,) or (T, k)"
            )
        if len(values) != len(time):
            raise FlightError(
                f"{owner}: {len(time)} time stamps but {len(values)} values; give one stamp per value"
            )
        for array, label in ((time, "time"), (values, "values")):
            array.setflags(write=False)
            object.__setattr__(self, label, array)
        self._check_words(owner)

    def _check_words(self, owner: str) -> None:
        if not is_text(self.unit):
            raise FlightError(
                f"{owner}: unit {self.unit!r}; give one such as 'm/s2', or '1' if there is none"
            )
        if not is_text(self.frame, empty=True):
            raise FlightError(
                f"{owner}: frame {self.frame!r}; give a name such as 'world', or '' if there is none"
            )
        if not is_texts(self.columns):
            raise FlightError(f"{owner}: columns {self.columns!r}; give a tuple of names")
        columns = tuple(self.columns)
        object.__setattr__(self, "columns", columns)
        if not columns:
            return
        if self.values.ndim != 2 or len(columns) != self.values.shape[1]:
            raise FlightError(
                f"{owner}: {len(columns)} column names for values of shape {self.values.shape}; "
                "give one per column of a (T, k) array, or none"
            )
        if not all(is_text(column) for column in columns) or len(set(columns)) != len(columns):
            raise FlightError(f"{owner}: column names {columns!r}; give a different, non-empty name for each")

    def __len__(self) -> int:
        return len(self.time)

    def __eq__(self, other: object) -> bool:
        """Whether all bits are equal: NaN equals itself, and -0.0 is not 0.0."""
        if not isinstance(other, Channel):
            return NotImplemented
        mine = (self.name, self.unit, self.frame, self.columns, self.values.shape)
        return (
            mine == (other.name, other.unit, other.frame, other.columns, other.values.shape)
            and self.time.tobytes() == other.time.tobytes()
            and self.values.tobytes() == other.values.tobytes()
        )

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        """Go through the constructor again, so that a copy from another process is read-only, too."""
        return Channel, (self.name, self.time, self.values, self.unit, self.frame, self.columns)

    @property
    def finite(self) -> Bools:
        """(T,): where all numbers of a sample are finite."""
        return np.asarray(np.isfinite(self.values).reshape(len(self), -1).all(axis=1))

    @property
    def rate(self) -> float:
        """Samples per second, from the median interval; 0 with fewer than two samples."""
        return 1e9 / float(np.median(np.diff(self.time))) if len(self) > 1 else 0.0

    def seconds(self, origin: int = 0) -> Floats:
        """Return the time stamps (T,) in s since `origin`, ns."""
        return np.asarray((self.time - np.int64(origin)) * 1e-9)

    def column(self, name: str) -> Floats:
        """Return the column (T,) of that name."""
        if name not in self.columns:
            known = ", ".join(self.columns) or "none"
            raise FlightError(f"channel '{self.name}': no column '{name}'; its columns are: {known}")
        return np.asarray(self.values[:, self.columns.index(name)])

    def between(self, first: int, last: int) -> "Channel":
        """Return the samples with first <= time <= last, ns."""
        low, high = np.searchsorted(self.time, first, "left"), np.searchsorted(self.time, last, "right")
        return replace(self, time=self.time[low:high], values=self.values[low:high])

    def renamed(self, name: str) -> "Channel":
        """Return the same samples under another name."""
        return replace(self, name=name)
