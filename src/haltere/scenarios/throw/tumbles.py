"""Simulated throw-and-catches with still rotors: what they tell of the IMU's position and of the shape of the inertia.

Throws reach about one metre, and sensors read with `Errors`, larger than those that [Blaha2024] names. `tumble_runs`
asks how well the position is found over many draws, and whether the ellipsoid covers; `simulate_tumbles` is what two
of them tell a vehicle before it is thrown in earnest.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
from scipy.spatial.transform import Rotation

from haltere.airframe import Airframe, from_catalogue
from haltere.airframe.airframe import Drag
from haltere.dynamics import Model, State
from haltere.dynamics.rigid import Compact
from haltere.dynamics.sensors.imu import specific_force_and_rate
from haltere.dynamics.sensors.noise import sample_sigma, white
from haltere.foundation.arrays import Array, double_precision
from haltere.foundation.constants import GRAVITY
from haltere.foundation.numbers import Floats
from haltere.identification.tumble.imu_position import Budget, ImuPosition, locate_imu
from haltere.identification.tumble.inertia import inertia_shape
from haltere.identification.tumble.tumble import Tumble, filter_tumble
from haltere.lie import so3
from haltere.simulation import Command, Timing, Vehicle, fly

RATE = 1000.0
SPIN = 12.0
"""rad/s."""
RELEASE_SPEED = 4.4
"""m/s at release: one metre."""
SECONDS = 0.8
NAMED_AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
SCATTER = 0.15
"""rad: how far from the named axis a hand throws, one sigma per component."""
REACH = 0.01
"""m: one sigma of each component of the IMU's position."""


@dataclass(frozen=True)
class Errors:
    """Sizes of the errors of a calibrated vehicle that is round, one sigma."""

    bias: float = 0.02
    scale: float = 0.005
    misalignment: float = float(np.deg2rad(0.3))
    drag: float = 0.15
    """Specific force at the speed of release, m/s2."""

    @property
    def budget(self) -> Budget:
        """The same, as `locate_imu` takes it."""
        return Budget(self.bias, self.scale, self.misalignment, lag=2e-4, drag=self.drag, uneven=0.0)


@dataclass(frozen=True)
class TumbleRun:
    """One run: the truth, the throws, and what was found."""

    position: Floats
    throws: tuple[Tumble, ...]
    estimate: ImuPosition

    @property
    def error(self) -> float:
        """Distance from the truth, m."""
        return float(np.linalg.norm(self.estimate.position - self.position))


def thrown_vehicle(drag: float) -> Airframe:
    """The 3-inch quadrotor, its still rotors part of the body, with a drag of `drag` m/s2 at the speed of release."""
    airframe = from_catalogue("indiflight-3inch")
    mass, com, inertia = Compact.from_model(Model.from_airframe(airframe)).mass_properties
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = np.asarray(inertia).tolist()
    quadratic = drag * float(mass) / RELEASE_SPEED**2
    body = {
        "mass": float(mass),
        "com": tuple(np.asarray(com).tolist()),
        "inertia": (xx, yy, zz, xy, xz, yz),
        "drag": Drag(quadratic=(quadratic, quadratic, quadratic)),
    }
    return airframe.model_copy(update={"rotors": (), "body": airframe.body.model_copy(update=body)})


