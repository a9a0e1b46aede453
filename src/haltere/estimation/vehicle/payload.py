"""A payload in the vehicle filter: what was gripped moves the prior, and its doubt becomes part of it.

The filter's vehicle has mass m and moments of inertia I on its principal axes M at its centre of mass. A payload of
mass m_p and own inertia i at the position p from the IMU, in sensor axes, makes it another body, on axes M':

    r = r_IMU + R_MI p,   m' = m + m_p,   d = m_p r / m'                                                  (1)
    J = diag(I) + (m m_p / m') (r^T r 1 - r r^T) + i 1 = Q diag(I') Q^T                                   (2)
    r' = Q^T (r - d) of every rotor and sensor,   alpha' = Q^T alpha,   q_M'S = q_Q^* q_MS                (3)

With F and G the derivatives of the physical numbers after by those before and by the payload (m_p, p, i), and P, S
their covariances, the new prior has F P F^T + G S G^T: all positions are doubtful together, as far as the payload's is.
To first order in dJ the axes rotate by dJ_ij / (I'_j - I'_i); two moments that stay equal leave their axes where they
are.
"""

from dataclasses import replace
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from haltere.airframe.fields import principal_axes
from haltere.estimation.core.space import Mean
from haltere.estimation.vehicle.coordinates import VehicleCoordinates
from haltere.estimation.vehicle.core import VehicleCore
from haltere.estimation.vehicle.prior import HandMeasurement, VehiclePrior, prior_at
from haltere.foundation.arrays import Array
from haltere.lie import s2, so3

POSITIONS = ("pose_position", "imu_position", "rotor_position")
ROTATIONS = ("pose_rotation", "imu_rotation")
EQUAL = 1e-6
"""Share of the largest moment by which two must differ to be unequal."""
ITERATIONS = 3
"""Of hand measurements, which need not be linear."""


def with_payload(vehicle: VehicleCore, payload: Any, cov: Any) -> VehicleCore:
    """The filter of the same vehicle with something in its gripper; hand measurements are those made without it.

    Args:
        vehicle: the filter of the empty vehicle.
        payload: (5,) mass in kg, position in body axes in m, own inertia in kg m2: the estimate of
            `haltere.estimation.payload.fusion.payload_in_body`.
        cov: (5, 5) of it.
    """
    description, coordinates = vehicle.description, vehicle.coordinates
    physical, before = _hand_measured(vehicle)
    R_BI = description.R_BM @ np.asarray(so3.from_wxyz(description.physical["imu_rotation"]))
    imu = description.com + description.R_BM @ np.asarray(description.physical["imu_position"])
    turn = np.eye(5)
    turn[1:4, 1:4] = R_BI.T
    held = jnp.asarray(turn @ (np.asarray(payload, float) - np.concatenate([[0.0], imu, [0.0]])))
    _, shift, J = (np.asarray(x) for x in _joined(physical, held))
    axes = principal_axes(J)[0]
    after, F, G = _compiled_change(coordinates)(physical, held, axes)
    doubt = turn @ np.asarray(cov, float) @ turn.T
    new = description._replace(
        physical=after,
        R_BM=description.R_BM @ axes,
        com=description.com + description.R_BM @ shift,
    )
    covariance_root = _root(np.asarray(F @ before @ F.T + G @ doubt @ G.T))
    none = jnp.zeros_like(vehicle.sigma)
    return replace(
        vehicle,
        description=new,
        sigma=none,
        covariance_root=covariance_root,
        hand_measurements=(),
        readings=(),
    )


def add_payload(coordinates: VehicleCoordinates, physical: Mean, payload: Array, axes: Any) -> Mean:
    """Equations (1) to (3).

    Args:
        coordinates: those of the filter.
        physical: the numbers of the empty vehicle.
        payload: (5,) m_p (kg), p (m, from the IMU in its axes), i (kg m2).
        axes: (3, 3) Q to first order: the principal axes of a J close by.
    """
    mass, shift, J = _joined(physical, payload)
    A = jnp.asarray(axes).T @ J @ jnp.asarray(axes)
    moments = jnp.diagonal(A)
    gap = moments[None, :] - moments[:, None]
    unequal = jnp.abs(gap) > EQUAL * jnp.max(moments)
    W = jnp.where(unequal, A / jnp.where(unequal, gap, 1.0), 0.0)
    q_Q = so3.box_plus_wxyz(so3.to_wxyz(jnp.asarray(axes)), jnp.stack([W[2, 1], W[0, 2], W[1, 0]]))
    Q = so3.from_wxyz(q_Q)
    alpha = coordinates.thrust_axes(physical["rotor_tilt"]) @ Q
    new = {
        **physical,
        **{name: (physical[name] - shift) @ Q for name in POSITIONS},
        **{name: so3.multiply_wxyz(so3.conjugate_wxyz(q_Q), physical[name]) for name in ROTATIONS},
        "mass": mass[None],
        "inertia": moments,
        "rotor_tilt": _tilts(coordinates, alpha),
    }
    if "drag" in physical:
        flow, linear, quadratic = jnp.split(physical["drag"], [2, 5])
        new["drag"] = jnp.concatenate([flow, Q.T**2 @ linear, Q.T**2 @ quadratic])
    return new


