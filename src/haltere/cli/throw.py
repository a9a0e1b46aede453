"""`haltere throw`: unknown vehicles are thrown into the air and learn to hover."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from haltere.cli.output import JsonFlag, emit_json, emit_table, prepare_jax, progress

if TYPE_CHECKING:
    from haltere.scenarios.throw.throws import Settings, Throws

EXAMPLE = "Example: haltere throw --vehicle random-quad --runs 20 --json"
SHOWN = 20
"""Failures in the table; JSON has all."""


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
            help="No tumbles before: the IMU's place is learnt with the rotors; the inertia is taken for a ball's.",
        ),
    ] = False,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Same seed, same output.")] = 0,
    json: JsonFlag = False,
) -> None:
    """Throw unknown vehicles and see whether they hover six seconds later.

    Nothing is known to them but what two earlier tumbles told, which are simulated for each vehicle, too: where the IMU
    sits (imu_position_error is what they leave) and the shape of the inertia. They excite their motors in turn, learn
    what each does and how late rotor speeds arrive, find the thrust axis and fly to a point 5 m above the ground.
    """
    prepare_jax()
    import jax

    from haltere.airframe import load_airframe
    from haltere.scenarios.throw.throws import KINDS, Settings, throw_vehicles

    chosen = vehicle if vehicle in KINDS else load_airframe(vehicle)
    settings = Settings(height, spin, noise.value, heading.value, prior_throws=not no_prior_throws)
    with progress(f"throwing {vehicle}: compiling takes a minute") as say:
        found = throw_vehicles(jax.random.key(seed), runs, chosen, settings, say)
    result = summary(found, vehicle, settings)
    if json:
        emit_json(result)
        return
    rows = [[name, *result[name].values()] for name in STATISTICS]
    rows += [[name, *values.values()] for name, values in result["parameter_errors"].items()]
    title = f"{vehicle}: {result['recovered']} of {result['runs']} throws end in a hover"
    emit_table(title, ("quantity", "median", "mean", "p95", "max"), rows)
    if result["failures"]:
        failures = result["failures"]
        emit_table("Failures", ("throw", "cause"), [[f["run"], f["cause"]] for f in failures[:SHOWN]])


STATISTICS = (
    "axis_error_deg",
    "imu_position_error",
    "latency_error",
    "altitude_lost",
    "heading_error_deg",
    "final_distance",
)


def summary(found: "Throws", vehicle: str, settings: "Settings") -> dict[str, Any]:
    """What the command says in JSON; SI but for the angles that say so."""
    import numpy as np

    def told(values: Any) -> dict[str, float]:
        x = np.asarray(values, float)
        return {
            "median": float(np.median(x)),
            "mean": float(np.mean(x)),
            "p95": float(np.quantile(x, 0.95)),
            "max": float(np.max(x)),
        }

    return {
        "vehicle": vehicle,
        "noise": settings.noise,
        "prior_throws": settings.prior_throws,
        "runs": len(found.recovered),
        "recovered": int(found.recovered.sum()),
        "axis_error_deg": told(np.degrees(found.axis_error)),
        "imu_position_error": told(found.place_error),
        "latency_error": told(found.latency_error),
        "altitude_lost": told(found.altitude_lost),
        "heading_error_deg": told(np.degrees(found.heading_error)),
        "final_distance": told(found.final[:, 0]),
        "parameter_errors": {name: told(values) for name, values in found.parameters.items()},
        "failures": [{"run": i, "cause": cause} for i, cause in enumerate(found.causes) if cause],
    }
