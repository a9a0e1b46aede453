"""`haltere observe`: what sensors and hand measurements can say about a vehicle, before it flies."""

from enum import StrEnum
from typing import Annotated, Any

import typer

from haltere.cli.output import JsonFlag, emit_json, emit_table, prepare_jax, progress

EXAMPLE = "Example: haltere observe hummingbird --sensors pose,imu --known mass --json"


class Axes(StrEnum):
    """How a rotor's axis is counted."""

    SPHERE = "sphere"
    SPHERICAL = "spherical"


class Norms(StrEnum):
    """Which quaternions count their unit length."""

    ALL = "all"
    DETERMINED = "determined"


def observe(
    airframe: Annotated[
        str, typer.Argument(help="A name of the catalogue, or an airframe file.", metavar="AIRFRAME")
    ],
    sensors: Annotated[
        str, typer.Option("--sensors", help="Of pose, position and imu, with commas.", metavar="LIST")
    ] = "pose,imu",
    known: Annotated[
        list[str] | None,
        typer.Option(
            "--known",
            help="Parameters measured by hand, with commas, such as mass,rotors.*.position.z,distance.front.left.",
            metavar="LIST",
        ),
    ] = None,
    axes: Annotated[
        Axes, typer.Option("--axes", help="A rotor's axis as 2-D tangent, or as azimuth and inclination.")
    ] = Axes.SPHERE,
    norms: Annotated[
        Norms, typer.Option("--norms", help="Unit length of all quaternions, or of those that show.")
    ] = Norms.ALL,
    frozen: Annotated[
        bool, typer.Option("--frozen-imu", help="Hold rotor speeds fixed inside the IMU, as the paper did.")
    ] = False,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Same seed, same output.")] = 0,
    json: JsonFlag = False,
) -> None:
    """What can be known at all: rank, unobservable directions, and a verdict for every parameter.

    The rank is exact, without a tolerance; vehicles with wings have the floating-point one alone, marked so.
    """
    from haltere.airframe import resolve

    vehicle = resolve(airframe)
    prepare_jax()
    from numpy.random import default_rng

    from haltere.observability import Question, Subject, as_mapping
    from haltere.observability import observe as answer

    question = Question(listed([sensors]), axes.value, frozen)
    subject = Subject.from_airframe(vehicle, question.exteroceptive)
    with progress(f"observability of {vehicle.name}"):
        result = as_mapping(answer(subject, question, listed(known or []), norms.value, default_rng(seed)))
    if json:
        emit_json(result)
        return
    show(result)


def listed(words: list[str]) -> tuple[str, ...]:
    """The parts of options with commas, each once."""
    return tuple(dict.fromkeys(part.strip() for word in words for part in word.split(",") if part.strip()))


def show(result: dict[str, Any]) -> None:
    """Print the answer as text."""
    how = "exact" if result["exact"] else "floating-point numbers alone"
    typer.echo(
        f"{result['airframe']}, {' + '.join(result['sensors'])}: rank {result['rank']} of {result['states']} states "
        f"({how}; {len(result['directions'])} unobservable directions of {result['error_states']} error states)"
    )
    for note in result["notes"]:
        typer.echo(f"note: {note}")
    rows = [
        (
            direction["kind"],
            direction["explanation"],
            " or ".join(" + ".join(names) for names in direction["fix"][:2]) or None,
        )
        for direction in result["directions"]
    ]
    if rows:
        emit_table("Unobservable directions", ("kind", "what moves", "measure by hand"), rows)
    unclear = [p for p in result["parameters"] if p["verdict"] != "observable"]
    emit_table(
        f"Parameters: {len(result['parameters']) - len(unclear)} observable, {len(unclear)} not",
        ("name", "verdict", "measure by hand"),
        [(p["name"], p["verdict"], " + ".join(p["fix"]) if p["fix"] else None) for p in unclear],
    )
    remedy = result["remedy"]
    if remedy["measure"]:
        left = (
            f"; {remedy['left']} directions then stay"
            if remedy["left"]
            else "; then everything is observable"
        )
        typer.echo(f"measure {', '.join(remedy['measure'])}{left}")
