"""A scenario flown: airframe, trajectory, controller, air and sensors put together, and a `Flight` out."""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from haltere.airframe import Airframe, load_airframe
from haltere.airframe.errors import closest
from haltere.control import GeometricController, Integral
from haltere.control import step as control_step
from haltere.dynamics import Environment, State
from haltere.dynamics.model import locked_rotors
from haltere.dynamics.sensors.imu import ImuErrors
from haltere.flight import Flight
from haltere.foundation.arrays import Array, double_precision
from haltere.foundation.memory import bound_programs
from haltere.scenarios.trimmed_pilot import cog_pilot, with_cog
from haltere.simulation import Command, Gusts, Timing, Trace, Vehicle, along_wind, fly
from haltere.simulation.payload import Payload, hung, loading, loose
from haltere.simulation.recording import Sensing, record
from haltere.simulation.scenario import Scenario, ScenarioError, load_scenario
from haltere.trajectory import (
    Throw,
    Trajectory,
    bounded,
    chirp,
    circle,
    hover,
    hover_point,
    lissajous,
    minimum_snap,
    multisine,
    periodic,
    random_lissajous,
    step,
    throw,
)

Progress = Callable[[str], None]
START_HEIGHT = 1.0
"""Where a vehicle without start or trajectory begins, m."""


@double_precision()
def simulate(
    scenario: Scenario | str | Path, progress: Progress | None = None, seed: int | None = None
) -> Flight:
    """The flight of a scenario, or of a scenario file; `seed` replaces the scenario's own."""
    bound_programs()
    text = ""
    if not isinstance(scenario, Scenario):
        scenario, text = load_scenario(scenario)
    if seed is not None:
        scenario = scenario.model_copy(update={"seed": seed})
    say = progress or (lambda _: None)
    bare, loads = described(scenario), payloads_of(scenario)
    airframe = hung(bare, loads)
    vehicle = loose(Vehicle.from_airframe(airframe), loads)
    if not scenario.physics.rotor_inertia:
        vehicle = replace(vehicle, model=locked_rotors(vehicle.model))
    keys = jax.random.split(jax.random.key(scenario.seed), 4)
    angles = joint_angles(vehicle, {**scenario.start.joints, **scenario.controller.joints})
    environment = Environment((0.0, 0.0, -scenario.gravity), scenario.wind.mean, scenario.wind.air_density)
    believed = angles[: angles.shape[0] - sum(vehicle.servos.passive)]
    path, controller, notes = plan(scenario, bare, believed, keys[0], keys[1])
    notes += payload_notes(scenario)
    joints, change = sweeping(scenario, vehicle, angles), loading(loads) if loads else None
    start = first_state(scenario, vehicle, path, controller, angles)
    rates = scenario.timing
    timing = Timing(scenario.duration, rates.step_rate, rates.control_rate)

    longest = float(jnp.max(vehicle.motors.delay, initial=0.0))

    def flight(
        begin: State, air: Array | None, path: Trajectory | None, controller: GeometricController | None
    ) -> Trace:
        def pilot(integral: Integral, time: Array, state: State) -> tuple[Integral, Command]:
            if controller is None or path is None:
                return integral, Command(jnp.zeros(vehicle.model.topology.rotors), angles)
            reference, period = path.at(time), 1.0 / timing.control_rate
            squares, integral = control_step(controller, integral, state, reference, period)
            return integral, Command(vehicle.motors.command(jnp.sqrt(squares)), joints(time))

        flying: Any = pilot
        begun: Any = Integral.zero()
        if scenario.controller.compensation and controller is not None and path is not None:
            flying, begun = cog_pilot(
                bare, vehicle, controller, path, begin, timing, environment, keys[3], joints, change
            )
        return fly(vehicle, begin, flying, begun, timing, environment, air, scenario.ground, longest, change)

    say(f"flying {airframe.name} for {scenario.duration:g} s")
    trace = jax.jit(flight)(start, gust_series(scenario, timing, keys[2]), path, controller)
    say("reading the sensors")
    recorded = record(
        airframe, vehicle.model, trace, environment, sensing_of(scenario), keys[3], text, tuple(notes)
    )
    return with_cog(recorded, trace, timing.substeps)


def payloads_of(scenario: Scenario) -> tuple[Payload, ...]:
    """What hangs on the vehicle of a scenario."""
    return tuple(
        Payload(
            p.mass,
            p.position,
            p.attach if p.attach > 0.0 else -math.inf,
            math.inf if p.drop is None else p.drop,
            p.cable,
            p.damping,
            f"payload_{i + 1}",
        )
        for i, p in enumerate(scenario.payloads)
    )


