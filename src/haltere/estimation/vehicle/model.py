"""How the filter's state moves and what its sensors read, with exact derivatives: [Boehm2022] Section IV.

In the coordinates of `vehicle_space` a vehicle is a body of mass 1 and inertia E with the force f and the torque E tau,
where s = w|w| are the squared rotor speeds:

    f = sum_i b_i s_i,   tau = sum_i t_i s_i                                                              (1)
    v' = f + R^T g - w x v,   w' = tau - E^-1 (w x E w)                    from `haltere.dynamics`        (2)

With the effect "spin" rotors have momentum (see `vehicle_effects`), and tau is less by E^-1 (h' + w x h). A step is the
classical Runge-Kutta method with f, tau, h, h' held; its derivative is the exact derivative of that map, not of the
differential equation. It depends on the rotors through these only, so 20 or 26 columns serve any number of them. With
x' = s(x, c) and d by the errors at the beginning, a stage at x + a dt x' hands on

    dx' = (ds/dx) (dx + a dt dx') + ds/dc dc                                                              (3)

Other effects are differentiated as a whole.

The noise of the rotor speeds is part of the state within a step: the IMU reads the force that it causes.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from haltere.algebra import as_one_kernel, join_single, product, soa, split_single
from haltere.dynamics.integrator import STAGES
from haltere.dynamics.sensors.imu import specific_force_at
from haltere.dynamics.solve import ldl_solve, newton_euler
from haltere.estimation.core.space import CURVED, Mean, Space
from haltere.estimation.vehicle.coordinates import VehicleCoordinates
from haltere.estimation.vehicle.effects import (
    linear_advance_of,
    linear_reading_of,
    momenta_of,
    normalised,
    runge_kutta,
)
from haltere.foundation.arrays import Array
from haltere.lie import so3


class Effort(NamedTuple):
    """What the rotors do together, equation (1)."""

    force: Array
    """(3,) f, m/s2."""
    torque: Array
    """(3,) tau, rad/s2."""
    momentum: Array | None = None
    """(3,) h over Iz, rad/s; None without the effect "spin"."""
    momentum_rate: Array | None = None
    """(3,) h' over Iz, rad/s2."""

    @property
    def numbers(self) -> list[Array]:
        """Those that there are."""
        return [x for x in self if x is not None]


def acceleration(shape: Array, wxyz: Array, twist: Array, gravity: Array, effort: Effort) -> Array:
    """(6,) derivative of the twist, equation (2); shape (2,) = (a1, a2), gravity (3,) in world axes."""
    fall = jnp.concatenate([so3.from_wxyz(wxyz).T @ gravity, jnp.zeros(3)])
    return proper_acceleration(shape, twist, effort) + fall


def proper_acceleration(shape: Array, twist: Array, effort: Effort) -> Array:
    """(6,) spatial acceleration against free fall, body axes."""
    ratios = jnp.concatenate([jnp.exp(shape), jnp.ones(1)])
    inertia = jnp.diag(jnp.concatenate([jnp.ones(3), ratios]))
    moment = ratios * effort.torque
    if effort.momentum is not None and effort.momentum_rate is not None:
        moment = moment - effort.momentum_rate - jnp.cross(twist[3:], effort.momentum)
    wrench = jnp.concatenate([effort.force, moment])
    return -ldl_solve(inertia, newton_euler(inertia, twist, jnp.zeros(6), wrench))


def slope(state: Array, constants: Array) -> Array:
    """(13,) change of state (13,) = (position, wxyz, twist), with constants (11,) = (shape, gravity, f, tau).

    They may be 17: h and h' then stand last.
    """
    wxyz, twist = state[3:7], state[7:]
    spin = jnp.concatenate([jnp.zeros(1), twist[3:]])
    effort = Effort(*(constants[i : i + 3] for i in range(5, constants.shape[0], 3)))
    return jnp.concatenate(
        [
            so3.from_wxyz(wxyz) @ twist[:3],
            0.5 * so3.multiply_wxyz(wxyz, spin),
            acceleration(constants[:2], wxyz, twist, constants[2:5], effort),
        ]
    )


