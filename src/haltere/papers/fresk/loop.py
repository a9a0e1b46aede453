"""A vehicle flown with its centre of gravity estimated in the loop: plant, sensors, filters and controller.

At every control tick, with the state, the command in force and the vehicle as it is at that time:

    sensors -> filters -> compensation -> controller -> command held until the next tick                  (1)

Only the filters see noisy sensors; the controller gets the true state, so what differs between two flights is what
they believe of the centre of mass. All of it is one scan of `haltere.simulation.closed_loop`. What differs from case
to case is numbers, a `CogCase`, so one compiled function flies them all: `fly_cases` maps it over cases in pieces of
equal width. What is kept of a flight is a `CogLog`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from haltere.airframe import Airframe
from haltere.control import GeometricController
from haltere.control.dither import Dither, dithered
from haltere.control.geometric import allocate, lead_motors, wrench
from haltere.control.trim import Compensation, Trim, update_trim
from haltere.dynamics import Environment, State
from haltere.dynamics.rigid import RigidVehicle
from haltere.dynamics.sensors.imu import sense_motion
from haltere.estimation.cog.belief import CogEstimate, CogReading
from haltere.estimation.cog.core import CogCore
from haltere.estimation.cog.settings import CogSettings
from haltere.foundation.arrays import Array, pytree
from haltere.papers.fresk.paper_filter import PaperBelief, PaperCogFilter, ReferenceCog
from haltere.papers.tables import Progress
from haltere.simulation import Command, Timing, Vehicle, fly
from haltere.simulation.payload import Payload, payload_change
from haltere.simulation.plant import motion_now
from haltere.trajectory import Trajectory


class CogSource(IntEnum):
    """Where the mixer takes the centre of mass from."""

    NOTHING = 0
    """It stays with what it believed at the beginning."""
    OURS = 1
    PAPER = 2
    REFERENCE = 3
    """The paper's ground truth estimator, which integrates the position error."""


@pytree
@dataclass(frozen=True)
class CogCase:
    """One flight, in numbers."""

    key: Array
    source: Any
    controller: GeometricController
    path: Trajectory
    start: State
    offset: Any
    """(3,) what filters and mixer believe at the beginning, m."""
    torque_noise: Any
    """White torque, rad/s2 in each step."""
    wash: Any
    """Strength of the rotor wash on the arm, 1 where the paper describes it."""
    thrust: Any
    """(R,) relative strength of each rotor beyond the nominal."""
    load: Any
    """What the loop's `change` takes."""
    faults: Any
    """(3,) times in s of a rotor-speed dropout of 0.2 s, an accelerometer outlier of 50 m/s2, a gyroscope NaN."""
    dither: Dither


@pytree
@dataclass(frozen=True)
class CogLog:
    """What is kept of each tick; lengths in m."""

    position: Array
    """(3,) of the body origin, world."""
    trim: Array
    """(3,) what balances the vehicle by our filter, body axes."""
    offset: Array
    """(3,) of it from the nominal centre of mass."""
    com: Array
    """(3,) offset of the centre of mass by our filter."""
    cov: Array
    """(3, 3) of it."""
    paper: Array
    """(3,) of the paper's filter."""
    reference: Array
    """(3,) of the paper's ground truth estimator."""
    used: Array
    """(3,) centre of mass that the mixer uses."""
    along: Array
    """() whether the component along the thrust is called observable."""
    counts: Array
    """(reasons,) raised until now, filter and compensation together."""
    mass: Array
    """() kg, estimated."""
    angles: Array
    """(J,) true, rad."""

    @property
    def sigma(self) -> np.ndarray:
        """(..., 3) deviations of our filter, m."""
        return np.asarray(np.sqrt(np.maximum(np.diagonal(np.asarray(self.cov), 0, -2, -1), 0.0)))


RATE = 220.0
"""Hz of filters and controller, [Fresk2017]."""
SETTINGS = CogSettings(rotor_spread=0.01, placement=0.0, accel_bias=0.02)
"""Rotors of one batch that sit where the file says, and an accelerometer with white noise only, as in the paper."""
SUBSTEPS = 4
WIDTH = 25
"""Cases that fly together."""
TORQUE_NOISE = 2.2
"""rad/s2 in each step at 220 Hz: Q of [Fresk2017] eq. (16)."""


