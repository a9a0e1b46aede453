"""From what servos, IMU and rotors report to the controller: the payload chain of N vehicles that grip something.

Ten times a second, with the reports until then:

    the CoG filter runs on IMU, rotor speeds and joint angles, from the beginning of the flight
    before the grip    the empty vehicle is known; its hover thrust tells how strong the rotors are
    after it           PayloadFilter reads the servos; until it has seen the payload, the CoG filter flies alone
    then               servos, hover thrust and CoG filter meet in `haltere.control.carrying`

and what came out of it goes through `haltere.control.compensation` into controller and allocation.
"""

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from haltere.control.carrying import carried, trim_of
from haltere.control.compensation import Compensation, Trim, renewed
from haltere.control.controller import GeometricController
from haltere.estimation.cog import CogFilter
from haltere.estimation.cog_belief import CogBelief, CogEstimate, CogReading
from haltere.estimation.cog_settings import CogSettings
from haltere.estimation.payload import PayloadFilter
from haltere.estimation.payload_fusion import Source, Whole, hover_thrust, thrust_scale, whole_vehicle
from haltere.estimation.payload_record import ArmRecord, Numbers
from haltere.estimation.payload_state import PayloadBelief
from haltere.studies.grip_plant import TICK_RATE, GripRecord, nominal_controller, vehicle
from haltere.studies.schmitz_bench import RATE

EVERY = 20
"""Ticks from one estimate to the next."""
CLOSING = 0.35
"""s from the grip until readings of the servos count."""
SEEN = 0.1
"""kg: deviation below which PayloadFilter has seen the payload."""
WINDOW = 40
"""Ticks of hover thrust that count."""
MEMORY = 600
"""Ticks of servo reports that are filtered again at every estimate."""
THRUST_CHANGE = 0.005
"""Relative deviation by which the rotors' strength may differ between empty and loaded."""


@dataclass(frozen=True, eq=False)
class ChainBelief:
    """What N chains believe and tell their controllers.

    Attributes:
        payload: of PayloadFilter.
        cog: of the CoG filter.
        used: what the controllers know.
        scale: (N, 2) how much stronger than stated the rotors are, and its relative deviation.
        whole: mass and centre of mass of every vehicle; None where the servos have not seen the payload.
    """

    payload: PayloadBelief
    cog: CogBelief
    used: Compensation
    scale: Numbers
    whole: tuple[Whole | None, ...]


