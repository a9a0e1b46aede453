"""The payload in the vehicle: total mass and centre of mass, and fusion with what thrust and the CoG filter say.

With body (M_0, c_0), links (kappa_l m_l, centre p_l(q) by forward kinematics) and payload (m, p(q)), in body axes,

    M = M_0 + sum kappa_l m_l + m,   c = (M_0 c_0 + sum kappa_l m_l p_l + m p) / M                             (1)

Servo readings give u = (M, c) with the covariance of (m, centre, kappa), hover thrust gives M, the CoG filter c across
the thrust; each source i measures H_i u with covariance R_i. The fused value weighs them by information, and

    disagreement_i = (z_i - H_i u_others)^T (R_i + H_i P_others H_i^T)^-1 (z_i - H_i u_others) / dim_i         (2)

is about 1 where source i agrees with all others, and large where one of them is wrong.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from haltere.airframe import Airframe
from haltere.dynamics import State
from haltere.dynamics.arm import Arm
from haltere.dynamics.tree import kinematics
from haltere.estimation.payload.model import ArmBelief
from haltere.estimation.payload.record import PayloadError
from haltere.foundation.numbers import Numbers

STEP = 1e-6


@dataclass(frozen=True, eq=False)
class MassSource:
    """One opinion of u = (M, c): `value` (k,) and `cov` (k, k) of its entries `which` (k,), 0 mass, 1 to 3 centre."""

    which: tuple[int, ...]
    value: Numbers
    cov: Numbers


@dataclass(frozen=True, eq=False)
class VehicleMassProperties:
    """Mass (kg) and centre of mass (m, body axes) of the vehicle, (4,) and (4, 4), and disagreement by source."""

    value: Numbers
    cov: Numbers
    disagreement: dict[str, float]


@lru_cache(maxsize=8)
def _frames(arm: Arm) -> Any:
    def frames(angle: Any) -> Any:
        rest = State.rest(arm.model)
        nodes = kinematics(
            arm.model,
            State(
                rest.position,
                rest.wxyz,
                rest.twist,
                angle,
                rest.joint_rates,
                rest.rotor_angles,
                rest.rotor_rates,
            ),
        )
        return nodes.rotations, nodes.positions

    return jax.jit(frames)


def vehicle_mass_properties(
    airframe: Airframe, belief: ArmBelief, angle: Numbers, x: Numbers, cov: Numbers
) -> tuple[Numbers, Numbers]:
    """(M, c) (4,) of equation (1) and its covariance, from one posterior x (X,), cov (X, X) at angles (J,), rad."""
    arm = belief.arm
    turns, places = (np.asarray(part) for part in _frames(arm)(jnp.asarray(angle)))
    moving = list(arm.model.topology.moving_links)
    masses, centres = np.asarray(arm.model.links.mass), np.asarray(arm.model.links.com)
    spinning = sum(rotor.mass for rotor in airframe.rotors)
    rotors = sum((rotor.mass * np.asarray(rotor.position) for rotor in airframe.rotors), np.zeros(3))
    own = masses[0] + spinning
    first = masses[0] * centres[0] + rotors

    def value(v: Numbers) -> Numbers:
        kappa = v[-1 - belief.joints : -1]
        weights = kappa * masses[moving]
        links = [places[i] + turns[i] @ centres[i] for i in moving]
        payload = places[arm.link] + turns[arm.link] @ (belief.gripper + v[1:4])
        total = own + weights.sum() + v[0]
        moment = first + weights @ np.asarray(links) + v[0] * payload
        return np.concatenate([[total], moment / total])

    u = value(x)
    chosen = [0, 1, 2, 3, *range(len(x) - 1 - belief.joints, len(x) - 1)]
    slope = np.zeros((4, len(x)))
    for i in chosen:
        moved = x.copy()
        moved[i] += STEP
        slope[:, i] = (value(moved) - u) / STEP
    return u, slope @ cov @ slope.T


def payload_in_body(belief: ArmBelief, angle: Numbers, x: Numbers, cov: Numbers) -> tuple[Numbers, Numbers]:
    """Mass, position in body axes (m) and own inertia (5,) of the payload, and their covariance (5, 5).

    Args as in `vehicle_mass_properties`; it is what `haltere.estimation.vehicle.payload.with_payload` asks for.
    """
    link = belief.arm.link
    turns, places = (np.asarray(part)[link] for part in _frames(belief.arm)(jnp.asarray(angle)))
    turn = np.eye(5)
    turn[1:4, 1:4] = turns
    base = np.concatenate([[0.0], places + turns @ belief.gripper, [0.0]])
    return base + turn @ x[:5], turn @ cov[:5, :5] @ turn.T


def fuse(sources: Mapping[str, MassSource]) -> VehicleMassProperties:
    """All opinions weighed together, and how far each is from the others.

    Raises:
        PayloadError: together they do not tell mass and centre of mass.
    """
    information, vector = _summed(sources)
    if np.linalg.matrix_rank(information) < 4:
        raise PayloadError(
            f"{', '.join(sources) or 'nothing'}: do not tell mass and centre of mass together; add servo readings"
        )
    cov = np.linalg.inv(information)
    told: dict[str, float] = {}
    for name, source in sources.items():
        others = {key: value for key, value in sources.items() if key != name}
        rest, rest_vector = _summed(others)
        H = np.eye(4)[list(source.which)]
        if np.linalg.matrix_rank(np.vstack([rest, H])) > np.linalg.matrix_rank(rest):
            continue
        P = np.linalg.pinv(rest)
        apart = source.value - H @ (P @ rest_vector)
        told[name] = float(apart @ np.linalg.solve(source.cov + H @ P @ H.T, apart) / len(apart))
    return VehicleMassProperties(cov @ vector, cov, told)


def _summed(sources: Mapping[str, MassSource]) -> tuple[Numbers, Numbers]:
    information, vector = np.zeros((4, 4)), np.zeros(4)
    for source in sources.values():
        H = np.eye(4)[list(source.which)]
        weight = H.T @ np.linalg.inv(source.cov)
        information += weight @ H
        vector += weight @ source.value
    return information, vector


def hover_thrust(thrust: Numbers, force: Numbers, relative: float = 0.02) -> MassSource:
    """The total mass from thrust (T,), N, and specific force along it (T,), m/s2; `relative` doubt of the thrust."""
    ratio = thrust / force
    mean = float(np.mean(ratio))
    var = float(np.var(ratio)) / len(ratio) + (relative * mean) ** 2
    return MassSource((0,), np.asarray([mean]), np.asarray([[var]]))


def centre_filter(com: Numbers, cov: Numbers) -> MassSource:
    """The CoG filter's opinion: (3,) m and (3, 3), of which the two components across the thrust (body z) count."""
    return MassSource((1, 2), np.asarray(com)[:2], np.asarray(cov)[:2, :2])
