"""Random states, drives and surroundings of an airframe, as plain NumPy numbers in the order of the file.

`J` counts the moving links and `R` the rotors, both in the order in which the airframe lists them.
"""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from haltere.airframe import Airframe

from .random_vehicle import Vector, VehicleTopology, random_rotation


@dataclass(frozen=True)
class Draw:
    """One state with everything that acts on the vehicle.

    `twist` (6) and `acceleration` (6) are linear first, in body axes at the body origin. `drive` (J + R)
    holds a torque where `torque_given` says so, an acceleration elsewhere. `accelerations` (J + R) serve
    the inverse problem. `wrenches` (1 + links, 6) are force first, in link axes at the link origin, the
    body's first. Gravity and wind are in world axes.
    """

    position: Vector
    wxyz: Vector
    twist: Vector
    angles: Vector
    rates: Vector
    drive: Vector
    torque_given: tuple[bool, ...]
    acceleration: Vector
    accelerations: Vector
    gravity: Vector
    wind: Vector
    air_density: float
    wrenches: Vector


def moving_names(airframe: Airframe) -> list[str]:
    """Names of the links with a revolute joint, in the order of the file."""
    return [link.name for link in airframe.links if not link.joint.fixed]


def random_torque_given(topology: VehicleTopology, seed: int) -> tuple[bool, ...]:
    """Choose the joints driven by torque; a rotor without inertia about its axis can only be driven by
    acceleration.
    """
    rng = np.random.default_rng([seed, 2])
    movable = [True] * len(topology.moving_links) + [
        rotor.kind in ("disc", "blade") for rotor in topology.rotors
    ]
    return tuple(bool(able and rng.random() < 0.5) for able in movable)


def random_draw(
    airframe: Airframe,
    rng: Generator,
    torque_given: tuple[bool, ...],
    *,
    air: bool = True,
    rotor_speed: float = 800.0,
) -> Draw:
    """Return a random state and drive; with `air` false there is no wind, no density and no external
    wrench.
    """
    joints, rotors = len(moving_names(airframe)), len(airframe.rotors)
    given = np.array(torque_given, dtype=bool)
    torques = np.concatenate([rng.normal(0.0, 2.0, joints), rng.normal(0.0, 0.1, rotors)])
    accelerations = np.concatenate([rng.normal(0.0, 30.0, joints), rng.normal(0.0, 500.0, rotors)])
    return Draw(
        position=rng.uniform(-10.0, 10.0, 3),
        wxyz=random_rotation(rng),
        twist=np.concatenate([rng.normal(0.0, 8.0, 3), rng.normal(0.0, 4.0, 3)]),
        angles=rng.uniform(-np.pi, np.pi, joints + rotors),
        rates=np.concatenate([rng.normal(0.0, 4.0, joints), rng.uniform(-rotor_speed, rotor_speed, rotors)]),
        drive=np.where(given, torques, accelerations),
        torque_given=torque_given,
        acceleration=np.concatenate([rng.normal(0.0, 10.0, 3), rng.normal(0.0, 30.0, 3)]),
        accelerations=np.concatenate([rng.normal(0.0, 30.0, joints), rng.normal(0.0, 500.0, rotors)]),
        gravity=rng.normal(0.0, 6.0, 3),
        wind=rng.normal(0.0, 5.0, 3) * air,
        air_density=float(rng.uniform(0.7, 1.4)) if air else 1.225,
        wrenches=rng.normal(0.0, 2.0, (1 + len(airframe.links), 6)) * air,
    )
