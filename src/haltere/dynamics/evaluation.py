"""The dynamics of a vehicle at one state: how its body accelerates, and the torque in each joint."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Any, TextIO

import jax

from haltere.airframe import Airframe, load_airframe
from haltere.dynamics.model import Model
from haltere.dynamics.solve import forward_dynamics
from haltere.dynamics.state_file import parse_state, read_state
from haltere.dynamics.wing import rate_warnings
from haltere.foundation import HaltereError
from haltere.foundation.arrays import double_precision
from haltere.foundation.jsonable import fields_to_jsonable
from haltere.foundation.tables import TextTable, html_lines, text_lines


class NotFiniteError(HaltereError):
    """The equations have no finite solution at this state."""


@dataclass(frozen=True, repr=False)
class VehicleAcceleration:
    """How a vehicle accelerates at one state.

    Attributes:
        airframe: name of the vehicle.
        linear_acceleration: (3,) of the body's origin against the world, body axes, m/s2.
        angular_acceleration: (3,) of the body, body axes, rad/s2.
        joint_torques: by name of joint and rotor, N m.
        joint_accelerations: the same, rad/s2.
        warnings: where the model is used outside of what it describes.
    """

    airframe: str
    linear_acceleration: tuple[float, ...]
    angular_acceleration: tuple[float, ...]
    joint_torques: dict[str, float]
    joint_accelerations: dict[str, float]
    warnings: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """All numbers, as `haltere dynamics --json` prints them."""
        return fields_to_jsonable(self)

    @property
    def tables(self) -> tuple[TextTable, ...]:
        """The body, and its joints and rotors."""
        body = [
            ("linear / (m/s2)", *self.linear_acceleration),
            ("angular / (rad/s2)", *self.angular_acceleration),
        ]
        joints = [
            (name, torque, self.joint_accelerations[name]) for name, torque in self.joint_torques.items()
        ]
        columns = ("name", "torque / (N m)", "acceleration / (rad/s2)")
        return (
            TextTable("Body, in body axes", ("acceleration", "x", "y", "z"), body),
            TextTable("Joints and rotors", columns, joints),
        )

    def __repr__(self) -> str:
        return text_lines([*self.tables, *self.warnings])

    def _repr_html_(self) -> str:
        return "".join(table.html() for table in self.tables) + html_lines(self.warnings)


@double_precision()
def evaluate_state(
    airframe: Airframe | str | PathLike[str], state: str | PathLike[str] | Mapping[str, Any] | TextIO
) -> VehicleAcceleration:
    """Body acceleration and joint torques at a state.

    Joints and rotors follow the acceleration that the state gives (0 if none), or are driven by its torque.

    Args:
        airframe: the vehicle, a name of the catalogue, or a file.
        state: a state file (`haltere.dynamics.state_file`), an open one, or a mapping as the file would hold it.

    Raises:
        HaltereError: the state does not fit the vehicle, or the equations have no finite solution there.
    """
    vehicle = load_airframe(airframe)
    model = Model.from_airframe(vehicle)
    if isinstance(state, Mapping):
        source, (at, drive, environment, wrenches) = "state", parse_state(json.dumps(state), model, "state")
    elif isinstance(state, str | PathLike):
        source, (at, drive, environment, wrenches) = str(state), read_state(str(state), model)
    else:
        source = getattr(state, "name", "<text>")
        at, drive, environment, wrenches = parse_state(state.read(), model, source)
    motion = jax.jit(forward_dynamics)(model, at, drive, environment, wrenches)
    warnings = rate_warnings(model, at, environment) if model.wings else []
    names = (*model.topology.joint_names, *model.topology.rotor_names)
    torques = (*motion.joint_torques.tolist(), *motion.rotor_torques.tolist())
    accelerations = (*motion.joint_accelerations.tolist(), *motion.rotor_accelerations.tolist())
    linear, angular = motion.inertial_acceleration(at).tolist(), motion.acceleration[3:].tolist()
    if not all(map(math.isfinite, (*linear, *angular, *torques, *accelerations))):
        msg = (
            f"{source}: the result is not finite; a joint driven by torque must have inertia about its axis, "
            "and the state must be within reason: give an acceleration instead, or smaller numbers"
        )
        raise NotFiniteError(msg)
    return VehicleAcceleration(
        vehicle.name,
        tuple(linear),
        tuple(angular),
        dict(zip(names, torques, strict=True)),
        dict(zip(names, accelerations, strict=True)),
        tuple(warnings),
    )
