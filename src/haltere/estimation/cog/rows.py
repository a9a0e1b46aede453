"""A window as five rows: two of torque across the thrust, three of specific force.

With the means and slopes of a window, mass m, inertia I and centre of mass c_0 of the airframe file, force F and torque
t of its rotors about c_0, gyroscopic torque G, and momentum h of the rotors, torque that the file does not explain is

    y = I w' + h' + G - t = F x d + ...,     (y x F) / |F|^2 = d across F                                   (1)

an offset in metres, whose noise does not depend on the thrust. The accelerometer at l from the centre reads

    f = (1 + u) F / m + L (l - d_along) + air + bias,   L = [w'] + mean([w][w])                             (2)

What is doubtful of inertia, delay and positions only widens the rows: a loop that answers gusts correlates them all.
"""

from dataclasses import dataclass

import jax.numpy as jnp

from haltere.dynamics.rigid import RigidVehicle
from haltere.estimation.cog.settings import CogSettings
from haltere.estimation.cog.vehicle import CogNumbers
from haltere.estimation.cog.windows import (
    ACCEL,
    FORCE,
    GYROSCOPIC,
    MOMENTUM,
    PRODUCTS,
    RATE,
    SQUARED_SPEEDS,
    TORQUE,
    Windows,
)
from haltere.foundation.arrays import Array, pytree
from haltere.lie import so3

USUAL = (0.5, 2.0)
"""Specific force over what the nominal rotors give the nominal mass; beyond it the accelerometer is wrong."""
STUCK = 0.35
"""Share of a window's samples at its largest or smallest value from which a sensor counts as stuck."""
FILLED = 0.25
"""Share of a window that must have been sampled."""


@pytree
@dataclass(frozen=True)
class Rows:
    """What a window says; rows along `axes`: torque along two, force along three."""

    value: Array
    """(5,) m and m/s2; force is what the nominal rotors do not explain."""
    variance: Array
    """(5,) by what is doubtful of the vehicle."""
    valid: Array
    """(5,)."""
    axes: Array
    """(3, 3) columns: two axes across the thrust, and the thrust."""
    lever: Array
    """(3,) slope of the force rows by the offset along the thrust."""
    thrust_now: Array
    """() |F| / m, m/s2."""
    weight: Array
    """() |F| / m in a hover, slope of the last row by u: that of the thrust now would let gusts teach u."""
    rotor_slopes: Array
    """(2, R) slopes of the torque rows by the relative thrust of every rotor."""
    problems: Array
    """(5,) gyroscope stuck, accelerometer stuck, accelerometer implausible, gyroscope lost, accelerometer lost."""


def thrust_axes(force: Array) -> Array:
    """(3, 3) columns: two axes across a force (3,), then its direction."""
    axis = force / jnp.maximum(jnp.sqrt(force @ force), 1e-9)
    x = jnp.where(jnp.abs(axis[0]) < 0.8, jnp.eye(3)[0], jnp.eye(3)[1])
    first = x - axis * (axis @ x)
    first = first / jnp.sqrt(first @ first)
    return jnp.stack([first, jnp.cross(axis, first), axis], axis=1)


def rotor_slopes(vehicle: RigidVehicle, axes: Array, squared_speeds: Array) -> Array:
    """(2, R) slopes of the torque rows by the relative thrust of rotors with squared speeds (R,), for `thrust_axes`."""
    columns = vehicle.allocation * squared_speeds
    torques = columns[3:] - jnp.cross(vehicle.com[:, None], columns[:3], axis=0)
    force = jnp.sum(columns[:3], axis=1)
    strength = jnp.maximum(jnp.sqrt(force @ force), 1e-9)
    slopes: Array = axes[:, :2].T @ jnp.cross(torques, axes[:, 2:], axis=0) / strength
    return slopes


def rows_of(
    windows: Windows, index: Array, numbers: CogNumbers, settings: CogSettings, squared_speeds: Array
) -> Rows:
    """The rows of one window; `squared_speeds` (R,) are squared speeds that stand for the shares of the rotors."""
    s, known = settings, numbers.vehicle
    mean, slope, turned = windows.turning.of(index)
    felt, _, pushed = windows.pushing.of(index)
    force = mean[FORCE]
    axes = thrust_axes(force)
    strength = jnp.maximum(jnp.sqrt(force @ force), 1e-9)

    def across(torque: Array) -> Array:
        """(2,) offset that would explain a torque (3,)."""
        return jnp.cross(torque, axes[:, 2]) @ axes[:, :2] / strength

    angular = slope[RATE]
    rotation = known.inertia @ angular
    rotors = mean[TORQUE] - slope[MOMENTUM] - mean[GYROSCOPIC]
    left = rotation - rotors
    doubt = (
        (s.inertia * across(rotation)) ** 2
        + (s.spin_inertia * across(slope[MOMENTUM])) ** 2
        + (s.delay * across(slope[TORQUE])) ** 2
    )
    f, p = felt[ACCEL], felt[PRODUCTS]
    xx, yy, zz, xy, xz, yz = p
    products = jnp.stack([jnp.stack([xx, xy, xz]), jnp.stack([xy, yy, yz]), jnp.stack([xz, yz, zz])]) - (
        xx + yy + zz
    ) * jnp.eye(3)
    lever = so3.hat(angular) + products
    arm = numbers.imu_position - known.com
    pull = felt[FORCE] / known.mass
    unexplained = axes.T @ (f - pull - lever @ arm)
    arm_doubt = s.imu_position**2 * jnp.sum((axes.T @ lever) ** 2, axis=1)
    delay = (s.delay * slope[FORCE] / known.mass) @ axes
    usual = jnp.sqrt(f @ f) / jnp.maximum(jnp.sqrt(pull @ pull), 1e-9)
    fraction = windows.sensors.fraction(index)
    stuck = fraction.reshape(2, 3).max(axis=1) > STUCK
    # the sum of v dt over a whole window is its length, and as much where dt follows the stamps
    few = jnp.max(windows.sensors.count[index].reshape(2, 3), axis=1) < 4
    whole = jnp.stack([turned, pushed]) > FILLED * s.window
    there = whole & ~few
    fits = (usual > USUAL[0]) & (usual < USUAL[1])
    turns, pushes = there[0] & ~stuck[0], there[1] & ~stuck[1] & fits & there[0]
    squares = mean[SQUARED_SPEEDS] if s.dithered else squared_speeds
    return Rows(
        jnp.concatenate([across(left), unexplained]),
        jnp.concatenate([doubt, arm_doubt + delay**2]),
        jnp.concatenate([jnp.full(2, turns), jnp.full(3, pushes)]),
        axes,
        -(axes.T @ lever @ axes[:, 2]),
        jnp.sqrt(pull @ pull),
        jnp.asarray(known.gravity, float),
        rotor_slopes(known, axes, squares),
        jnp.stack(
            [stuck[0] & there[0], stuck[1] & there[1], there[1] & ~stuck[1] & ~fits, ~there[0], ~there[1]]
        ),
    )
