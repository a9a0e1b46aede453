"""Where rotors and sensors are on a vehicle whose joints are held."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from haltere.airframe.sensors import Imu, PoseSensor
from haltere.dynamics import Model
from haltere.dynamics.rigid import at_rest
from haltere.flight.rotations import matrix_from_wxyz, wxyz_from_matrix
from haltere.foundation.numbers import Floats


@dataclass(frozen=True)
class HeldBodies:
    """The bodies of a vehicle whose joints are held: positions (B, 3) m and rotations (B, 3, 3) in body axes."""

    model: Model
    positions: Floats
    rotations: Floats

    @classmethod
    def at(cls, model: Model, joint_angles: Floats | None) -> Self:
        """At joint angles (J,) rad, zero if not given."""
        angles = np.zeros(model.topology.joints) if joint_angles is None else np.asarray(joint_angles, float)
        *_, positions, rotations = (np.asarray(x) for x in at_rest(model, angles))
        return cls(model, positions, rotations)

    def rotors(self) -> tuple[Floats, Floats, Floats]:
        """Axes (R, 3), positions (R, 3) and inertia about the axis (R,)."""
        topology, own = self.model.topology, np.asarray(self.model.rotors.axis)
        axes = np.einsum("rij,rj->ri", self.rotations[np.asarray(topology.rotor_links)], own)
        inertia = np.einsum("ri,rij,rj->r", own, np.asarray(self.model.rotors.inertia), own)
        return axes, self.positions[topology.links :], inertia

    def sensor(self, sensor: Imu | PoseSensor) -> tuple[Floats, Floats]:
        """Position (3,) and rotation (4,) of a sensor."""
        link = self.model.topology.link_names.index(sensor.link)
        R = self.rotations[link]
        position = self.positions[link] + R @ np.asarray(sensor.position)
        return position, np.array(wxyz_from_matrix(R @ matrix_from_wxyz(sensor.wxyz)))
