"""`haltere dynamics`: how a vehicle accelerates at one state, and the torque in each joint."""

import math
import sys
from typing import Annotated, Any

import typer

from haltere.cli.output import JsonFlag, emit_json, emit_table, prepare_jax, progress
from haltere.foundation import HaltereError

EXAMPLE = "Example: haltere dynamics hummingbird --state state.json --json"


class NotFiniteError(HaltereError):
    """The equations have no finite solution at this state."""


def dynamics(
    airframe: Annotated[
        str, typer.Argument(help="A name of the catalogue, or an airframe file.", metavar="AIRFRAME")
    ],
    state: Annotated[
        str, typer.Option("--state", help="The state as a JSON file; - reads stdin.", metavar="FILE")
    ],
    json: JsonFlag = False,
) -> None:
    """Body acceleration and joint torques at a state.

    The acceleration is that of the body's origin against the world, in body axes. Joints and rotors follow
    the acceleration that the state file gives (0 if none), or are driven by its torque.
    """
    from haltere.airframe import load_airframe

    vehicle = load_airframe(airframe)
    prepare_jax()
    result = evaluate(vehicle, state)
    if json:
        emit_json(result)
        return
    emit_table(
        "Body, in body axes",
        ("acceleration", "x", "y", "z"),
        [
            ("linear / (m/s2)", *result["linear_acceleration"]),
            ("angular / (rad/s2)", *result["angular_acceleration"]),
        ],
    )
    torques, accelerations = result["joint_torques"], result["joint_accelerations"]
    emit_table(
        "Joints and rotors",
        ("name", "torque / (N m)", "acceleration / (rad/s2)"),
        [(name, torques[name], accelerations[name]) for name in torques],
    )
    for warning in result["warnings"]:
        typer.echo(f"warning: {warning}", err=True)


def evaluate(vehicle: Any, source: str) -> dict[str, Any]:
    """The result of the command for the airframe `vehicle` and the state file `source`, in plain numbers."""
    import jax

    from haltere.dynamics import Model, forward_dynamics, rate_warnings
    from haltere.dynamics.state_file import parse_state, read_state

    model = Model.from_airframe(vehicle)
    state, drive, environment, wrenches = (
        parse_state(sys.stdin.read(), model, "<stdin>") if source == "-" else read_state(source, model)
    )
    with progress(f"compiling the dynamics of {vehicle.name}"):
        motion = jax.jit(forward_dynamics)(model, state, drive, environment, wrenches)
        warnings = rate_warnings(model, state, environment) if model.wings else []
    names = (*model.topology.joint_names, *model.topology.rotor_names)
    torques = (*motion.joint_torques.tolist(), *motion.rotor_torques.tolist())
    accelerations = (*motion.joint_accelerations.tolist(), *motion.rotor_accelerations.tolist())
    linear, angular = motion.inertial_acceleration(state).tolist(), motion.acceleration[3:].tolist()
    if not all(map(math.isfinite, (*linear, *angular, *torques, *accelerations))):
        msg = (
            f"{source}: the result is not finite; a joint driven by torque must have inertia about its axis, "
            "and the state must be within reason: give an acceleration instead, or smaller numbers"
        )
        raise NotFiniteError(msg)
    return {
        "airframe": vehicle.name,
        "linear_acceleration": linear,
        "angular_acceleration": angular,
        "joint_torques": dict(zip(names, torques, strict=True)),
        "joint_accelerations": dict(zip(names, accelerations, strict=True)),
        "warnings": warnings,
    }