@dataclass(frozen=True)
class CogLoop:
    """What all cases share."""

    vehicle: Vehicle
    filter: CogCore
    paper: PaperCogFilter
    duration: float
    change: Callable[[Vehicle, Array, Any], Vehicle] | None = None
    """The vehicle at a time in s, from the case's `load`."""
    push: Callable[[Array, State], Array] | None = None
    """(L, 6) wrenches at strength 1, see `Case.wash`."""
    joints: Callable[[Array], Array] | None = None
    """(J,) rad to command at a time in s."""
    measured_joints: bool = False
    measured_speeds: bool = True

    @classmethod
    def carrying(
        cls,
        airframe: Airframe,
        duration: float,
        payloads: Callable[[Any], tuple[Payload, ...]],
        measured_joints: bool = False,
        measured_speeds: bool = True,
        dithered: bool = False,
    ) -> "CogLoop":
        """An airframe whose payloads follow from the case's `load`; the filters know nothing of them."""
        ours = CogCore.from_airframe(airframe, replace(SETTINGS, dithered=dithered))

        def change(vehicle: Vehicle, time: Array, load: Any) -> Vehicle:
            return payload_change(payloads(load))(vehicle, time)

        return cls(
            Vehicle.from_airframe(airframe),
            ours,
            PaperCogFilter(ours.numbers),
            duration,
            change,
            measured_joints=measured_joints,
            measured_speeds=measured_speeds,
        )

    def fly(self, case: CogCase) -> CogLog:
        """The log of one flight, with a leading axis over ticks."""
        motors, numbers, hold = self.vehicle.motors, self.filter.numbers, case.start.joint_angles
        timing = Timing(self.duration, RATE * SUBSTEPS, RATE)
        gravity = jnp.asarray(Environment().gravity)
        nominal = case.controller.vehicle
        rotors = self.vehicle.model.rotors
        strength = 1.0 + jnp.asarray(case.thrust)
        scaled = replace(
            rotors,
            thrust_coefficient=rotors.thrust_coefficient * strength,
            drag_coefficient=rotors.drag_coefficient * strength,
        )
        vehicle = replace(self.vehicle, model=replace(self.vehicle.model, rotors=scaled))
        noise_key, sensor_key = jax.random.split(case.key)
        white = jax.random.normal(noise_key, (timing.periods, 3))
        links = self.vehicle.model.topology.links

        def push(time: Array, state: State) -> Array:
            turn = nominal.inertia @ white[jnp.int32(time * RATE + 1e-6)] * case.torque_noise
            whole = jnp.zeros((links, 6)).at[0, 3:].set(turn)
            return whole if self.push is None else whole + case.wash * self.push(time, state)

        def change(now: Vehicle, time: Array) -> Vehicle:
            return now if self.change is None else self.change(now, time, case.load)

        def pilot(carry: Any, time: Array, state: State) -> tuple[Any, Command]:
            belief, paper, reference, used, last, key = carry
            key, draw = jax.random.split(key)
            target = motors.target(last.rotors)
            now = change(vehicle, time)
            motion = motion_now(now, state, target, last.joints, Environment(), push(time, state))
            reading = self._reading(now, state, motion, gravity, target, draw, time, case.faults)
            belief = self.filter.tick(belief, reading)
            said = self.filter.estimate(belief)
            body = numbers.imu_rotation
            paper = self.paper.tick(paper, body @ reading.gyro, body @ reading.accel, target)
            wanted = case.path.at(time)
            reference = reference.tick(state.R_WB.T @ (state.position - wanted.position), 1.0 / RATE)
            used = _update_compensation(case, used, nominal, said, paper, reference)
            asked = allocate(used.controller, wrench(used.controller, state, wanted)[0]).u
            squares = lead_motors(
                used.controller, dithered(used.controller, asked, time, case.dither), state.rotor_rates
            )
            joints = hold if self.joints is None else self.joints(time)
            log = CogLog(
                state.position,
                said.trim,
                said.trim - belief.nominal,
                said.offset,
                said.cov,
                paper.offset,
                reference.offset,
                used.controller.vehicle.com,
                said.observable,
                belief.counts + used.counts,
                said.mass,
                state.joint_angles,
            )
            given = Command(motors.command(jnp.sqrt(squares)), joints, log)
            return (belief, paper, reference, used, replace(given, log=None), key), given

        speeds = case.start.rotor_rates
        begun = (
            self.filter.begin(speeds, case.offset),
            self.paper.begin(speeds, case.offset, case.start.twist[3:]),
            ReferenceCog(case.offset),
            Compensation.of(case.controller, case.offset),
            Command(motors.command(speeds), hold if self.joints is None else self.joints(jnp.zeros(()))),
            sensor_key,
        )
        trace = fly(vehicle, case.start, pilot, begun, timing, change=change, push=push)
        log: CogLog = jax.tree.map(lambda x: x[::SUBSTEPS], trace.command.log)
        return log

    def _reading(
        self,
        now: Vehicle,
        state: State,
        motion: Any,
        gravity: Array,
        target: Array,
        key: Array,
        time: Array,
        faults: Array,
    ) -> CogReading:
        numbers = self.filter.numbers
        force, rate = sense_motion(
            now.model, state, motion, gravity, 0, numbers.imu_position, numbers.imu_rotation
        )
        draws = jax.random.split(key, 3)
        gyro = rate + numbers.sigma_gyro * jax.random.normal(draws[0], (3,))
        accel = force + numbers.sigma_accel * jax.random.normal(draws[1], (3,))
        noise = self.filter.settings.speed_sigma * numbers.top_speed
        speeds = state.rotor_rates + noise * jax.random.normal(draws[2], state.rotor_rates.shape)
        dropout, outlier, hole = faults[0], faults[1], faults[2]
        speeds = jnp.where((time >= dropout) & (time < dropout + 0.2), jnp.nan, speeds)
        if not self.measured_speeds:
            speeds = jnp.full_like(speeds, jnp.nan)
        accel = jnp.where(jnp.abs(time - outlier) < 0.5 / RATE, accel + 50.0, accel)
        gyro = jnp.where(jnp.abs(time - hole) < 0.5 / RATE, jnp.nan, gyro)
        joints = state.joint_angles if self.measured_joints else None
        return CogReading(gyro, accel, speeds, target, joints)


