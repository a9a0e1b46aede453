"""Vehicles with wings or drag: the floating-point observability matrix from simulated flights.

Tables of coefficients have no exact power series. Instead the outputs y(t_j) of short flights with random inputs are
differentiated by the initial error state. With the variation P = dx/dz_0 of the moving state, both are integrated by
the same Runge-Kutta steps, so that P is the exact derivative of the discrete flight and symmetries stay exact:

    x' = f(x, p, u),   P' = f_x P + f_p,   rows  y_x P(t_j) + y_p                                          (1)

Wings and drag are known and keep their position in the principal axes; the unknowns are those of the rigid body.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial

import jax
import jax.numpy as jnp
import numpy as np

from haltere.airframe import Airframe, Body, Link
from haltere.algebra.series import Reals, Tape
from haltere.dynamics import Environment, Model, State
from haltere.dynamics.loads import external_wrenches, linear_parameters
from haltere.dynamics.tree import kinematics
from haltere.foundation.arrays import Array
from haltere.foundation.numbers import Numbers
from haltere.observability.rank import exact, system
from haltere.observability.rank.rank import (
    FloatMatrix,
    Question,
    equilibrated,
    error_jacobian,
    points_for,
    sensor_rows,
)
from haltere.observability.rank.rational_vehicle import ObservabilityError, RationalVehicle
from haltere.observability.rank.system import MOTION

_STEPS, _SAMPLES_EVERY, _PIECES = 40, 4, 5


def has_wings(airframe: Airframe) -> bool:
    """Whether a wing or drag acts on the vehicle."""
    carriers: list[Body | Link] = [airframe.body, *airframe.links]
    return any(carrier.wing is not None or carrier.drag is not None for carrier in carriers)


def refuse_wings(airframe: Airframe, what: str) -> None:
    """Raise an error if a wing or drag acts on the vehicle, which `what` leaves out."""
    if has_wings(airframe):
        raise ObservabilityError(
            f"{airframe.name} has wings or drag, which {what} leaves out; "
            "ask for a vehicle without, or remove them from the file"
        )


@lru_cache(maxsize=8)
def _air(
    airframe: Airframe, wxyz_BM: exact.Vector, com_B: exact.Vector
) -> Callable[[Numbers], tuple[Array, Array]]:
    """The wrench of `_wrench` and its derivative for many twists (B, 6), compiled once for a vehicle."""
    wrench = _wrench(airframe, wxyz_BM, com_B)
    return jax.jit(jax.vmap(lambda twist: (wrench(twist), jax.jacfwd(wrench)(twist))))


def _wrench(airframe: Airframe, wxyz_BM: exact.Vector, com_B: exact.Vector) -> Callable[[Array], Array]:
    """From the twist (6,) in principal axes the wrench (6,) of wings and drag at the centre of mass, still air."""
    full = Model.from_airframe(airframe)
    topology = full.topology
    origins = np.zeros((topology.links, 3))
    for i in range(1, topology.links):
        origins[i] = origins[topology.link_parents[i]] + np.asarray(full.links.origin[i])
    R_BM = exact.floats(exact.rotation(wxyz_BM))
    com = exact.floats(com_B)
    wings = tuple(
        replace(wing, position=wing.position + (origins[link] - com))
        for link, wing in zip(topology.wing_links, full.wings, strict=True)
    )
    shifts = np.asarray([origins[link] - com for link in topology.drag_links]).reshape(-1, 3)
    one_body = replace(
        topology,
        link_names=("body",),
        link_parents=(-1,),
        moving_links=(),
        rotor_names=(),
        rotor_links=(),
        wing_links=(0,) * len(wings),
        drag_links=(0,) * len(shifts),
    )
    body = replace(
        full,
        topology=one_body,
        links=jax.tree.map(lambda x: x[:1], full.links),
        rotors=jax.tree.map(lambda x: x[:0], full.rotors),
        wings=wings,
        drag=replace(full.drag, position=full.drag.position + shifts),
    )
    rest, environment = State.rest(body), Environment()

    def wrench(twist: Array) -> Array:
        turned = jnp.concatenate([R_BM @ twist[:3], R_BM @ twist[3:]])
        state = replace(rest, twist=turned)
        nodes = kinematics(body, state)
        parameters = linear_parameters(body, nodes, jnp.zeros(3))
        W = external_wrenches(body, state, nodes, environment, parameters)[0]
        return jnp.concatenate([R_BM.T @ W[:3], R_BM.T @ W[3:]])

    return wrench


def winged_matrix(
    vehicle: RationalVehicle, airframe: Airframe, question: Question, rng: np.random.Generator
) -> FloatMatrix:
    """The observability matrix of a vehicle with wings, in floating-point numbers alone."""
    air = _air(airframe, vehicle.wxyz_BM, vehicle.com_B)
    own = vehicle.units()
    units = np.asarray(vehicle.coordinates.number_units(*own))
    points, n = points_for(len(vehicle.spin)), len(vehicle.spin)
    signed = [exact.random_signed(rng) for _ in range(MOTION)]
    motion = (*signed[:6], *exact.squared(signed[6:10]), *signed[10:])
    start = np.concatenate([exact.floats(motion) * units[:MOTION], exact.floats(vehicle.constants)])
    held = np.repeat(own[3] * rng.uniform(0.5, 1.5, (n, 1)), points, 1)
    u = own[3] * rng.uniform(0.3, 1.7, (_PIECES, n, points))
    spin = np.repeat(np.asarray(vehicle.spin, float)[:, None], points, 1)
    constants = np.repeat(start[MOTION:, None], points, 1)
    numbers = len(start)

    def rates(x: Numbers, P: Numbers, at: Numbers) -> tuple[Numbers, Numbers, Numbers]:
        force, slope = (np.asarray(a) for a in air(np.concatenate([x[:, 3:6], x[:, 10:13]], axis=1)))
        tape = Tape(system.program(n), Reals(), points, 0)
        inputs = [x.T, constants, force.T, spin, at, held if question.frozen else at]
        tape.advance(0, np.concatenate(inputs))
        J = tape.jacobian(0, range(MOTION + system.OUTPUTS), numbers + system.WRENCH)
        through = J[:, :, numbers:] @ slope
        J = J[:, :, :numbers]
        J[:, :, 3:6] += through[:, :, :3]
        J[:, :, 10:13] += through[:, :, 3:]
        total = J[:, :, :MOTION] @ P
        total[:, :, MOTION:] += J[:, :, MOTION:]
        return tape.outputs(0)[:MOTION].T, total[:, :MOTION], total[:, MOTION:]

    x, P = np.repeat(start[None, :MOTION], points, 0), np.zeros((points, MOTION, numbers))
    P[:, range(MOTION), range(MOTION)] = 1.0
    dt = own[2] / 10.0
    rows: list[Numbers] = []
    for step in range(_STEPS):
        at = u[step * _PIECES // _STEPS]
        k1, d1, seen = rates(x, P, at)
        if step % _SAMPLES_EVERY == 0:
            rows.append(seen[:, sensor_rows(question.sensors)].reshape(-1, numbers))
        k2, d2, _ = rates(x + 0.5 * dt * k1, P + 0.5 * dt * d1, at)
        k3, d3, _ = rates(x + 0.5 * dt * k2, P + 0.5 * dt * d2, at)
        k4, d4, _ = rates(x + dt * k3, P + dt * d3, at)
        x = x + dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        P = P + dt / 6.0 * (d1 + 2.0 * d2 + 2.0 * d3 + d4)
    T = exact.floats(error_jacobian(vehicle, motion, question.axes))
    scale = np.asarray(vehicle.coordinates.error_units(*own))
    return equilibrated(_physical(motion, units), np.concatenate(rows) @ T * scale, scale)


def _physical(motion: exact.Vector, units: Numbers) -> exact.Vector:
    """The moving state in SI units."""
    return tuple(x * exact.decimal(unit) for x, unit in zip(motion, units[:MOTION], strict=True))


def matrix_builder(vehicle: RationalVehicle) -> Callable[[Question, np.random.Generator], FloatMatrix] | None:
    """The way to the matrix of this vehicle, or None if it has neither wings nor drag."""
    if vehicle.airframe is None or not has_wings(vehicle.airframe):
        return None
    return partial(winged_matrix, vehicle, vehicle.airframe)
