"""`haltere design`: the manoeuvre to fly for chosen parameters, and the deviation to expect."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from haltere.cli.observe import AirframeArgument, KnownOption, SensorsOption, listed
from haltere.cli.output import JsonFlag, prepare_jax, progress, show
from haltere.foundation import HaltereError
from haltere.foundation.tables import TextTable

EXAMPLE = "Example: haltere design hummingbird --sensors pose,imu --for inertia.zz --out yaw"


class Criterion(StrEnum):
    """What is made small."""

    A = "a"
    D = "d"


class FileExistsHereError(HaltereError):
    """A file would be overwritten."""


def design(
    airframe: AirframeArgument,
    sensors: SensorsOption = "pose,imu",
    wanted: Annotated[
        list[str] | None,
        typer.Option(
            "--for",
            help="Parameters to learn about, with commas; payload for what an arm holds.",
            metavar="PARAM",
        ),
    ] = None,
    known: KnownOption = None,
    duration: Annotated[float, typer.Option("--duration", min=10.0, help="Length of the flight, s.")] = 30.0,
    box: Annotated[
        tuple[float, float, float], typer.Option("--box", help="Half the size of the space to fly in, m.")
    ] = (1.5, 1.5, 1.0),
    speed: Annotated[float, typer.Option("--speed", min=0.1, help="Highest speed, m/s.")] = 4.0,
    criterion: Annotated[
        Criterion, typer.Option("--criterion", help="Sum of variances (a) or their determinant (d).")
    ] = Criterion.A,
    iterations: Annotated[int, typer.Option("--iterations", min=0, help="Steps of the search.")] = 60,
    throws: Annotated[
        float | None,
        typer.Option(
            "--throws", help="Plan throws at this spin (rad/s) for the IMU's position.", metavar="RATE"
        ),
    ] = None,
    poses: Annotated[
        int, typer.Option("--poses", min=1, max=8, help="For a payload: largest number of arm poses.")
    ] = 3,
    gripper: Annotated[
        tuple[float, float, float] | None,
        typer.Option("--gripper", help="For a payload: where the arm's last link holds it, in its frame, m."),
    ] = None,
    torque_sigma: Annotated[
        float, typer.Option("--torque-sigma", help="For a payload: deviation of a joint's torque, N m.")
    ] = 0.01,
    out: Annotated[
        str | None, typer.Option("--out", help="Write OUT.csv and the scenario OUT.toml.", metavar="OUT")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite files.")] = False,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Same seed, same output.")] = 0,
    json: JsonFlag = False,
) -> None:
    """Design the manoeuvre that tells the most about chosen parameters, within the vehicle's limits.

    With --throws the throws for the IMU's position, with --for payload the arm poses for what the arm holds.
    """
    from haltere.airframe import load_airframe

    load_airframe(airframe)
    names = listed(wanted or [])
    for file in () if out is None or force else (Path(f"{out}.csv"), Path(f"{out}.toml")):
        if file.exists():
            raise FileExistsHereError(f"{file} exists already; give another --out or --force")
    payload = "payload" in names
    if payload and len(names) > 1:
        raise typer.BadParameter(
            "payload stands alone: flight and arm poses are designed apart", param_hint="--for"
        )
    if out is not None and (payload or throws is not None):
        raise typer.BadParameter("is for flights: poses and throws are only shown", param_hint="--out")
    prepare_jax()
    if throws is not None:
        from haltere.observability.manoeuvres.throws import design_throws

        with progress(f"throws of {airframe}"):
            plans = design_throws(airframe, throws)
        show(plans.to_dict(), [plans.sigma_table], json=json)
        return
    if payload:
        from haltere.observability.manoeuvres.arm_poses import design_arm_poses

        with progress(f"arm poses of {airframe}"):
            chosen = design_arm_poses(airframe, None, gripper, torque_sigma, poses)
        show(chosen.to_dict(), [chosen.sigma_table, *chosen.remarks], json=json)
        return
    from haltere.observability.manoeuvres.flat_flight import Limits
    from haltere.observability.manoeuvres.manoeuvre import design as design_manoeuvre

    limits = Limits(size=box, speed=speed, centre=(0.0, 0.0, max(1.5, box[2] + 0.5)))
    with progress(f"preparing {airframe}") as report:
        plan = design_manoeuvre(
            airframe,
            names,
            listed([sensors]),
            known=listed(known or []),
            duration=duration,
            limits=limits,
            criterion=criterion.value,
            iterations=iterations,
            seed=seed,
            progress=report,
        )
    files = () if out is None else plan.save(out, overwrite=force)
    shown: list[str | TextTable] = [
        plan.heading,
        *plan.advice,
        plan.sigma_table,
        *plan.remarks,
        *(f"wrote {file}" for file in files),
    ]
    show(plan.to_dict() | ({"files": files} if files else {}), shown, json=json)
