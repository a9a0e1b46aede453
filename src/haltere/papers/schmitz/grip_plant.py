"""A quadrotor with an arm that grips in flight: servos, arm, rotors and vehicle in one simulation.

Every millisecond the servos feel the base's specific force of the step before, their joints' accelerations go into the
vehicle's forward dynamics, and so the arm's motion pushes the vehicle. The geometric controller, which has no integral
part, holds the vehicle at the origin; what it knows of the vehicle is given from outside (`Compensation`). Each rotor
pushes (1 + s) times as strongly as the airframe file says, and (1 + d) times that under the load:

    thrust_i = k_i (1 + s_i) (1 + d h) w_i^2,   h = share of the payload that hangs                             (1)
"""

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from haltere.airframe import Airframe, from_catalogue
from haltere.algebra import join_single, soa, split_single
from haltere.control import GeometricController
from haltere.control.geometric import command
from haltere.control.trim import Compensation
from haltere.dynamics import Drive, Environment, Model, State
from haltere.dynamics.arm import effort
from haltere.dynamics.inertia import unpacked
from haltere.dynamics.motors import Motors
from haltere.dynamics.servo import Servos, ServoState, reported, servo_step
from haltere.dynamics.solve import forward_dynamics
from haltere.foundation.arrays import Array, pytree
from haltere.foundation.numbers import Numbers
from haltere.lie import so3
from haltere.papers.schmitz.bench import VEHICLE, arm_of_bench
from haltere.simulation.arm import at_rest
from haltere.trajectory import Reference

DT = 1e-3
STEPS = 5
"""Steps of a controller's tick."""
TICK_RATE = 1.0 / (STEPS * DT)
"""Hz of controller, IMU and rotor speeds."""
SIGMA_ACCEL, SIGMA_GYRO, SIGMA_SPEED = 0.05, 0.003, 3.0
"""Noise of one sample: m/s2, rad/s, rad/s."""


@pytree
@dataclass(frozen=True)
class GripPlant:
    """What flies and its controller does not know; with a leading axis for N of them."""

    servos: Servos
    bodies: Array
    """(L, 10) inertial parameters of the links."""
    payload: Array
    """(10,) of what is gripped, in the frame of the last link."""
    strength: Array
    """(R,) s of equation (1)."""
    thrust_change: Array
    """() d of equation (1)."""


@pytree
@dataclass(frozen=True)
class GripState:
    """Vehicle, servos, and the base's specific force (3,) and angular acceleration (3,) in the last step."""

    state: State
    servo: ServoState
    force: Array
    angular: Array


@pytree
@dataclass(frozen=True)
class GripRecord:
    """What is reported at every tick, leading axes (N, T): by servos, IMU and rotors; and what is true."""

    angle: Any
    """(J,) rad, in steps of the encoders."""
    load: Any
    """(J,) share of the stall torque."""
    force: Any
    """(3,) specific force, body axes, m/s2."""
    gyro: Any
    """(3,) rad/s."""
    speeds: Any
    """(R,) rotor speeds, rad/s."""
    targets: Any
    """(R,) rotor speeds that were commanded, rad/s."""
    position: Any
    """(3,) true, m."""
    true_angle: Any
    """(J,) true, rad."""

    def noisy(self, rng: np.random.Generator) -> "GripRecord":
        """With the noise of IMU and rotor speeds."""

        def read(x: Any, sigma: float) -> Numbers:
            return np.asarray(np.asarray(x) + sigma * rng.standard_normal(np.shape(x)))

        return replace(
            self,
            force=read(self.force, SIGMA_ACCEL),
            gyro=read(self.gyro, SIGMA_GYRO),
            speeds=read(self.speeds, SIGMA_SPEED),
        )


def join_records(records: list[GripRecord]) -> GripRecord:
    """One after the other."""
    whole: GripRecord = jax.tree.map(lambda *x: np.concatenate(x, axis=1), *records)
    return whole


@cache
def vehicle() -> Airframe:
    """The catalogue's quadrotor with an arm."""
    return from_catalogue(VEHICLE)


@cache
def nominal_controller(pose: tuple[float, ...]) -> GeometricController:
    """The controller of the catalogue's vehicle, empty, with its joints at a pose (deg)."""
    return GeometricController.from_airframe(vehicle(), jnp.deg2rad(jnp.asarray(pose)))


