"""What the demonstration has computed, and readings of it that several figures share."""

from dataclasses import dataclass
from functools import cached_property

import jax
import numpy as np
from numpy.typing import NDArray

from haltere.airframe import Airframe
from haltere.dynamics import BaseParameters, Model, Motion, State
from haltere.dynamics.inertia import PARAMETER_NAMES
from haltere.foundation.arrays import Array
from haltere.report.manoeuvre import Course, Recording
from haltere.report.mass import MassProperties

Floats = NDArray[np.float64]

ALONE, COMBINED, SILENT = 0, 1, 2
"""A parameter that motion reveals by itself, only together with others, or not at all."""


@jax.jit
@jax.vmap
def _seen_from_world(state: State, motion: Motion) -> tuple[Array, Array]:
    return state.R_WB, state.R_WB @ motion.inertial_acceleration(state)


@dataclass(frozen=True)
class Evidence:
    """Everything the page shows."""

    airframe: Airframe
    model: Model
    course: Course
    flight: Recording
    step_ms: Floats
    """(k,) steps of the runs in empty space, ms, falling."""
    momentum_errors: Floats
    """(k,) largest change of momentum in these runs, kg m/s or kg m2/s."""
    energy_errors: Floats
    """(k,) largest error of the energy balance in these runs, J."""
    mass_before: MassProperties
    mass_after: MassProperties
    allocation_before: Floats
    allocation_after: Floats
    base: BaseParameters

    @property
    def order(self) -> float:
        """Slope of the momentum error between the two largest steps."""
        errors, steps = self.momentum_errors[:2], self.step_ms[:2]
        return float(np.log(errors[0] / errors[1]) / np.log(steps[0] / steps[1]))

    @cached_property
    def times(self) -> Floats:
        """(S,) s."""
        return np.asarray(self.flight.times)

    @cached_property
    def _in_world(self) -> tuple[Floats, Floats]:
        rotations, accelerations = _seen_from_world(self.flight.moments.state, self.flight.moments.motion)
        return np.asarray(rotations), np.asarray(accelerations)

    @property
    def rotations(self) -> Floats:
        """(S, 3, 3) R_WB."""
        return self._in_world[0]

    @property
    def acceleration(self) -> Floats:
        """(S, 3) acceleration of the body origin against the world, world axes, m/s2."""
        return self._in_world[1]

    @cached_property
    def euler_deg(self) -> Floats:
        """(S, 3) roll, pitch and yaw of the body, deg; for the reader only."""
        w, x, y, z = np.asarray(self.flight.moments.state.wxyz).T
        roll = np.arctan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y))
        pitch = np.arcsin(np.clip(2 * (w * y - z * x), -1.0, 1.0))
        yaw = np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
        return np.degrees(np.unwrap(np.stack([roll, pitch, yaw], axis=1), axis=0))

    def sample(self, time: float) -> int:
        """Number of the instant nearest to `time`, s."""
        return int(np.argmin(np.abs(self.times - time)))

    @property
    def bodies(self) -> tuple[str, ...]:
        """Names of all rigid bodies in the order of the regressor's columns."""
        return (*self.model.topology.link_names, *self.model.topology.rotor_names)

    @cached_property
    def inertial_verdicts(self) -> NDArray[np.int64]:
        """(N, 10) for each body and inertial parameter: `ALONE`, `COMBINED` or `SILENT`."""
        verdicts = parameter_verdicts(self.base)
        count = len(PARAMETER_NAMES)
        return verdicts[: len(self.bodies) * count].reshape(len(self.bodies), count)


def parameter_verdicts(base: BaseParameters, tolerance: float = 1e-7) -> NDArray[np.int64]:
    """(P,) verdict of each parameter.

    An independent parameter stands alone if no other enters its combination; one that enters none is silent.
    """
    present = np.abs(base.combinations) > tolerance
    verdicts = np.where(present.any(axis=0), COMBINED, SILENT)
    single = present.sum(axis=1) == 1
    verdicts[np.asarray(base.independent, int)[single]] = ALONE
    return verdicts