def advance(state: Array, constants: Array, dt: Array) -> Array:
    """The state (13,) `dt` seconds later, by the classical Runge-Kutta method."""
    return runge_kutta(lambda at: slope(at, constants), state, dt)


def linear_advance(state: Array, constants: Array, dt: Array) -> tuple[Array, Array]:
    """The state (13,) `dt` seconds later, and the derivative (12, 9 + c) of (p, v, theta, w) there.

    It is by the errors of (v, theta, w) and the c constants here; by the position it is 1.

    The stages are a loop of one linearised slope each, and derivatives are handed on by equation (3).
    """

    def stage(k: Array, carry: tuple[Array, ...]) -> tuple[Array, ...]:
        change, dchange, total, dtotal, state, errors, constants, dt = carry
        ahead, weight = (dt * jnp.asarray(column)[k] for column in zip(*STAGES, strict=True))
        change, A = scalarize(_linear_slope, state + ahead * change, constants)
        by_constants = jnp.concatenate([jnp.zeros((13, 9)), A[:, 10:]], axis=1)
        dchange = product(A[:, :10], (errors + ahead * dchange)[3:]) + by_constants
        return change, dchange, total + weight * change, dtotal + weight * dchange, *carry[4:]

    def kernel(state: Array, constants: Array, dt: Array) -> tuple[Array, Array]:
        width = 9 + constants.shape[0]
        turn = scalarize(lambda wxyz: jax.jacfwd(lambda e: _turned(wxyz, e))(jnp.zeros(3)), state[3:7])
        errors = jnp.zeros((13, width)).at[3:7, 3:6].set(turn)
        errors = errors.at[7:10, :3].set(jnp.eye(3)).at[10:, 6:9].set(jnp.eye(3))
        still = (jnp.zeros(13), jnp.zeros((13, width)))
        begin = (*still, *still, state, errors, constants, dt)
        _, _, total, dtotal, *_ = jax.lax.fori_loop(0, len(STAGES), stage, begin)
        later, back = scalarize(_ended, state + total)
        J = errors + dtotal
        return later, jnp.concatenate([J[:3], J[7:10], product(back, J[3:7]), J[10:]])

    found: tuple[Array, Array] = as_one_kernel(kernel, state, constants, dt)
    return found


def _linear_slope(state: Array, constants: Array) -> tuple[Array, Array]:
    """`slope` with its derivative (13, 10 + c) by (wxyz, twist) and the c constants; by the position it is 0."""

    def moved(e: Array) -> Array:
        return slope(jnp.concatenate([state[:3], state[3:] + e[:10]]), constants + e[10:])

    return slope(state, constants), jax.jacfwd(moved)(jnp.zeros(10 + constants.shape[0]))


def _ended(state: Array) -> tuple[Array, Array]:
    """The state (13,) with a unit quaternion, and the derivative (3, 4) of the error of its rotation by wxyz."""
    later = normalised(state)
    back = so3.conjugate_wxyz(later[3:7])

    def turn(wxyz: Array) -> Array:
        return (
            2.0 * so3.multiply_wxyz(back, normalised(jnp.concatenate([state[:3], wxyz, state[7:]]))[3:7])[1:]
        )

    return later, jax.jacfwd(turn)(state[3:7])


def reading(twist: Array, shape: Array, effort: Effort, imu: tuple[Array, Array], bias: Array) -> Array:
    """(6,) specific force and rate that an IMU at imu = (position, wxyz) with bias (6,) reads."""
    A = proper_acceleration(shape, twist, effort)
    return jnp.concatenate(specific_force_at(A, twist, so3.from_wxyz(imu[1]), imu[0])) + bias


def _turned(wxyz: Array, error: Array) -> Array:
    """The quaternion rotated by a small error (3,) on the right, exact in value and first derivative at zero."""
    return so3.multiply_wxyz(wxyz, jnp.concatenate([jnp.ones(1), 0.5 * error]))


