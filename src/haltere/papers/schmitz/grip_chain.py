"""From what servos, IMU and rotors report to the controller: the payload chain of N vehicles that grip something.

Ten times a second, with the reports until then:

    the CoG filter runs on IMU, rotor speeds and joint angles; before the flight it was given the empty vehicle, so
        the hover before the grip shows how strong each rotor is; while the gripper closes it is opened for more
    PayloadCore reads the servos from the grip on; until it has seen the payload, the CoG filter flies alone
    then servos, hover thrust and CoG filter meet in `haltere.control.trim`

and what came out of it goes through `haltere.control.trim` into controller and allocation.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from haltere.control.controller import GeometricController
from haltere.control.trim import Compensation, Trim, fuse_mass_properties, trim_of, update_trim
from haltere.estimation.cog.belief import CogBelief, CogEstimate, CogReading
from haltere.estimation.cog.core import CogCore
from haltere.estimation.cog.payload import THRUST_CHANGE, open_for_payload, under_load, with_mass_properties
from haltere.estimation.cog.settings import CogSettings
from haltere.estimation.payload.core import PayloadCore
from haltere.estimation.payload.fusion import (
    MassSource,
    VehicleMassProperties,
    payload_in_body,
    vehicle_mass_properties,
)
from haltere.estimation.payload.record import ArmRecord
from haltere.estimation.payload.state import PayloadBelief
from haltere.foundation.numbers import Numbers
from haltere.papers.schmitz.bench import RATE
from haltere.papers.schmitz.grip_plant import TICK_RATE, GripRecord, nominal_controller, vehicle

EVERY = 20
"""Ticks from one estimate to the next."""
CLOSING = 0.3
"""s from the grip until the whole weight hangs."""
EXPECTED, LIKELY, PLACE = 0.225, 0.13, 0.02
"""What may be gripped: half of what the arm lifts and its deviation, kg, and that of its position, m."""
MASS_SEEN = 0.1
"""kg: deviation below which PayloadCore has seen the payload."""
MEMORY = 600
"""Ticks of servo reports that are filtered again at every estimate."""
ROTOR = 0.025
"""Deviation of a rotor's relative strength from what the airframe file says."""


@dataclass(frozen=True, eq=False)
class ChainBelief:
    """What N chains believe and tell their controllers.

    Attributes:
        payload: of PayloadCore.
        cog: of the CoG filter.
        used: what the controllers know.
        mass_properties: mass and centre of mass of every vehicle; None where the servos have not seen the payload.
    """

    payload: PayloadBelief
    cog: CogBelief
    used: Compensation
    mass_properties: tuple[VehicleMassProperties | None, ...]


