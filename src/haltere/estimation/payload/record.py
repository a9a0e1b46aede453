"""What an arm's servos and the base's IMU said over time: the input of every payload estimator."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from haltere.foundation import HaltereError
from haltere.foundation.constants import GRAVITY
from haltere.foundation.numbers import Numbers


class PayloadError(HaltereError):
    """A payload cannot be estimated from what was given."""


@dataclass(frozen=True, eq=False)
class ArmRecord:
    """Evenly sampled readings of J joints; leading axes (...) are runs of their own.

    Attributes:
        rate: reports per second.
        angle: (..., T, J) rad, in steps of the encoders.
        load: (..., T, J) share of the stall torque, positive along the joint's axis.
        force: (..., T, 3) specific force of the body origin, body axes, m/s2; (0, 0, 9.81) on a bench.
        gyro: (..., T, 3) rad/s, body axes.
        goal: (..., T, J) rad, or None where the log has none.
        missing: (..., T) whether nothing was reported then, or None where nothing is missing.
    """

    rate: float
    angle: Numbers
    load: Numbers
    force: Numbers
    gyro: Numbers
    goal: Numbers | None = None
    missing: Numbers | None = None

    def __post_init__(self) -> None:
        shape = self.angle.shape
        same = (self.load, *(() if self.goal is None else (self.goal,)))
        base = (self.force, self.gyro)
        if any(x.shape != shape for x in same) or any(x.shape != (*shape[:-1], 3) for x in base):
            msg = (
                f"angles {shape}, loads {self.load.shape}, forces {self.force.shape}, rates {self.gyro.shape}: "
                "expected (..., T, J) for joints and (..., T, 3) for the base; resample them to one clock"
            )
            raise PayloadError(msg)
        if not self.rate > 0.0:
            raise PayloadError(f"got a rate of {self.rate:g} Hz, expected more than zero; try 50")

    @classmethod
    def on_bench(cls, rate: float, angle: Numbers, load: Numbers, goal: Numbers | None = None) -> Self:
        """The base at rest and level."""
        still = np.zeros((*angle.shape[:-1], 3))
        return cls(rate, angle, load, still + np.asarray([0.0, 0.0, GRAVITY]), still, goal)

    @property
    def samples(self) -> int:
        """T."""
        return int(self.angle.shape[-2])

    @property
    def joints(self) -> int:
        """J."""
        return int(self.angle.shape[-1])

    @property
    def time(self) -> Numbers:
        """(T,) s from the first report."""
        return np.arange(self.samples) / self.rate

    def between(self, first: float, last: float) -> Self:
        """The reports with first <= time < last, s."""
        a, b = (round(t * self.rate) for t in (first, last))
        cut = (..., slice(a, b), slice(None))
        goal = None if self.goal is None else self.goal[cut]
        missing = None if self.missing is None else self.missing[..., a:b]
        return replace(
            self,
            angle=self.angle[cut],
            load=self.load[cut],
            force=self.force[cut],
            gyro=self.gyro[cut],
            goal=goal,
            missing=missing,
        )
