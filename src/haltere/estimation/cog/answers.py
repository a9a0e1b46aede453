"""What a belief of the centre-of-gravity filter says: trim, absolute position, change, mass, each with its deviation.

With offset d, disturbances q of the torque, relative thrust s of the rotors and slopes B of the torque rows by it,
P_xy the axes across the thrust, all of them now,

    trim = c_0 + P_xy (d + B s + q),    com = c_0 + d - h a / g,    change = d - d_mark,    mass = m_0 / (1 + u)  (1)

Wind pushes at the rotors, so its steady specific force a across the thrust, at their height h above the centre, is
taken out of com; the mixer wants it in the trim. The deviations of s are in the covariance of the state: they cancel
from the trim, which is seen, and stay in d. To it comes what no state stands for: positions of rotors and IMU, wind
that acts elsewhere than at the rotors or makes them stronger (`haltere.estimation.cog.wind_thrust`), and rotors that
are all stronger than in the airframe file, which scales offset, change and mass alike.
"""

import jax.numpy as jnp

from haltere.dynamics.rigid import RigidVehicle
from haltere.estimation.cog import state as kalman
from haltere.estimation.cog.belief import CogBelief, CogEstimate
from haltere.estimation.cog.rows import rotor_slopes
from haltere.estimation.cog.settings import CogSettings
from haltere.estimation.cog.state import (
    AIR_SLOW,
    BIAS,
    FAST,
    GAIN,
    MARKED,
    MARKED_GAIN,
    OFFSET,
    SLOW,
    STRENGTH,
)
from haltere.estimation.cog.vehicle import CogNumbers
from haltere.estimation.cog.wind_thrust import wind_thrust_of
from haltere.foundation.arrays import Array

ESTIMATED_RATIO = 0.25
"""Deviation along the thrust, over the one at the beginning, below which that component has been estimated."""


def answers_of(numbers: CogNumbers, settings: CogSettings, belief: CogBelief) -> CogEstimate:
    """The answers of equation (1) at the last tick, for the vehicle of the airframe file."""
    s, known = settings, numbers.vehicle
    later = 0.5 * s.window + belief.elapsed  # a window speaks of its middle
    now = kalman.advance(s, belief.state, known.lever, later, belief.noise.levels)
    x, P = now.mean, now.cov
    n, axes = x.shape[0], belief.axes
    axis, across = axes[:, 2], axes[:, :2]
    plane = across @ across.T
    squares = belief.rotors.squared_speeds
    fraction = squares / jnp.sum(squares)
    scale = jnp.sqrt(fraction @ fraction) * s.rotor_spread
    T = jnp.zeros((3, n)).at[:, OFFSET].set(plane).at[:, FAST].set(across).at[:, SLOW].set(across)
    T = T.at[:, STRENGTH].set(across @ rotor_slopes(known, axes, squares))
    C = jnp.zeros((3, n)).at[:, OFFSET].set(jnp.eye(3)).at[:, MARKED].set(-jnp.eye(3))
    unexplained = (across * belief.noise.levels[0, :2]) @ across.T
    change = C @ x
    wind = wind_thrust_of(s, x, axes, belief.noise.levels, known.gravity)
    offset, cov, observable = _offset(known, s, belief, x, P)
    height = axis @ (numbers.rotor_center - known.com)
    offset = offset - height * (across @ wind.drag) / known.gravity
    doubt = s.placement**2 * jnp.sum(fraction**2) + _wind(known, s, axes, x)
    cov = cov + doubt * plane + s.imu_position**2 * jnp.outer(axis, axis)
    mass, before = known.mass / (1.0 + x[GAIN]), known.mass / (1.0 + x[MARKED_GAIN])
    by_gain, by_marked = -mass / (1.0 + x[GAIN]), before / (1.0 + x[MARKED_GAIN])
    m = jnp.zeros(n).at[GAIN].set(by_gain)
    dm = m.at[MARKED_GAIN].set(by_marked)
    mass_var = m @ P @ m + mass**2 * (scale**2 + wind.sigma**2)
    mass_change_var = jnp.maximum(dm @ P @ dm, 0.0) + (scale * (mass - before)) ** 2
    return CogEstimate(
        trim=belief.nominal + T @ x,
        trim_cov=T @ P @ T.T + unexplained,
        com=belief.nominal + offset,
        cov=cov + scale**2 * jnp.outer(offset, offset),
        offset=offset,
        change=change,
        change_cov=C @ P @ C.T + scale**2 * jnp.outer(change, change) + unexplained,
        axis=axis,
        observable=observable,
        mass=mass,
        mass_sigma=jnp.sqrt(mass_var),
        mass_change=mass - before,
        mass_change_sigma=jnp.sqrt(mass_change_var),
        lifted_mass=mass * wind.weight / (1.0 + wind.thrust),
        since=belief.since,
        events=belief.events,
    )


def _offset(
    known: RigidVehicle, settings: CogSettings, belief: CogBelief, x: Array, P: Array
) -> tuple[Array, Array, Array]:
    """Offset (3,), its covariance, and whether its component along the thrust has been estimated.

    Air forces that last make lever-arm accelerations less telling than white noise would; what was not estimated
    counts as nominal, with the deviation of the beginning.
    """
    axis = belief.axes[:, 2]
    along = jnp.outer(axis, axis)
    first = settings.first_offset * known.lever
    white, *lasting = belief.noise.levels[:3, 2:4].sum(axis=1)
    cov = P[OFFSET, OFFSET]
    cov = cov + axis @ cov @ axis * (sum(lasting) / (white + 1e-6)) * along
    observable = axis @ cov @ axis < (ESTIMATED_RATIO * first) ** 2
    blind = jnp.maximum(first**2 - axis @ cov @ axis, 0.0) * ~observable
    offset = x[OFFSET] - jnp.where(observable, 0.0, 1.0) * axis * (axis @ x[OFFSET])
    return offset, cov + blind * along, observable


def _wind(known: RigidVehicle, settings: CogSettings, axes: Array, x: Array) -> Array:
    """() variance of an offset that wind makes which acts above or below the centre of mass, m^2."""
    side = jnp.sum((x[AIR_SLOW] + axes.T @ x[BIAS])[:2] ** 2)
    height: Array = (settings.wind_height * known.lever) ** 2
    return height * side / known.gravity**2
