"""Random steps of the centre of gravity on vehicles of other shapes: does the one tuning converge, is it consistent?

A quadrotor, a hexarotor, an octorotor, a coaxial and a tilt-rotor vehicle from the catalogue. Each flight draws the
relative thrust of every rotor and the position of a mass that drops, with torque noise as [Fresk2017] assumes it.
"""

from dataclasses import replace
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np

from haltere.airframe import from_catalogue
from haltere.control import Bandwidths, GeometricController, start_on_trajectory
from haltere.control.dither import Dither
from haltere.foundation.arrays import Array
from haltere.papers.fresk.loop import TORQUE_NOISE, CogCase, CogLog, CogLoop, CogSource
from haltere.simulation.payload import Payload
from haltere.trajectory import hover

VEHICLES = ("hummingbird", "neo", "octorotor", "coaxial", "hong-tilt-rotor")
DURATION, DROP = 8.0, 3.0
"""s."""
MASS_FRACTION = 0.03
"""Mass that drops over the mass of the vehicle."""
REACH = 3.0
"""Farthest position of that mass, in lever lengths."""


@cache
def shape_loop(name: str) -> CogLoop:
    """The closed loop of one vehicle; a case's `load` is the mass that drops and its position, (4,)."""
    airframe = from_catalogue(name)
    return CogLoop.carrying(
        airframe,
        DURATION,
        lambda load: (Payload(load[0], load[1:], drop=DROP),),
        measured_joints=bool(airframe.links),
    )


@cache
def shape_controller(name: str) -> GeometricController:
    """Its controller with gains by its size and no integral action."""
    plain = GeometricController.from_airframe(from_catalogue(name))
    gains = plain.gains
    widths = Bandwidths(gains.position**0.5, gains.attitude[0] ** 0.5, gains.attitude[2] ** 0.5, integral=0.0)
    return GeometricController.from_airframe(from_catalogue(name), bandwidths=widths)


def shape_case(name: str, key: Array) -> CogCase:
    """One flight with a random step."""
    loop, flying = shape_loop(name), shape_controller(name)
    known = flying.vehicle
    flight_key, place_key, thrust_key = jax.random.split(key, 3)
    radius, turn = jax.random.uniform(place_key, (2,))
    reach = REACH * known.lever * jnp.sqrt(radius)
    place = reach * jnp.stack([jnp.cos(2 * jnp.pi * turn), jnp.sin(2 * jnp.pi * turn), 0.0 * turn])
    offset = MASS_FRACTION / (1.0 + MASS_FRACTION) * (place - known.com)
    path = hover((0.0, 0.0, 2.0), 0.0, DURATION)
    balanced = flying.with_vehicle(
        replace(known, com=known.com + offset, mass=(1.0 + MASS_FRACTION) * known.mass)
    )
    thrust = loop.filter.settings.rotor_spread * jax.random.normal(thrust_key, (loop.filter.numbers.rotors,))
    return CogCase(
        flight_key,
        jnp.asarray(int(CogSource.OURS)),
        flying,
        path,
        start_on_trajectory(loop.vehicle.model, balanced, path),
        offset,
        jnp.asarray(TORQUE_NOISE),
        jnp.zeros(()),
        thrust,
        jnp.concatenate([(MASS_FRACTION * known.mass)[None], place]),
        jnp.full(3, jnp.inf),
        Dither(jnp.zeros(())),
    )


def consistency(name: str, log: CogLog) -> tuple[int, np.ndarray]:
    """How many flights converged, and the normalised error squared (seeds,) of the two components across the thrust.

    Converged: at the end the offset, whose true value is zero, is within 2 % of the lever plus three deviations.
    """
    frame = np.asarray(shape_controller(name).hover.frame)[:, :2]
    error = log.com[:, -1] @ frame
    cov = frame.T @ log.cov[:, -1] @ frame
    nees = np.einsum("ni,ni->n", error, np.linalg.solve(cov, error[..., None])[..., 0])
    sigma = np.sqrt(np.diagonal(cov, 0, 1, 2))
    near = np.abs(error) < 0.02 * float(shape_controller(name).vehicle.lever) + 3.0 * sigma
    return int(np.all(near & np.isfinite(error), axis=1).sum()), nees
