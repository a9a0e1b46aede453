"""A vehicle flown with its centre of gravity estimated in the loop: plant, sensors, filter, compensation, controller.

At every control tick, with the state x, the command in force and the vehicle as it is at that time:

    sensors -> filter -> compensation -> controller -> command held until the next tick                   (1)

Only the filter sees noisy sensors; the controller gets the true state, so what differs between two flights is what they
believe of the centre of mass. All of it is one scan of `haltere.simulation.fly`, mapped over seeds.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

import jax
import jax.numpy as jnp

from haltere.control import GeometricController
from haltere.control.compensation import Compensation, Limits, compensated, renewed
from haltere.control.geometric import command as control
from haltere.dynamics import Environment, State
from haltere.dynamics.model import leaves
from haltere.estimation.cog import CogFilter
from haltere.estimation.cog_belief import CogReading
from haltere.estimation.cog_paper import PaperCogFilter
from haltere.estimation.cog_reference import ReferenceCog
from haltere.foundation.arrays import Array
from haltere.simulation import Command, Timing, Trace, Vehicle, fly
from haltere.simulation.fly import Change, Push
from haltere.simulation.sensors import felt
from haltere.simulation.step import accelerations
from haltere.trajectory import Trajectory

RATE = 220.0
"""Hz of filter and controller, [Fresk2017]."""
SUBSTEPS = 4


class Source(StrEnum):
    """Where the mixer takes the centre of mass from."""

    NOTHING = "nothing"
    """It stays with what it believed at the beginning."""
    OURS = "ours"
    PAPER = "paper"
    REFERENCE = "reference"
    """The paper's ground truth estimator, which integrates the position error."""


@leaves("offset", "sigma", "cov", "paper", "used", "modes", "noise", "along", "counts", "mass_scale", "thrust")
@dataclass(frozen=True)
class CogLog:
    """What is kept of each tick; lengths in m, body axes."""

    offset: Array
    sigma: Array
    cov: Array
    paper: Array
    used: Array
    """(3,) centre of mass that the mixer uses."""
    modes: Array
    noise: Array
    along: Array
    """() whether the component along the thrust is called observable."""
    counts: Array
    mass_scale: Array
    thrust: Array


@dataclass(frozen=True)
class Fault:
    """What the sensors do beyond noise: functions of (time, value) that spoil a reading."""

    gyro: Callable[[Array, Array], Array] = field(default=lambda _, value: value)
    accel: Callable[[Array, Array], Array] = field(default=lambda _, value: value)
    speeds: Callable[[Array, Array], Array] = field(default=lambda _, value: value)