@double_precision()
def tumble_runs(
    key: Array,
    runs: int = 100,
    axes: Sequence[str] = ("x", "y"),
    errors: Errors | None = None,
    budget: Budget | None = None,
    scatter: float = SCATTER,
) -> list[TumbleRun]:
    """Throw `runs` vehicles about each of `axes`, and find the positions of their IMUs.

    Each run draws the position of the IMU, the errors of its sensors, and throws, each with a spin of 12 rad/s near one
    body axis. Rigid-body motion, drag and readings are the simulator's.
    """
    sizes = errors or Errors()
    airframe = thrown_vehicle(sizes.drag)
    vehicle = Vehicle.from_airframe(airframe)
    timing = Timing(SECONDS, RATE, RATE)
    still = jnp.zeros(len(airframe.rotors))
    gravity = jnp.asarray([0.0, 0.0, -GRAVITY])
    imu = airframe.imu[0]
    sigmas = (
        sample_sigma(imu.sigma_gyro, imu.sigma_gyro_density, RATE),
        sample_sigma(imu.sigma_accel, imu.sigma_accel_density, RATE),
    )

    def one(draw: Array) -> tuple[Array, Array, Array]:
        keys = jax.random.split(draw, 3)
        place = REACH * jax.random.normal(keys[0], (3,))

        def throw(axis: Array, number: Array) -> tuple[Array, Array]:
            part = jax.random.split(jax.random.fold_in(keys[1], number), 4)
            direction = axis + scatter * jax.random.normal(part[0], (3,))
            spin = SPIN * direction / jnp.linalg.norm(direction)
            attitude = jax.random.normal(part[1], (4,))
            q = attitude / jnp.linalg.norm(attitude)
            velocity = jnp.asarray([0.0, 0.0, RELEASE_SPEED]) + 0.3 * jax.random.normal(part[2], (3,))
            v_B = so3.from_wxyz(q).T @ velocity
            rest = State.rest(vehicle.model)
            start = replace(rest, wxyz=q, twist=jnp.concatenate([v_B, spin]))
            trace = fly(vehicle, start, lambda c, t, s: (c, Command(still, jnp.zeros(0))), 0.0, timing)
            force, rate = specific_force_and_rate(
                vehicle.model, trace.state, trace.motion, gravity, 0, place, jnp.eye(3)
            )
            return _read(keys[2], part[3], rate, force, sigmas, sizes)

        return place, *jax.vmap(throw)(
            jnp.asarray([NAMED_AXES[name] for name in axes]), jnp.arange(len(axes))
        )

    places, gyros, accels = (np.asarray(x) for x in jax.jit(jax.vmap(one))(jax.random.split(key, runs)))
    found = []
    for place, gyro, accel in zip(places, gyros, accels, strict=True):
        throws = tuple(filter_tumble(w, f, RATE) for w, f in zip(gyro, accel, strict=True))
        found.append(TumbleRun(place, throws, locate_imu(throws, budget or sizes.budget)))
    return found


def _read(
    sensor: Array, noise: Array, gyro: Array, accel: Array, sigmas: tuple[float, float], errors: Errors
) -> tuple[Array, Array]:
    """Readings (T, 3) of gyro and accelerometer: `sensor` draws what stays with the sensor, `noise` what does not."""
    found = []
    for number, (true, sigma, bias) in enumerate(((gyro, sigmas[0], 0.0), (accel, sigmas[1], errors.bias))):
        keys = jax.random.split(jax.random.fold_in(sensor, number), 3)
        gain = jnp.eye(3) + jnp.diag(errors.scale * jax.random.normal(keys[0], (3,)))
        gain = gain + errors.misalignment * so3.hat(jax.random.normal(keys[1], (3,)))
        offset = bias * jax.random.normal(keys[2], (3,))
        found.append(true @ gain.T + offset + white(jax.random.fold_in(noise, number), len(true), 3, sigma))
    return found[0], found[1]


AXES = np.eye(3)[:2]
"""Body axes about which the vehicle is spun."""


@dataclass(frozen=True)
class TumbleEstimates:
    """What the tumbles gave, IMU axes: positions (n, 3) in m, shapes (n, 3, 3) of trace 1."""

    imu_position: Floats
    shape: Floats


