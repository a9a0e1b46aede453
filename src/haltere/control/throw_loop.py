"""From the hand to hover without a plant: readings of IMU, rotor speeds and positions in, commands of the motors out.

    ascend    hand, release noticed, motors excited one after the other, their effectiveness summed up
    conclude  effectiveness, thrust axis, heading, first track
    steer     attitude by incremental inversion, position

A sample is a reading of gyro, accelerometer and rotor speeds; `ThrowLoop` has their rate. Commands are in 0..1, below
zero where the motors are to stand. All methods are pure and take one vehicle; they can be mapped over many.
"""

from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp

from haltere.control.indi import HoverController
from haltere.dynamics.sensors.imu import lever_force
from haltere.estimation.core.low_pass import LowPass
from haltere.estimation.core.rls import forgetting_of
from haltere.estimation.throw.alignment import Alignment, Fixes, align
from haltere.estimation.throw.effectiveness import LATENCIES, Effectiveness, LatencySums, Learner
from haltere.estimation.throw.excitation import ThrowDetector, excitation_time
from haltere.estimation.throw.navigation import Track
from haltere.estimation.throw.reckoning import DeadReckoning
from haltere.estimation.throw.refinement import RetainedRows, Uncertainty, refine
from haltere.estimation.throw.thrust_axis import ThrustAxis, thrust_axis
from haltere.foundation.arrays import Array, ArrayLike, pytree
from haltere.foundation.constants import GRAVITY
from haltere.lie import so3

MEMORY = 2.0
"""s after which a sample counts 1/e: parameters may drift; sums of information cannot wind up."""
POSITION_SIGMA = 4e-4
"""Deviation per axis of an IMU position that tumbles gave, m."""
UNKNOWN_POSITION_SIGMA = 0.02
"""Deviation of an IMU position that nobody knows, m."""
DOUBT = 0.15
"""Share of the largest squared speed by which a hover may seem out of reach and still be tried: noise does that."""
SETTLED = 0.03
"""s after the excitation until the numbers are taken."""
FLOOR = (1e-3, 0.02, 0.005, 1e-3, 1e-2)
"""m, m/s, rad, rad/s, m/s2: deviations that are added to those of the alignment: what its model leaves out."""
STANDING = -1.0
"""Command of a motor that is to stand."""


@pytree
@dataclass(frozen=True)
class SensorNoise:
    """Of one sample, white; and what is left of the accelerometer's bias."""

    gyro: ArrayLike
    """rad/s."""
    accel: ArrayLike
    """m/s2."""
    bias: ArrayLike = 0.02
    speed: ArrayLike = 2.0
    """Of the rotor speeds, rad/s."""
    position: ArrayLike = 1e-3


@pytree
@dataclass(frozen=True)
class TumbleKnowledge:
    """What two throws with the motors at rest gave, IMU axes."""

    imu_position: Array
    """(3,) of the IMU from the centre of mass, m."""
    shape: Array
    """(3, 3) inertia up to scale."""
    inverse: Array
    """(3, 3) of it."""

    @classmethod
    def of(cls, imu_position: Array, shape: Array) -> "TumbleKnowledge":
        """With the inverse."""
        return cls(imu_position, shape, jnp.linalg.inv(shape))

    @classmethod
    def nothing(cls) -> "TumbleKnowledge":
        """No tumbles: a guess and a ball."""
        return cls.of(jnp.zeros(3), jnp.eye(3) / 3.0)


@pytree
@dataclass(frozen=True)
class Ascent:
    """What is carried from sample to sample until the excitation is over."""

    throw: ThrowDetector
    sums: LatencySums
    reckoning: DeadReckoning
    command: Array
    """(m,) in 0..1."""
    notice: Any
    """Filters of force and rate, the gyro before, the rate before."""
    known: TumbleKnowledge


@pytree
@dataclass(frozen=True)
class LearnedVehicle:
    """What the vehicle believes of itself when the excitation is over."""

    effectiveness: Effectiveness
    thrust: ThrustAxis
    uncertainty: Uncertainty
    alignment: Alignment
    latency: Array
    """() of the rotor speeds, s."""


@pytree
@dataclass(frozen=True)
class Hovering:
    """What is carried from sample to sample after that."""

    learned: LearnedVehicle
    controller: HoverController
    track: Track
    filters: Any
    last: Array
    """(3 + m,) gyro and rotor speeds of the sample before."""
    smooth: Array
    """(3 + 2 m,) filtered angular acceleration, squared speeds and rotor accelerations."""
    imu_position: Array
    """(3,) m."""


