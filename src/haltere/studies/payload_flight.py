"""A quadrotor that grips in flight: servos, arm and vehicle together, and the payload chain on or off.

Every millisecond the servos feel the base's specific force of the step before, their joints' accelerations go into the
vehicle's forward dynamics, and so the arm's motion pushes the vehicle. Ten times a second the reports go through
`PayloadFilter`, and with the chain on, mass and centre of mass go to the geometric controller, which has no integral
part.
"""

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from haltere.airframe import from_catalogue
from haltere.algebra import join_single, soa, split_single
from haltere.control import GeometricController
from haltere.control.geometric import command
from haltere.dynamics import Drive, Environment, Model, State
from haltere.dynamics.arm import effort
from haltere.dynamics.inertia import unpacked
from haltere.dynamics.servo import reported, servo_step
from haltere.dynamics.solve import forward_dynamics
from haltere.estimation.payload import PayloadFilter
from haltere.estimation.payload_fusion import Source, fused, hover_thrust, whole_vehicle
from haltere.estimation.payload_record import ArmRecord, Numbers
from haltere.foundation import HaltereError
from haltere.foundation.arrays import Array
from haltere.lie import so3
from haltere.simulation.arm import at_rest
from haltere.simulation.motors import Motors
from haltere.studies.schmitz_bench import RATE, VEHICLE, Bench, arm_of_bench, draw, payloads, sweep
from haltere.studies.schmitz_series import calibrated
from haltere.trajectory import Reference

DT = 1e-3
TICKS, STEPS = 2, 5
"""Controller ticks in a report, and steps in a tick."""
CHUNK = 10
"""Reports between two estimates."""
POSE = (45.0, 45.0)
GRIP, SWEEP, SWEEP_TIME, END = 2.0, 2.4, 2.0, 8.0
"""s."""
SETTLED = 5.0
"""s: errors count from here."""
SIGMA_ACCEL, SIGMA_GYRO = 0.05, 0.003


@dataclass(frozen=True, eq=False)
class GripFlights:
    """N flights.

    Attributes:
        error: (N, T, 3) position error, m.
        mass: (N,) of the payload, kg.
        sigma: (N,).
        whole: (N, 4) mass and centre of mass of the vehicle from the servos.
        whole_cov: (N, 4, 4).
        joint: (N, 4) the same fused with the hover thrust.
        joint_cov: (N, 4, 4).
        disagreement: (N,) of servos and thrust.
        truth: (N, 4).
    """

    error: Numbers
    mass: Numbers
    sigma: Numbers
    whole: Numbers
    whole_cov: Numbers
    joint: Numbers
    joint_cov: Numbers
    disagreement: Numbers
    truth: Numbers


@cache
def _chunk() -> Any:
    """A compiled function that flies all vehicles for `CHUNK` reports."""
    airframe = from_catalogue(VEHICLE)
    model = Model.from_airframe(airframe)
    motors, arm = Motors.from_airframe(airframe), arm_of_bench()
    nominal = GeometricController.from_airframe(airframe, jnp.deg2rad(jnp.asarray(POSE)))
    gravity = jnp.asarray(Environment().gravity)
    here = Reference.from_derivatives(jnp.zeros((5, 4)))

    def accelerate(known: Model, state: State, joints: Array, rotors: Array) -> Any:
        return forward_dynamics(known, state, Drive.accelerations(known, joints, rotors))

    def felt_load(bodies: Array, angle: Array, rate: Array, force: Array, spin: Array, angular: Array) -> Any:
        return effort(arm.model, bodies, angle, rate, force, spin, angular)

    def fly(servos: Any, bodies: Array, payload: Array, trim: Any, carry: Any, given: Any) -> Any:
        mass, com = trim
        flying = nominal.with_vehicle(replace(nominal.vehicle, mass=mass, com=com))

        def step(inner: Any, _: Any, goal: Array, held: Array, target: Array) -> Any:
            state, servo, force, angular = inner
            now = bodies.at[arm.link].add(held * payload)
            spin = state.twist[3:]
            load, matrix = join_single(
                soa(felt_load)(*split_single((now, servo.angle, servo.rate, force, spin, angular)))
            )
            later = servo_step(servos, servo, goal, matrix, load, DT)
            joints = (later.rate - servo.rate) / DT
            rotors = motors.acceleration(state.rotor_rates, target)
            m, c, inertia = jax.vmap(unpacked)(now[1:])
            changed = replace(
                model,
                links=replace(
                    model.links,
                    mass=jnp.concatenate([model.links.mass[:1], m]),
                    com=jnp.concatenate([model.links.com[:1], c]),
                    inertia=jnp.concatenate([model.links.inertia[:1], inertia]),
                ),
            )
            motion = join_single(soa(accelerate)(changed, *split_single((state, joints, rotors))))
            twist = state.twist + DT * motion.acceleration
            half = jnp.concatenate([jnp.ones(1), 0.5 * DT * twist[3:]])
            wxyz = so3.multiply_wxyz(state.wxyz, half)
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
            return (moved, later, body, motion.acceleration[3:]), None

        def report(outer: Any, one: Any) -> Any:
            goal, held = one

            def tick(inner: Any, _: Any) -> Any:
                target = jnp.sqrt(command(flying, inner[0], here))
                return jax.lax.scan(lambda c, x: step(c, x, goal, held, target), inner, None, length=STEPS)

            outer, _ = jax.lax.scan(tick, outer, None, length=TICKS)
            state, servo, force, _ = outer
            angle, share = reported(servos, servo)
            speeds = state.rotor_rates
            return outer, (angle, share, force, state.twist[3:], state.position, servo.angle, speeds)

        return jax.lax.scan(report, carry, given)

    return jax.jit(jax.vmap(fly, in_axes=(0, 0, 0, 0, 0, None))), nominal, model


