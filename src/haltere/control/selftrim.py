"""The centre-of-gravity filter beside a controller: readings in, a controller for the vehicle as it is now out.

One step is filter, estimate and compensation (`haltere.estimation.cog.filter`, `haltere.control.trim`); what is kept
between steps is a `Trimmed`. Steps can be compiled, mapped and scanned.
"""

from dataclasses import dataclass, field, replace

from haltere.control.controller import GeometricController
from haltere.control.trim import Compensation, Limits, Trim, renewed
from haltere.dynamics.vehicle import VehicleNumbers
from haltere.estimation.cog.belief import CogBelief, CogEstimate, CogReading
from haltere.estimation.cog.filter import CogFilter
from haltere.foundation.arrays import Array, ArrayLike, pytree


@pytree
@dataclass(frozen=True)
class Trimmed:
    """What the filter believes and the controller in use."""

    belief: CogBelief
    used: Compensation

    @property
    def controller(self) -> GeometricController:
        """That of the last good estimate."""
        return self.used.controller

    @property
    def allocation(self) -> Array:
        """(6, R) wrench about the centre of mass in use, body axes, force first, per squared rotor speed."""
        return self.controller.vehicle.allocation_at_com


@pytree(static=("limits",))
@dataclass(frozen=True)
class SelfTrim:
    """A filter and what the vehicle is without any estimate."""

    filter: CogFilter
    nominal: VehicleNumbers
    limits: Limits = field(default_factory=Limits)

    def begin(
        self, controller: GeometricController, speeds: Array | None = None, offset: ArrayLike = 0.0
    ) -> Trimmed:
        """With rotor speeds (R,) rad/s (hover where not given) and a guess of the offset (3,), m."""
        return Trimmed(self.filter.begin(speeds, offset), Compensation.of(controller, offset))

    def step(self, last: Trimmed, reading: CogReading) -> tuple[Trimmed, CogEstimate]:
        """After one reading, and what the filter says."""
        belief = self.filter.tick(last.belief, reading)
        said = self.filter.estimate(belief)
        used = renewed(last.used, self.nominal, Trim.of(said), self.filter.settings.period, self.limits)
        return replace(last, belief=belief, used=used), said
