"""What two throw-and-catches tell a vehicle before it is thrown in earnest: place of its IMU and shape of its inertia.

Each vehicle is thrown about one metre high, once about each of `AXES`, rotors still, and reads its own sensors with
the errors of `haltere.scenarios.throw.simulated_tumbles`; `imu_place` and `inertia_shape` do the rest. With inertia
I, rate w, drag per mass d, and the IMU at r, all vehicles of a batch are integrated together (midpoint rule) by

    I w' = -w x I w,     v' = g + d,   d = -c |v| v,     f = R^T d + w' x r + w x (w x r)                  (1)
"""

from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from haltere.foundation.constants import GRAVITY
from haltere.foundation.numbers import Floats
from haltere.identification.tumble.imu_position import Budget, imu_place
from haltere.identification.tumble.inertia import inertia_shape
from haltere.identification.tumble.tumble import tumble
from haltere.scenarios.throw.simulated_tumbles import RATE, RISE, SCATTER, SECONDS, SPIN, Errors

AXES = np.eye(3)[:2]
"""Body axes about which the vehicle is spun."""


@dataclass(frozen=True)
class Tumbled:
    """What the tumbles gave, IMU axes: places (n, 3) in m, shapes (n, 3, 3) of trace 1."""

    place: Floats
    shape: Floats


def tumbled(
    inertia: Floats,
    place: Floats,
    turn: Floats,
    noise: tuple[float, float],
    rng: np.random.Generator,
    errors: Errors | None = None,
) -> Tumbled:
    """Throw and catch `n` vehicles twice.

    Args:
        inertia: (n, 3, 3) kg m2, body axes.
        place: (n, 3) of the IMU from the centre of mass, body axes, m.
        turn: (n, 3, 3) R_BI.
        noise: of one sample of gyro and accelerometer, rad/s and m/s2.
        rng: where the draws come from.
        errors: of the sensors, and drag.
    """
    sizes = errors or Errors()
    gains, offsets = _sensors(len(place), sizes, rng)
    throws = []
    for axis in AXES:
        rate, force = _thrown(inertia, place, axis, sizes.drag, rng)
        read = []
        for number, true in enumerate((rate, force)):
            seen = np.einsum("nij,tnj->tni", gains[number] @ np.swapaxes(turn, 1, 2), true) + offsets[number]
            read.append(seen + noise[number] * rng.normal(size=seen.shape))
        throws.append(read)
    budget = Budget()
    places, shapes = [], []
    for i in range(len(place)):
        pair = [tumble(gyro[:, i], accel[:, i], RATE) for gyro, accel in throws]
        places.append(imu_place(pair, budget).position)
        shapes.append(inertia_shape([each.gyro for each in pair], pair[0].rate))
    return Tumbled(np.array(places), np.array(shapes))


def _sensors(count: int, errors: Errors, rng: np.random.Generator) -> tuple[list[Floats], list[Floats]]:
    """Gains (n, 3, 3) and offsets (n, 3) of gyro and accelerometer, which stay with a vehicle."""
    gains, offsets = [], []
    for bias in (0.0, errors.bias):
        turned = Rotation.from_rotvec(errors.misalignment * rng.normal(size=(count, 3))).as_matrix()
        gains.append(turned * (1.0 + errors.scale * rng.normal(size=(count, 1, 3))))
        offsets.append(bias * rng.normal(size=(count, 3)))
    return gains, offsets


def _thrown(
    inertia: Floats, place: Floats, axis: Floats, drag: float, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """(T, n, 3) true rates and specific forces at the IMU, body axes, of one throw of each vehicle by equation (1)."""
    n, dt = len(place), 1.0 / RATE
    inverse = np.asarray(np.linalg.inv(inertia), np.float64)
    about = axis + SCATTER * rng.normal(size=(n, 3))
    w = SPIN * about / np.linalg.norm(about, axis=1, keepdims=True)
    R = Rotation.random(n, random_state=rng)
    v = np.array([0.0, 0.0, RISE]) + 0.3 * rng.normal(size=(n, 3))
    down = np.array([0.0, 0.0, -GRAVITY])

    def apply(matrix: Floats, x: Floats) -> Floats:
        return np.asarray(np.einsum("nij,nj->ni", matrix, x))

    def slope(x: Floats) -> Floats:
        return apply(inverse, -np.cross(x, apply(inertia, x)))

    rates, forces = [], []
    for _ in range(round(SECONDS * RATE)):
        turning = slope(w)
        pull = -drag / RISE**2 * np.linalg.norm(v, axis=1, keepdims=True) * v
        rates.append(w)
        forces.append(R.inv().apply(pull) + np.cross(turning, place) + np.cross(w, np.cross(w, place)))
        middle = w + 0.5 * dt * turning
        w = w + dt * slope(middle)
        R = R * Rotation.from_rotvec(dt * middle)
        v = v + dt * (down + pull)
    return np.array(rates), np.array(forces)
