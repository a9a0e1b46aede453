"""`haltere payload`: what an arm holds, from the loads of its servos."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from haltere.cli.options import ArmOption, MapOption
from haltere.cli.output import JsonFlag, emit_json, emit_line, emit_table, prepare_jax, progress

EXAMPLE = "Example: haltere payload --simulate --mass 0.273 --pose 45,45 --json"


class EffortName(StrEnum):
    """What a log's effort is."""

    TORQUE = "torque"
    FRACTION = "share"


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
    at_rest: Annotated[bool, typer.Option("--still", help="With --simulate: no measuring motion.")] = False,
    uncalibrated: Annotated[
        bool,
        typer.Option("--uncalibrated", help="With --simulate: no calibration with known weights before."),
    ] = False,
    airframe: ArmOption = "quad-arm",
    calibration: Annotated[
        Path | None,
        typer.Option(
            "--calibration", help="With FLIGHT: a file of `haltere calibrate servo --out`.", metavar="FILE"
        ),
    ] = None,
    fresh: Annotated[
        bool,
        typer.Option(
            "--fresh", help="With FLIGHT: the servos were calibrated just before, on the same supply."
        ),
    ] = False,
    beside_gripper: Annotated[
        bool,
        typer.Option(
            "--beside-gripper",
            "--place",
            help="With FLIGHT: the weight may hang beside the gripper; find where.",
        ),
    ] = False,
    inertia: Annotated[
        bool,
        typer.Option(
            "--inertia",
            help="With FLIGHT: the base rotated to and fro while the joints swept; find the payload's own inertia.",
        ),
    ] = False,
    effort: Annotated[
        EffortName, typer.Option("--effort", help="With FLIGHT: what joints.effort is.")
    ] = EffortName.TORQUE,
    mapping: MapOption = None,
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
    try:
        angles = [[float(word) for word in one.split(",")] for one in pose or ["45,45"]]
    except ValueError:
        raise typer.BadParameter("give two angles in degrees, such as 45,45", param_hint="--pose") from None
    prepare_jax()
    if report is not None:
        from haltere.report.page import check_replaceable

        check_replaceable(report)
    with progress("estimating the payload") as say:
        if flight is None:
            from haltere.papers.schmitz.trial import simulate_grip

            grip = simulate_grip(mass, angles, offset, seed, motion=not at_rest, calibration=not uncalibrated)
            result = grip.to_dict()
            if report is not None:
                result["report"] = grip.report(report)
        else:
            from haltere.identification.payload.reading import estimate_payload
            from haltere.logs import read

            say(f"reading {flight}")
            reading = estimate_payload(
                read(flight, mapping=mapping),
                airframe,
                calibration=calibration,
                fresh=fresh,
                beside_gripper=beside_gripper,
                rotating_base=inertia,
                effort=effort.value,
            )
            result = reading.to_dict()
            if report is not None:
                result["report"] = reading.report(report, f"Payload in {flight.name}")
    if json:
        emit_json(result)
        return
    _show(result)


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
        emit_line("the payload is not observable here: its weight has no lever, or no joint slid")
    if result["observable"] and not result["place_observable"]:
        emit_line("where the weight acts is not measured: it is taken to be near the gripper")
    if result["strain"] > 4.0:
        emit_line(
            f"the servos changed more than budgeted (strain {result['strain']:.1f}): calibrate them again"
        )
    for event in result["events"]:
        after = "not measured" if event["after"] is None else f"{event['after']:.4g} kg"
        emit_line(f"{event['kind']} at {event['time']:.2f} s, confidence {event['confidence']:.4f}: {after}")
    for finding in result["findings"]:
        emit_line(f"{finding['kind']}: {finding['evidence']}; {finding['remedy']}")
    if "truth" in result:
        emit_line(
            f"truth: {result['truth']['mass']:g} kg; the paper's estimator reads {result['paper_mass']:.4g} kg"
        )
    if "report" in result:
        emit_line(f"pictures: {result['report']}")
    for note in result["notes"]:
        emit_line(f"note: {note}")