def _update_compensation(
    case: CogCase,
    used: Compensation,
    nominal: RigidVehicle,
    estimate: CogEstimate,
    paper: PaperBelief,
    reference: ReferenceCog,
) -> Compensation:
    """The controller in use after the estimate of the case's source."""
    ours = case.source == CogSource.OURS
    kept = nominal.com + jnp.asarray(case.offset)
    places = jnp.stack([kept, estimate.trim, nominal.com + paper.offset, nominal.com + reference.offset])
    found, plain = (
        Trim.of(estimate),
        Trim(kept, jnp.zeros(()), nominal.mass, jnp.zeros(())),
    )
    told = jax.tree.map(lambda mine, none: jnp.where(ours, mine, none), found, plain)
    return update_trim(used, nominal, replace(told, com=places[case.source]), 1.0 / RATE)


def fly_cases(loop: CogLoop, cases: Sequence[CogCase], progress: Progress | None = None) -> CogLog:
    """The logs of all cases, stacked (cases, ticks, ...), as NumPy arrays."""
    together = jax.jit(jax.vmap(loop.fly))
    found = []
    for first in range(0, len(cases), WIDTH):
        piece = list(cases[first : first + WIDTH])
        if progress is not None:
            progress(f"flights {first + 1} to {first + len(piece)} of {len(cases)}")
        count = len(piece)
        filled = piece + [piece[-1]] * (WIDTH - len(piece))
        stacked = jax.tree.map(lambda *x: jnp.stack([jnp.asarray(v) for v in x]), *filled)
        found.append(jax.tree.map(lambda x, n=count: np.asarray(x)[:n], together(stacked)))
    log: CogLog = jax.tree.map(lambda *x: np.concatenate(x), *found)
    return log