def hover_state(controller: GeometricController, angle: Numbers, runs: int) -> GripState:
    """N of them at rest in the air, with joints at `angle` (J,) rad."""
    rest = State.rest(Model.from_airframe(vehicle()))
    state = replace(rest, joint_angles=jnp.asarray(angle), rotor_rates=jnp.sqrt(controller.hover.command))
    one = GripState(state, at_rest(jnp.asarray(angle)), -jnp.asarray(Environment().gravity), jnp.zeros(3))
    wide: GripState = jax.tree.map(lambda x: jnp.broadcast_to(x, (runs, *jnp.shape(x))), one)
    return wide


@cache
def compiled_flight() -> Any:
    """A compiled function that flies N plants.

    Its arguments are plants, what their controllers know (both with a leading axis N), states, goals (T, J) of the
    joints in rad and the share (T,) of the payload that hangs, at every tick; it returns states and `GripRecord`.
    """
    airframe = vehicle()
    model, motors, arm = Model.from_airframe(airframe), Motors.from_airframe(airframe), arm_of_bench()
    gravity = jnp.asarray(Environment().gravity)
    here = Reference.from_derivatives(jnp.zeros((5, 4)))

    def accelerate(known: Model, state: State, joints: Array, rotors: Array) -> Any:
        return forward_dynamics(known, state, Drive.accelerations(known, joints, rotors))

    def felt_load(bodies: Array, angle: Array, rate: Array, force: Array, spin: Array, angular: Array) -> Any:
        return effort(arm.model, bodies, angle, rate, force, spin, angular)

    def step(plant: GripPlant, last: GripState, goal: Array, held: Array, target: Array) -> GripState:
        state, servo, spin = last.state, last.servo, last.state.twist[3:]
        bodies = plant.bodies.at[arm.link].add(held * plant.payload)
        felt = (bodies, servo.angle, servo.rate, last.force, spin, last.angular)
        load, matrix = join_single(soa(felt_load)(*split_single(felt)))
        later = servo_step(plant.servos, servo, goal, matrix, load, DT)
        joints = (later.rate - servo.rate) / DT
        rotors = motors.acceleration(state.rotor_rates, target)
        loaded = _with_links_and_thrust(
            model, bodies, (1.0 + plant.strength) * (1.0 + plant.thrust_change * held)
        )
        motion = join_single(soa(accelerate)(loaded, *split_single((state, joints, rotors))))
        twist = state.twist + DT * motion.acceleration
        wxyz = so3.multiply_wxyz(state.wxyz, jnp.concatenate([jnp.ones(1), 0.5 * DT * twist[3:]]))
        moved = State(
            state.position + DT * (state.R_WB @ twist[:3]),
            wxyz / jnp.linalg.norm(wxyz),
            twist,
            later.angle,
            later.rate,
            state.rotor_angles,
            state.rotor_rates + DT * rotors,
        )
        body = motion.acceleration[:3] + so3.hat(spin) @ state.twist[:3] - state.R_WB.T @ gravity
        return GripState(moved, later, body, motion.acceleration[3:])

    def fly(plant: GripPlant, used: Compensation, start: GripState, goals: Array, held: Array) -> Any:
        def tick(last: GripState, given: Any) -> Any:
            goal, share = given
            target = jnp.sqrt(command(used.controller, last.state, here))

            def one(inner: GripState, _: None) -> tuple[GripState, None]:
                return step(plant, inner, goal, share, target), None

            now, _ = jax.lax.scan(one, last, None, length=STEPS)
            angle, load = reported(plant.servos, now.servo)
            state = now.state
            return now, GripRecord(
                angle,
                load,
                now.force,
                state.twist[3:],
                state.rotor_rates,
                target,
                state.position,
                now.servo.angle,
            )

        return jax.lax.scan(tick, start, (goals, held))

    return jax.jit(jax.vmap(fly, in_axes=(0, 0, 0, None, None)))


def _with_links_and_thrust(model: Model, bodies: Array, strength: Array) -> Model:
    """The model with other moving links (L, 10) and rotors that are so many times as strong (R,)."""
    mass, com, inertia = jax.vmap(unpacked)(bodies[1:])
    links, rotors = model.links, model.rotors
    return replace(
        model,
        links=replace(
            links,
            mass=jnp.concatenate([links.mass[:1], mass]),
            com=jnp.concatenate([links.com[:1], com]),
            inertia=jnp.concatenate([links.inertia[:1], inertia]),
        ),
        rotors=replace(
            rotors,
            thrust_coefficient=rotors.thrust_coefficient * strength,
            drag_coefficient=rotors.drag_coefficient * strength,
        ),
    )