@dataclass(frozen=True)
class ThrowLoop:
    """The loop for one set of sensors.

    Attributes:
        rate: of IMU and rotor speeds, Hz.
        known: whether tumbles gave position of the IMU and shape of the inertia; if not they are a guess and a ball.
        latencies: of the rotor speeds that are tried, in samples, evenly spaced.
        gyro_late: by how much the gyro is late, by its low-pass and its sampling, and the deviation of that, s.
        latency_doubt: what is left to doubt of the latency of the rotor speeds against accelerometer and gyro, s.
        walk: what IMU errors other than noise and bias do to velocity and attitude, m/s and rad per root s.
        air: whether rotors feel the air that they move through.
    """

    rate: float
    known: bool = True
    latencies: tuple[int, ...] = LATENCIES
    gyro_late: tuple[float, float] = (0.002, 0.002)
    latency_doubt: tuple[float, float] = (0.006, 0.003)
    walk: tuple[float, float] = (0.3, 0.01)
    air: bool = True

    @property
    def period(self) -> float:
        """S between two samples."""
        return 1.0 / self.rate

    @property
    def notice(self) -> LowPass:
        """For the release."""
        return LowPass(60.0, self.rate)

    @property
    def control(self) -> LowPass:
        """For what the controller needs."""
        return LowPass(20.0, self.rate)

    @property
    def learner(self) -> Learner:
        """How effectiveness is learnt."""
        return Learner(
            self.rate,
            forgetting=forgetting_of(self.period, MEMORY),
            products=not self.known,
            latencies=self.latencies,
        )

    def begin(self, accel: Array, known: TumbleKnowledge, rotors: int) -> Ascent:
        """In the hand, with a mean reading of the accelerometer (3,) m/s2."""
        zero = jnp.zeros(3)
        return Ascent(
            ThrowDetector.begin(rotors),
            LatencySums.begin(rotors, not self.known, self.latencies),
            DeadReckoning.begin(accel),
            jnp.full(rotors, STANDING),
            (self.notice.begin(zero), self.notice.begin(zero), zero, zero),
            known,
        )

    def ascend(
        self, now: Ascent, gyro: Array, accel: Array, speeds: Array, applied: Array | None = None
    ) -> Ascent:
        """One sample; `Ascent.command` is what the motors are to do now.

        Args:
            now: until here.
            gyro: (3,) rad/s, IMU axes.
            accel: (3,) m/s2.
            speeds: (m,) rad/s.
            applied: (m,) commands that the motors follow from this sample on; those computed here if None.
        """
        known = now.known
        slow, quick, last, smoothed = now.notice
        quick, smooth = self.notice.step(quick, gyro)
        slope = (gyro - last) * self.rate
        lever = lever_force(gyro, slope, known.imu_position)
        slow, force = self.notice.step(slow, accel - lever)
        throw = now.throw.noticed(force, self.period)
        throw, excited = throw.excited(smooth, (smooth - smoothed) * self.rate)
        command = jnp.where(throw.released, excited, STANDING)
        waiting = now.sums.hold_back(gyro, accel, command if applied is None else applied)
        learned = waiting.update(self.learner, speeds, known.imu_position, known.shape, known.inverse)
        learned = jax.tree.map(lambda a, b: jnp.where(now.throw.released, a, b), learned, waiting)
        reckoning = now.reckoning.restarted(throw.armed & ~now.throw.armed)
        swing = so3.hat(slope) + so3.hat(gyro) @ so3.hat(gyro)
        reckoning = reckoning.step(gyro, accel, lever, swing, GRAVITY, self.period, throw.armed)
        reckoning = reckoning.levelled(force, GRAVITY, self.period)
        return Ascent(throw, learned, reckoning, command, (slow, quick, gyro, smooth), known)

    def locate(self, now: Ascent, fixes: Fixes, position: Array) -> Fixes:
        """The positions until now and one more (3,) m."""
        return fixes.with_fix(now.reckoning, position, jnp.where(now.throw.armed, 1.0, 0.0))

    def begin_rows(self, rotors: int) -> RetainedRows:
        """None kept yet."""
        return RetainedRows.none(rotors, len(self.latencies))

    def keep(self, now: Ascent, rows: RetainedRows) -> RetainedRows:
        """The rows until now and those of now; to be called at `ROW_RATE`."""
        return rows.retained(now.sums, now.reckoning, now.throw.released)

    def ready(self, now: Ascent, rotors: int) -> Array:
        """() whether the excitation is over."""
        return jnp.asarray(now.throw.clock >= excitation_time(rotors) + SETTLED)

    def learn(
        self, now: Ascent, fixes: Fixes, rows: RetainedRows, noise: SensorNoise, compass: Array | None = None
    ) -> LearnedVehicle:
        """Everything that is computed once: parameters, thrust axis, heading.

        Args:
            now: at the end of the excitation.
            fixes: what was seen on the way.
            rows: what was kept.
            noise: of the sensors, as their data sheets state it.
            compass: () heading from a sensor, rad; from the track if None.
        """
        position_sigma = POSITION_SIGMA if self.known else UNKNOWN_POSITION_SIGMA
        first, latency = now.sums.solve(
            self.rate, self.latencies, noise=noise.accel, position_sigma=position_sigma
        )
        alignment = align(
            fixes, now.reckoning, jnp.maximum(noise.position, 2e-3), position_sigma, self.gyro_late, compass
        )
        known = now.known.shape, now.known.inverse
        learned, uncertainty = refine(
            rows,
            now.sums,
            first,
            alignment,
            known,
            self.learner,
            position_sigma,
            noise.bias,
            self.latency_doubt,
            self.air,
        )
        top = jnp.maximum(learned.max_speed, 1.0)
        low, high = -DOUBT * top**2, (1.0 + DOUBT) * top**2
        thrust = thrust_axis(learned.force, learned.torque, low, high, squarings=10, gravity=GRAVITY)
        return LearnedVehicle(learned, thrust, uncertainty, alignment, latency)

    def hover(self, now: Ascent, learned: LearnedVehicle, speeds: Array) -> Hovering:
        """The begin of the second part, with the rotor speeds (m,) of the last sample."""
        a, rotors = learned.alignment, speeds.shape[0]
        floor = jnp.diag(jnp.repeat(jnp.asarray(FLOOR) ** 2, 3))
        settled = jnp.concatenate([jnp.zeros(3), speeds**2, jnp.zeros(rotors)])
        b, _, a2 = self.control.coefficients
        return Hovering(
            learned,
            HoverController.from_effectiveness(learned.effectiveness, learned.thrust),
            Track.aligned(a.position, a.velocity, a.wxyz, a.bias, a.P + floor),
            ((1.0 - b) * settled, (b - a2) * settled),
            jnp.concatenate([now.reckoning.rate, speeds]),
            settled,
            now.known.imu_position + learned.effectiveness.shift,
        )

    def sense(self, now: Hovering, gyro: Array, accel: Array, speeds: Array) -> Hovering:
        """One sample of the second part."""
        seen = jnp.concatenate([gyro, speeds])
        slopes = (seen - now.last) * self.rate
        late = jnp.concatenate([jnp.zeros(3), jnp.full(speeds.shape[0], now.learned.latency)])
        lever = lever_force(gyro, slopes[:3], now.imu_position)
        # Late speeds are carried on along their slope; the low-pass takes the noise of that.
        raw = jnp.concatenate([slopes[:3], (seen + late * slopes)[3:] ** 2, slopes[3:]])
        filters, smooth = self.control.step(now.filters, raw)
        track = now.track.propagate(gyro, accel - lever, GRAVITY, self.period)
        return replace(now, track=track, filters=filters, last=seen, smooth=smooth)

    def correct(self, now: Hovering, position: Array, period: ArrayLike, noise: SensorNoise) -> Hovering:
        """A position (3,) m, `period` s after the last."""
        walk = (
            jnp.asarray(noise.accel) * self.period**0.5 + self.walk[0],
            jnp.asarray(noise.gyro) * self.period**0.5 + self.walk[1],
        )
        a, R = now.learned.alignment, so3.from_wxyz(now.track.wxyz)
        arm = jnp.stack([R @ a.marker, R @ jnp.cross(now.last[:3], a.marker)])
        sigma = jnp.maximum(jnp.maximum(noise.position, 1e-3), 0.7 * a.deviation)
        return replace(now, track=now.track.correct(position, sigma, period, walk, arm, a.latency))

    def steer(self, now: Hovering, goal: Array, period: float) -> tuple[Hovering, Array]:
        """Commands (m,) towards a setpoint (3,) m; to be called every `period` s."""
        m = now.last.shape[0] - 3
        controller, wanted = now.controller.acceleration(
            now.track.position, now.track.velocity, goal, GRAVITY, period
        )
        smooth = now.smooth
        command = controller.command(
            now.track.wxyz, wanted, now.last[:3], smooth[:3], smooth[3 : 3 + m], smooth[3 + m :], now.last[3:]
        )
        return replace(now, controller=controller), command
