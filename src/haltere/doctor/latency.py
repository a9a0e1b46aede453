"""How late rotor speeds come: against the motion that they cause, which knows no telemetry.

With X(t) the squared speeds (T, R) and y(t) a row of the measured motion, both between 1 and 8 Hz, the delay is the d
for which y(t) regressed on X(t + d) leaves the least; no airframe is needed. The products of the rates, w_y w_z and so
on, stand beside X for the gyroscopic torque. The sigma comes from the curvature there and a floor for what the
regression leaves out.
"""

from collections.abc import Iterator

import numpy as np
from scipy import interpolate

from haltere.airframe.rigid import Nominal
from haltere.doctor.effect import BAND, flying, rows_of
from haltere.doctor.finding import Finding, Unknown, shifted
from haltere.doctor.motion import RATE, Motion, finite_rows, low_pass, smooth
from haltere.flight import Channel
from haltere.foundation.numbers import Floats

HIGH = 1.0
"""Frequency, Hz, above which the delay is looked for."""
LATE = 0.005
"""Shortest delay worth a finding, s."""
FLOOR = 0.001
"""What the model leaves out (air forces, spin-up) shifts the delay by about this much, s."""
DELAYS = np.arange(-0.040, 0.0801, 0.004)
VAGUE = 0.004
"""A sigma beyond this, s, says that the regression does not describe the motion."""
EXPLAINED = 0.7


def check_latency(
    speed: Channel, moved: Motion, nominal: Nominal | None, measures: dict[str, float]
) -> Iterator[Finding | Unknown]:
    """Yield by how much the speeds come late, eq. (4)."""
    rows = rows_of(moved, nominal)
    if rows is None:
        return
    edge = int(1.5 * RATE)
    rows = rows - _slow(rows)
    w = moved.gyro if moved.gyro is not None else np.zeros((len(moved.time), 3))
    swirl = low_pass(np.roll(w, -1, axis=1) * np.roll(w, -2, axis=1), BAND)
    swirl = swirl - _slow(swirl)
    now = low_pass(smooth(speed, moved.time) ** 2, BAND)
    there = finite_rows(now)
    if there.sum() < 200:
        return
    clock = moved.seconds
    course = interpolate.CubicSpline(clock[there], (now - _slow(now))[there])
    squares = {float(d): course(np.clip(clock + d, *clock[there][[0, -1]])) for d in DELAYS}
    reach = int(max(abs(DELAYS)) * RATE) + 2
    good = np.convolve(~there | ~finite_rows(rows, swirl), np.ones(2 * reach + 1), mode="same") == 0
    good &= flying(now)
    good[:edge] = good[-edge:] = False
    if good.sum() < 200:
        return
    for chosen, label in (([0, 1], "roll and pitch"), ([5], "thrust")):
        Y = rows[good][:, chosen]
        Y = Y - Y.mean(axis=0)
        power = np.sum(Y**2, axis=0)
        left = np.array(
            [_residual(np.hstack([squares[float(d)][good], swirl[good]]), Y) / power for d in DELAYS]
        )
        total = left.mean(axis=1)
        place = int(np.argmin(total))
        if 1.0 - total[place] < EXPLAINED or not 0 < place < len(DELAYS) - 1:
            continue
        step = DELAYS[1] - DELAYS[0]
        a, b, c = total[place - 1], total[place], total[place + 1]
        curvature = (a - 2 * b + c) / step**2
        delay = float(DELAYS[place] + 0.5 * step * (a - c) / (a - 2 * b + c))
        independent = good.sum() * 2.0 * BAND / RATE * len(chosen)
        sigma = float(np.hypot(np.sqrt(2.0 * b / (curvature * independent)), FLOOR))
        if sigma > VAGUE:
            continue
        measures["rotors.speed.delay"] = delay
        measures["rotors.speed.delay_sigma"] = sigma
        if delay > max(LATE, 5.0 * sigma):
            yield Finding(
                "rotor-latency",
                f"rotors.speed comes {1e3 * delay:.1f} ms (sigma {1e3 * sigma:.1f} ms) after its effect on {label}",
                "shift it by this delay, or fit a delay",
                True,
                ("rotors.speed",),
                shifted("rotors.speed", delay),
            )
        return
    yield Unknown("rotor-latency", "the rotors' effect on the motion is too weak to time it", "fly livelier")


def _slow(values: Floats) -> Floats:
    """Return what changes more slowly than `HIGH`: air forces and gravity act there, too, and blur the timing."""
    return low_pass(values, HIGH)


def _residual(X: Floats, Y: Floats) -> Floats:
    """Return the sums of squares (k,) that regressing Y (T, k) on X (T, R) leaves."""
    X = X - X.mean(axis=0)
    X = X / np.maximum(np.sqrt(np.sum(X**2, axis=0)), 1e-30)
    XX = X.T @ X + 1e-6 * np.eye(X.shape[1])
    return np.asarray(np.sum((Y - X @ np.linalg.solve(XX, X.T @ Y)) ** 2, axis=0))
