"""The rotor speeds of a flight beside what is asked of each rotor: what checks of their telemetry look at."""

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from scipy import ndimage

from haltere.doctor.motor_response import MotorResponse, motor_response
from haltere.doctor.motors import check_pairs
from haltere.flight import Channel, Flight
from haltere.foundation.numbers import Bools, Floats

CARRYING = 0.5
"""Speed over its usual one, in the median of the rotors, above which the vehicle flies."""
MARGIN = 0.4
"""s, left out at both ends of a flying stretch: rotors spin up and down."""
SHORTEST = 2.0
"""s of flight at least."""


@dataclass(frozen=True)
class TelemetryRecord:
    """Rotor speeds at their own samples.

    Attributes:
        names: (R,) of the rotors.
        seconds: (T,) since the first sample.
        speeds: (T, R) rad/s, without sign; NaN where there is no number.
        flying: (T,) where the vehicle flies.
        response: What the commands ask for; None in a log without commands that the speeds follow.
    """

    names: tuple[str, ...]
    seconds: Floats
    speeds: Floats
    flying: Bools
    response: MotorResponse | None

    @classmethod
    def from_flight(cls, flight: Flight) -> Self | None:
        """Return the record of a flight with two rotors or more that flies long enough; else None."""
        speed, command = (flight.channels.get(f"rotors.{last}") for last in ("speed", "command"))
        if speed is None or speed.values.ndim != 2 or speed.values.shape[1] < 2 or len(speed) < 50:
            return None
        unsigned = Channel(
            speed.name, speed.time, np.abs(speed.values), speed.unit, speed.frame, speed.columns
        )
        flying = _flying(unsigned)
        seconds = speed.seconds(int(speed.time[0]))
        if not np.sum(np.diff(seconds, prepend=seconds[0])[flying]) >= SHORTEST:
            return None
        response = None
        if command is not None and command.values.ndim == 2 and int(command.finite.sum()) > 30:
            same = (
                command.values.shape == speed.values.shape or command.values.shape[1] == speed.values.shape[1]
            )
            swapped = same and any(check_pairs(unsigned, command))
            response = motor_response(unsigned, command, flying) if same and not swapped else None
        names = speed.columns or tuple(f"m{i + 1}" for i in range(speed.values.shape[1]))
        return cls(tuple(names), seconds, unsigned.values, flying, response)

    @property
    def count(self) -> int:
        """Number of rotors, R."""
        return len(self.names)

    @cached_property
    def intervals(self) -> Floats:
        """(T,) time since the sample before, s; a gap counts as one interval."""
        steps = np.diff(self.seconds, prepend=self.seconds[0])
        return np.asarray(np.minimum(steps, 5.0 * np.median(steps)))

    def duration(self, samples: Bools) -> float:
        """Return how long the samples (T,) last together, s."""
        return float(np.sum(self.intervals[samples]))

    def others(self, rotor: int, values: Floats) -> Floats:
        """Return the medians (T,) of values (T, R) over all rotors but one."""
        rest = np.delete(values, rotor, axis=1)
        return np.asarray(np.median(np.where(np.isfinite(rest), rest, 0.0), axis=1))

    def without(self, rotors: set[int]) -> list[int]:
        """Return the rotors that are none of these."""
        return [i for i in range(self.count) if i not in rotors]


def _flying(speed: Channel) -> Bools:
    """(T,) where the median rotor runs at half of its usual speed or more, some time after and before it does not."""
    values = np.nan_to_num(speed.values)
    usual = np.array([np.percentile(x[x > 0.0], 70) if np.any(x > 0.0) else np.nan for x in values.T])
    running = usual > 0.0
    if not running.any():
        return np.zeros(len(values), bool)
    share = np.median(values[:, running] / usual[running], axis=1)
    width = max(int(0.1 * speed.rate) | 1, 3)
    carrying = ndimage.median_filter(share, width, mode="nearest") > CARRYING
    edge = max(int(MARGIN * speed.rate), 1)
    padded = ndimage.binary_erosion(carrying, np.ones(2 * edge + 1), border_value=1)
    return np.asarray(padded, bool)
