"""Fisher information of a flight: how well each parameter can be known from it, before it is flown.

The flight is cut into windows with an initial motion of their own, so that what disturbs a real vehicle does not add up
over minutes; within a window the motion follows the equations. With A, B, C, D the derivatives of slope and outputs
(`haltere.observability.rank.system`), P = d(motion)/d(initial motion, parameters) and noise weights W,

    P_{k+1} = P_k + dt S + dt^2 / 2 A S,  S = A P_k + B,       J = sum (C P + D)^T W (C P + D)               (1)
    J_p = sum over windows of J_pp - J_px J_xx^-1 J_xp,        cov(p) = N (N^T J_p N)^-1 N^T                   (2)

where N spans the parameter changes that respect what is known. sigma is the Cramer-Rao bound: no unbiased estimate of
the parameters from this flight is better.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from haltere.airframe import Airframe
from haltere.airframe.equipment import equip
from haltere.algebra.adjoint import Adjoint
from haltere.algebra.series import Reals, Tape
from haltere.dynamics.sensors.noise import sample_sigma
from haltere.foundation.arrays import Array
from haltere.foundation.numbers import Numbers
from haltere.foundation.verdict import Limit, arm_length, limits
from haltere.observability.rank import exact, system
from haltere.observability.rank.parameters import VehicleParameters
from haltere.observability.rank.rank import error_jacobian
from haltere.observability.rank.rational_vehicle import ObservabilityError, RationalVehicle
from haltere.observability.rank.system import MOTION

ERRORS = 12
"""Entries of the error state that are motion."""
RATE = 50.0
"""Samples per second at which the information is summed up."""
WINDOW = 50
"""Samples with one initial motion."""


@dataclass(frozen=True)
class ReadingNoise:
    """Deviation of one sample at `RATE` of each of the 13 outputs; infinite where nothing reads it."""

    sigma: tuple[float, ...]

    @classmethod
    def of(cls, airframe: Airframe, sensors: Sequence[str]) -> "ReadingNoise":
        """From the airframe file; see `haltere.airframe.equipment` for what it leaves out."""
        full, _ = equip(airframe, sensors)
        imu: Any = full.imu[0]
        outer: Any = (*full.pose, *full.position)[0]

        def inertial(name: str) -> float:
            one = sample_sigma(getattr(imu, name), getattr(imu, f"{name}_density"), imu.rate)
            return float(one * np.sqrt(RATE / imu.rate)) if "imu" in sensors else np.inf

        slower = np.sqrt(RATE / outer.rate)
        seen = "pose" in sensors or "position" in sensors
        turn = 0.5 * outer.sigma_rotation * slower if "pose" in sensors else np.inf
        place = outer.sigma_position * slower if seen else np.inf
        return cls((*[place] * 3, *[turn] * 4, *[inertial("sigma_accel")] * 3, *[inertial("sigma_gyro")] * 3))


@dataclass(frozen=True)
class Information:
    """The question put to flights of one vehicle: which parameters, from which sensors, what is known."""

    vehicle: RationalVehicle
    noise: ReadingNoise
    known: tuple[str, ...]

    @cached_property
    def parameters(self) -> VehicleParameters:
        """Names and rows."""
        return VehicleParameters(self.vehicle, self._level, "sphere")

    @cached_property
    def _level(self) -> exact.Vector:
        return tuple(exact.decimal(float(i == 6)) for i in range(MOTION))

    @cached_property
    def units(self) -> Numbers:
        """(25 + 7N,) the vehicle's own units of its parameters."""
        return np.asarray(self.vehicle.coordinates.error_units(*self.vehicle.units()))[ERRORS:]

    @cached_property
    def free(self) -> Numbers:
        """(25 + 7N, f) orthonormal changes, in the vehicle's own units, that respect what is known: N."""
        rows, _ = self.parameters.rows(self.known)
        plain = exact.floats(rows)[:, ERRORS:] * self.units if len(rows) else np.zeros((0, len(self.units)))
        size = np.linalg.norm(plain, axis=1)
        plain = plain[size > 0.0] / size[size > 0.0, None]  # one component of a unit axis may say nothing
        if len(plain) == 0:
            return np.eye(len(self.units))
        _, values, basis = np.linalg.svd(plain, full_matrices=True)
        return basis[int(np.sum(values > 1e-9)) :].T

    @cached_property
    def constants(self) -> Numbers:
        """(27 + 8N,) the constant numbers of z."""
        return exact.floats(self.vehicle.constants)

    @cached_property
    def tangent(self) -> Numbers:
        """(27 + 8N, 25 + 7N) constant numbers by parameters in the vehicle's own units."""
        return (
            exact.floats(error_jacobian(self.vehicle, self._level, "sphere")[MOTION:, ERRORS:]) * self.units
        )

    def row(self, name: str) -> Numbers:
        """(f,) gradient of a parameter by the free changes."""
        found = self.parameters.named(name)
        if len(found) != 1:
            names = ", ".join(p.name for p in found[:4])
            raise ObservabilityError(f"parameter {name!r} stands for several: {names}; name one of them")
        return np.asarray((exact.floats(found[0].row)[ERRORS:] * self.units) @ self.free)

    def wanted(self, names: Sequence[str]) -> list[str]:
        """The parameters that names, beginnings of names and patterns stand for; each has a verdict of its own."""
        found = {p.name: p for name in names for p in self.parameters.named(name)}
        for parameter in found.values():
            if not parameter.reported or parameter.name.startswith("state."):
                raise ObservabilityError(
                    f"{parameter.name} is no parameter to identify; try inertia.zz or rotors.*.torque_ratio"
                )
        return list(found)

    def size(self, name: str) -> float:
        """The size of a parameter: its value, or its unit in the vehicle where that is zero; 1 for an axis."""
        c = self.vehicle.coordinates
        own = self.parameters.named(name)[0].own[0]
        number = {error: number for number, error in c.straight}.get(own)
        value = abs(float(self.vehicle.number(number))) if number is not None else 0.0
        return value or float(c.error_units(*self.vehicle.units())[own])

    def limit(self, name: str) -> Limit:
        """How wide the 95 % interval of a parameter may be if it is to count as known."""
        positions = [exact.floats(self.vehicle.position(i)) for i in range(len(self.vehicle.spin))]
        return limits({name: self.size(name)}, arm_length(positions))[name]

    def linearised(self, motion: Numbers, inputs: Numbers) -> tuple[Tape, Numbers]:
        """The tape, and (T, 26, 40 + 8N) derivatives of slope and outputs, along a flight (T, 13) and (T, N)."""
        n, samples = len(self.vehicle.spin), len(motion)
        tape = Tape(system.program(n), Reals(), samples, 0)
        rest = np.concatenate([self.constants, np.zeros(system.WRENCH), np.asarray(self.vehicle.spin, float)])
        given = [motion.T, np.repeat(rest[:, None], samples, 1), inputs.T, inputs.T]
        tape.advance(0, np.concatenate(given))
        return tape, tape.jacobian(0, range(MOTION + system.OUTPUTS), MOTION + len(self.constants))

    def matrix(self, motion: Numbers, inputs: Numbers) -> Numbers:
        """(f, f) information about the free changes of parameters from a flight sampled at `RATE`."""
        _, J = self.linearised(motion, inputs)
        return np.asarray(self.reduced(jnp.asarray(J), jnp.asarray(motion[:, 6:10])))

    @cached_property
    def reduced(self) -> Callable[[Array, Array], Array]:
        """Equations (1) and (2), from derivatives and quaternions (T, 4)."""
        weights = np.asarray([0.0 if np.isinf(s) else s**-2.0 for s in self.noise.sigma])
        return jax.jit(
            partial(_reduced, jnp.asarray(self.tangent), jnp.asarray(self.free), jnp.asarray(weights))
        )

    def sigmas(self, matrix: Numbers, names: Sequence[str]) -> dict[str, float | None]:
        """Predicted deviation of each parameter, SI; None where the flight says nothing about it."""
        values, basis = np.linalg.eigh(matrix)
        weak = values <= 1e-12 * values[-1]
        inverse = np.where(weak, 0.0, 1.0 / np.where(weak, 1.0, values))
        result: dict[str, float | None] = {}
        for name in names:
            row = self.row(name) @ basis
            blind = np.linalg.norm(row[weak]) > 1e-6 * (np.linalg.norm(row) or 1.0)
            result[name] = None if blind else float(np.sqrt(row**2 @ inverse))
        return result

    @cached_property
    def adjoint(self) -> Adjoint:
        """The way back through the equations."""
        return Adjoint(system.program(len(self.vehicle.spin)))