def grip_flights(bench: Bench, mass: float = 0.273, *, chain: bool = True) -> GripFlights:
    """Hover, grip a mass (kg) at `GRIP`, measure it with a sweep, and fly on; with the chain on or off."""
    fly, nominal, model = _chunk()
    runs = bench.runs
    filter_ = PayloadFilter(calibrated(bench))
    time = np.arange(round(END * RATE)) / RATE
    goals = np.deg2rad(POSE) + sweep(time, SWEEP, end=SWEEP + SWEEP_TIME)
    held = np.clip((time - GRIP) / 0.3, 0.0, 1.0)
    hung = payloads(mass, runs)
    carry = _hovering(model, nominal, goals[0], runs)
    trim = (np.full(runs, float(nominal.vehicle.mass)), np.tile(np.asarray(nominal.vehicle.com), (runs, 1)))
    kept: list[tuple[Numbers, ...]] = []
    belief = filter_.begin((runs,))
    airframe = from_catalogue(VEHICLE)
    said = None
    for first in range(0, len(time), CHUNK):
        at = slice(first, first + CHUNK)
        given = (jnp.asarray(goals[at]), jnp.asarray(held[at]))
        carry, out = fly(bench.later, bench.bodies, hung, jax.tree.map(jnp.asarray, trim), carry, given)
        kept.append(_noisy(tuple(np.asarray(part) for part in out), bench.rng))
        now = (first + CHUNK) / RATE
        if now < GRIP + 0.35:
            continue
        angle, load, force, gyro = (np.concatenate([k[i] for k in kept[-30:]], axis=1) for i in range(4))
        record = ArmRecord(
            RATE,
            angle,
            load,
            force,
            gyro,
            np.tile(goals[max(0, first + CHUNK - angle.shape[1]) : first + CHUNK], (runs, 1, 1)),
        )
        signals = filter_.signals(record)
        belief = filter_.update(belief, signals, record.samples - CHUNK, record.samples)
        if not chain and first + CHUNK < len(time):
            continue
        x, cov, _ = filter_.posterior(belief)
        said = [whole_vehicle(airframe, filter_.arm, angle[i, -1], x[i], cov[i]) for i in range(runs)]
        seen = np.sqrt(cov[:, 0, 0]) < 0.1
        if chain:
            whole = np.stack([u for u, _ in said])
            trim = (
                np.where(seen, whole[:, 0], trim[0]),
                np.where(seen[:, None], whole[:, 1:], trim[1]),
            )
    position = np.concatenate([k[4] for k in kept], axis=1)
    true_angle = kept[-1][5][:, -1]
    found = filter_.estimate(belief)
    if said is None:
        raise HaltereError("the flight ended before anything was measured; fly longer than the grip")
    truth = _truth(bench, filter_, true_angle, mass)
    return GripFlights(
        position,
        found.mass,
        found.sigma,
        np.stack([u for u, _ in said]),
        np.stack([P for _, P in said]),
        *_with_thrust(said, kept),
        truth,
    )


