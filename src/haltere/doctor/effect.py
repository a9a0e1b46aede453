"""The motion that rotors cause, on the common clock, and how much of it nominal rotors explain.

With X the squared speeds (T, R), y one row of the measured motion (angular acceleration with I^-1 (w x I w)
added, or specific force; means removed) and b the nominal effect of the rotors on it, in the order P and with a
free positive gain:

    (1)  R2(P) = max(b_P.X'y, 0)^2 / (b_P.X'X b_P  y'y)

Rotors that speed up rotate the body the other way as well. With Z their accelerations (T, R) and signs c, the fraction
that both explain, each with a free positive gain:

    (2)  R2(b, c) = 1 - min over g, h >= 0 of |y - g X b - h Z c|^2 / y'y
"""

import numpy as np
from scipy import optimize

from haltere.airframe.rigid import RigidAirframe
from haltere.doctor.motion import RATE, SmoothedMotion, finite_rows, low_pass_over_gaps, smooth
from haltere.flight import Channel
from haltere.foundation.numbers import Floats

BAND = 8.0
"""Frequencies of the torque rows, Hz."""
STRENGTH = 0.3
"""Relative, by which a rotor may be weaker or stronger than described."""


def rows_of(motion: SmoothedMotion, nominal: RigidAirframe | None) -> Floats | None:
    """Return (T, 6): angular acceleration with the gyroscopic part added, and specific force; NaN where unknown."""
    if motion.gyro is None or motion.angular_acceleration is None:
        return None
    turn = motion.angular_acceleration
    if nominal is not None:
        swirl = np.cross(motion.gyro, motion.gyro @ nominal.inertia.T)
        turn = turn + np.linalg.solve(nominal.inertia, swirl.T).T
    force = motion.accel if motion.accel is not None else np.zeros_like(turn)
    return np.hstack([low_pass_over_gaps(turn, BAND), low_pass_over_gaps(force, BAND)])


def flying(squared_speeds: Floats) -> np.ndarray:
    """(T,) where the rotors pull: squared speeds (T, R) beyond a quarter of what is usual in flight."""
    total = np.nansum(squared_speeds, axis=1)
    return np.asarray(total > 0.25 * np.nanpercentile(total, 80))


class EffectFit:
    """Squared speeds and motion on the common clock, means removed, and their products."""

    def __init__(self, source: Channel, motion: SmoothedMotion, nominal: RigidAirframe) -> None:
        rows = rows_of(motion, nominal)
        speeds = smooth(source, motion.time)
        squared_speeds = low_pass_over_gaps(speeds**2, BAND)
        rises = low_pass_over_gaps(np.gradient(speeds, 1.0 / RATE, axis=0), BAND)
        self.enough = rows is not None
        if rows is None:
            return
        good = finite_rows(rows, squared_speeds, rises) & flying(squared_speeds)
        edge = int(0.3 * RATE)
        good[:edge] = good[-edge:] = False
        self.enough = int(good.sum()) >= 200
        if not self.enough:
            return
        X, Y, Z = (part[good] - part[good].mean(axis=0) for part in (squared_speeds, rows, rises))
        self.X, self.Y, self.Z = X, Y, Z
        self.XX, self.XY, self.YY = X.T @ X, X.T @ Y, np.sum(Y**2, axis=0)
        tilt = np.linalg.solve(nominal.inertia, nominal.torques)
        self.effects = np.vstack([tilt, nominal.forces / nominal.mass])

    def explained(self, effects: Floats, rows: range, order: tuple[int, ...] | None = None) -> Floats:
        """Return R2 of rows, eq. (1), for rotors in an order."""
        pick = list(order) if order is not None else list(range(self.XX.shape[0]))
        XX, XY = self.XX[np.ix_(pick, pick)], self.XY[pick]
        found = np.zeros(len(rows))
        for k, row in enumerate(rows):
            b = effects[row]
            below = float(b @ XX @ b) * float(self.YY[row])
            found[k] = max(float(b @ XY[:, row]), 0.0) ** 2 / below if below > 0.0 else 0.0
        return np.clip(found, 0.0, 1.0 - 1e-9)

    def likelihood(self, effects: Floats, rows: range, order: tuple[int, ...] | None = None) -> float:
        """Return how well rotors in an order fit rows: -sum log(1 - R2)."""
        return float(-np.sum(np.log1p(-self.explained(effects, rows, order))))

    def strengthened(self, rows: range) -> Floats:
        """Return the effects (6, R) with each rotor as strong as fits rows best, within `STRENGTH`."""
        parts, wanted = [], []
        for row in rows:
            X, y = self.X * self.effects[row], self.Y[:, row]
            made = X.sum(axis=1)
            gain = max(float(made @ y), 0.0) / max(float(made @ made), 1e-300)
            size = max(float(np.linalg.norm(y)), 1e-300)
            parts.append(gain * X / size)
            wanted.append(y / size)
        bounds = (1.0 - STRENGTH, 1.0 + STRENGTH)
        found = optimize.lsq_linear(np.concatenate(parts), np.concatenate(wanted), bounds)
        return np.asarray(self.effects * found.x)

    def explained_spinning(self, effect: Floats, signs: Floats, row: int) -> float:
        """Return R2 of a row, eq. (2), for an effect (R,) of squared speeds and signs (R,) of accelerations."""
        y = self.Y[:, row]
        parts = np.stack([self.X @ effect, self.Z @ signs], axis=1)
        size = np.maximum(np.linalg.norm(parts, axis=0), 1e-300)
        left = optimize.nnls(parts / size, y)[1]
        return float(np.clip(1.0 - left**2 / max(float(y @ y), 1e-300), 0.0, 1.0 - 1e-9))