@dataclass(frozen=True)
class CogLoop:
    """All that one closed loop is made of; `fly` flies it."""

    vehicle: Vehicle
    controller: GeometricController
    path: Trajectory
    filter: CogFilter
    paper: PaperCogFilter | None = None
    source: Source = Source.OURS
    change: Change | None = None
    push: Push | None = None
    joints: Callable[[Array], Array] | None = None
    """Joint angles (J,) rad to command at a time in s."""
    measured_joints: bool = True
    measured_speeds: bool = True
    first_offset: Any = 0.0
    """What filters and mixer believe at the beginning, (3,) m."""
    limits: Limits = field(default_factory=Limits)
    fault: Fault = field(default_factory=Fault)
    noisy: bool = True

    def fly(self, key: Array, duration: float, start: State) -> tuple[Trace, CogLog]:
        """A flight of `duration` s and its log at every plant step."""
        model, motors = self.vehicle.model, self.vehicle.motors
        numbers, timing = self.filter.numbers, Timing(duration, RATE * SUBSTEPS, RATE)
        gravity = jnp.asarray(Environment().gravity)
        hold = start.joint_angles
        nominal = self.controller.vehicle

        def pilot(carry: Any, time: Array, state: State) -> tuple[Any, Command]:
            belief, paper, reference, used, last, key = carry
            key, *draws = jax.random.split(key, 4)
            now = self.vehicle if self.change is None else self.change(self.vehicle, time)
            wrench = None if self.push is None else self.push(time, state)
            target = motors.target(last.rotors)
            motion = accelerations(now, state, target, last.joints, Environment(), wrench)
            force, rate = felt(
                now.model, state, motion, gravity, 0, numbers.imu_position, numbers.imu_rotation
            )
            loud = 1.0 if self.noisy else 0.0
            gyro = rate + loud * numbers.sigma_gyro * jax.random.normal(draws[0], (3,))
            accel = force + loud * numbers.sigma_accel * jax.random.normal(draws[1], (3,))
            noise = loud * self.filter.settings.speed_sigma * numbers.top_speed
            speeds = state.rotor_rates + noise * jax.random.normal(draws[2], state.rotor_rates.shape)
            if not self.measured_speeds:
                speeds = jnp.full_like(speeds, jnp.nan)
            gyro, accel = self.fault.gyro(time, gyro), self.fault.accel(time, accel)
            angles = state.joint_angles if model.topology.joints and self.measured_joints else None
            reading = CogReading(gyro, accel, self.fault.speeds(time, speeds), target, angles)
            belief = self.filter.tick(belief, reading)
            said = self.filter.estimate(belief)
            if self.paper is not None:
                body = numbers.imu_rotation
                paper = self.paper.tick(paper, body @ gyro, body @ accel, target)
            place = self.path.at(time).position
            reference = reference.tick(state.R_WB.T @ (state.position - place), 1.0 / RATE)
            used = self._used(used, nominal, said, paper, reference)
            flying = self.controller if self.source is Source.NOTHING else compensated(self.controller, used)
            if self.source is Source.NOTHING:
                flying = self.controller.with_vehicle(replace(nominal, com=nominal.com + self.first_offset))
            squares = control(flying, state, self.path.at(time))
            joints = hold if self.joints is None else self.joints(time)
            log = CogLog(
                said.offset,
                said.sigma,
                said.cov,
                paper.offset if self.paper is not None else said.offset,
                flying.vehicle.com,
                said.modes,
                said.noise,
                said.observable,
                belief.counts + used.counts,
                said.mass_scale,
                said.thrust_scale,
            )
            given = Command(motors.command(jnp.sqrt(squares)), joints, log)
            return (belief, paper, reference, used, replace(given, log=None), key), given

        first = jnp.broadcast_to(jnp.asarray(self.first_offset, float), (3,))
        belief = self.filter.begin(start.rotor_rates, first)
        paper = None if self.paper is None else self.paper.begin(start.rotor_rates, first)
        used = replace(Compensation.of(nominal), com=nominal.com + first)
        idle = Command(motors.command(start.rotor_rates), hold)
        begun = (belief, paper, ReferenceCog(first), used, idle, key)
        trace = fly(self.vehicle, start, pilot, begun, timing, change=self.change, push=self.push)
        return trace, trace.command.log

    def _used(self, used: Compensation, nominal: Any, said: Any, paper: Any, reference: Any) -> Compensation:
        across = said.cov - (said.axis @ said.cov @ said.axis) * jnp.outer(said.axis, said.axis)
        sigma = jnp.sqrt(jnp.maximum(jnp.max(jnp.diagonal(across)), 0.0))
        sure, dt = jnp.zeros(()), 1.0 / RATE
        if self.source is Source.OURS:
            mass = nominal.mass / (1.0 + said.mass_scale)
            return renewed(used, nominal, said.com, sigma, mass, dt, self.limits)
        if self.source is Source.PAPER:
            return renewed(used, nominal, nominal.com + paper.offset, sure, nominal.mass, dt, self.limits)
        if self.source is Source.REFERENCE:
            return renewed(used, nominal, nominal.com + reference.offset, sure, nominal.mass, dt, self.limits)
        return used
