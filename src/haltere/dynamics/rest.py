"""A vehicle that stands still, in numbers: mass, centre of mass, inertia, and where its links and rotors are."""

from dataclasses import replace

from haltere.dynamics.model import Model, locked_rotors
from haltere.dynamics.rigid import Compact
from haltere.dynamics.state import State
from haltere.dynamics.tree import kinematics
from haltere.foundation.arrays import Array
from haltere.foundation.programs import Stored


def _at_rest(model: Model, angles: Array) -> tuple[Array, Array, Array, Array, Array]:
    still = locked_rotors(model)
    nodes = kinematics(still, replace(State.rest(still), joint_angles=angles))
    return (*Compact.from_model(still, angles).mass_properties, nodes.positions, nodes.rotations)


at_rest = Stored(_at_rest, None, (0, 0, 0, 0, 0), seldom=True)
"""Of a model at joint angles (J,) rad: mass, centre of mass (3,), inertia about it (3, 3); of links and rotors the
places (L + R, 3) and axes (L + R, 3, 3); in body axes, kg, m."""