def payload_notes(scenario: Scenario) -> list[str]:
    """What a reader of the flight should know of its payloads."""
    notes = []
    for i, p in enumerate(scenario.payloads):
        if p.drop is not None and p.drop <= p.attach:
            raise ScenarioError(
                f"payloads[{i}]: it is dropped at {p.drop:g} s but attached at {p.attach:g} s; give a later drop"
            )
        end = "to the end" if p.drop is None else f"to {p.drop:g} s"
        how = f"swings on {p.cable:g} m" if p.cable > 0.0 else "is fixed"
        notes.append(
            f"payload_{i + 1} of {p.mass:g} kg {how} at {list(p.position)} m from {p.attach:g} s {end}"
        )
    return notes


def sweeping(scenario: Scenario, vehicle: Vehicle, angles: Array) -> Callable[[Array], Array]:
    """(J,) joint angles in rad to command at a time in s."""
    names = vehicle.model.topology.joint_names
    for sweep in scenario.sweeps:
        if sweep.joint not in names:
            raise ScenarioError(
                f"sweeps: the vehicle has no moving joint '{sweep.joint}'; {closest(sweep.joint, names)}"
            )

    def at(time: Array) -> Array:
        wanted = angles
        for sweep in scenario.sweeps:
            first, last = sweep.angles
            phase = 2.0 * jnp.pi * jnp.maximum(time - sweep.start, 0.0) / sweep.period
            turned = first + (last - first) * 0.5 * (1.0 - jnp.cos(phase))
            wanted = wanted.at[names.index(sweep.joint)].set(turned)
        return wanted

    return at


def described(scenario: Scenario) -> Airframe:
    """The airframe of a scenario, without the physics and the noise that it switches off."""
    airframe = load_airframe(scenario.airframe)
    physics = scenario.physics
    dull: dict[str, Any] = {} if physics.drag else {"drag": None}
    body = airframe.body.model_copy(update=dull)
    links = tuple(link.model_copy(update=dull) for link in airframe.links)
    rotors = tuple(
        rotor if physics.inflow else rotor.model_copy(update={"inflow": None}) for rotor in airframe.rotors
    )
    airframe = airframe.model_copy(update={"body": body, "links": links, "rotors": rotors})
    return airframe if scenario.noise.enabled else _without_noise(airframe)


