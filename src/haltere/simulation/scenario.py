"""A scenario file: which vehicle flies what, how, in which air, with which sensors, for how long.

    airframe = "hummingbird"      # name in the catalogue, or a path beside this file
    duration = 30.0
    seed = 1
    [trajectory]
    kind = "lissajous"
    cycles = [1, 2, 3, 1]

Everything else has a default. The description only; `haltere.scenarios.scenario_flight` flies it.
"""

import tomllib
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, Literal

import tomli_w
from pydantic import BeforeValidator, Field, PlainSerializer, PlainValidator, ValidationError

from haltere.airframe import Airframe
from haltere.airframe.errors import describe, fault, format_value
from haltere.airframe.fields import (
    AirframePart,
    Interval,
    NonNegative,
    Number,
    Positive,
    Rotation,
    Vector,
    number,
)
from haltere.foundation import HaltereError
from haltere.foundation.text import toml_document

Four = tuple[Number, Number, Number, Number]


def _ground(value: Any) -> float | None:
    return None if value is False or value is None else number(value)


Ground = Annotated[float | None, BeforeValidator(_ground)]


def _vehicle(value: Any) -> str | Airframe:
    if isinstance(value, str | Airframe):
        return value
    raise fault(
        f'got {format_value(value)}; give name in the catalogue or path, such as airframe = "hummingbird"'
    )


VehicleSource = Annotated[
    str | Airframe,
    PlainValidator(_vehicle),
    PlainSerializer(lambda value: value.name if isinstance(value, Airframe) else value, return_type=str),
]


class ScenarioError(HaltereError):
    """A scenario that cannot be flown as it stands."""


class Start(AirframePart):
    """State at time zero; what is absent comes from the trajectory, or from rest at 1 m."""

    position: Vector | None = Field(None, description="world, m")
    wxyz: Rotation | None = Field(None, description="attitude")
    velocity: Vector | None = Field(None, description="of the body origin, world, m/s")
    angular_velocity: Vector | None = Field(None, description="body axes, rad/s")
    joints: dict[str, float] = Field(default_factory=dict, description="joint angles by name, rad")


class TrajectoryPart(AirframePart):
    """What to fly; which fields count depends on `kind`."""

    kind: Literal[
        "hover", "lissajous", "circle", "step", "waypoints", "chirp", "multisine", "periodic", "throw"
    ] = Field("hover", description="the kind of trajectory")
    centre: Vector = Field((0.0, 0.0, 2.0), description="centre or position, world, m")
    yaw: Number = Field(0.0, description="mean yaw, rad")
    cycles: Four | None = Field(None, description="lissajous: cycles of x, y, z, yaw in the whole time")
    amplitude: Four = Field((1.0, 1.0, 1.0, 1.0), description="of x, y, z (m) and yaw (rad)")
    radius: Positive = Field(1.0, description="circle, m")
    period: Positive = Field(6.0, description="circle and periodic, s")
    sines: tuple[Four, ...] = Field(
        (), description="periodic: amplitudes of x, y, z (m), yaw (rad) by harmonic"
    )
    cosines: tuple[Four, ...] = Field((), description="periodic: the same for cosines, as many as sines")
    offset: Vector = Field((1.0, 0.0, 0.0), description="step, m")
    time: NonNegative = Field(1.0, description="step: when, s")
    waypoints: tuple[Vector, ...] = Field((), description="positions to pass, world, m")
    speed: Positive = Field(1.5, description="waypoints, m/s")
    band_hz: Interval = Field((0.1, 1.0), description="chirp and multisine, Hz")
    velocity: Vector = Field((1.0, 0.0, 4.0), description="throw: at release, world, m/s")
    spin: Vector = Field((1.0, 2.0, 0.5), description="throw: at release, body axes, rad/s")


class ControllerPart(AirframePart):
    """Who flies."""

    kind: Literal["geometric", "none"] = Field(
        "geometric", description="'geometric', or 'none' for still motors"
    )
    parameter_error: NonNegative = Field(0.0, description="relative error of what the controller believes")
    joints: dict[str, float] = Field(default_factory=dict, description="joint angles to hold by name, rad")
    compensation: bool = Field(False, description="estimate the centre of gravity in flight and fly with it")


class PayloadPart(AirframePart):
    """A mass that is attached, dropped or swings; see `haltere.simulation.payload`."""

    mass: Positive = Field(description="kg", examples=["mass = 0.036"])
    position: Vector = Field(description="body axes, m", examples=["position = [0.9, -0.4, 0]"])
    attach: NonNegative = Field(0.0, description="when it is attached, s")
    drop: Positive | None = Field(None, description="when it is dropped, s")
    cable: NonNegative = Field(0.0, description="length of the cable on which it swings, m; 0 for rigid")
    damping: NonNegative = Field(0.0, description="of the swing, N m/(rad/s)")


class SweepPart(AirframePart):
    """A joint that moves to and fro."""

    joint: str = Field(description="name of the joint's link", examples=['joint = "arm"'])
    angles: tuple[Number, Number] = Field(description="from and to, rad", examples=["angles = [-0.7, -2.3]"])
    period: Positive = Field(20.0, description="there and back, s")
    start: NonNegative = Field(0.0, description="when it begins, s")