@dataclass(frozen=True, eq=False)
class GripChain:
    """The estimators of N vehicles of one kind, each with its own calibration."""

    payload: PayloadFilter
    pose: tuple[float, ...]
    grip: float
    """s: when the gripper closes."""

    @property
    def controller(self) -> GeometricController:
        """Of the empty vehicle."""
        return nominal_controller(self.pose)

    def begin(self, runs: int) -> ChainBelief:
        """Hovering, empty, all numbers as in the airframe file."""
        one = (cog_filter(self.pose).begin(), Compensation.of(self.controller))
        cog, used = jax.tree.map(lambda x: jnp.broadcast_to(x, (runs, *jnp.shape(x))), one)
        return ChainBelief(self.payload.begin((runs,)), cog, used, np.ones((runs, 2)), (None,) * runs)

    def step(self, belief: ChainBelief, record: GripRecord, goals: Numbers) -> ChainBelief:
        """The belief after the last `EVERY` ticks of a record with all ticks so far and goals (T, J), rad."""
        ticks = goals.shape[0]
        now = ticks / TICK_RATE
        fresh = jax.tree.map(lambda x: jnp.asarray(x[:, -EVERY:]), record)
        cog, said = _compiled(self.pose)[0](belief.cog, fresh)
        belief = replace(belief, cog=cog)
        if now <= self.grip:
            servos: list[Source | None] = [*self._empty(record.angle[:, -1])]
            belief = replace(belief, scale=_scales(record, servos))
        elif now < self.grip + CLOSING:
            servos = [None] * len(belief.whole)
        else:
            belief = replace(belief, payload=self._read(belief.payload, record, goals))
            servos = self._loaded(belief.payload, record.angle[:, -1])
        thrusts = _thrusts(record, belief.scale)
        centres = jax.tree.map(np.asarray, said)
        whole = tuple(
            None if source is None else carried(source, thrust, jax.tree.map(lambda x, i=i: x[i], centres))
            for i, (source, thrust) in enumerate(zip(servos, thrusts, strict=True))
        )
        return replace(belief, whole=whole, used=self._told(belief, said, whole))

    def _told(self, belief: ChainBelief, said: CogEstimate, whole: tuple[Whole | None, ...]) -> Compensation:
        """What the controllers know then."""
        values = np.stack([np.r_[1.0, np.zeros(3)] if one is None else one.value for one in whole])
        covs = np.stack([np.eye(4) if one is None else one.cov for one in whole])
        met = jnp.asarray([one is not None for one in whole])
        used: Compensation = _compiled(self.pose)[1](belief.used, belief.cog, said, values, covs, met)
        return used

    def _read(self, belief: PayloadBelief, record: GripRecord, goals: Numbers) -> PayloadBelief:
        """PayloadFilter after the last `EVERY` ticks; servos report at every second one."""
        every = round(TICK_RATE / RATE)
        first = max(0, goals.shape[0] - MEMORY)
        at = slice(first + every - 1, None, every)
        wanted = np.broadcast_to(goals[at], record.angle[:, at].shape)
        reports = ArmRecord(
            RATE, record.angle[:, at], record.load[:, at], record.force[:, at], record.gyro[:, at], wanted
        )
        signals = self.payload.signals(reports)
        return self.payload.update(belief, signals, reports.samples - EVERY // every, reports.samples)

    def _empty(self, angle: Numbers) -> list[Source]:
        """The vehicles without payload at joint angles (N, J)."""
        arm = self.payload.arm
        free = self.payload.begin(angle.shape[:1]).x
        cov = np.zeros((*free.shape, free.shape[-1]))
        size = arm.mean.shape[-1]
        cov[:, -size:, -size:] = arm.cov
        return [self._source(a, x, P) for a, x, P in zip(angle, free, cov, strict=True)]

    def _loaded(self, belief: PayloadBelief, angle: Numbers) -> list[Source | None]:
        """The vehicles with payload, None where it was not seen."""
        x, cov, _ = self.payload.posterior(belief)
        seen = np.sqrt(cov[:, 0, 0]) < SEEN
        return [self._source(a, u, P) if s else None for a, u, P, s in zip(angle, x, cov, seen, strict=True)]

    def _source(self, angle: Numbers, x: Numbers, cov: Numbers) -> Source:
        value, spread = whole_vehicle(vehicle(), self.payload.arm, angle, x, cov)
        return Source((0, 1, 2, 3), value, spread + 1e-14 * np.eye(4))


@cache
def cog_filter(pose: tuple[float, ...]) -> CogFilter:
    """The CoG filter of the catalogue's vehicle with its joints at a pose (deg)."""
    settings = replace(CogSettings().with_joints(), period=1.0 / TICK_RATE)
    return CogFilter.from_airframe(vehicle(), settings, jnp.deg2rad(jnp.asarray(pose)))


@cache
def _compiled(pose: tuple[float, ...]) -> tuple[Any, Any]:
    """The CoG filter over some ticks, and the compensation, for N vehicles."""
    cog, nominal = cog_filter(pose), nominal_controller(pose).vehicle

    def watch(belief: CogBelief, record: GripRecord) -> tuple[CogBelief, CogEstimate]:
        def tick(last: CogBelief, r: GripRecord) -> tuple[CogBelief, None]:
            return cog.tick(last, CogReading(r.gyro, r.force, r.speeds, r.targets, r.angle)), None

        later, _ = jax.lax.scan(tick, belief, record)
        return later, cog.estimate(later)

    def tell(used: Compensation, belief: CogBelief, said: CogEstimate, value: Any, cov: Any, met: Any) -> Any:
        both = trim_of(cog, belief, value, cov), Trim.of(said)
        trim = jax.tree.map(lambda a, b: jnp.where(met, a, b), *both)
        return renewed(used, nominal, trim, EVERY / TICK_RATE)

    return jax.jit(jax.vmap(watch)), jax.jit(jax.vmap(tell))


def _thrust(record: GripRecord, ticks: int) -> tuple[Numbers, Numbers]:
    """(N, ticks) thrust by the airframe file, N, and specific force along it, m/s2, of the last ticks."""
    strength = np.asarray([rotor.thrust_coefficient for rotor in vehicle().rotors])
    return record.speeds[:, -ticks:] ** 2 @ strength, record.force[:, -ticks:, 2]


def _scales(record: GripRecord, empty: list[Any]) -> Numbers:
    """(N, 2) of `thrust_scale`, from the second half of the flight so far."""
    thrust, force = _thrust(record, record.speeds.shape[1] // 2)
    return np.asarray([thrust_scale(t, f, one) for t, f, one in zip(thrust, force, empty, strict=True)])


def _thrusts(record: GripRecord, scale: Numbers) -> list[Source]:
    """What hover thrust says of the mass of each vehicle."""
    thrust, force = _thrust(record, WINDOW)
    doubt = np.hypot(THRUST_CHANGE, scale[:, 1])
    found = zip(thrust * scale[:, :1], force, doubt, strict=True)
    return [hover_thrust(t, f, float(relative)) for t, f, relative in found]
