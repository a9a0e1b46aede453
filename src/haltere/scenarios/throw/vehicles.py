"""Vehicles to throw: drawn at random with inertias that a body can have, or from an airframe file.

A random vehicle is a template with m rotors whose numbers are drawn: mass 0.3 to 0.6 kg; rotors around the centre at
65 to 110 mm, each off its nominal position by up to a fifth; thrust axes tilted by 3 degrees (one sigma; hexa- and
octorotors 6); thrust to weight 3 to 5; strengths of single rotors within 10 %; torque ratio 8 to 14 mm; motors of 15
to 35 ms, curve 0.3 to 0.7, idle at 10 %; rotor inertia 0.6e-6 to 1.2e-6 kg m2; mass spread with radii of gyration of
28 to 40 mm along x and y and 12 to 28 mm along z, principal axes rotated by 5 degrees (one sigma). Those that cannot
hover with all rotors between 4 and 60 % of their largest squared speed are drawn again: they would have to be
reported and not flown. The IMU sits 10 mm off per axis (one sigma) and is rotated at random.
"""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp

from haltere.airframe import Airframe, loads
from haltere.dynamics import Model
from haltere.dynamics.motors import Motors
from haltere.dynamics.rigid import Compact
from haltere.estimation.throw.thrust_axis import thrust_axis
from haltere.foundation import HaltereError
from haltere.foundation.arrays import Array, pytree
from haltere.foundation.constants import GRAVITY
from haltere.lie import so3

DRAWS = 8
"""Vehicles drawn for each one that is kept."""
REACH = 0.010


@pytree
@dataclass(frozen=True)
class ThrownVehicle:
    """One vehicle as the plant knows it, and the truth to compare with; body axes at the centre of mass."""

    compact: Compact
    motors: Motors
    shape: Array
    """(3, 3) inertia of the whole vehicle, kg m2, body axes."""
    imu_position: Array
    """(3,) of the IMU, body axes, m."""
    imu_rotation: Array
    """(3, 3) R_BI."""
    force: Array
    """(3, m) truth in IMU axes, as in `haltere.estimation.throw.effectiveness`."""
    torque: Array
    spin: Array
    axis: Array
    """(3,) best hover axis, IMU axes."""
    inside: Array
    """() whether it can hover."""


def with_truth(
    compact: Compact, motors: Motors, imu_position: Array, imu_rotation: Array, low: float, high: float
) -> ThrownVehicle:
    """A vehicle with its truth; hover between shares `low` and `high` of the largest squared speeds."""
    mass, _, inertia = compact.mass_properties
    inverse = jnp.linalg.inv(inertia)
    force = imu_rotation.T @ compact.allocation[:3] / mass
    torque = imu_rotation.T @ inverse @ compact.allocation[3:]
    spin = -imu_rotation.T @ inverse @ compact.spin[3:]
    top = motors.max_speed**2
    hover = thrust_axis(force, torque, low * top, high * top, squarings=10)
    return ThrownVehicle(
        compact,
        motors,
        inertia,
        imu_position,
        imu_rotation,
        force,
        torque,
        spin,
        hover.axis,
        hover.inside & hover.steerable,
    )


def random_vehicles(key: Array, count: int, rotors: int = 4, plane: bool = False) -> ThrownVehicle:
    """`count` vehicles, stacked along the first axis.

    Args:
        key: random key.
        count: how many.
        rotors: of each.
        plane: rotate the IMU about axes in the xy plane of the thrust frame only, as [Blaha2024] does.
    """
    model, motors = template(rotors)

    def one(draw: Array) -> ThrownVehicle:
        tried = jax.vmap(lambda k: _sample(k, model, motors, plane))(jax.random.split(draw, DRAWS))
        first = jnp.argmax(tried.inside)
        kept: ThrownVehicle = jax.tree.map(lambda x: x[first], tried)
        return kept

    found: ThrownVehicle = jax.jit(jax.vmap(one))(jax.random.split(key, count))
    return found


def same_vehicles(airframe: Airframe, count: int) -> ThrownVehicle:
    """`count` copies of the vehicle of a file, with its own IMU."""
    if not airframe.rotors or airframe.links:
        raise HaltereError(
            f"airframe {airframe.name!r}: only vehicles with rotors and without links can be thrown"
        )
    if not airframe.imu:
        raise HaltereError(f"airframe {airframe.name!r}: it has no IMU; add an [imu] table")
    compact = Compact.from_model(Model.from_airframe(airframe))
    _, com, _ = compact.mass_properties
    if float(jnp.linalg.norm(com)) > 1e-6:
        raise HaltereError(
            f"airframe {airframe.name!r}: its centre of mass is at {com.tolist()} m; put the body origin there"
        )
    imu = airframe.imu[0]
    imu_rotation = so3.from_wxyz(jnp.asarray(imu.wxyz))
    one = with_truth(
        compact, Motors.from_airframe(airframe), jnp.asarray(imu.position), imu_rotation, 0.0, 1.0
    )
    many: ThrownVehicle = jax.tree.map(lambda x: jnp.broadcast_to(x, (count, *jnp.shape(x))), one)
    return many


