"""What the nominal airframe and the measured rotor speeds say the motion should be: the yardstick of the rotor checks.

About the nominal centre of mass c of the whole vehicle, with inertia I, mass m, rotors at r_i with thrust axis
n_i, spin sign e_i, thrust coefficient k_i, drag ratio d_i and speeds w_i:

    (1)  torque of rotor i per w_i^2:  B_i = k_i ((r_i - c) x n_i - e_i d_i n_i)
    (2)  I alpha + w x I w = sum B_i w_i^2                                   (spin-up and gyroscopic torque left out)
    (3)  m f_c = sum k_i n_i w_i^2,   f at the IMU = f_c + alpha x s + w x (w x s),  s from c to the IMU
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np

from haltere.airframe import Airframe
from haltere.airframe.fields import tensor
from haltere.flight.rotations import matrix_from_wxyz
from haltere.foundation.numbers import Floats


def parallel_axis(mass: float, offset: Floats) -> Floats:
    """(3, 3) inertia, kg m2, of a mass in kg that is `offset` (3,), m, away from where the inertia counts."""
    return np.asarray(mass * (offset @ offset * np.eye(3) - np.outer(offset, offset)))


def combine_bodies(bodies: Iterable[tuple[float, Floats, Floats]]) -> tuple[float, Floats, Floats]:
    """Mass, centre of mass and inertia about it of bodies taken as one.

    Args:
        bodies: Of each its mass, kg, centre of mass (3,), m, and inertia (3, 3) about that, kg m2, in common axes; at
            least one has mass.
    """
    every = list(bodies)
    mass = float(sum(m for m, _, _ in every))
    com = sum((m * c for m, c, _ in every), np.zeros(3)) / mass
    inertia = np.zeros((3, 3))
    for m, c, own in every:
        inertia += own + parallel_axis(m, c - com)
    return mass, com, inertia


@dataclass(frozen=True)
class RigidAirframe:
    """Numbers of an airframe with its joints at zero; None of them is exact."""

    mass: float
    inertia: Floats
    torques: Floats
    """(3, R): eq. (1)."""
    yaw: Floats
    """(3, R): the part of `torques` that the spin direction decides."""
    forces: Floats
    """(3, R), N per (rad/s)^2."""
    imu_rotation: Floats
    """(3, 3): from IMU to body axes."""
    pose_wxyz: Floats
    """(4,): of the pose sensor in the body."""
    lever: Floats
    """(3,): from the centre of mass to the IMU, m."""
    positions: Floats
    """(R, 3): of the rotors, in body axes from the airframe's origin, m."""
    names: tuple[str, ...]

    @classmethod
    def from_airframe(cls, airframe: Airframe) -> Self:
        """Reduce an airframe, with its joints at zero."""
        bodies = [(airframe.body.mass, np.array(airframe.body.com, float), tensor(airframe.body.inertia))]
        places = {"body": np.zeros(3)}
        for index in airframe.link_order():
            link = airframe.links[index]
            places[link.name] = places[link.parent] + np.array(link.joint.origin, float)
            bodies.append((link.mass, places[link.name] + np.array(link.com, float), tensor(link.inertia)))
        rotors = airframe.rotors
        centres = [places[r.link] + np.array(r.position, float) for r in rotors]
        for rotor, centre in zip(rotors, centres, strict=True):
            if rotor.mass:
                bodies.append((rotor.mass, centre + np.array(rotor.com, float), tensor(rotor.inertia)))
        mass, com, inertia = combine_bodies(bodies)
        axes = np.array([np.array(r.axis, float) / np.linalg.norm(r.axis) for r in rotors]).reshape(-1, 3)
        k = np.array([r.thrust_coefficient for r in rotors])
        spin = np.array([r.spin_sign for r in rotors])
        ratio = np.array([r.torque_ratio for r in rotors])
        positions = np.array(centres).reshape(-1, 3)
        arms = positions - com
        yaw = -(spin * ratio * k)[:, None] * axes
        torques = k[:, None] * np.cross(arms, axes) + yaw
        imu = airframe.imu[0] if airframe.imu else None
        lever = np.array(imu.position, float) + places[imu.link] - com if imu else np.zeros(3)
        turn = matrix_from_wxyz(imu.wxyz) if imu else np.eye(3)
        pose = np.array(airframe.pose[0].wxyz if airframe.pose else (1.0, 0.0, 0.0, 0.0), float)
        names = tuple(r.name for r in rotors)
        return cls(
            mass, inertia, torques.T, yaw.T, (k[:, None] * axes).T, turn, pose, lever, positions, names
        )

    def accelerations(self, squared_speeds: Floats) -> Floats:
        """(T, 3) angular acceleration in rad/s2, without eq. (2)'s w x I w, of squared speeds (T, R)."""
        return np.asarray(np.linalg.solve(self.inertia, self.torques @ squared_speeds.T).T)

    def specific_forces(self, squared_speeds: Floats) -> Floats:
        """(T, 3) specific force at the centre of mass in m/s2 of squared speeds (T, R)."""
        return np.asarray(squared_speeds @ self.forces.T / self.mass)