def _imu_kernel(
    twist: Array, shape: Array, effort: Effort, position: Array, wxyz: Array, bias: Array
) -> tuple[Array, Array]:
    """`reading` with its derivative (6, 17 or 23) by (w, position, rotation, shape, f, tau, h, h'); 1 by the bias."""
    numbers = effort.numbers

    def moved(e: Array) -> Array:
        return reading(
            twist + jnp.concatenate([jnp.zeros(3), e[:3]]),
            shape + e[9:11],
            Effort(*(x + e[11 + 3 * i : 14 + 3 * i] for i, x in enumerate(numbers))),
            (position + e[3:6], _turned(wxyz, e[6:9])),
            bias,
        )

    slopes = jax.jacfwd(moved)(jnp.zeros(11 + 3 * len(numbers)))
    return reading(twist, shape, effort, (position, wxyz), bias), slopes


def scalarize(function: Any, *arguments: Any) -> Any:
    """The function evaluated scalar by scalar: no small matrices, no structural zeros."""
    return join_single(soa(function)(*split_single(arguments)))


def shifted(space: Space, mean: Mean, error: Array) -> Mean:
    """`space.plus` for kernels: rotations are evaluated scalar by scalar."""
    return {
        b.name: (partial(scalarize, b.plus) if b.kind in CURVED else b.plus)(
            mean[b.name], error[space.slices[b.name]]
        )
        for b in space.blocks
    }


def as_kernel(coordinates: VehicleCoordinates, function: Any, *arguments: Any) -> Any:
    """The function as one kernel; as it is where derivatives are of the whole, which hold matrix products."""
    return (
        as_one_kernel(function, *arguments)
        if has_structured_derivatives(coordinates)
        else function(*arguments)
    )


def has_structured_derivatives(coordinates: VehicleCoordinates) -> bool:
    """Whether derivatives go through f, tau, h and h'."""
    return not coordinates.effects or (coordinates.effects == ("spin",) and coordinates.axes == "sphere")


def effort_of(
    mean: Mean, speeds: Array, coordinates: VehicleCoordinates, rotor_accelerations: Array
) -> tuple[Effort, Array]:
    """Equation (1), and b (N, 3)."""
    squares = speeds * jnp.abs(speeds)
    b = coordinates.specific_force(mean["force"])
    force, torque = product(squares, b), product(squares, mean["torque"])
    if "spin" not in coordinates.effects:
        return Effort(force, torque), b
    momenta = momenta_of(coordinates, mean["spin"], b)
    return Effort(force, torque, product(speeds, momenta), product(rotor_accelerations, momenta)), b


def _by_rotors(
    by: Array,
    mean: Mean,
    b: Array,
    speeds: Array,
    rotor_accelerations: Array,
    coordinates: VehicleCoordinates,
) -> Any:
    """Derivatives by the blocks `torque`, `force` and `spin` and by the speeds, from those by the effort (k, 6 or 12).

    Without the effect "spin" its block has no columns.
    """
    squares, rate = speeds * jnp.abs(speeds), 2.0 * jnp.abs(speeds)
    by_force, by_torque = by[:, :3], by[:, 3:6]
    rows, rotors = by.shape[0], speeds.shape[0]
    torque = (by_torque[:, None, :] * squares[None, :, None]).reshape(rows, 3 * rotors)
    if coordinates.axes == "sphere":
        force = by_force[:, None, :] * squares[None, :, None]
    else:
        slopes = jax.vmap(jax.jacfwd(lambda c: coordinates.specific_force(c[None])[0]))(mean["force"])
        force = product(by_force, jnp.moveaxis(slopes, 1, 0)) * squares[:, None]
    noise = (product(by_force, b.T) + product(by_torque, mean["torque"].T)) * rate
    spin = jnp.zeros((rows, 0))
    if "spin" in coordinates.effects:
        # h = sum_i j_i e_i w_i alpha_i with alpha = b/|b|, and the same with w_i' for h'.
        size = jnp.sqrt(jnp.sum(b * b, axis=1, keepdims=True))
        alpha, e, j = b / size, jnp.asarray(coordinates.spins), mean["spin"]
        by_momentum = by[:, 6:9, None] * speeds + by[:, 9:12, None] * rotor_accelerations  # (k, 3, N)
        along = jnp.sum(by_momentum * alpha.T, axis=1)
        spin = along * e
        across = jnp.swapaxes(by_momentum, 1, 2) - along[:, :, None] * alpha
        force = force + across * (e * j)[:, None] / size
        noise = noise + product(by[:, 6:9], momenta_of(coordinates, j, b).T)
    return torque, force.reshape(rows, 3 * rotors), spin, noise


