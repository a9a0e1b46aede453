"""Ratios that need nothing but the log: inertia against inertia, and thrust against weight.

What the products of the rates do to the angular acceleration, Q of `haltere.identification.regression.force_law`, is
inertia alone:

    Q_x = (Iyy - Izz) / Ixx,    Q_y = (Izz - Ixx) / Iyy,    Q_z = (Ixx - Iyy) / Izz                          (1)

With A, B, C > 0 the second moments of mass and Ixx = B + C, Iyy = A + C, Izz = A + B every solution is one that a body
can have. Scale drops out: A + B + C = 1.
"""

import numpy as np
from scipy import optimize

from haltere.foundation.constants import STANDARD_GRAVITY
from haltere.foundation.numbers import Floats
from haltere.identification.methods.effectiveness_fit import RotorRows
from haltere.identification.regression import force_law as laws
from haltere.identification.result import Parameter

FLOOR = 0.1
"""Of Q: air forces that go with the product of rates."""
LOOSE = 2.0
"""Deviation of the logarithms of B/A and C/A before the log, so that nothing runs away."""
TELLING = 0.35
"""A ratio with a larger relative deviation is not told."""
FIX = "turn fast about two axes at once: rolls while yawing, or tumbles by hand"


def inertia_ratios(rows: RotorRows) -> list[Parameter]:
    """Iyy/Ixx and Izz/Ixx by equation (1)."""
    Q, sigma = rows.swirl[0], np.hypot(rows.swirl[1], FLOOR)
    sigma[:2] = np.hypot(sigma[:2], _carried(rows))
    names = ("inertia.yy/inertia.xx", "inertia.zz/inertia.xx")
    if not (np.isfinite(Q).all() and np.isfinite(sigma).all()):
        return [Parameter.unobservable(name, "1", FIX) for name in names]

    def left(x: Floats) -> Floats:
        return np.concatenate([(swirl_of(x) - Q) / sigma, x / LOOSE])

    answer = optimize.least_squares(left, np.array([0.0, -1.0]))
    cov = np.linalg.inv(answer.jac.T @ answer.jac)
    worse = max(2.0 * float(answer.cost), 1.0)
    values = ratios_of(answer.x)
    slope = np.stack(
        [(ratios_of(answer.x + h) - ratios_of(answer.x - h)) / 2e-5 for h in 1e-5 * np.eye(2)], axis=1
    )
    spread = np.sqrt(np.diagonal(slope @ cov @ slope.T) * worse)
    return [
        Parameter.measured(name, float(v), float(s), "1", FIX, True)
        if s < TELLING * v
        else Parameter.unobservable(name, "1", FIX)
        for name, v, s in zip(names, values, spread, strict=True)
    ]


def _carried(rows: RotorRows) -> float:
    """Share of the yaw rate that is momentum taken from the rotors: as a product of rates it looks like inertia."""
    found = rows.signals
    speeds = np.sqrt(np.maximum(found.squares[found.good], 0.0))
    taken = (speeds - speeds.mean(axis=0)) @ np.nan_to_num(rows.spin[2])
    return float(min(np.std(taken) / max(np.std(found.rates[found.good, 2]), 1e-12), 1.0))


def moments_of(x: Floats) -> Floats:
    """(3,) moments of inertia, up to scale, from the logarithms of B/A and C/A."""
    A, B, C = 1.0, *np.exp(np.clip(x, -8.0, 8.0))
    return np.array([B + C, A + C, A + B])


def ratios_of(x: Floats) -> Floats:
    """(2,) Iyy/Ixx and Izz/Ixx."""
    moments = moments_of(x)
    return np.asarray(moments[1:] / moments[0])


def swirl_of(x: Floats) -> Floats:
    """(3,) Q of equation (1)."""
    a, b, c = moments_of(x)
    return np.array([(b - c) / a, (c - a) / b, (a - b) / c])


def thrust_to_weight(rows: RotorRows) -> Parameter:
    """Thrust of all rotors at full command over weight."""
    name, fix = "thrust_to_weight", "log the motor commands and fly with more throttle"
    if not rows.motors or min(fit.explained for fit in rows.motors) < 0.5:
        return Parameter.unobservable(name, "1", fix)
    tops = np.array([fit.top for fit in rows.motors])
    gain, scatter, misfit = laws.pull(rows.signals, np.ones(len(tops)))
    beyond = max(1.0 - max(fit.reach[1] for fit in rows.motors), 0.0)
    top = float(np.mean([fit.sigma[0] / max(fit.top, 1.0) for fit in rows.motors]))
    relative = float(np.sqrt(scatter**2 + misfit**2 + (2.0 * top) ** 2 + (0.04 + 0.3 * beyond) ** 2))
    value = float(gain * np.sum(tops**2) / STANDARD_GRAVITY)
    return Parameter.measured(name, value, relative * value, "1", fix, True)
