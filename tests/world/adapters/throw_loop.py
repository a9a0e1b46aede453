"""The program's loop from the hand to hover, driven by readings of the world.

The program's own are all parts: `ThrowDetector` (release, excitation), `LatencySums` (effectiveness, motors, lateness),
`learn` (thrust axis, heading, first track), `Track`, `HoverController`. Not the program's own is what calls them:
`haltere.scenarios.throw.chain` has its plant inside the loop, so `rise` and `steer` are its two loops without the
plant. What differs from `haltere throw`:

- one sample every 2 ms and not every 0.5 ms, so that the latencies tried are 0, 4 and 8 ms and not 0, 1 and 2 ms;
- readings are those of the world's flight controller: the gyro with all its errors, the accelerometer without vibration
  and filter, rotor speeds and positions as they are; lateness and noise of these are in the log only;
- positions are those of the airframe's origin, not of the centre of mass;
- the time at which the hand begins to move is told to the loop: the half second before it is the rest of the first
  attitude.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from tests.world.hand import Throws
from tests.world.pilot import PERIOD, Measured

from haltere.dynamics.sensors.imu import lever_force
from haltere.estimation.core.low_pass import LowPass
from haltere.estimation.core.rls import forgetting_of
from haltere.estimation.throw.effectiveness import LATENCIES, LatencySums, Learner
from haltere.estimation.throw.excitation import ThrowDetector, excitation_time
from haltere.estimation.throw.navigation import level as level_attitude
from haltere.estimation.throw.navigation import rotate_by_gyro
from haltere.foundation.arrays import Array, pytree
from haltere.foundation.constants import GRAVITY
from haltere.lie import so3
from haltere.scenarios.throw.case import RATE as CHAIN_RATE
from haltere.scenarios.throw.case import TICK, Fixes, Launch, SensorNoise
from haltere.scenarios.throw.chain import MEMORY, REST_SECONDS, LearnedVehicle, learn
from haltere.scenarios.throw.throws import LaunchSettings

RATE = 1.0 / PERIOD
EVERY = round(TICK / PERIOD)
"""Samples from one position to the next."""
NOTICE, CONTROL_FILTER = LowPass(60.0, RATE), LowPass(20.0, RATE)
"""As in `haltere.scenarios.throw.chain`, for this rate."""
SETTLED = 0.03
"""s after the excitation until the numbers are taken: about the chain's."""
SEEN = 100
"""Positions that are kept for the heading."""
LATEST = 2.0
"""s after release in which the excitation ends."""
GOAL = LaunchSettings().goal


@pytree
@dataclass(frozen=True)
class Tumbled:
    """What the vehicle knows before, in axes of the IMU.

    Attributes:
        imu_position: (3,) of the IMU from the centre of mass, m.
        shape: (3, 3) inertia up to scale.
    """

    imu_position: Array
    shape: Array

    @classmethod
    def nothing(cls) -> "Tumbled":
        """No tumbles: as `haltere throw --no-prior-throws` begins."""
        return cls(jnp.zeros(3), jnp.eye(3) / 3.0)


@pytree
@dataclass(frozen=True)
class Loop:
    """One vehicle between two samples.

    Attributes:
        launch: of the program, its plant left out.
        fixes: the last positions.
        learned: what it believes of itself, once `hovers`.
        filters: of the controller's signals.
        last: (3 + m,) gyro and rotor speeds of the sample before.
        hovers: () whether it is past the excitation.
    """

    launch: Launch
    fixes: Fixes
    learned: LearnedVehicle
    filters: Any
    last: Array
    hovers: Array


def begin(rest: Array, known: Tumbled, noise: SensorNoise, rotors: int, prior: bool) -> Loop:
    """In the hand, with the mean reading of the accelerometer at rest (3,) m/s2."""
    zero3, m = jnp.zeros(3), rotors
    launch = Launch(
        None,  # type: ignore[arg-type]
        ThrowDetector.begin(m), LatencySums.begin(m, not prior), level_attitude(rest), zero3, zero3, jnp.zeros(m),
        jnp.zeros(()),
        (NOTICE.begin(zero3), NOTICE.begin(zero3), zero3, zero3), jnp.linalg.inv(known.shape),
        jnp.zeros((LATENCIES[-1] + 1, m)), jnp.zeros((3, 3)), jnp.zeros((3, 3)),
    )  # fmt: skip
    zeros = jnp.zeros((SEEN,))
    fixes = Fixes(zeros, jnp.zeros((SEEN, 3)), jnp.zeros((SEEN, 3, 3)), jnp.zeros((SEEN, 3)), zeros)
    signals = jnp.zeros(3 + 2 * m)
    return Loop(
        launch,
        fixes,
        learn(launch, fixes, noise, known=prior),
        CONTROL_FILTER.begin(signals),
        jnp.zeros(3 + m),
        jnp.asarray(False),
    )