def linear_step(
    mean: Mean, speeds: Array, dt: Array, coordinates: VehicleCoordinates, rotor_accelerations: Array
) -> tuple[Mean, Array]:
    """The dynamic blocks after a step with the speeds (N,) rad/s held for dt, and Phi (d, n + N).

    The rotors accelerate at (N,) rad/s2, which only the effects "spin" and "delay" ask for.
    """
    if not has_structured_derivatives(coordinates):
        return linear_advance_of(coordinates, mean, speeds, rotor_accelerations, dt)
    effort, b = effort_of(mean, speeds, coordinates, rotor_accelerations)
    constants = jnp.concatenate([mean["shape"], mean["gravity"], *effort.numbers])
    state = jnp.concatenate([mean[name] for name in ("position", "attitude", "velocity", "rates")])
    later, J = linear_advance(state, constants, dt)
    torque, force, spin, noise = _by_rotors(J[:, 14:], mean, b, speeds, rotor_accelerations, coordinates)
    columns = [jnp.eye(12, 3), J[:, :9], jnp.zeros((12, 19)), J[:, 9:11], jnp.zeros((12, 1)), J[:, 11:14]]
    columns += [torque, force, jnp.zeros((12, speeds.shape[0])), spin, noise]
    end = {"position": later[:3], "attitude": later[3:7], "velocity": later[7:10], "rates": later[10:]}
    return end, jnp.concatenate(columns, axis=1)


def linear_imu(
    mean: Mean, speeds: Array, coordinates: VehicleCoordinates, rotor_accelerations: Array
) -> tuple[Array, Array]:
    """The reading (6,) expected at `mean`, and H (6, n + N)."""
    if not has_structured_derivatives(coordinates):
        return linear_reading_of(coordinates, mean, speeds, rotor_accelerations)
    effort, b = effort_of(mean, speeds, coordinates, rotor_accelerations)
    twist = jnp.concatenate([mean["velocity"], mean["rates"]])
    bias = jnp.concatenate([mean["accel_bias"], mean["gyro_bias"]])
    expected, J = scalarize(
        _imu_kernel, twist, mean["shape"], effort, mean["imu_position"], mean["imu_rotation"], bias
    )
    torque, force, spin, noise = _by_rotors(J[:, 11:], mean, b, speeds, rotor_accelerations, coordinates)
    columns = [jnp.zeros((6, 9)), J[:, :3], jnp.eye(6), jnp.zeros((6, 6)), J[:, 3:9], jnp.zeros((6, 1))]
    columns += [J[:, 9:11], jnp.zeros((6, 4)), torque, force, jnp.zeros((6, speeds.shape[0])), spin, noise]
    return expected, jnp.concatenate(columns, axis=1)


def linear_pose(mean: Mean, position: Array, wxyz: Array, moving: int) -> tuple[Array, Array]:
    """Residual (6,) of a pose that reads `position` (3,), `wxyz` (4,), H (6, moving + 6): residual - H d at mean + d.

    H is by the moving blocks, `moving` errors, and by position and rotation of the sensor; by all others it is zero.
    """
    R, lever = so3.from_wxyz(mean["attitude"]), mean["pose_position"]
    R_MP = so3.from_wxyz(mean["pose_rotation"])
    turn = so3.box_minus_wxyz(wxyz, so3.multiply_wxyz(mean["attitude"], mean["pose_rotation"]))
    residual = jnp.concatenate([position - mean["position"] - R @ lever, turn])
    between = jnp.zeros((3, moving - 9))
    upper = [jnp.eye(3), jnp.zeros((3, 3)), -R @ so3.hat(lever), between, R, jnp.zeros((3, 3))]
    back = so3.left_jacobian_inverse(turn)
    lower = [jnp.zeros((3, 6)), back @ R_MP.T, between, jnp.zeros((3, 3)), back]
    return residual, jnp.concatenate([jnp.concatenate(upper, axis=1), jnp.concatenate(lower, axis=1)])
