"""`haltere dynamics`: how a vehicle accelerates at one state, and the torque in each joint."""

import sys
from typing import Annotated

import typer

from haltere.cli.output import JsonFlag, emit_line, prepare_jax, progress, show

EXAMPLE = "Example: haltere dynamics hummingbird --state state.json --json"


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

    load_airframe(airframe)
    prepare_jax()
    from haltere.dynamics.evaluation import evaluate_state

    with progress(f"compiling the dynamics of {airframe}"):
        result = evaluate_state(airframe, sys.stdin if state == "-" else state)
    show(result.to_dict(), result.tables, json=json)
    for warning in () if json else result.warnings:
        emit_line(f"warning: {warning}", err=True)
