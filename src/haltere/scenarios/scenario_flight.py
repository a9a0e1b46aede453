"""A scenario flown: airframe, trajectory, controller, air and sensors put together, and a `Flight` out."""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from os import PathLike
from typing import Any

import jax
import jax.numpy as jnp

from haltere.airframe import Airframe, load_airframe
from haltere.airframe.errors import closest
from haltere.control import GeometricController
from haltere.control.pilot import JointAngles, stay_at_rest, track
from haltere.dynamics import Environment, State
from haltere.dynamics.model import locked_rotors
from haltere.dynamics.sensors.imu import ImuErrors
from haltere.flight import Flight
from haltere.foundation.arrays import Array, double_precision
from haltere.foundation.memory import bound_programs
from haltere.scenarios.trimmed_pilot import trim_pilot, with_cog
from haltere.simulation import Command, Gusts, Timing, Trace, Vehicle, along_wind, fly
from haltere.simulation.closed_loop import Controller
from haltere.simulation.payload import Payload, payload_change, with_cables, with_free_cables
from haltere.simulation.recording import Sensing, record
from haltere.simulation.scenario import Scenario, ScenarioError, make_scenario
from haltere.trajectory import (
    ThrowRelease,
    Trajectory,
    bounded,
    hover,
    hover_point,
    throw,
    trajectory_from_table,
)
from haltere.trajectory.table import KINDS

Progress = Callable[[str], None]
OwnController = Callable[[Any, Array, State], tuple[Any, Any]]
"""(memory, time, state) -> (memory, motor commands (R,) in 0..1 or a `Command`), see `simulate`."""
START_HEIGHT = 1.0
"""Where a vehicle without start or trajectory begins, m."""


@double_precision()
def simulate(
    scenario: Scenario | str | PathLike[str] | Mapping[str, Any],
    *,
    controller: OwnController | None = None,
    memory: Any = None,
    seed: int | None = None,
    progress: Progress | None = None,
) -> Flight:
    """Simulate a scenario; the flight holds what the sensors read, and the truth in channels `truth.*`.

    A controller of your own is a function of its memory, the time in s and the true state
    (`haltere.dynamics.State`: position, wxyz, twist, rotor_rates, ...), written with `jax.numpy` because it is compiled
    with the simulator. It returns its next memory, and the motor commands (R,) of the R rotors, from 0 to 1, or
    a whole `haltere.simulation.Command`:

        def controller(memory, time, state):
            return memory, 0.45 + jnp.clip(0.1 * (2.0 - state.position[2]), -0.1, 0.1) * jnp.ones(4)

    Args:
        scenario: a scenario file, a `Scenario`, or a mapping with the contents of such a file; its `airframe` may
            be an `Airframe`.
        controller: replaces the scenario's controller, at its `timing.control_rate`; the flight begins on the
            scenario's trajectory, or at rest where its controller is "none".
        memory: the first memory of `controller`: numbers, arrays, or tuples, lists and dictionaries of them.
        seed: replaces the seed of the scenario.
        progress: called with a sentence before each part.

    Raises:
        HaltereError: the scenario, its airframe or the controller is at fault.
    """
    bound_programs()
    described, text = make_scenario(scenario)
    notes = []
    if seed is not None:
        described = described.model_copy(update={"seed": seed})
        notes = [f"flown with seed {seed}"]
    return _fly(described, text, notes, progress or (lambda _: None), controller, memory)


def _fly(
    scenario: Scenario,
    text: str,
    more_notes: list[str],
    progress: Progress,
    own: OwnController | None,
    memory: Any,
) -> Flight:
    bare, loads = describe_airframe(scenario), make_payloads(scenario)
    airframe = with_cables(bare, loads)
    vehicle = with_free_cables(Vehicle.from_airframe(airframe), loads)
    if not scenario.physics.rotor_inertia:
        vehicle = replace(vehicle, model=locked_rotors(vehicle.model))
    keys = jax.random.split(jax.random.key(scenario.seed), 4)
    angles = joint_angles(vehicle, {**scenario.start.joints, **scenario.controller.joints})
    environment = Environment((0.0, 0.0, -scenario.gravity), scenario.wind.mean, scenario.wind.air_density)
    known_angles = angles[: angles.shape[0] - sum(vehicle.servos.passive)]
    path, controller, notes = plan_flight(scenario, bare, known_angles, keys[0], keys[1])
    notes += [*payload_notes(scenario), *more_notes]
    joints, change = sweep_joints(scenario, vehicle, angles), payload_change(loads) if loads else None
    start = first_state(scenario, vehicle, path, controller, angles)
    rates = scenario.timing
    timing = Timing(scenario.duration, rates.step_rate, rates.control_rate)
    period = 1.0 / timing.control_rate
    trimmed = scenario.controller.compensation and own is None
    longest = float(jnp.max(vehicle.motors.delay, initial=0.0))
    begun = jax.tree.map(_as_array, memory)

    def flight(
        begin: State, air: Array | None, path: Trajectory | None, controller: GeometricController | None
    ) -> Trace:
        pilot: Controller[Any]
        first: Any
        if own is not None:
            pilot, first = own_pilot(own, begun, vehicle.model.topology.rotors, joints), begun
        elif controller is None or path is None:
            pilot, first = stay_at_rest(vehicle.model.topology.rotors, angles)
        elif trimmed:
            pilot, first = trim_pilot(
                bare, vehicle, controller, path, begin, timing, environment, keys[3], joints, change
            )
        else:
            pilot, first = track(controller, path, vehicle.motors, joints, period=period)
        return fly(vehicle, begin, pilot, first, timing, environment, air, scenario.ground, longest, change)

    progress(f"flying {airframe.name} for {scenario.duration:g} s")
    trace = jax.jit(flight)(start, make_gusts(scenario, timing, keys[2]), path, controller)
    progress("reading the sensors")
    recorded = record(
        airframe, vehicle.model, trace, environment, make_sensing(scenario), keys[3], text, tuple(notes)
    )
    return with_cog(recorded, trace, timing.substeps) if trimmed else recorded


