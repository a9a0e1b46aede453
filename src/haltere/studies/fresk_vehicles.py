"""Random steps of the centre of gravity on vehicles of other shapes: does the one tuning converge, is it honest?

A quadrotor, a hexarotor and a tilt-rotor vehicle come from the catalogue; the octorotor and the coaxial vehicle carry
eight of the Neo's rotors on the Neo's body. Each flight draws the relative thrust of every rotor and the place of a
mass that drops, with torque noise as [Fresk2017] assumes it.
"""

from dataclasses import replace
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from haltere.airframe import Airframe, from_catalogue
from haltere.control import Bandwidths, GeometricController
from haltere.control import start as on_path
from haltere.control.dither import Dither
from haltere.estimation.cog import CogFilter
from haltere.estimation.cog_paper import PaperCogFilter
from haltere.foundation import HaltereError
from haltere.foundation.arrays import Array
from haltere.simulation import Vehicle
from haltere.simulation.payload import Payload, loading
from haltere.studies.cog_loop import TORQUE_NOISE, Case, CogLog, CogLoop, Source
from haltere.trajectory import hover

VEHICLES = ("hummingbird", "neo", "octorotor", "coaxial", "hong-tilt-rotor")
DURATION, DROP = 8.0, 3.0
"""s."""
SHARE = 0.03
"""Mass that drops over the mass of the vehicle."""
REACH = 3.0
"""Farthest place of that mass, levers."""


def shaped(name: str) -> Airframe:
    """One of `VEHICLES`."""
    if name not in VEHICLES:
        raise HaltereError(f"got vehicle {name!r}; try one of {', '.join(VEHICLES)}")
    if name not in ("octorotor", "coaxial"):
        return from_catalogue(name)
    neo = from_catalogue("neo")
    pattern = neo.rotors[0]
    rotors = []
    for i in range(8):
        turn = 2.0 * np.pi * (i + 0.5) / 8.0 if name == "octorotor" else 0.5 * np.pi * (i % 4 + 0.5)
        height = 0.028 if name == "octorotor" or i < 4 else -0.05
        spin = "ccw" if (i + (name == "coaxial" and i >= 4)) % 2 == 0 else "cw"
        place = (0.2495 * np.cos(turn), 0.2495 * np.sin(turn), height)
        rotors.append(
            pattern.model_copy(
                update={
                    "name": f"r{i}",
                    "position": tuple(float(p) for p in place),
                    "axis": (0.0, 0.0, 1.0),
                    "spin": spin,
                }
            )
        )
    return neo.model_copy(update={"name": name, "rotors": tuple(rotors)})


@cache
def shape_loop(name: str) -> CogLoop:
    """The closed loop of one vehicle; a case's `load` is the mass that drops and its place, (4,)."""
    airframe = shaped(name)
    ours = CogFilter.from_airframe(airframe)

    def change(vehicle: Vehicle, time: Array, load: Any) -> Vehicle:
        return loading((Payload(load[0], load[1:], drop=DROP),))(vehicle, time)

    return CogLoop(
        Vehicle.from_airframe(airframe),
        ours,
        PaperCogFilter(ours.numbers),
        DURATION,
        change,
        measured_joints=bool(airframe.links),
    )


@cache
def shape_controller(name: str) -> GeometricController:
    """Its controller with gains by its size and no integral action."""
    plain = GeometricController.from_airframe(shaped(name))
    gains = plain.gains
    widths = Bandwidths(gains.position**0.5, gains.attitude[0] ** 0.5, gains.attitude[2] ** 0.5, integral=0.0)
    return GeometricController.from_airframe(shaped(name), bandwidths=widths)


def shape_case(name: str, key: Array) -> Case:
    """One flight with a random step."""
    loop, flying = shape_loop(name), shape_controller(name)
    known = flying.vehicle
    flight_key, place_key, thrust_key = jax.random.split(key, 3)
    radius, turn = jax.random.uniform(place_key, (2,))
    reach = REACH * known.lever * jnp.sqrt(radius)
    place = reach * jnp.stack([jnp.cos(2 * jnp.pi * turn), jnp.sin(2 * jnp.pi * turn), 0.0 * turn])
    offset = SHARE / (1.0 + SHARE) * (place - known.com)
    path = hover((0.0, 0.0, 2.0), 0.0, DURATION)
    balanced = flying.with_vehicle(replace(known, com=known.com + offset, mass=(1.0 + SHARE) * known.mass))
    thrust = loop.filter.settings.thrust * jax.random.normal(thrust_key, (loop.filter.numbers.rotors,))
    return Case(
        flight_key,
        jnp.asarray(int(Source.OURS)),
        flying,
        path,
        on_path(loop.vehicle.model, balanced, path),
        offset,
        jnp.asarray(TORQUE_NOISE),
        jnp.zeros(()),
        thrust,
        jnp.concatenate([(SHARE * known.mass)[None], place]),
        jnp.full(3, jnp.inf),
        Dither(jnp.zeros(())),
    )


def honesty(name: str, log: CogLog) -> tuple[int, np.ndarray]:
    """How many flights converged, and the normalised error squared (seeds,) of the two components across the thrust.

    Converged: at the end the offset, whose true value is zero, is within 2 % of the lever plus three deviations.
    """
    frame = np.asarray(shape_controller(name).hover.frame)[:, :2]
    error = log.offset[:, -1] @ frame
    cov = frame.T @ log.cov[:, -1] @ frame
    nees = np.einsum("ni,ni->n", error, np.linalg.solve(cov, error[..., None])[..., 0])
    sigma = np.sqrt(np.diagonal(cov, 0, 1, 2))
    near = np.abs(error) < 0.02 * float(shape_controller(name).vehicle.lever) + 3.0 * sigma
    return int(np.all(near & np.isfinite(error), axis=1).sum()), nees
