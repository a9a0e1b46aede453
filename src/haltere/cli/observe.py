"""`haltere observe`: what sensors and hand measurements can say about a vehicle, in any flight or in a recorded one."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from haltere.cli.output import JsonFlag, prepare_jax, progress, show

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

    load_airframe(airframe)
    if flight is None and (wanted or mapping):
        raise typer.BadParameter("goes with --flight only", param_hint="--for" if wanted else "--map")
    if flight is not None and (axes is not Axes.SPHERE or norms is not Norms.ALL or frozen):
        raise typer.BadParameter("goes without --axes, --norms and --frozen-imu", param_hint="--flight")
    prepare_jax()
    chosen, by_hand = listed([sensors]), listed(known or [])
    if flight is not None:
        from haltere.logs import read
        from haltere.observability.information.recorded import observe_flight

        with progress(f"reading {flight}") as report:
            record = read(flight, mapping=mapping)
            names = listed(wanted or [])
            told = observe_flight(
                airframe, record, chosen, known=by_hand, names=names, seed=seed, progress=report
            )
        lines = [f"{flight}: {told.heading}", *(f"note: {note}" for note in told.notes)]
        show({**told.to_dict(), "flight": flight}, [*lines, *told.tables], json=json)
        return
    from haltere.observability.answer import observe as analyse

    with progress(f"observability of {airframe}"):
        answer = analyse(
            airframe,
            chosen,
            known=by_hand,
            axes=axes.value,
            norms=norms.value,
            frozen_imu=frozen,
            seed=seed,
        )
    lines = [answer.heading, *(f"note: {note}" for note in answer.notes)]
    show(answer.to_dict(), [*lines, *answer.tables, *([answer.advice] if answer.advice else [])], json=json)


def listed(words: list[str]) -> tuple[str, ...]:
    """The parts of options with commas, each once."""
    return tuple(dict.fromkeys(part.strip() for word in words for part in word.split(",") if part.strip()))