def own_pilot(controller: OwnController, memory: Any, rotors: int, joints: JointAngles) -> Controller[Any]:
    """A user's controller as the closed loop takes it, its memory and command checked.

    Args:
        controller: see `simulate`.
        memory: its first memory, arrays.
        rotors: how many commands it has to give.
        joints: (J,) rad to command where it gives rotors only, or a function of time in s.
    """

    def pilot(before: Any, time: Array, state: State) -> tuple[Any, Command]:
        later, wanted = controller(before, time, state)
        got, first = (str(jax.tree.structure(tree)) for tree in (later, memory))
        if got != first:
            raise ScenarioError(
                f"controller: got a memory of the form {got}, its first one is {first}; "
                "return a memory of the same form, or give that one as memory"
            )
        later = jax.tree.map(lambda new, old: jnp.asarray(new, old.dtype), later, memory)
        if not isinstance(wanted, Command):
            wanted = Command(jnp.asarray(wanted, float), joints(time) if callable(joints) else joints)
        if wanted.rotors.shape != (rotors,):
            raise ScenarioError(
                f"controller: got motor commands of shape {wanted.rotors.shape}; give ({rotors},), one for each rotor"
            )
        return later, wanted

    return pilot


def _as_array(value: Any) -> Array:
    return jnp.asarray(value, float) if isinstance(value, int | float) else jnp.asarray(value)


def make_payloads(scenario: Scenario) -> tuple[Payload, ...]:
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


def sweep_joints(scenario: Scenario, vehicle: Vehicle, angles: Array) -> Callable[[Array], Array]:
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
            angle = first + (last - first) * 0.5 * (1.0 - jnp.cos(phase))
            wanted = wanted.at[names.index(sweep.joint)].set(angle)
        return wanted

    return at


def describe_airframe(scenario: Scenario) -> Airframe:
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


def joint_angles(vehicle: Vehicle, by_name: dict[str, float]) -> Array:
    """(J,) angles in rad in the order of the model, zero where none is given by name."""
    names = vehicle.model.topology.joint_names
    for name in by_name:
        if name not in names:
            raise ScenarioError(
                f"joint '{name}': the vehicle has no such moving joint; {closest(name, names)}"
            )
    return jnp.asarray([by_name.get(name, 0.0) for name in names], float)


def plan_flight(
    scenario: Scenario, airframe: Airframe, angles: Array, path_key: Array, error_key: Array
) -> tuple[Trajectory | None, GeometricController | None, list[str]]:
    """What is flown, by whom, and what had to be changed for it."""
    path = make_trajectory(scenario, path_key)
    if scenario.controller.kind == "none":
        return None if isinstance(path, ThrowRelease) else path, None, []
    controller = GeometricController.from_airframe(airframe, angles)
    notes = []
    if isinstance(path, ThrowRelease):
        path = hover(scenario.trajectory.centre, scenario.trajectory.yaw, scenario.duration)
    else:
        path, note = bounded(controller.vehicle, path)
        notes = [note] if note else []
    if scenario.controller.parameter_error > 0.0:
        controller = controller.perturbed(error_key, scenario.controller.parameter_error)
    return path, controller, notes


def make_trajectory(scenario: Scenario, key: Array) -> Trajectory | ThrowRelease:
    """What the scenario asks to fly; `key` draws what a Lissajous figure leaves open."""
    part = scenario.trajectory
    values: dict[str, Any] = {
        **part.model_dump(exclude_none=True),
        "duration": scenario.duration,
        "position": (0.0, 0.0, START_HEIGHT) if part.kind == "throw" else part.centre,
    }
    if part.kind == "multisine":
        del values["sines"]  # here a count, which the file leaves to the constructor
    fields = ("kind", *KINDS[part.kind][1])
    return trajectory_from_table({name: values[name] for name in fields if name in values}, key)


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


def make_gusts(scenario: Scenario, timing: Timing, key: Array) -> Array | None:
    """(steps, 3) gusts in m/s, world axes, or None for calm air."""
    if not scenario.wind.gusts:
        return None
    mean, asked = scenario.wind.mean, scenario.wind.gust_speed
    speed = math.hypot(*mean) if asked is None else asked
    if speed == 0.0:
        raise ScenarioError("wind: gusts of a wind of 0 m/s are none; give mean, or gust_speed in m/s")
    model = Gusts.low_altitude(speed, altitude=scenario.trajectory.centre[2])
    return along_wind(jnp.asarray(mean), model.series(key, timing.steps, timing.dt))


def make_sensing(scenario: Scenario) -> Sensing:
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
