"""`haltere observe`: what sensors and hand measurements can say about a vehicle, in any flight or in a recorded one."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from haltere.cli.output import JsonFlag, emit_json, emit_table, prepare_jax, progress

EXAMPLE = "Example: haltere observe hummingbird --sensors pose,imu --known mass --json"

AirframeArgument = Annotated[
    str, typer.Argument(help="A name of the catalogue, or an airframe file.", metavar="AIRFRAME")
]
SensorsOption = Annotated[
    str, typer.Option("--sensors", help="Of pose, position and imu, with commas.", metavar="LIST")
]
KnownOption = Annotated[
    list[str] | None,
    typer.Option(
        "--known",
        help="Parameters measured by hand, with commas, such as mass,rotors.*.position.z,distance.front.left.",
        metavar="LIST",
    ),
]


class Axes(StrEnum):
    """How a rotor's axis is counted."""

    SPHERE = "sphere"
    SPHERICAL = "spherical"


class Norms(StrEnum):
    """Which quaternions count their unit length."""

    ALL = "all"
    DETERMINED = "determined"


def observe(
    airframe: AirframeArgument,
    sensors: SensorsOption = "pose,imu",
    known: KnownOption = None,
    axes: Annotated[
        Axes, typer.Option("--axes", help="A rotor's axis as 2-D tangent, or as azimuth and inclination.")
    ] = Axes.SPHERE,
    norms: Annotated[
        Norms, typer.Option("--norms", help="Unit length of all quaternions, or of those that show.")
    ] = Norms.ALL,
    frozen: Annotated[
        bool, typer.Option("--frozen-imu", help="Hold rotor speeds fixed inside the IMU, as the paper did.")
    ] = False,
    flight: Annotated[
        Path | None,
        typer.Option(
            "--flight",
            help="A log: how well this flight tells each parameter, and what it lacks.",
            metavar="LOG",
        ),
    ] = None,
    wanted: Annotated[
        list[str] | None,
        typer.Option("--for", help="With --flight: only these parameters, with commas.", metavar="PARAM"),
    ] = None,
    mapping: Annotated[
        Path | None,
        typer.Option(
            "--map", help="With --flight, for CSV and ROS bags: which columns are which.", metavar="FILE"
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Same seed, same output.")] = 0,
    json: JsonFlag = False,
) -> None:
    """What can be known at all: rank, unobservable directions, and a verdict for every parameter.

    The rank is exact, without a tolerance; vehicles with wings have the floating-point one alone, marked so. With
    --flight also what a recorded flight tells: the deviation to expect, and the excitation that is missing.
    """
    from haltere.airframe import load_airframe

    vehicle = load_airframe(airframe)
    if flight is None and (wanted or mapping):
        raise typer.BadParameter("goes with --flight only", param_hint="--for" if wanted else "--map")
    if flight is not None and (axes is not Axes.SPHERE or norms is not Norms.ALL or frozen):
        raise typer.BadParameter("goes without --axes, --norms and --frozen-imu", param_hint="--flight")
    prepare_jax()
    if flight is not None:
        observe_flight(vehicle, flight, mapping, sensors, wanted or [], known or [], seed, json=json)
        return
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


def observe_flight(
    vehicle: Any,
    flight: Path,
    mapping: Path | None,
    sensors: str,
    wanted: list[str],
    known: list[str],
    seed: int,
    *,
    json: bool,
) -> None:
    """Print what a recorded flight tells."""
    from numpy.random import default_rng

    from haltere.logs import read
    from haltere.observability import information_of_flight
    from haltere.observability.information.recorded import as_mapping

    with progress(f"reading {flight}") as report:
        record = read(flight, mapping=mapping)
        found = information_of_flight(
            vehicle, record, listed([sensors]), listed(wanted), listed(known), default_rng(seed), report
        )
    result = as_mapping(found)
    if json:
        emit_json({**result, "flight": flight})
        return
    from haltere.observability.information.excitation import UNITS

    typer.echo(
        f"{flight}: {result['duration']:.3g} s of {result['airframe']}, {' + '.join(result['sensors'])}"
    )
    for note in result["notes"]:
        typer.echo(f"note: {note}")
    emit_table(
        "Excitation, root mean square",
        ("kind", "size", "unit"),
        [(kind, size, UNITS[kind]) for kind, size in result["excitation"].items()],
    )
    emit_table(
        "What this flight tells",
        ("parameter", "sigma", "% of its size", "verdict", "what is missing"),
        [
            (p["name"], p["sigma"], p["sigma"] and 100.0 * p["sigma"] / p["size"], p["verdict"], p["missing"])
            for p in result["information"]
        ],
    )


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
