"""`haltere design`: the manoeuvre to fly for chosen parameters, and the deviation to expect."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from haltere.cli.observe import AirframeArgument, KnownOption, SensorsOption, listed
from haltere.cli.output import JsonFlag, emit_json, emit_table, prepare_jax, progress
from haltere.foundation import HaltereError

EXAMPLE = "Example: haltere design hummingbird --sensors pose,imu --for inertia.zz --out yaw"
COLUMNS = ("t", "x", "y", "z", "yaw", "vx", "vy", "vz", "yaw_rate", "ax", "ay", "az", "yaw_acceleration")


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

    vehicle = load_airframe(airframe)
    files = [] if out is None else [Path(f"{out}.csv"), Path(f"{out}.toml")]
    for file in files:
        if file.exists() and not force:
            raise FileExistsHereError(f"{file} exists already; give another --out or --force")
    payload = "payload" in listed(wanted or [])
    if payload and len(listed(wanted or [])) > 1:
        raise typer.BadParameter(
            "payload stands alone: flight and arm poses are designed apart", param_hint="--for"
        )
    if out is not None and (payload or throws is not None):
        raise typer.BadParameter("is for flights: poses and throws are only shown", param_hint="--out")
    prepare_jax()
    if throws is not None:
        plan_throws(vehicle, throws, json=json)
        return
    if payload:
        plan_poses(vehicle, poses, gripper, torque_sigma, json=json)
        return
    from numpy.random import default_rng

    from haltere.observability.manoeuvres.flat_flight import Limits
    from haltere.observability.manoeuvres.manoeuvre import plan

    centre = (0.0, 0.0, max(1.5, box[2] + 0.5))
    with progress(f"preparing {vehicle.name}") as report:
        found = plan(
            vehicle,
            listed([sensors]),
            listed(wanted or []),
            listed(known or []),
            Limits(size=box, speed=speed, centre=centre),
            duration,
            criterion.value,
            default_rng(seed),
            iterations,
            progress=report,
        )
    result = as_mapping(found, airframe)
    if files:
        write(files, result)
        result["files"] = files
    if json:
        emit_json(result)
    else:
        show(result)


def plan_throws(vehicle: Any, rate: float, *, json: bool) -> None:
    """Print how many throws about which axes the IMU's position takes."""
    from haltere.observability.manoeuvres.throws import throw_plans

    with progress(f"throws of {vehicle.name}"):
        plans = throw_plans(vehicle, rate)
    result = {
        "airframe": vehicle.name,
        "trajectory": [
            {"kind": "throw", "axes": p.axes, "spins": p.spins, "predicted_sigma": p.sigma} for p in plans
        ],
        "predicted_sigma": plans[-1].sigma,
    }
    if json:
        emit_json(result)
        return
    rows = [(len(p.axes), ", ".join(p.axes), *p.sigma.values()) for p in plans]
    emit_table(
        f"Position of the IMU from throws at {rate:g} rad/s, one sigma in m",
        ("throws", "spin about (principal axes)", "x", "y", "z"),
        rows,
    )


def plan_poses(
    vehicle: Any, most: int, gripper: tuple[float, float, float] | None, sigma: float, *, json: bool
) -> None:
    """Print which arm poses tell the mass of a payload and where its weight acts."""
    from numpy import rad2deg

    from haltere.observability.manoeuvres.arm_poses import payload_plan

    with progress(f"arm poses of {vehicle.name}"):
        found = payload_plan(vehicle, None, gripper, sigma, most)
    arm = found.arm
    if json:
        emit_json(
            {
                "airframe": vehicle.name,
                "link": arm.link,
                "joints": arm.joints,
                "rank": found.rank,
                "unobservable": found.unseen,
                "blind": found.blind,
                "trajectory": [
                    {"kind": "poses", "angles": p.angles, "predicted_sigma": p.sigma} for p in found.plans
                ],
                "predicted_sigma": found.plans[-1].sigma,
            }
        )
        return
    rows = [
        (
            len(p.angles),
            "; ".join("(" + ", ".join(f"{a:.0f}" for a in rad2deg(pose)) + ")" for pose in p.angles),
            *p.sigma.values(),
        )
        for p in found.plans
    ]
    emit_table(
        f"Payload on {arm.link} from torques known to {sigma:g} N m, one sigma in kg and kg m",
        ("poses", f"angles of {', '.join(arm.joints)}, deg", "mass", "m x", "m y", "m z"),
        rows,
    )
    for sentence in (*found.unseen, *(f"blind: {one}" for one in found.blind)):
        typer.echo(sentence)


