"""`haltere payload`: what an arm holds, from the loads of its servos."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from haltere.cli.output import JsonFlag, emit_json, emit_table, prepare_jax, progress

if TYPE_CHECKING:
    from haltere.estimation.payload.state import PayloadEstimate

EXAMPLE = "Example: haltere payload --simulate --mass 0.273 --pose 45,45 --json"


class EffortName(StrEnum):
    """What a log's effort is."""

    TORQUE = "torque"
    SHARE = "share"


def payload(
    flight: Annotated[
        Path | None,
        typer.Argument(
            help="A log with the servos' angles and loads: ROS bag, MCAP or CSV.", metavar="FLIGHT"
        ),
    ] = None,
    simulate: Annotated[
        bool, typer.Option("--simulate", help="Simulate a grip with the catalogue's arm instead.")
    ] = False,
    mass: Annotated[float, typer.Option("--mass", help="With --simulate: kg to grip.")] = 0.273,
    pose: Annotated[
        list[str] | None,
        typer.Option(
            "--pose",
            help="With --simulate: angles of the joints in degrees; repeat for a second pose.",
            metavar="A,B",
        ),
    ] = None,
    offset: Annotated[
        float, typer.Option("--offset", help="With --simulate: centre of mass beyond the gripper, m.")
    ] = 0.0,
    still: Annotated[bool, typer.Option("--still", help="With --simulate: no measuring motion.")] = False,
    uncalibrated: Annotated[
        bool,
        typer.Option("--uncalibrated", help="With --simulate: no calibration with known weights before."),
    ] = False,
    airframe: Annotated[
        str, typer.Option("--airframe", help="With FLIGHT: the vehicle with its arm.", metavar="NAME_OR_FILE")
    ] = "quad-arm",
    calibration: Annotated[
        Path | None,
        typer.Option(
            "--calibration", help="With FLIGHT: a file of `haltere calibrate servo --out`.", metavar="FILE"
        ),
    ] = None,
    place: Annotated[
        bool, typer.Option("--place", help="With FLIGHT: the weight may hang beside the gripper; find where.")
    ] = False,
    inertia: Annotated[
        bool,
        typer.Option(
            "--inertia",
            help="With FLIGHT: the base turned to and fro while the joints swept; find the payload's own inertia.",
        ),
    ] = False,
    effort: Annotated[
        EffortName, typer.Option("--effort", help="With FLIGHT: what joints.effort is.")
    ] = EffortName.TORQUE,
    mapping: Annotated[
        Path | None,
        typer.Option(
            "--map", help="With FLIGHT, for CSV and ROS bags: which columns are which.", metavar="FILE"
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option("--report", help="Write a page with pictures of it here.", metavar="FILE.html"),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Same seed, same output.")] = 0,
    json: JsonFlag = False,
) -> None:
    """Estimate the mass on an arm and where its weight acts.

    From a log: what was gripped and released when, what hangs at the end, and what is wrong with the readings. With
    --simulate one grip of the catalogue's arm, with servos that the seed draws, beside the truth.
    """
    if (flight is None) == (not simulate):
        raise typer.BadParameter("give a log, or --simulate", param_hint="FLIGHT")
    prepare_jax()
    if report is not None:
        from haltere.report.page import check_replaceable

        check_replaceable(report)
    with progress("estimating the payload") as say:
        if flight is None:
            result = _simulated(mass, pose or ["45,45"], offset, seed, still, uncalibrated, report)
        else:
            say(f"reading {flight}")
            result = _logged(flight, airframe, calibration, place, inertia, effort.value, mapping, report)
    if json:
        emit_json(result)
        return
    _show(result)


def _simulated(
    mass: float,
    poses: list[str],
    offset: float,
    seed: int,
    still: bool,
    uncalibrated: bool,
    page: Path | None,
) -> dict[str, Any]:
    from haltere.papers.schmitz.trial import trial

    try:
        angles = [[float(word) for word in one.split(",")] for one in poses]
    except ValueError:
        raise typer.BadParameter("give two angles in degrees, such as 45,45", param_hint="--pose") from None
    found = trial(mass, angles, offset, seed, motion=not still, calibration=not uncalibrated)
    result = {
        **_told(found.estimate),
        "settled": float(found.found.settled),
        "paper_mass": found.paper,
        "findings": [f.to_dict() for f in found.findings],
        "events": [],
        "truth": found.truth,
        "notes": [],
    }
    if page is not None:
        from haltere.report.payload import page as drawn

        result["report"] = str(drawn(found.story, "A simulated grip").write(page))
    return result


def _logged(
    flight: Path,
    vehicle: str,
    calibration: Path | None,
    place: bool,
    inertia: bool,
    effort: Any,
    mapping: Path | None,
    page: Path | None,
) -> dict[str, Any]:
    from haltere.airframe import load_airframe
    from haltere.estimation.payload.model import ArmBelief, DriftBudget
    from haltere.identification.payload.calibration import load_calibration
    from haltere.identification.payload.reading import read_payload
    from haltere.logs import read

    airframe = load_airframe(vehicle)
    belief = ArmBelief.from_airframe(airframe)
    if calibration is not None:
        belief = load_calibration(calibration, belief).drifted(DriftBudget())
    found = read_payload(
        read(flight, mapping=mapping), airframe, belief, beside=place, turned=inertia, effort=effort
    )
    result = {
        **_told(found.estimate, found.trusted),
        "findings": [f.to_dict() for f in found.findings],
        "events": [vars(event) for event in found.course.events],
        "notes": list(found.log.notes),
    }
    if page is not None:
        from haltere.report.payload import Story
        from haltere.report.payload import page as drawn

        result["report"] = str(drawn(Story.of_log(found), f"Payload in {flight.name}").write(page))
    return result


def _told(estimate: "PayloadEstimate", trusted: bool = True) -> dict[str, Any]:
    """What is said of an estimate; of readings with faults nothing but that."""
    import numpy as np

    mass, sigma = float(estimate.mass), float(estimate.sigma)
    seen = trusted and bool(estimate.observable)
    placed, spun = seen and bool(estimate.place_observable), seen and bool(estimate.inertia_observable)
    center = np.asarray(estimate.center_of_mass).tolist()
    return {
        "mass": mass if seen else None,
        "sigma": sigma if seen else None,
        "interval": [mass - 1.96 * sigma, mass + 1.96 * sigma] if seen else [None, None],
        "center_of_mass": center if seen else None,
        "center_sigma": np.sqrt(np.diag(estimate.center_cov)).tolist(),
        "observable": seen,
        "place_observable": placed,
        "inertia": float(estimate.inertia) if spun else None,
        "inertia_sigma": float(estimate.inertia_sigma) if spun else None,
        "inertia_observable": spun,
        "held": bool(estimate.held),
        "strain": float(estimate.strain),
    }


def _show(result: dict[str, Any]) -> None:
    if result["observable"]:
        rows = [
            ("mass", "kg", result["mass"], result["sigma"]),
            *(
                (f"center_of_mass.{axis}", "m", value, sigma)
                for axis, value, sigma in zip(
                    "xyz", result["center_of_mass"], result["center_sigma"], strict=True
                )
            ),
        ]
        emit_table(
            "Payload" + (", held" if result["held"] else ""), ("quantity", "unit", "value", "sigma"), rows
        )
    else:
        typer.echo("the payload is not observable here: its weight has no lever, or no joint slid")
    if result["observable"] and not result["place_observable"]:
        typer.echo("where the weight acts is not measured: it is taken to be near the gripper")
    if result["strain"] > 4.0:
        typer.echo(
            f"the servos changed more than budgeted (strain {result['strain']:.1f}): calibrate them again"
        )
    for event in result["events"]:
        after = "not measured" if event["after"] is None else f"{event['after']:.4g} kg"
        typer.echo(f"{event['kind']} at {event['time']:.2f} s, confidence {event['confidence']:.4f}: {after}")
    for finding in result["findings"]:
        typer.echo(f"{finding['kind']}: {finding['evidence']}; {finding['remedy']}")
    if "truth" in result:
        typer.echo(
            f"truth: {result['truth']['mass']:g} kg; the paper's estimator reads {result['paper_mass']:.4g} kg"
        )
    if "report" in result:
        typer.echo(f"pictures: {result['report']}")
    for note in result["notes"]:
        typer.echo(f"note: {note}")
