"""The package's centre-of-gravity filter and compensation as a loop of `tests.world.cog_flights`."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from tests.world.catalogue import allocation
from tests.world.cog_flights import NominalLoop

from haltere.airframe.toml import loads
from haltere.control import GeometricController
from haltere.control.trim import Compensation, Trim, update_trim
from haltere.dynamics.motors import Motors
from haltere.estimation.cog.belief import CogReading
from haltere.estimation.cog.core import CogCore
from haltere.foundation.arrays import double_precision

PERIOD = 0.004
"""s between two samples, and before the first."""


class FilterLoop(NominalLoop):
    """N filters of one vehicle; the mixer of the nominal loop allocates about what compensation lets through."""

    @double_precision()
    def __init__(self, nominal: str, count: int) -> None:
        super().__init__(nominal, count)
        airframe = loads(nominal)
        self.core, self.motors = CogCore.from_airframe(airframe), Motors.from_airframe(airframe)
        controller = GeometricController.from_airframe(airframe)
        self.vehicle = controller.vehicle
        self.belief, self.estimate = _begin(self.core, count)
        self.compensation = jax.tree.map(lambda x: jnp.stack([x] * count), Compensation.of(controller))
        self.nominal_com = np.asarray(controller.vehicle.com)
        self.last = None

    @double_precision()
    def read(self, time, gyro, accel, speeds, commands) -> None:
        last = time - PERIOD if self.last is None else self.last
        dt = np.where(np.isfinite(time), time - last, 0.0)
        self.last = np.where(np.isfinite(time), time, last)
        given = (gyro, accel, speeds, commands, dt)
        before = self.belief, self.compensation
        self.belief, self.compensation, self.estimate = _step(
            self.core, self.motors, self.vehicle, before, given
        )
        used = np.asarray(self.compensation.controller.vehicle.com)[:, :2] - self.nominal_com[:2]
        if not np.array_equal(used, self.used):
            self.used = used
            centers = self.drawing.com + np.concatenate([used, np.zeros((len(used), 1))], axis=1)
            self.inverse = np.linalg.pinv(np.stack([allocation(self.drawing, center) for center in centers]))

    @double_precision()
    def mark(self, time) -> None:
        self.belief = _mark(self.core, self.belief)

    def state(self) -> dict[str, np.ndarray]:
        """What the filters say, by the names of `CogEstimate`."""
        names = (
            "trim", "trim_cov", "com", "cov", "change", "change_cov", "observable", "mass", "mass_sigma", "mass_change",
            "mass_change_sigma", "since", "events",
        )  # fmt: skip
        said = {name: np.asarray(getattr(self.estimate, name)) for name in names}
        return said | {"used": self.used, "counts": np.asarray(self.belief.counts)}


@partial(jax.jit, static_argnums=1)
def _begin(core, count):
    """The first belief of so many filters, and what it says."""
    belief = core.begin()
    return jax.tree.map(lambda x: jnp.stack([x] * count), (belief, core.estimate(belief)))


@jax.jit
def _step(core, motors, vehicle, before, given):
    """Beliefs, compensations and estimates of all filters after a sample; vehicles of as many rotors share it."""

    def one(belief, used, gyro, accel, speeds, commands, dt):
        belief = core.tick(belief, CogReading(gyro, accel, speeds, motors.target(commands)), dt)
        estimate = core.estimate(belief)
        return belief, update_trim(used, vehicle, Trim.of(estimate), PERIOD), estimate

    return jax.lax.map(lambda flight: one(*flight), (*before, *given))


@jax.jit
def _mark(core, belief):
    return jax.vmap(core.mark)(belief)