def as_mapping(found: Any, airframe: str) -> dict[str, Any]:
    """The plan in plain numbers."""
    designer, manoeuvre = found.designer, found.manoeuvre
    return {
        "airframe": airframe,
        "sensors": [
            k for k, s in zip(("position", "pose", "imu"), (0, 3, 7), strict=True) if _read(designer, s)
        ],
        "known": list(designer.information.known),
        "assumed": list(found.assumed),
        "duration": designer.seconds,
        "trajectory": {
            "kind": "periodic",
            "period": designer.period,
            "centre": list(designer.pilot.limits.centre),
            "sines": manoeuvre.coefficients[0],
            "cosines": manoeuvre.coefficients[1],
        },
        "predicted_sigma": {
            name: {
                "sigma": sigma,
                "relative": None if sigma is None else sigma / designer.information.size(name),
                "lissajous": found.lissajous[name],
            }
            for name, sigma in manoeuvre.sigma.items()
        },
        "limits_used": manoeuvre.use,
        "excitation": manoeuvre.excitation,
        "findings": list(found.findings),
    }


def _read(designer: Any, output: int) -> bool:
    return float(designer.information.noise.sigma[output]) != float("inf")


def table(result: dict[str, Any]) -> list[list[float]]:
    """Rows of `COLUMNS` at 50 Hz over the whole flight."""
    import jax
    import jax.numpy as jnp

    from haltere.trajectory import periodic

    t = result["trajectory"]
    path = periodic(t["sines"], t["cosines"], t["period"], t["centre"])
    times = jnp.arange(round(result["duration"] * 50.0) + 1) / 50.0
    flat = jax.vmap(path.derivatives)(times)
    rows: list[list[float]] = jnp.concatenate(
        [times[:, None], flat[:, :3].reshape(len(times), 12)], axis=1
    ).tolist()
    return rows


def write(files: list[Path], result: dict[str, Any]) -> None:
    """The trajectory as a table of numbers and as a scenario for `haltere simulate`."""
    import tomli_w

    from haltere.foundation.files import write_text
    from haltere.foundation.jsonable import to_jsonable

    lines = [",".join(COLUMNS), *(",".join(f"{x:.9g}" for x in row) for row in table(result))]
    scenario = {
        "airframe": result["airframe"],
        "duration": result["duration"],
        "trajectory": to_jsonable(result["trajectory"]),
    }
    for file, text in zip(files, ("\n".join(lines) + "\n", tomli_w.dumps(scenario)), strict=True):
        write_text(file, text)


def show(result: dict[str, Any]) -> None:
    """Print the plan as text."""
    typer.echo(
        f"{result['airframe']}: {result['duration']:g} s, repeating {result['trajectory']['period']:g} s, "
        f"{100.0 * result['limits_used']:.0f} % of the limits"
    )
    if result["assumed"]:
        typer.echo(f"measure by hand: {', '.join(result['assumed'])}")
    rows = [
        (name, s["sigma"], None if s["relative"] is None else 100.0 * s["relative"], s["lissajous"])
        for name, s in result["predicted_sigma"].items()
    ]
    emit_table("Predicted deviation", ("parameter", "sigma", "% of value", "median Lissajous"), rows)
    from haltere.observability.information.excitation import UNITS

    shaken = ", ".join(f"{kind} {size:.2g} {UNITS[kind]}" for kind, size in result["excitation"].items())
    typer.echo(f"excitation, rms: {shaken}")
    for finding in result["findings"]:
        typer.echo(finding)
    for file in result.get("files", []):
        typer.echo(f"wrote {file}")