def _without_noise(airframe: Airframe) -> Airframe:
    def quiet(sensors: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(
            s.model_copy(update={name: None for name in type(s).model_fields if name.startswith("sigma_")})
            for s in sensors
        )

    names = ("imu", "pose", "position")
    return airframe.model_copy(update={name: quiet(getattr(airframe, name)) for name in names})


def joint_angles(vehicle: Vehicle, given: dict[str, float]) -> Array:
    """(J,) angles in rad in the order of the model, zero where none is given by name."""
    names = vehicle.model.topology.joint_names
    for name in given:
        if name not in names:
            raise ScenarioError(
                f"joint '{name}': the vehicle has no such moving joint; {closest(name, names)}"
            )
    return jnp.asarray([given.get(name, 0.0) for name in names], float)


def plan(
    scenario: Scenario, airframe: Airframe, angles: Array, path_key: Array, error_key: Array
) -> tuple[Trajectory | None, GeometricController | None, list[str]]:
    """What is flown, by whom, and what had to be changed for it."""
    path = trajectory_of(scenario, path_key)
    if scenario.controller.kind == "none":
        return None if isinstance(path, Throw) else path, None, []
    controller = GeometricController.from_airframe(airframe, angles)
    notes = []
    if isinstance(path, Throw):
        path = hover(scenario.trajectory.centre, scenario.trajectory.yaw, scenario.duration)
    else:
        path, note = bounded(controller.vehicle, path)
        notes = [note] if note else []
    if scenario.controller.parameter_error > 0.0:
        controller = controller.perturbed(error_key, scenario.controller.parameter_error)
    return path, controller, notes


def trajectory_of(scenario: Scenario, key: Array) -> Trajectory | Throw:
    """What the scenario asks to fly."""
    t, duration = scenario.trajectory, scenario.duration
    if t.kind == "lissajous":
        if t.cycles is None:
            return random_lissajous(key, duration, t.amplitude, t.centre, t.yaw)
        return lissajous(t.cycles, duration, t.amplitude, t.centre, t.yaw)
    if t.kind == "circle":
        return circle(t.radius, t.period, duration, t.centre, t.yaw)
    if t.kind == "step":
        return step(t.offset, 0.0, t.time, duration, t.centre, t.yaw)
    if t.kind == "periodic":
        if not t.sines or len(t.sines) != len(t.cosines):
            raise ScenarioError(
                f"trajectory: got {len(t.sines)} sines and {len(t.cosines)} cosines; give as many of both, at least one"
            )
        wave = periodic(jnp.asarray(t.sines), jnp.asarray(t.cosines), t.period, t.centre, t.yaw)
        return replace(wave, duration=jnp.asarray(duration))
    if t.kind == "waypoints":
        return minimum_snap(t.waypoints, t.yaw, speed=t.speed)
    if t.kind == "chirp":
        return chirp(t.amplitude, t.band_hz, duration, t.centre, t.yaw)
    if t.kind == "multisine":
        return multisine(t.amplitude, duration, t.band_hz, centre=t.centre, yaw=t.yaw)
    if t.kind == "throw":
        return throw((0.0, 0.0, START_HEIGHT), t.velocity, t.spin, duration=duration)
    return hover(t.centre, t.yaw, duration)


def first_state(
    scenario: Scenario,
    vehicle: Vehicle,
    path: Trajectory | None,
    controller: GeometricController | None,
    angles: Array,
) -> State:
    """The state at time zero: as given, thrown, or on the trajectory with the rotors at hover speed."""
    given, model = scenario.start, vehicle.model
    thrown = scenario.trajectory.kind == "throw"
    release = throw(
        given.position or (0.0, 0.0, START_HEIGHT),
        given.velocity or (scenario.trajectory.velocity if thrown else (0.0, 0.0, 0.0)),
        given.angular_velocity or (scenario.trajectory.spin if thrown else (0.0, 0.0, 0.0)),
        given.wxyz or (1.0, 0.0, 0.0, 0.0),
    )
    if path is None or controller is None or thrown:
        return release.state(model, angles)
    reference = path.at(0.0)
    yaw = 0.5 * reference.yaw
    level = jnp.stack([jnp.cos(yaw), 0.0 * yaw, 0.0 * yaw, jnp.sin(yaw)])
    release = throw(
        given.position or reference.position,
        given.velocity or reference.velocity,
        given.angular_velocity or (0.0, 0.0, 0.0),
        given.wxyz or level,
    )
    state = release.state(model, angles)
    spinning = jnp.sqrt(hover_point(controller.vehicle).command)
    return replace(state, rotor_rates=jnp.asarray(spinning, model.dtype))


def gust_series(scenario: Scenario, timing: Timing, key: Array) -> Array | None:
    """(steps, 3) gusts in m/s, world axes, or None for calm air."""
    if not scenario.wind.gusts:
        return None
    mean, asked = scenario.wind.mean, scenario.wind.gust_speed
    speed = math.hypot(*mean) if asked is None else asked
    if speed == 0.0:
        raise ScenarioError("wind: gusts of a wind of 0 m/s are none; give mean, or gust_speed in m/s")
    model = Gusts.low_altitude(speed, altitude=scenario.trajectory.centre[2])
    return along_wind(jnp.asarray(mean), model.series(key, timing.steps, timing.dt))


def sensing_of(scenario: Scenario) -> Sensing:
    """How the sensors of the scenario read."""
    n = scenario.noise
    quiet = not n.enabled
    errors = ImuErrors() if quiet else ImuErrors(n.accel_bias, n.gyro_bias, n.scale, n.misalignment)
    return Sensing(
        imu=errors,
        pose_latency=n.pose_latency,
        rotor_rate=n.rotor_rate,
        rotor_latency=n.rotor_latency,
        rotor_resolution=0.0 if quiet else n.rotor_resolution,
        rotor_sigma=0.0 if quiet else n.rotor_sigma,
        joint_rate=n.joint_rate,
        joint_resolution=0.0 if quiet else n.joint_resolution,
        magnetometer_rate=n.magnetometer_rate,
        magnetometer_sigma=0.0 if quiet else n.magnetometer_sigma,
        barometer_rate=n.barometer_rate,
        barometer_sigma=0.0 if quiet else n.barometer_sigma,
        truth_rate=scenario.timing.truth_rate,
    )