def _joined(physical: Mean, payload: Array) -> tuple[Array, Array, Array]:
    """Mass (), shift of the centre of mass (3,) and inertia (3, 3) about it, on the old axes."""
    m, m_p, one = physical["mass"][0], payload[0], jnp.eye(3)
    r = physical["imu_position"] + so3.from_wxyz(physical["imu_rotation"]) @ payload[1:4]
    apart = (r @ r) * one - jnp.outer(r, r)
    J = jnp.diag(physical["inertia"]) + m * m_p / (m + m_p) * apart + payload[4] * one
    return m + m_p, m_p / (m + m_p) * r, J


def _tilts(coordinates: VehicleCoordinates, alpha: Array) -> Array:
    """(N, 2) of thrust axes (N, 3): the reverse of `VehicleCoordinates.thrust_axes`."""
    if coordinates.axes == "sphere":
        return jax.vmap(s2.box_minus)(alpha, jnp.asarray(coordinates.axis))
    across = jnp.sqrt(jnp.maximum(alpha[:, 0] ** 2 + alpha[:, 1] ** 2, 1e-30))
    return jnp.stack([jnp.arctan2(across, alpha[:, 2]), jnp.arctan2(alpha[:, 1], alpha[:, 0])], axis=1)


@lru_cache(maxsize=8)
def _compiled_change(coordinates: VehicleCoordinates) -> Any:
    """From physical numbers, payload (5,) and axes (3, 3) to the numbers after, and their derivatives F and G."""

    def change(physical: Mean, held: Array, axes: Array) -> tuple[Mean, Array, Array]:
        after = add_payload(coordinates, physical, held, axes)

        def moved(error: Array, more: Array) -> Array:
            now = add_payload(coordinates, coordinates.physical.plus(physical, error), held + more, axes)
            return coordinates.physical.minus(now, after)

        return after, *jax.jacfwd(moved, (0, 1))(jnp.zeros(coordinates.physical.dimension), jnp.zeros(5))

    return jax.jit(change)


def _hand_measured(vehicle: VehicleCore) -> tuple[Mean, np.ndarray]:
    """The physical numbers of the prior with its hand measurements, and their covariance."""
    physical, prior = vehicle.description.physical, vehicle.prior({})
    if not vehicle.hand_measurements:
        return physical, np.asarray(prior.cov)
    measured = _compiled_hands(vehicle.coordinates, vehicle.hand_measurements)
    found: tuple[Mean, np.ndarray] = measured(prior, jnp.asarray(vehicle.readings))
    return found


@lru_cache(maxsize=8)
def _compiled_hands(coordinates: VehicleCoordinates, hand_measurements: tuple[HandMeasurement, ...]) -> Any:
    def measured(prior: VehiclePrior, readings: Array) -> tuple[Mean, Array]:
        level = jnp.asarray([1.0, 0.0, 0.0, 0.0])
        moving = {
            b.name: level if b.kind == "rotation" else jnp.zeros(b.shape) for b in coordinates.moving.blocks
        }
        still, first, size = (
            prior._replace(moving=moving),
            coordinates.moving.dimension,
            coordinates.constant.dimension,
        )

        def again(_: int, last: tuple[Mean, Array]) -> tuple[Mean, Array]:
            mean, P = prior_at(coordinates, still, hand_measurements, readings, {**moving, **last[0]})
            return coordinates.constant.plus(last[0], mean[first:]), P[first:, first:]

        start = (coordinates.to_coordinates(prior.physical), jnp.zeros((size, size)))
        constants, P = jax.lax.fori_loop(0, ITERATIONS, again, start)
        found = coordinates.to_physical(constants)
        back = jnp.linalg.inv(coordinates.jacobian(found))
        return found, back @ P @ back.T

    return jax.jit(measured)


def _root(cov: np.ndarray) -> Array:
    """(n, n) B with B B^T = cov, which may have directions without doubt."""
    scale = np.sqrt(np.maximum(np.diagonal(cov), 1e-300))
    values, vectors = np.linalg.eigh(cov / np.outer(scale, scale))
    return jnp.asarray(scale[:, None] * vectors * np.sqrt(np.maximum(values, 0.0)))