def template(rotors: int) -> tuple[Model, Motors]:
    """A vehicle with so many rotors, and its motors: what random ones are made from."""
    text = 'name = "random"\n[body]\nmass = 0.4\ninertia = [7e-4, 7e-4, 9e-4, 0, 0, 0]\n'
    for i in range(rotors):
        text += (
            f'[[rotors]]\nname = "r{i}"\nposition = [0.1, 0.0, 0.0]\naxis = [0, 0, 1]\n'
            f'spin = "{("ccw", "cw")[i % 2]}"\n'
            "thrust_coefficient = 2e-7\ntorque_ratio = 0.01\ntime_constant = 0.02\nspeed_limits = [0.0, 4000.0]\n"
            'idle_speed = 400.0\ncurve = { kind = "kappa", value = 0.5 }\n'
            "mass = 0.002\ninertia = [5e-7, 5e-7, 9e-7, 0, 0, 0]\n"
        )
    airframe = loads(text)
    return Model.from_airframe(airframe), Motors.from_airframe(airframe)


def _sample(key: Array, model: Model, motors: Motors, plane: bool) -> ThrownVehicle:
    m = model.topology.rotors
    keys = iter(jax.random.split(key, 24))

    def uniform(low: float, high: float, *shape: int) -> Array:
        return jax.random.uniform(next(keys), shape, minval=low, maxval=high)

    def normal(*shape: int) -> Array:
        return jax.random.normal(next(keys), shape)

    mass, arm = uniform(0.3, 0.6), uniform(0.065, 0.11)
    angle = 2.0 * jnp.pi * (jnp.arange(m) + 0.5) / m
    ring = jnp.stack([jnp.cos(angle), jnp.sin(angle), jnp.zeros(m)], axis=1)
    position = arm * (ring + jnp.concatenate([uniform(-0.2, 0.2, m, 2), uniform(-0.1, 0.1, m, 1)], axis=1))
    tilt = jnp.deg2rad(3.0 if m == 4 else 6.0)
    axis = jnp.concatenate([tilt * normal(m, 2), jnp.ones((m, 1))], axis=1)
    axis = axis / jnp.linalg.norm(axis, axis=1, keepdims=True)
    top, weight = uniform(3000.0, 5000.0), uniform(3.0, 5.0)
    strength = weight * mass * GRAVITY / (m * top**2) * uniform(0.9, 1.1, m)
    wheel = uniform(0.6e-6, 1.2e-6)
    across = jnp.eye(3) - axis[:, :, None] * axis[:, None, :]
    spinning = wheel * (axis[:, :, None] * axis[:, None, :] + 0.55 * across)
    radii = jnp.concatenate([uniform(0.028, 0.040, 2), uniform(0.012, 0.028, 1)])
    Q = so3.exp(jnp.deg2rad(5.0) * normal(3))
    S = Q @ jnp.diag(mass * radii**2) @ Q.T
    rotors = replace(
        model.rotors,
        position=position,
        axis=axis,
        thrust_coefficient=strength,
        drag_coefficient=strength * uniform(0.008, 0.014),
        inertia=spinning,
    )
    links = replace(
        model.links,
        mass=mass[None] - m * 0.002,
        inertia=(jnp.trace(S) * jnp.eye(3) - S)[None],
        com=jnp.zeros((1, 3)),
    )
    whole = Compact.from_model(replace(model, links=links, rotors=rotors))
    _, com, _ = whole.mass_properties
    links = replace(links, com=links.com - com * mass / (mass - m * 0.002))
    compact = Compact.from_model(replace(model, links=links, rotors=rotors))
    motor = replace(
        motors,
        time_constant=uniform(0.015, 0.035) * uniform(0.95, 1.05, m),
        curve=uniform(0.3, 0.7) * jnp.ones(m),
        idle_speed=0.1 * top * jnp.ones(m),
        max_speed=top * uniform(0.97, 1.03, m),
    )
    imu_rotation = _random_rotation(normal(4), uniform(-jnp.pi, jnp.pi), uniform(0.0, 2.0), plane)
    return with_truth(compact, motor, REACH * normal(3), imu_rotation, 0.04, 0.6)


def _random_rotation(four: Array, about: Array, angle: Array, plane: bool) -> Array:
    """(3, 3) a uniform rotation, or one by up to 2 rad about an axis in the xy plane."""
    if plane:
        return so3.exp(angle * jnp.stack([jnp.cos(about), jnp.sin(about), jnp.zeros(())]))
    return so3.from_wxyz(four / jnp.linalg.norm(four))
