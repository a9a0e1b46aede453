"""Rows of effectiveness of a vehicle that is near its drawing, from rows that a log tells, and whether both agree.

A rotor's force and torque belong together. With thrust k_i exp(a + a_i) along n_i at r_i, torque ratio
d_i exp(b + b_i), spin s_i, centre of mass c, inertia J and mass M as drawn, and all that a vehicle differs by,

    f_i = k_i exp(a + a_i) n_i / M                                                                           (1)
    t_i = M J^-1 ((r_i - c) x f_i - s_i d_i exp(b + b_i) f_i)                                                (2)
    y = G (f_1z .. f_mz, t_1 .. t_m) + noise,    G = 1 - e x                                                 (3)

y (4, m) = rows of a regression with their covariance, e = rotation of the gyro's axes against the body. All differences
are normal before the log (`NominalSigmas`), and the rows are those of the most probable vehicle. How strong rotors are
(a, b) and the moments of inertia are left to the log; what the drawing adds is that its rotors are alike, where they
are, and where they point to. A log tells few rotors one from another, and little of yaw about an axis that a gyro is
misaligned with: that is where it helps. Rows that the drawing cannot make are seen (`Agreement.probability`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy import special

from haltere.airframe.rigid import RigidAirframe
from haltere.foundation.numbers import Floats

STEPS = 6
MOMENTS = slice(-9, -6)
"""Where the moments of inertia are among all differences and the rotation of the gyro."""
LITTLE = 1e-6
"""Of a difference that gives a slope, deviations."""


@dataclass(frozen=True)
class NominalSigmas:
    """How far a vehicle may be from its drawing; relative where the number is positive, else SI."""

    thrust: float = 0.5
    """Of all rotors together: the log tells."""
    rotor_thrust: float = 0.055
    """Of one rotor beside the others."""
    torque_ratio: float = 0.3
    rotor_torque_ratio: float = 0.06
    arms: float = 0.06
    """Of all arms together, relative: drawings are scaled, and frames come in sizes."""
    position: float = 0.0028
    axis: float = 0.009
    com: float = 0.055
    """Over the arm."""
    inertia: float = 0.3
    product: float = 0.035
    gyro: float = 0.012
    """Of the axes of the gyro against those of the body, rad; flow across the rotors tilts their thrust as much."""


SIGMAS = NominalSigmas()


@dataclass(frozen=True)
class NominalRotors:
    """What equations (1) and (2) take from a drawing, over m rotors.

    Attributes:
        force: (m, 3) per mass, m/s2 per (rad/s)^2.
        axis: (m, 3).
        arms: (m, 3) from the centre of mass, across the thrust, m.
        ratio: (m,) s_i d_i, m.
        inertia: (3, 3) per mass, m2.
        reach: Largest arm, m.
    """

    force: Floats
    axis: Floats
    arms: Floats
    ratio: Floats
    inertia: Floats
    reach: float

    @classmethod
    def of(cls, airframe: RigidAirframe) -> Self | None:
        """Of a drawing; None if a rotor has no thrust or no torque ratio, or the body no inertia."""
        force, size = airframe.forces.T, np.linalg.norm(airframe.forces, axis=0)
        if not (np.all(size > 0.0) and airframe.mass > 0.0 and np.linalg.det(airframe.inertia) > 0.0):
            return None
        axis = force / size[:, None]
        ratio = -np.sum(airframe.yaw.T * axis, axis=1) / size
        if not np.all(np.abs(ratio) > 0.0):
            return None
        arms = np.cross(axis, (airframe.torques - airframe.yaw).T / size[:, None])
        reach = float(np.max(np.linalg.norm(arms, axis=1)))
        return cls(force / airframe.mass, axis, arms, ratio, airframe.inertia / airframe.mass, reach)

    def sigmas(self) -> Floats:
        """(D,) deviations of all differences, in the order of `rows`."""
        m, s = len(self.ratio), SIGMAS
        parts = [
            (1, s.thrust), (m, s.rotor_thrust), (1, s.torque_ratio), (m, s.rotor_torque_ratio),
            (1, s.arms), (3 * m, s.position), (3 * m, s.axis), (3, s.com * self.reach), (3, s.inertia), (3, s.product),
        ]  # fmt: skip
        return np.concatenate([np.full(count, sigma) for count, sigma in parts])

    def rows(self, differences: Floats) -> Floats:
        """(4, m) fz, p, q, r by equations (1) and (2) of a vehicle with these differences (D,)."""
        m = len(self.ratio)
        counts = np.cumsum([1, m, 1, m, 1, 3 * m, 3 * m, 3, 3])
        all_thrust, thrust, all_ratio, ratio, scale, place, lean, com, moment, product = np.split(
            differences, counts
        )
        axis = self.axis + np.cross(lean.reshape(m, 3), self.axis)
        size = np.linalg.norm(self.force, axis=1) * np.exp(all_thrust + thrust)
        arms = self.arms * np.exp(scale) + place.reshape(m, 3) - com
        moments = np.diagonal(self.inertia) * np.exp(moment)
        roots = np.sqrt(np.outer(moments, moments))
        own = np.sqrt(np.outer(*2 * [np.diagonal(self.inertia)]))
        off = (self.inertia - np.diag(np.diagonal(self.inertia))) / own
        off[[0, 0, 1, 1, 2, 2], [1, 2, 0, 2, 0, 1]] += product[[0, 1, 0, 2, 1, 2]]
        inertia = np.diag(moments) + roots * off
        torque = np.cross(arms, axis) - (self.ratio * np.exp(all_ratio + ratio))[:, None] * axis
        turns = np.linalg.solve(inertia, (torque * size[:, None]).T)
        return np.concatenate([(axis[:, 2] * size)[None], turns])


@dataclass(frozen=True)
class Agreement:
    """Rows of the most probable vehicle.

    Attributes:
        rows: (4, m) fz, p, q, r in body axes.
        cov: (4 m, 4 m) of them, row by row.
        probability: Of a log that agrees with the drawing no better than this one, if the vehicle is near it.
        moments: (3,) of inertia per mass, m2.
        moments_sigma: (3,) relative.
    """

    rows: Floats
    cov: Floats
    probability: float
    moments: Floats
    moments_sigma: Floats


def agree(nominal: NominalRotors, rows: Floats, cov: Floats) -> Agreement:
    """Join rows (4, m) of a log, with covariance (4 m, 4 m), and a drawing by equations (1) to (3)."""
    m = len(nominal.ratio)
    sigmas = np.concatenate([nominal.sigmas(), np.full(3, SIGMAS.gyro)])
    scale = np.sqrt(np.maximum(np.diagonal(cov), 1e-300))
    noise = cov / np.outer(scale, scale) + 1e-9 * np.eye(4 * m)

    def true_rows(z: Floats) -> Floats:
        return nominal.rows((z * sigmas)[:-3]).ravel() / scale

    def measured_rows(z: Floats) -> Floats:
        found = nominal.rows((z * sigmas)[:-3])
        found[1:] = found[1:] - np.cross((z * sigmas)[-3:], found[1:].T).T
        return found.ravel() / scale

    z = np.zeros(len(sigmas))
    for _ in range(STEPS):
        H = _slope(measured_rows, z)
        left = rows.ravel() / scale - measured_rows(z) + H @ z
        S = H @ H.T + noise
        z = H.T @ np.linalg.solve(S, left)
    H, T = _slope(measured_rows, z), _slope(true_rows, z)
    left = rows.ravel() / scale - measured_rows(z) + H @ z
    S = H @ H.T + noise
    cost = float(left @ np.linalg.solve(S, left))
    posterior = np.eye(len(z)) - H.T @ np.linalg.solve(S, H)
    return Agreement(
        (true_rows(z) * scale).reshape(4, m),
        (T @ posterior @ T.T) * np.outer(scale, scale),
        float(special.chdtrc(4 * m, cost)),
        np.diagonal(nominal.inertia) * np.exp((z * sigmas)[MOMENTS]),
        sigmas[MOMENTS] * np.sqrt(np.diagonal(posterior)[MOMENTS]),
    )


def _slope(function: Callable[[Floats], Floats], z: Floats) -> Floats:
    """(N, D) of a function (N,) at z (D,)."""
    steps = LITTLE * np.eye(len(z))
    return np.stack([(function(z + h) - function(z - h)) / (2.0 * LITTLE) for h in steps], axis=1)
