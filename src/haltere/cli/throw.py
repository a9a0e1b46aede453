"""`haltere throw`: unknown vehicles are thrown into the air and learn to hover."""

from enum import StrEnum
from typing import Annotated

import typer

from haltere.cli.output import JsonFlag, prepare_jax, progress, show

EXAMPLE = "Example: haltere throw --vehicle random-quad --runs 20 --json"


class NoiseName(StrEnum):
    """Noise of the sensors."""

    NONE = "none"
    MEMS = "mems"
    STRONG = "strong"


class HeadingName(StrEnum):
    """Where the heading comes from."""

    TRACK = "track"
    COMPASS = "compass"


def throw(
    runs: Annotated[int, typer.Option("--runs", min=1, help="How many throws.")] = 20,
    vehicle: Annotated[
        str,
        typer.Option(
            "--vehicle",
            help="random-quad, random-hexa or random-octo (a new one for each throw), a vehicle of the catalogue "
            "such as hexa-tilted, or an airframe file.",
            metavar="NAME_OR_FILE",
        ),
    ] = "random-quad",
    noise: Annotated[NoiseName, typer.Option("--noise", help="Of the sensors.")] = NoiseName.STRONG,
    height: Annotated[
        float, typer.Option("--height", min=1.6, max=100.0, help="Apex of the throw above the ground, m.")
    ] = 3.5,
    spin: Annotated[
        float, typer.Option("--spin", min=0.0, max=20.0, help="Largest component of the spin, rad/s.")
    ] = 7.0,
    heading: Annotated[
        HeadingName, typer.Option("--heading", help="From the track of positions, or from a sensor.")
    ] = HeadingName.TRACK,
    no_prior_throws: Annotated[
        bool,
        typer.Option(
            "--no-prior-throws",
            help="No tumbles before: the IMU's position is learnt with the rotors; the inertia is taken for a ball's.",
        ),
    ] = False,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Same seed, same output.")] = 0,
    json: JsonFlag = False,
) -> None:
    """Throw unknown vehicles and see whether they hover six seconds later.

    Nothing is known to them but what two earlier tumbles gave, which are simulated for each vehicle, too: where the IMU
    sits (imu_position_error is what they leave) and the shape of the inertia. They excite their motors in turn, learn
    what each does and how late rotor speeds arrive, find the thrust axis and fly to a point 5 m above the ground.
    """
    prepare_jax()
    from haltere.scenarios.throw.throws import LaunchSettings, throw_vehicles

    settings = LaunchSettings(height, spin, noise.value, heading.value, prior_throws=not no_prior_throws)
    with progress(f"throwing {vehicle}: compiling takes a minute") as report:
        result = throw_vehicles(seed, runs, vehicle, settings, report)
    show(result.to_dict(), result.tables, json=json)
