"""A payload in the prior of a nominal vehicle: what was gripped changes the body, and its doubt widens the prior.

A body of mass m with centre of mass c and inertia I about it, and a payload of mass m_p and own inertia i at p, all in
body axes from the airframe's origin, are a body with

    m' = m + m_p,   c' = (m c + m_p p) / m',   I' = I + (m m_p / m') (r^T r 1 - r r^T) + i 1,   r = p - c      (1)

With F and G its derivatives by the numbers of the empty body and by the payload (m_p, p, i), and P, S their
covariances, mass, centre of mass and inertia have the covariance

    F P F^T + G S G^T                                                                                         (2)

The prior of the coordinates is diagonal: each gets the deviation of its own number, and correlations are dropped.
Rotors and sensors stay where they are.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from haltere.estimation.vehicle.numbers import COMPONENTS, numbers_at
from haltere.estimation.vehicle.parameters import (
    PAIRS,
    THINNEST,
    NominalVehicle,
    hold_positive,
    partial_correlations,
    second_moments,
)
from haltere.foundation.arrays import ArrayLike, double_precision
from haltere.foundation.numbers import Floats

BODY = ("mass", "com.x", "com.y", "com.z", *(f"inertia.{c}" for c in COMPONENTS))
BLOCKS = ("mass", "com", "moment", "product")
"""Blocks of coordinates that a payload changes."""
STEP = 1e-5
"""Of the differences that give slopes, over the size of a number."""


@double_precision()
def with_payload(nominal: NominalVehicle, payload: ArrayLike, cov: ArrayLike) -> NominalVehicle:
    """The same vehicle with something in its gripper; what was measured by hand was measured without it.

    Args:
        nominal: the empty vehicle.
        payload: (5,) mass in kg, position in body axes in m, own inertia in kg m2: the estimate of
            `haltere.estimation.payload.fusion.payload_in_body`.
        cov: (5, 5) of it.
    """
    held, doubt = np.asarray(payload, np.float64), np.asarray(cov, np.float64)
    rotors = tuple(str(i) for i in range(len(nominal.thrust)))
    n = nominal.layout.size
    numbers = numbers_at(nominal, np.zeros(n), np.eye(n), rotors)
    rows = [numbers.names.index(name) for name in BODY]
    empty, P = numbers.values[rows], numbers.cov[np.ix_(rows, rows)]
    body = joined(empty, held)
    mass, com, inertia = float(body[0]), body[1:4], _tensor(body[4:])
    arm = max(float(np.linalg.norm(held[1:4] - empty[1:4])), 1e-3)
    F = _slopes(lambda x: joined(x, held), empty, _sizes(empty, arm))
    G = _slopes(lambda x: joined(empty, x), held, _sizes(held, arm))
    per_number = np.diagonal(_slopes(lambda x: _coordinates(x, inertia), body, _sizes(body, arm)))
    deviation = np.sqrt(np.diagonal(F @ P @ F.T + G @ doubt @ G.T))
    mean, sigma = np.array(nominal.mean), np.array(nominal.sigma)
    places = nominal.layout.indices(BLOCKS)
    mean[places] = _coordinates(body, inertia) - np.concatenate(
        [[np.log(mass)], com, np.log(np.diag(inertia)), np.zeros(3)]
    )
    sigma[places] = np.abs(per_number) * deviation
    changes: Any = {"mass": np.asarray(mass), "com": com, "inertia": inertia, "mean": mean, "sigma": sigma}
    return replace(nominal, **changes)


def joined(body: Floats, payload: Floats) -> Floats:
    """Equation (1).

    Args:
        body: (10,) mass, centre of mass and inertia (xx, yy, zz, xy, xz, yz) without the payload, SI.
        payload: (5,) mass, position and own inertia.
    """
    m, m_p, com, position = body[0], payload[0], body[1:4], payload[1:4]
    r = position - com
    total = m + m_p
    apart = m * m_p / total * (r @ r * np.eye(3) - np.outer(r, r)) + payload[4] * np.eye(3)
    six = [apart[i, j] for i, j in COMPONENTS.values()]
    return np.concatenate([[total], (m * com + m_p * position) / total, body[4:] + six])


def _tensor(six: Floats) -> Floats:
    xx, yy, zz, xy, xz, yz = six
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def _coordinates(body: Floats, nominal_inertia: Floats) -> Floats:
    """(10,) coordinates of a body (10,) before whitening: logarithm of mass, centre, logarithms of moments, products.

    They are those of `haltere.estimation.vehicle.parameters`, not yet as differences from a nominal vehicle.
    """
    floor = float(THINNEST * second_moments(np.diag(nominal_inertia)).mean())
    moments, inertia = body[4:7], _tensor(body[4:])
    second = hold_positive(second_moments(moments), floor)
    products = np.arctanh(
        partial_correlations([inertia[i, j] / np.sqrt(second[i] * second[j]) for i, j in PAIRS])
    )
    return np.concatenate([[np.log(body[0])], body[1:4], np.log(moments), products])


def _sizes(numbers: Floats, arm: float) -> Floats:
    """Of each number what a small change is compared with: of positions the arm of the payload, m."""
    mass = max(float(numbers[0]), 1e-3)
    inertia = max(float(np.max(np.abs(numbers[4:]))), 1e-3 * mass * arm**2)
    return np.concatenate([[mass], np.full(3, arm), np.full(len(numbers) - 4, inertia)])


def _slopes(f: Callable[[Floats], Floats], x: Floats, sizes: Floats) -> Floats:
    """(M, N) derivatives by central differences."""
    steps = np.diag(STEP * sizes)
    return np.stack([(f(x + d) - f(x - d)) / (2.0 * d.sum()) for d in steps], axis=1)
