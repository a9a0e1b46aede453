"""One time-stamped signal of a flight, with its unit and frame; it cannot be changed.

Names are words joined by dots, as in `imu.accel`. The arrays are read-only; those given are copied
unless they are already. NaN stands for "no value";
`finite` tells where there is one.
"""

import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from haltere.flight.fault import FlightError, as_times, as_values, is_text, is_texts
from haltere.foundation.numbers import Bools, Floats, Times

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
