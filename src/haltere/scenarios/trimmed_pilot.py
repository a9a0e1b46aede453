"""The pilot of a scenario with `compensation`: the geometric controller beside a centre-of-gravity filter.

The filter reads the IMU of the airframe file inside the loop, with its noise; what it estimates is recorded as
`cog.trim`, `cog.position`, `cog.sigma` (m, body axes) and `cog.reason` (numbers of
`haltere.estimation.cog.settings.Reason`).
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from haltere.airframe import Airframe
from haltere.control import GeometricController, Integral
from haltere.control.pilot import track
from haltere.control.trim import SelfTrim
from haltere.dynamics import Environment, State
from haltere.dynamics.sensors.imu import sense_motion
from haltere.estimation.cog.belief import CogReading
from haltere.estimation.cog.core import CogCore
from haltere.estimation.cog.settings import CogSettings
from haltere.flight import Channel, Flight
from haltere.foundation.arrays import Array
from haltere.simulation import Command, Timing, Trace, Vehicle
from haltere.simulation.closed_loop import Change, Controller
from haltere.simulation.plant import motion_now
from haltere.trajectory import Trajectory

COLUMNS = ("x", "y", "z")


def trim_pilot(
    airframe: Airframe,
    vehicle: Vehicle,
    controller: GeometricController,
    path: Trajectory,
    start: State,
    timing: Timing,
    environment: Environment,
    key: Array,
    joints: Callable[[Array], Array],
    change: Change | None = None,
) -> tuple[Controller[Any], Any]:
    """The pilot and its first state, for `haltere.simulation.closed_loop`.

    Args:
        airframe: what the filter believes, without payloads.
        vehicle: what flies.
        controller: its controller at the beginning.
        path: what is flown.
        start: state at time zero.
        timing: rates; the filter runs with the controller.
        environment: gravity and air.
        key: of the noise.
        joints: (J,) rad to command at a time in s.
        change: what becomes of the vehicle in flight.
    """
    period = 1.0 / timing.control_rate
    known = len(controller_joints(airframe))
    settings = CogSettings(period=period)
    filter_ = CogCore.from_airframe(airframe, settings, start.joint_angles[:known] if known else None)
    numbers, gravity = filter_.numbers, jnp.asarray(environment.gravity)
    motors, beside = vehicle.motors, SelfTrim(filter_, controller.vehicle)

    def pilot(carry: Any, time: Array, state: State) -> tuple[Any, Command]:
        trimmed, integral, last, key = carry
        key, a, b, c = jax.random.split(key, 4)
        now = vehicle if change is None else change(vehicle, time)
        target = motors.target(last.rotors)
        motion = motion_now(now, state, target, last.joints, environment)
        force, rate = sense_motion(
            now.model, state, motion, gravity, 0, numbers.imu_position, numbers.imu_rotation
        )
        noise = settings.speed_sigma * numbers.top_speed
        reading = CogReading(
            rate + numbers.sigma_gyro * jax.random.normal(a, (3,)),
            force + numbers.sigma_accel * jax.random.normal(b, (3,)),
            state.rotor_rates + noise * jax.random.normal(c, noise.shape),
            target,
            state.joint_angles[:known] if known else None,
        )
        trimmed, estimate = beside.step(trimmed, reading)
        steer, _ = track(trimmed.controller, path, motors, joints, period=period)
        integral, command = steer(integral, time, state)
        log = {
            "trim": estimate.trim,
            "position": estimate.com,
            "sigma": estimate.sigma,
            "reason": trimmed.used.reason,
        }
        return (trimmed, integral, command, key), replace(command, log=log)

    speeds = start.rotor_rates
    first = Command(motors.command(speeds), joints(jnp.zeros(())))
    return pilot, (beside.begin(controller, speeds), Integral.zero(), first, key)


def controller_joints(airframe: Airframe) -> tuple[str, ...]:
    """Names of the joints that the airframe moves."""
    return tuple(link.name for link in airframe.links if not link.joint.fixed)


def with_cog(flight: Flight, trace: Trace, substeps: int) -> Flight:
    """The flight with what the filter said, if there was one."""
    log = trace.command.log
    if log is None:
        return flight
    time = np.round(np.asarray(trace.time)[::substeps] * 1e9).astype(np.int64)
    keep = time <= max(int(channel.time[-1]) for channel in flight.channels.values())

    def channel(name: str, unit: str, columns: tuple[str, ...]) -> Channel:
        values = np.asarray(log[name], float)[::substeps][keep]
        frame = "body" if columns else ""
        return Channel(f"cog.{name}", time[keep], values, unit, frame, columns)

    more = (
        channel("trim", "m", COLUMNS),
        channel("position", "m", COLUMNS),
        channel("sigma", "m", COLUMNS),
        channel("reason", "1", ()),
    )
    return Flight.of(
        *flight.channels.values(),
        *more,
        airframe=flight.airframe,
        scenario=flight.scenario,
        notes=flight.notes,
    )