def simulate_tumbles(
    inertia: Floats,
    imu_position: Floats,
    imu_rotation: Floats,
    noise: tuple[float, float],
    rng: np.random.Generator,
    errors: Errors | None = None,
) -> TumbleEstimates:
    """Throw and catch `n` vehicles twice.

    Each is thrown once about each of `AXES`, rotors still, and reads its own sensors; `locate_imu` and `inertia_shape`
    do the rest. With inertia I, rate w, drag per mass d, and the IMU at r, all vehicles of a batch are integrated
    together (midpoint rule) by

        I w' = -w x I w,     v' = g + d,   d = -c |v| v,     f = R^T d + w' x r + w x (w x r)              (1)

    Args:
        inertia: (n, 3, 3) kg m2, body axes.
        imu_position: (n, 3) of the IMU from the centre of mass, body axes, m.
        imu_rotation: (n, 3, 3) R_BI.
        noise: of one sample of gyro and accelerometer, rad/s and m/s2.
        rng: where the draws come from.
        errors: of the sensors, and drag.
    """
    sizes = errors or Errors()
    gains, offsets = _sensors(len(imu_position), sizes, rng)
    throws = []
    for axis in AXES:
        rate, force = _thrown(inertia, imu_position, axis, sizes.drag, rng)
        read = []
        for number, true in enumerate((rate, force)):
            seen = (
                np.einsum("nij,tnj->tni", gains[number] @ np.swapaxes(imu_rotation, 1, 2), true)
                + offsets[number]
            )
            read.append(seen + noise[number] * rng.normal(size=seen.shape))
        throws.append(read)
    places, shapes = [], []
    for i in range(len(imu_position)):
        pair = [filter_tumble(gyro[:, i], accel[:, i], RATE) for gyro, accel in throws]
        places.append(locate_imu(pair, sizes.budget).position)
        shapes.append(inertia_shape([each.gyro for each in pair], pair[0].rate))
    return TumbleEstimates(np.array(places), np.array(shapes))


def _sensors(count: int, errors: Errors, rng: np.random.Generator) -> tuple[list[Floats], list[Floats]]:
    """Gains (n, 3, 3) and offsets (n, 3) of gyro and accelerometer, which stay with a vehicle."""
    gains, offsets = [], []
    for bias in (0.0, errors.bias):
        turned = Rotation.from_rotvec(errors.misalignment * rng.normal(size=(count, 3))).as_matrix()
        gains.append(turned * (1.0 + errors.scale * rng.normal(size=(count, 1, 3))))
        offsets.append(bias * rng.normal(size=(count, 3)))
    return gains, offsets


def _thrown(
    inertia: Floats, imu_position: Floats, axis: Floats, drag: float, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """(T, n, 3) true rates and specific forces at the IMU, body axes, of one throw of each vehicle by equation (1)."""
    n, dt = len(imu_position), 1.0 / RATE
    inverse = np.asarray(np.linalg.inv(inertia), np.float64)
    about = axis + SCATTER * rng.normal(size=(n, 3))
    w = SPIN * about / np.linalg.norm(about, axis=1, keepdims=True)
    R = Rotation.random(n, random_state=rng)
    v = np.array([0.0, 0.0, RELEASE_SPEED]) + 0.3 * rng.normal(size=(n, 3))
    down = np.array([0.0, 0.0, -GRAVITY])

    def apply(matrix: Floats, x: Floats) -> Floats:
        return np.asarray(np.einsum("nij,nj->ni", matrix, x))

    def slope(x: Floats) -> Floats:
        return apply(inverse, -np.cross(x, apply(inertia, x)))

    rates, forces = [], []
    for _ in range(round(SECONDS * RATE)):
        turning = slope(w)
        pull = -drag / RELEASE_SPEED**2 * np.linalg.norm(v, axis=1, keepdims=True) * v
        rates.append(w)
        forces.append(
            R.inv().apply(pull) + np.cross(turning, imu_position) + np.cross(w, np.cross(w, imu_position))
        )
        middle = w + 0.5 * dt * turning
        w = w + dt * slope(middle)
        R = R * Rotation.from_rotvec(dt * middle)
        v = v + dt * (down + pull)
    return np.array(rates), np.array(forces)