def rise(now: Launch, known: Tumbled, gyro: Array, accel: Array, speeds: Array, prior: bool) -> Launch:
    """One sample of the first part, `haltere.scenarios.throw.chain.launch`; its command is in force from now on."""
    learner = Learner(RATE, forgetting=forgetting_of(PERIOD, MEMORY), products=not prior)
    slow, quick, last, smoothed = now.notice
    quick, smooth = NOTICE.step(quick, gyro)
    slope = (gyro - last) * RATE
    lever = lever_force(gyro, slope, known.imu_position)
    slow, force = NOTICE.step(slow, accel - lever)
    throw = now.throw.noticed(force, PERIOD)
    throw, command = throw.excited(smooth, (smooth - smoothed) * RATE)
    waiting = now.sums.hold_back(gyro, accel, command)
    learned = waiting.update(learner, speeds, known.imu_position, known.shape, now.inverse)
    learned = jax.tree.map(lambda a, b: jnp.where(now.throw.released, a, b), learned, waiting)
    free = jnp.where(now.throw.released, 1.0, 0.0)
    R_LI = so3.from_wxyz(now.wxyz)
    push = R_LI @ (accel - lever) - jnp.asarray([0.0, 0.0, GRAVITY])
    swing = R_LI @ (so3.hat(slope) + so3.hat(gyro) @ so3.hat(gyro))
    return Launch(
        now.state,
        throw,
        learned,
        rotate_by_gyro(now.wxyz, gyro, PERIOD),
        now.displacement + free * PERIOD * (now.displacement_rate + 0.5 * PERIOD * push),
        now.displacement_rate + free * PERIOD * push,
        command,
        jnp.maximum(now.worst, free * jnp.max(jnp.abs(gyro))),
        (slow, quick, gyro, smooth),
        now.inverse,
        now.past_rotor_speeds,
        now.lever_displacement + free * PERIOD * (now.lever_rate + 0.5 * PERIOD * swing),
        now.lever_rate + free * PERIOD * swing,
    )


def steer(now: Loop, known: Tumbled, gyro: Array, accel: Array, speeds: Array) -> tuple[Loop, Array]:
    """One sample of the second part, `haltere.scenarios.throw.chain.hover`, and the commands (m,)."""
    learned, m = now.learned, speeds.shape[0]
    seen = jnp.concatenate([gyro, speeds])
    slopes = (seen - now.last) * RATE
    late = jnp.concatenate([jnp.zeros(3), jnp.full(m, learned.latency)])
    lever = lever_force(gyro, slopes[:3], known.imu_position + learned.effectiveness.shift)
    raw = jnp.concatenate([slopes[:3], (seen + late * slopes)[3:] ** 2, slopes[3:]])
    filters, smooth = CONTROL_FILTER.step(now.filters, raw)
    track = learned.track.propagate(gyro, accel - lever, GRAVITY, PERIOD)
    controller, wanted = learned.controller.acceleration(
        track.position, track.velocity, jnp.asarray(GOAL), GRAVITY, PERIOD
    )
    command = controller.command(
        track.wxyz, wanted, gyro, smooth[:3], smooth[3 : 3 + m], smooth[3 + m :], speeds
    )
    learned = replace(learned, track=track, controller=controller)
    return replace(now, learned=learned, filters=filters, last=seen), command


def advance(
    now: Loop, known: Tumbled, gyro: Array, accel: Array, speeds: Array, prior: bool
) -> tuple[Loop, Array]:
    """One sample of whichever part it is in, and the commands (m,), below 0 while the motors stand in the hand."""
    launch = rise(now.launch, known, gyro, accel, speeds, prior)
    steered, command = steer(now, known, gyro, accel, speeds)
    excited = jnp.where(launch.throw.released, launch.command, -1.0)
    waiting = replace(now, launch=launch, last=jnp.concatenate([gyro, speeds]))
    after = jax.tree.map(lambda a, b: jnp.where(now.hovers, a, b), steered, waiting)
    return after, jnp.where(now.hovers, command, excited)


def locate(now: Loop, position: Array, noise: SensorNoise) -> Loop:
    """Take a position (3,) m in: for the heading in the first part, for the track in the second."""
    launch = now.launch
    weight = jnp.where(launch.throw.released, 1.0, 0.0)
    fix = Fixes(launch.throw.clock, launch.displacement, launch.lever_displacement, position, weight)
    fixes = jax.tree.map(lambda kept, new: jnp.concatenate([kept[1:], new[None]]), now.fixes, fix)
    walk = (
        jnp.asarray(noise.accel) * PERIOD**0.5 + 0.05,
        jnp.asarray(noise.gyro) * PERIOD**0.5 + 2e-3,
    )
    track = now.learned.track.correct(position, jnp.maximum(noise.position, 1e-3), TICK, walk)
    corrected = replace(now, learned=replace(now.learned, track=track))
    return jax.tree.map(lambda a, b: jnp.where(now.hovers, a, b), corrected, replace(now, fixes=fixes))


