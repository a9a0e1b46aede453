"""Results of identification built by hand: whole, with open directions, and ratios only."""

from dataclasses import replace

import numpy as np

from haltere.airframe import Airframe, from_catalogue
from haltere.identification.described import DescribedVehicle, force_of, rotor_acceleration_of, torque_of
from haltere.identification.parameters import Parameter
from haltere.identification.result import Identification, Prediction

UNITS = {
    "mass": "kg",
    "com": "m",
    "inertia": "kg m2",
    "position": "m",
    "axis": "",
    "thrust_coefficient": "N/(rad/s)^2",
    "torque_ratio": "m",
    "time_constant": "s",
    "max_speed": "rad/s",
    "idle_speed": "rad/s",
    "curve": "",
    "effectiveness": "per (rad/s)^2",
}
SKIPPED = ("spin", "spin_inertia", "delay")


def unit_of(name: str) -> str:
    return next((unit for key, unit in UNITS.items() if key in name.split(".")), "")


def parameter(name, value, sigma, verdict="identified", partners=(), fix="") -> Parameter:
    interval = (value - 1.96 * sigma, value + 1.96 * sigma)
    return Parameter(name, value, sigma, interval, unit_of(name), verdict, tuple(partners), fix)


def sigma_of(name: str, value: float) -> float:
    """2 mm, 1 mrad, 1 %: what a decent flight gives."""
    if ".position." in name or name.startswith("com."):
        return 0.002
    if ".axis." in name:
        return 0.001
    return 0.01 * abs(value) or 1e-6


def predictions(seed: int = 0) -> tuple[Prediction, ...]:
    draw = np.random.default_rng(seed)
    time = np.arange(0.0, 6.0, 0.01)
    found = []
    for i, (name, unit, size) in enumerate(
        (
            ("specific_force.z", "m/s2", 2.0),
            ("angular_acceleration.x", "rad/s2", 12.0),
            ("angular_acceleration.y", "rad/s2", 10.0),
            ("angular_acceleration.z", "rad/s2", 3.0),
        )
    ):
        signal = size * (np.sin((1.3 + i) * time) + 0.4 * np.sin((4.1 + i) * time))
        noise = 0.1 * size * draw.standard_normal(len(time))
        found.append(Prediction(name, unit, time, signal + noise, signal))
    return tuple(found)


def whole(name: str = "x500", airframe: Airframe | None = None) -> Identification:
    """All numbers of a catalogue vehicle, each with a sigma."""
    vehicle = airframe or from_catalogue(name)
    numbers = DescribedVehicle.from_airframe(vehicle).numbers
    parameters = tuple(
        parameter(n, v, sigma_of(n, v)) for n, v in numbers.items() if n.rsplit(".", 1)[-1] not in SKIPPED
    )
    return Identification(
        source="flight.ulg",
        duration=31.2,
        method="batch",
        parameters=parameters,
        airframe=vehicle,
        nominal=vehicle,
        predictions=predictions(),
        fit={"iterations": 7},
        excitation={
            "angular_acceleration.x rad/s2": 8.1,
            "angular_acceleration.y rad/s2": 7.4,
            "angular_acceleration.z rad/s2": 0.9,
            "specific_force.z m/s2": 1.7,
        },
        findings=(
            {
                "kind": "rotor_latency",
                "evidence": "rotor speeds lag the rates by 8 ms",
                "remedy": "shift them by 8 ms",
                "certain": True,
            },
        ),
        undecided=({"kind": "pole_count", "reason": "no vibration line", "remedy": "log at 1 kHz"},),
        notes=("gravity taken as 9.80665 m/s2",),
        next_steps=("Fly 10 s of yaw steps of 60 deg/s: yaw inertia becomes twice as sure.",),
    )


def judged(result: Identification, verdict: str, names, fix: str = "weigh the vehicle") -> Identification:
    """The result with some numbers open."""
    names = list(names)
    changed = tuple(
        replace(
            p,
            verdict=verdict,
            partners=tuple(n for n in names if n != p.name) if verdict == "combination" else (),
            fix=fix,
        )
        if p.name in names
        else p
        for p in result.parameters
    )
    return replace(result, parameters=changed)


def scaled(result: Identification) -> Identification:
    """The usual flight without a weighed mass: mass, inertia and thrust coefficients are known together only."""
    names = [
        p.name
        for p in result.parameters
        if p.name == "mass" or p.name.startswith("inertia.") or p.name.endswith("thrust_coefficient")
    ]
    return judged(result, "combination", names)


def ratios(name: str = "indiflight-3inch") -> Identification:
    """What a log without pose gives: effectiveness and motors, no airframe."""
    subject = DescribedVehicle.from_airframe(from_catalogue(name))
    parameters = []
    for i, rotor in enumerate(subject.rotors):
        head = f"rotors.m{i + 1}"
        for table, names in (
            (force_of(subject.numbers, rotor), ("fx", "fy", "fz")),
            (torque_of(subject.numbers, rotor), "pqr"),
            (rotor_acceleration_of(subject.numbers, rotor), ("p_dot", "q_dot", "r_dot")),
        ):
            size = float(np.max(np.abs(table)))
            parameters += [
                parameter(f"{head}.effectiveness.{n}", float(v), 0.02 * size)
                for n, v in zip(names, table, strict=True)
            ]
        for n in ("max_speed", "idle_speed", "curve", "time_constant"):
            value = subject.numbers[f"rotors.{rotor}.{n}"]
            parameters.append(parameter(f"{head}.{n}", value, 0.01 * value))
    for axis, value in zip("xyz", (-0.01, 0.012, -0.008), strict=True):
        parameters.append(parameter(f"imu.position.{axis}", value, 0.001))
    parameters.append(
        Parameter("mass", None, None, (None, None), "kg", "unobservable", (), "weigh the vehicle")
    )
    return replace(
        whole(),
        method="effectiveness",
        airframe=None,
        nominal=None,
        parameters=tuple(parameters),
        fit={"curves": {f"m{i}": "kappa" for i in range(1, 5)}},
        source="flight.bbl",
    )
