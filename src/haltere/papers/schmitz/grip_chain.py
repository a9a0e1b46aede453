"""From what servos, IMU and rotors report to the controller: the payload chain of N vehicles that grip something.

Ten times a second, with the reports until then:

    the CoG filter runs on IMU, rotor speeds and joint angles; it is marked at the grip, and stays open until the whole
        weight hangs; what changes later, as the payload moves with the arm, belongs to the grip and leaves the mark;
        its trim goes through `haltere.control.trim` into controller and allocation
    PayloadCore reads the servos from the grip on
    once it has seen the payload, servos, thrust and torque of the rotors are weighed against each other, the last two
        by what has changed since the empty vehicle was marked
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from haltere.control.controller import GeometricController
from haltere.control.trim import Compensation, Trim, fuse_mass_properties, update_trim
from haltere.estimation.cog.belief import CogBelief, CogReading
from haltere.estimation.cog.core import CogCore
from haltere.estimation.cog.payload import with_payload
from haltere.estimation.cog.settings import CogSettings
from haltere.estimation.payload.core import PayloadCore
from haltere.estimation.payload.fusion import (
    MassSource,
    VehicleMassProperties,
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
WINDOW = 0.1
"""s that the CoG filter averages: less than the gripper needs to close."""
REOPENED = 10
"""Ticks between two openings of the CoG filter while the gripper closes."""
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
        one = (cog_filter(self.pose).begin(), Compensation.of(self.controller))
        cog, used = jax.tree.map(lambda x: jnp.broadcast_to(x, (runs, *jnp.shape(x))), one)
        return ChainBelief(self.payload.begin((runs,)), cog, used, (None,) * runs)

    def step(self, belief: ChainBelief, record: GripRecord, goals: Numbers) -> ChainBelief:
        """The belief after the last `EVERY` ticks of a record with all ticks so far and goals (T, J), rad."""
        ticks, grip = goals.shape[0], round(self.grip * TICK_RATE)
        hangs = grip + round(CLOSING * TICK_RATE)
        fresh = jax.tree.map(lambda x: jnp.asarray(x[:, -EVERY:]), record)
        tick = np.arange(ticks - EVERY, ticks)
        marked, more = tick == grip, (tick > grip) & (tick <= hangs) & ((tick - grip) % REOPENED == 0)
        empty = tuple(jnp.asarray(x) for x in _stacked(self._empty(record.angle[:, -1])))
        cog, used, *shown = _compiled(self.pose)(belief.cog, belief.used, fresh, marked, more, *empty)
        belief = replace(belief, cog=cog, used=used)
        if ticks > hangs:
            belief = replace(belief, payload=self._read(belief.payload, record, goals))
            servos = self._with_payload(belief.payload, record.angle[:, -1])
            belief = replace(belief, mass_properties=_fuse(servos, *(np.asarray(x) for x in shown)))
        return belief

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
    settings = CogSettings(period=1.0 / TICK_RATE, rotor_spread=ROTOR, window=WINDOW)
    return CogCore.from_airframe(vehicle(), settings, jnp.deg2rad(jnp.asarray(pose)))


@cache
def _compiled(pose: tuple[float, ...]) -> Any:
    """For N vehicles: the CoG filter over some ticks, the compensation, and mass and centre of mass."""
    cog, nominal = cog_filter(pose), nominal_controller(pose).vehicle

    def watch(
        belief: CogBelief,
        used: Compensation,
        record: GripRecord,
        marked: Any,
        more: Any,
        empty: Any,
        cov: Any,
    ) -> Any:
        def tick(last: CogBelief, now: tuple[GripRecord, Any, Any]) -> tuple[CogBelief, None]:
            r, first, again = now
            last = jax.lax.cond(first, cog.mark, lambda b: b, last)
            last = jax.lax.cond(again, cog.reopen, lambda b: b, last)
            later = cog.tick(last, CogReading(r.gyro, r.force, r.speeds, r.targets, r.angle))
            changed = later.events > last.events
            return jax.lax.cond(changed, lambda: cog.reopen(last), lambda: later), None

        later, _ = jax.lax.scan(tick, belief, (record, marked, more))
        used = update_trim(used, nominal, Trim.of(cog.estimate(later)), EVERY / TICK_RATE)
        return later, used, *with_payload(cog, later, empty, cov)

    return jax.jit(jax.vmap(watch, in_axes=(0, 0, 0, None, None, 0, 0)))


def _stacked(sources: Sequence[MassSource | VehicleMassProperties]) -> tuple[Numbers, Numbers]:
    """Values (N, 4) and covariances (N, 4, 4)."""
    return np.stack([one.value for one in sources]), np.stack([one.cov for one in sources])


def _fuse(
    servos: Sequence[MassSource | None], value: Numbers, cov: Numbers
) -> tuple[VehicleMassProperties | None, ...]:
    """What all say of each vehicle, None where the servos have not seen the payload."""
    flights = (MassSource((0, 1, 2, 3), *both) for both in zip(value, cov, strict=True))
    return tuple(
        None if source is None else fuse_mass_properties(source, flight)
        for source, flight in zip(servos, flights, strict=True)
    )