def conclude(now: Loop, noise: SensorNoise, rotors: int, prior: bool) -> Loop:
    """From the first part to the second, where the excitation is just over."""
    launch = now.launch
    ready = ~now.hovers & (launch.throw.clock >= excitation_time(rotors) + SETTLED)
    learned = learn(launch, now.fixes, noise, known=prior)
    learned = replace(learned, latency=learned.latency * (CHAIN_RATE / RATE))
    settled = jnp.concatenate([jnp.zeros(3), now.last[3:] ** 2, jnp.zeros(rotors)])
    b, _, a2 = CONTROL_FILTER.coefficients
    after = replace(
        now, learned=learned, filters=((1.0 - b) * settled, (b - a2) * settled), hovers=jnp.asarray(True)
    )
    return jax.tree.map(lambda a, b: jnp.where(ready, a, b), after, now)


@partial(jax.jit, static_argnames=("rotors", "prior"))
def _begin(rest: Array, known: Tumbled, noise: SensorNoise, rotors: int, prior: bool) -> Loop:
    return jax.vmap(partial(begin, noise=noise, rotors=rotors, prior=prior))(rest, known)


@jax.jit
def _wait(loops: Loop, rest: Array, waits: Array) -> Loop:
    wxyz = jnp.where(waits[:, None], jax.vmap(level_attitude)(rest), loops.launch.wxyz)
    return replace(loops, launch=replace(loops.launch, wxyz=wxyz))


@partial(jax.jit, static_argnames="prior")
def _advance(
    loops: Loop, known: Tumbled, gyro: Array, accel: Array, speeds: Array, prior: bool
) -> tuple[Loop, Array]:
    return jax.vmap(partial(advance, prior=prior))(loops, known, gyro, accel, speeds)


@jax.jit
def _locate(loops: Loop, position: Array, noise: SensorNoise) -> Loop:
    return jax.vmap(partial(locate, noise=noise))(loops, position)


@partial(jax.jit, static_argnames=("rotors", "prior"))
def _conclude(loops: Loop, noise: SensorNoise, rotors: int, prior: bool) -> Loop:
    return jax.vmap(partial(conclude, noise=noise, rotors=rotors, prior=prior))(loops)


class Thrower:
    """Controller and mixer of a batch in one: the mixer asks the loops for their commands.

    Args:
        plans: the throw of each flight.
        known: what each knows before, stacked.
        prior: whether tumbles gave it.
        noise: of the sensors, as their data sheets state it.
        rotors: how many.

    Attributes:
        loops: of all flights, stacked; None in the hand.
        concluded: (N,) s, when the excitation was over; -1 before.
    """

    def __init__(
        self, plans: Sequence[Throws], known: Tumbled, prior: bool, noise: SensorNoise, rotors: int
    ) -> None:
        self.known, self.prior, self.noise, self.rotors = known, prior, noise, rotors
        self.strokes = np.array([plan.starts[1] for plan in plans])
        self.last_release = max(plan.releases[0] for plan in plans)
        self.rest = np.zeros((len(plans), 3))
        self.concluded = np.full(len(plans), -1.0)
        self.count = 0
        self.loops: Loop | None = None

    def controller(self, *_: object):
        """As `fly` asks for it; no lift and no angular acceleration is wanted of a mixer."""

        def control(measured: Measured, sticks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return np.zeros_like(measured.gyro[0]), np.zeros_like(measured.gyro)

        return control

    def mixer(self, *_: object):
        """As `fly` asks for it."""
        return lambda measured, lift, angular: self(measured)

    def __call__(self, measured: Measured) -> np.ndarray:
        """Commands (m, N) for what is measured; below 0 the motors stand."""
        time = measured.time
        resting = (time >= self.strokes - REST_SECONDS) & (time < self.strokes)
        self.rest += np.where(resting, measured.accel, 0.0).T
        if time < self.strokes.min():
            return np.full(measured.speed.shape, -1.0)
        if self.loops is None:
            self.loops = _begin(self._up(), self.known, self.noise, self.rotors, self.prior)
        waits = time < self.strokes
        if waits.any():
            self.loops = _wait(self.loops, self._up(), jnp.asarray(waits))
        if self.count % EVERY == 0:
            self.loops = _locate(self.loops, jnp.asarray(measured.position.T), self.noise)
            if time < self.last_release + LATEST:
                self.loops = _conclude(self.loops, self.noise, self.rotors, self.prior)
                self.concluded = np.where(self.loops.hovers & (self.concluded < 0.0), time, self.concluded)
        self.count += 1
        readings = (jnp.asarray(x.T) for x in (measured.gyro, measured.accel, measured.speed))
        self.loops, command = _advance(self.loops, self.known, *readings, prior=self.prior)
        return np.nan_to_num(np.asarray(command).T)

    def _up(self) -> Array:
        """(N, 3) sums of the readings at rest; upright before there is any."""
        seen = np.any(self.rest != 0.0, axis=1, keepdims=True)
        return jnp.asarray(np.where(seen, self.rest, [0.0, 0.0, 1.0]))