def _with_thrust(said: Any, kept: Any) -> tuple[Numbers, Numbers, Numbers]:
    """Fused (M, c) (N, 4), covariance and disagreement, with the hover thrust of the last second."""
    coefficients = np.asarray([rotor.thrust_coefficient for rotor in from_catalogue(VEHICLE).rotors])
    thrust = np.concatenate([k[6] for k in kept[-10:]], axis=1) ** 2 @ coefficients
    force = np.concatenate([k[2] for k in kept[-10:]], axis=1)[..., 2]
    found = [
        fused(
            {
                "servos": Source((0, 1, 2, 3), u, P + 1e-14 * np.eye(4)),
                "thrust": hover_thrust(thrust[i], force[i]),
            }
        )
        for i, (u, P) in enumerate(said)
    ]
    apart = np.asarray([one.disagreement["thrust"] for one in found])
    return np.stack([one.value for one in found]), np.stack([one.cov for one in found]), apart


def _noisy(out: tuple[Numbers, ...], rng: np.random.Generator) -> tuple[Numbers, ...]:
    """The reports with the noise of the IMU."""
    angle, load, force, gyro, *rest = out
    force = force + SIGMA_ACCEL * rng.standard_normal(force.shape)
    return (angle, load, force, gyro + SIGMA_GYRO * rng.standard_normal(gyro.shape), *rest)


def _hovering(model: Model, nominal: GeometricController, angle: Numbers, runs: int) -> Any:
    rest = State.rest(model)
    speeds = jnp.sqrt(nominal.hover.command)
    state = replace(rest, joint_angles=jnp.asarray(angle), rotor_rates=speeds)
    one = (state, at_rest(jnp.asarray(angle)), jnp.asarray([0.0, 0.0, 9.81]), jnp.zeros(3))
    return jax.tree.map(lambda x: jnp.broadcast_to(x, (runs, *jnp.shape(x))), one)


def _truth(bench: Bench, filter_: PayloadFilter, angle: Numbers, mass: float) -> Numbers:
    """(N, 4) true (M, c) at the true angles, from the same equation with the true numbers."""
    airframe = from_catalogue(VEHICLE)
    own = np.asarray(arm_of_bench().bodies)[:, 0]
    scale = np.asarray(bench.bodies)[:, 1:, 0] / own[1:]
    size = filter_.arm.mean.shape[-1] + 5
    found = []
    for i in range(bench.runs):
        x = np.ones(size)
        x[:5] = [mass, 0.0, 0.0, 0.0, 0.0]
        x[-1 - scale.shape[1] : -1] = scale[i]
        found.append(whole_vehicle(airframe, filter_.arm, angle[i], x, np.zeros((size, size)))[0])
    return np.stack(found)


def flight_rows(runs: int, seed: int) -> list[dict[str, Any]]:
    """The chain on against off, and whether what it reports is true."""
    bench = draw(runs, seed)
    off, on = (grip_flights(bench, chain=chain) for chain in (False, True))
    late = slice(round(SETTLED * RATE), None)

    def far(flights: GripFlights) -> float:
        return float(np.linalg.norm(flights.error[:, late], axis=-1).mean())

    inside = np.abs(on.mass - 0.273) < 1.96 * on.sigma
    apart = on.joint - on.truth
    spread = np.sqrt(np.diagonal(on.joint_cov, 0, -2, -1))
    across = np.abs(apart[:, [1, 3]]) < 1.96 * spread[:, [1, 3]]
    total = np.abs(apart[:, 0]) < 1.96 * spread[:, 0]
    values = [
        ("position error, chain off", "m", far(off), None),
        ("position error, chain on", "m", far(on), None),
        ("on over off", "1", far(on) / far(off), 0.2),
        (
            "largest position error, chain off",
            "m",
            np.linalg.norm(off.error, axis=-1).max(axis=1).mean(),
            None,
        ),
        ("largest position error, chain on", "m", np.linalg.norm(on.error, axis=-1).max(axis=1).mean(), None),
        ("mean error of the mass", "1", np.mean(np.abs(on.mass - 0.273)) / 0.273, None),
        ("servos and hover thrust disagree, mean (1 is chance)", "1", on.disagreement.mean(), 4.0),
        ("payload mass outside its 95 % interval", "1", 1.0 - inside.mean(), 0.05),
        ("vehicle mass outside its 95 % interval", "1", 1.0 - total.mean(), 0.05),
        ("centre of mass outside its 95 % interval", "1", 1.0 - across.mean(), 0.05),
    ]
    return [
        {"quantity": name, "unit": unit, "paper": None, "ours": float(value), "bound": bound}
        for name, unit, value, bound in values
    ]