def _reduced(tangent: Array, free: Array, weights: Array, J: Array, wxyz: Array) -> Array:
    step = 1.0 / RATE
    count = J.shape[0] // WINDOW
    J = J[: count * WINDOW].reshape(count, WINDOW, *J.shape[1:])
    starts = wxyz[: count * WINDOW : WINDOW]
    by_parameters = J[..., MOTION:] @ (tangent @ free)
    p = free.shape[1]

    def window(derivatives: Array, parameters: Array, q: Array) -> Array:
        begin = jnp.concatenate([_motion_jacobian(q), jnp.zeros((MOTION, p))], axis=1)
        none = jnp.zeros((derivatives.shape[1], ERRORS))

        def one(P: Array, given: tuple[Array, Array]) -> tuple[Array, Array]:
            M, by_p = given
            total = M @ P + jnp.concatenate([none, by_p], axis=1)
            S, seen = total[:MOTION], total[MOTION:]
            later = P + step * S + 0.5 * step**2 * (M[:MOTION] @ S)
            return later, seen.T @ (weights[:, None] * seen)

        F = jnp.sum(jax.lax.scan(one, begin, (derivatives, parameters))[1], axis=0)
        own = F[:ERRORS, :ERRORS] + 1e-9 * jnp.eye(ERRORS)
        lost: Array = F[ERRORS:, :ERRORS] @ jnp.linalg.solve(own, F[:ERRORS, ERRORS:])
        return F[ERRORS:, ERRORS:] - lost

    total: Array = jnp.sum(jax.vmap(window)(J[..., :MOTION], by_parameters, starts), axis=0)
    even: Array = 0.5 * (total + total.T)
    return even


def _motion_jacobian(q: Array) -> Array:
    """(13, 12) moving state by its error: rotations on the right."""
    w, x, y, z = q
    turn = 0.5 * jnp.stack([jnp.stack(r) for r in ((-x, -y, -z), (w, -z, y), (z, w, -x), (-y, x, w))])
    top = jnp.eye(6, ERRORS)
    low = jnp.concatenate([jnp.zeros((3, 9)), jnp.eye(3)], axis=1)
    middle = jnp.concatenate([jnp.zeros((4, 6)), turn, jnp.zeros((4, 3))], axis=1)
    return jnp.concatenate([top, middle, low])