@dataclass(frozen=True, eq=False)
class GripChain:
    """The estimators of N vehicles of one kind, each with its own calibration."""

    payload: PayloadCore
    pose: tuple[float, ...]
    grip: float
    """s: when the gripper closes."""

    @property
    def controller(self) -> GeometricController:
        """Of the empty vehicle."""
        return nominal_controller(self.pose)

    def begin(self, angle: Numbers) -> ChainBelief:
        """Hovering, empty, with joints at angles (N, J) rad."""
        runs = len(angle)
        empty = self._empty(angle)
        one = (cog_filter(self.pose).begin(), Compensation.of(self.controller))
        cog, used = jax.tree.map(lambda x: jnp.broadcast_to(x, (runs, *jnp.shape(x))), one)
        cog = _compiled(self.pose)[2](cog, *(jnp.asarray(x) for x in _stacked(empty)))
        return ChainBelief(self.payload.begin((runs,)), cog, used, (None,) * runs)

    def step(self, belief: ChainBelief, record: GripRecord, goals: Numbers) -> ChainBelief:
        """The belief after the last `EVERY` ticks of a record with all ticks so far and goals (T, J), rad."""
        ticks, grip = goals.shape[0], round(self.grip * TICK_RATE)
        hangs = grip + round(CLOSING * TICK_RATE)
        fresh = jax.tree.map(lambda x: jnp.asarray(x[:, -EVERY:]), record)
        tick = np.arange(ticks - EVERY, ticks)
        share = ((tick >= grip) & (tick < hangs)) / (hangs - grip)
        change = THRUST_CHANGE if ticks > grip else 0.0
        expected = self._expected(record.angle[:, -EVERY])
        cog, shown, said = _compiled(self.pose)[0](belief.cog, fresh, expected, share, change)
        belief = replace(belief, cog=cog)
        if ticks > hangs:
            belief = replace(belief, payload=self._read(belief.payload, record, goals))
            servos = self._with_payload(belief.payload, record.angle[:, -1])
            belief = replace(belief, mass_properties=_fuse(servos, shown, said))
        return replace(belief, used=self._compensation(belief, shown, said))

    def _compensation(self, belief: ChainBelief, shown: CogBelief, estimate: CogEstimate) -> Compensation:
        """What the controllers know then."""
        none = VehicleMassProperties(np.ones(4), np.eye(4), {})
        values, covs = _stacked([one or none for one in belief.mass_properties])
        met = jnp.asarray([one is not None for one in belief.mass_properties])
        used: Compensation = _compiled(self.pose)[1](belief.used, shown, estimate, values, covs, met)
        return used

    def _read(self, belief: PayloadBelief, record: GripRecord, goals: Numbers) -> PayloadBelief:
        """PayloadCore after the last `EVERY` ticks; servos report at every second one."""
        every = round(TICK_RATE / RATE)
        first = max(0, goals.shape[0] - MEMORY)
        at = slice(first + every - 1, None, every)
        wanted = np.broadcast_to(goals[at], record.angle[:, at].shape)
        reports = ArmRecord(
            RATE, record.angle[:, at], record.load[:, at], record.force[:, at], record.gyro[:, at], wanted
        )
        signals = self.payload.signals(reports)
        return self.payload.update(belief, signals, reports.samples - EVERY // every, reports.samples)

    def _expected(self, angle: Numbers) -> Numbers:
        """(N, 4) kg and m: what may be gripped with joints at angles (N, J), body axes."""
        places = [payload_in_body(self.payload.arm, a, np.zeros(5), np.zeros((5, 5)))[0][1:4] for a in angle]
        return np.asarray([[EXPECTED, *place] for place in places])

    def _empty(self, angle: Numbers) -> list[MassSource]:
        """The vehicles without payload at joint angles (N, J)."""
        arm = self.payload.arm
        free = self.payload.begin(angle.shape[:1]).x
        cov = np.zeros((*free.shape, free.shape[-1]))
        size = arm.mean.shape[-1]
        cov[:, -size:, -size:] = arm.cov
        return [self._source(a, x, P) for a, x, P in zip(angle, free, cov, strict=True)]

    def _with_payload(self, belief: PayloadBelief, angle: Numbers) -> list[MassSource | None]:
        """The vehicles with payload, None where it was not seen."""
        x, cov, _ = self.payload.posterior(belief)
        seen = np.sqrt(cov[:, 0, 0]) < MASS_SEEN
        return [self._source(a, u, P) if s else None for a, u, P, s in zip(angle, x, cov, seen, strict=True)]

    def _source(self, angle: Numbers, x: Numbers, cov: Numbers) -> MassSource:
        value, spread = vehicle_mass_properties(vehicle(), self.payload.arm, angle, x, cov)
        return MassSource((0, 1, 2, 3), value, spread + 1e-14 * np.eye(4))


@cache
def cog_filter(pose: tuple[float, ...]) -> CogCore:
    """The CoG filter of the catalogue's vehicle with its joints at a pose (deg)."""
    settings = replace(CogSettings().with_joints(), period=1.0 / TICK_RATE, thrust=ROTOR)
    return CogCore.from_airframe(vehicle(), settings, jnp.deg2rad(jnp.asarray(pose)))


@cache
def _compiled(pose: tuple[float, ...]) -> tuple[Any, ...]:
    """For N vehicles: the CoG filter over some ticks, the compensation, and the filter given mass and centre."""
    cog, nominal = cog_filter(pose), nominal_controller(pose).vehicle

    likely = np.diag(np.square([LIKELY, PLACE, PLACE, PLACE]))

    def watch(belief: CogBelief, record: GripRecord, expected: Any, share: Any, change: Any) -> Any:
        def tick(last: CogBelief, now: tuple[GripRecord, Any]) -> tuple[CogBelief, None]:
            r, part = now
            opened = open_for_payload(cog, last, expected, part * likely)
            return cog.tick(opened, CogReading(r.gyro, r.force, r.speeds, r.targets, r.angle)), None

        later, _ = jax.lax.scan(tick, belief, (record, share))
        shown = under_load(later, change)
        return later, shown, cog.estimate(shown)

    def tell(used: Compensation, belief: CogBelief, said: CogEstimate, value: Any, cov: Any, met: Any) -> Any:
        both = trim_of(cog, belief, value, cov), Trim.of(said)
        trim = jax.tree.map(lambda a, b: jnp.where(met, a, b), *both)
        return update_trim(used, nominal, trim, EVERY / TICK_RATE)

    def teach(belief: CogBelief, value: Any, cov: Any) -> CogBelief:
        return with_mass_properties(cog, belief, value, cov)

    return (
        jax.jit(jax.vmap(watch, in_axes=(0, 0, 0, None, None))),
        jax.jit(jax.vmap(tell)),
        jax.jit(jax.vmap(teach)),
    )


def _stacked(sources: Sequence[MassSource | VehicleMassProperties]) -> tuple[Numbers, Numbers]:
    """Values (N, 4) and covariances (N, 4, 4)."""
    return np.stack([one.value for one in sources]), np.stack([one.cov for one in sources])


def _fuse(
    servos: Sequence[MassSource | None], belief: CogBelief, estimate: CogEstimate
) -> tuple[VehicleMassProperties | None, ...]:
    """What all say of each vehicle, None where the servos have not seen the payload."""
    flights = jax.tree.map(np.asarray, (belief, estimate))
    each = [jax.tree.map(lambda x, i=i: x[i], flights) for i in range(len(servos))]
    return tuple(
        None if source is None else fuse_mass_properties(source, *one)
        for source, one in zip(servos, each, strict=True)
    )