class WindPart(AirframePart):
    """The air."""

    mean: Vector = Field((0.0, 0.0, 0.0), description="world, m/s")
    gusts: bool = Field(False, description="Dryden turbulence of the low-altitude model")
    gust_speed: NonNegative | None = Field(None, description="wind speed at 6 m that sets the gusts, m/s")
    air_density: Positive = Field(1.225, description="kg/m3")


class NoisePart(AirframePart):
    """What sensors do beyond the airframe file; see `haltere.simulation.recording.Sensing`."""

    enabled: bool = Field(True, description="false: sensors without noise")
    accel_bias: NonNegative = Field(0.0, description="size of the first bias, m/s2")
    gyro_bias: NonNegative = Field(0.0, description="size of the first bias, rad/s")
    scale: NonNegative = Field(0.0, description="relative scale error of the IMU")
    misalignment: NonNegative = Field(0.0, description="of the IMU's axes, rad")
    pose_latency: NonNegative = Field(0.0, description="s")
    rotor_rate: Positive = Field(200.0, description="Hz")
    rotor_latency: NonNegative = Field(0.0, description="s")
    rotor_resolution: NonNegative = Field(0.0, description="rad/s")
    rotor_sigma: NonNegative = Field(0.0, description="rad/s")
    joint_rate: Positive = Field(200.0, description="Hz")
    joint_resolution: NonNegative = Field(0.0, description="rad")
    magnetometer_rate: NonNegative = Field(0.0, description="Hz; 0 for none")
    magnetometer_sigma: NonNegative = Field(0.0, description="T")
    barometer_rate: NonNegative = Field(0.0, description="Hz; 0 for none")
    barometer_sigma: NonNegative = Field(0.0, description="m")


class TimingPart(AirframePart):
    """Rates of the simulation, Hz."""

    step_rate: Positive = Field(1000.0, description="plant steps per second")
    control_rate: Positive = Field(500.0, description="controller calls per second")
    truth_rate: Positive = Field(200.0, description="recorded truth, Hz")


class PhysicsPart(AirframePart):
    """Switches for what the paper's simulations leave out."""

    rotor_inertia: bool = Field(True, description="spin-up reaction and gyroscopic torque of the rotors")
    drag: bool = Field(True, description="body and link drag")
    inflow: bool = Field(True, description="hub force and thrust loss of the rotors")


class Scenario(AirframePart):
    """One flight to simulate."""

    airframe: VehicleSource = Field(
        description="name in the catalogue or path", examples=['airframe = "hummingbird"']
    )
    duration: Positive = Field(30.0, description="s")
    seed: Annotated[int, Field(ge=0)] = Field(
        0, description="a whole number from 0, source of all randomness"
    )
    gravity: Positive = Field(9.81, description="m/s2, straight down")
    ground: Ground = Field(0.0, description="height of the ground in m, or false for none")
    start: Start = Field(default_factory=Start, description="state at time zero")
    trajectory: TrajectoryPart = Field(default_factory=TrajectoryPart, description="what to fly")
    controller: ControllerPart = Field(default_factory=ControllerPart, description="who flies")
    payloads: tuple[PayloadPart, ...] = Field((), description="what hangs on the vehicle")
    sweeps: tuple[SweepPart, ...] = Field((), description="joints that move")
    wind: WindPart = Field(default_factory=WindPart, description="the air")
    noise: NoisePart = Field(default_factory=NoisePart, description="the sensors")
    timing: TimingPart = Field(default_factory=TimingPart, description="the rates")
    physics: PhysicsPart = Field(default_factory=PhysicsPart, description="what is modelled")


def make_scenario(source: Scenario | str | PathLike[str] | Mapping[str, Any]) -> tuple[Scenario, str]:
    """The scenario of a file, a mapping as a file would hold it, or itself; and its text as TOML.

    A mapping may hold an `Airframe` where a file names one.

    Raises:
        ScenarioError: the file cannot be read, or a field is at fault.
    """
    if isinstance(source, Scenario):
        return source, scenario_text(source)
    if not isinstance(source, Mapping):
        return load_scenario(source)
    try:
        scenario = Scenario.model_validate(source)
    except ValidationError as error:
        raise ScenarioError(describe(error, "scenario", Scenario, source)) from None
    return scenario, scenario_text(scenario)


def scenario_text(scenario: Scenario) -> str:
    """What a scenario sets, as TOML; an airframe that came from no file is named only."""
    content = scenario.model_dump(mode="json", exclude_unset=True, exclude_none=True)
    if scenario.ground is None:
        content["ground"] = False
    return toml_document(tomli_w.dumps(content))


def load_scenario(path: str | PathLike[str]) -> tuple[Scenario, str]:
    """The scenario in a TOML file, and the file's text; a relative airframe path counts from the file's folder."""
    file = Path(path)
    try:
        text = file.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "is not text in UTF-8"
        raise ScenarioError(f"{file}: cannot be read ({reason}); give a scenario file in TOML") from None
    scenario = scenario_from_text(text, str(file))
    named = str(scenario.airframe)
    beside = file.parent / named
    if named.endswith(".toml") and beside.is_file():
        scenario = scenario.model_copy(update={"airframe": str(beside)})
    return scenario, text


def scenario_from_text(text: str, source: str = "<text>") -> Scenario:
    """The scenario in a TOML text."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError(f"{source}: {error}; mend the TOML there") from None
    try:
        return Scenario.model_validate(data)
    except ValidationError as error:
        raise ScenarioError(describe(error, source, Scenario, data)) from None
