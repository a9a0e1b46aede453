"""The attitude of a flight that only positions and an IMU have recorded.

The gyro's rates, integrated from the first sample on, rotate every specific force into the axes I0 that the IMU had
then. With S their double integral and D the second divided difference over three positions p some tenths of a second
apart, which neither the first position nor the first velocity touches,

    D p = R D S + g / 2                                                                                     (1)

so the rotation R from I0 to the world is that between two bundles of vectors ([Wahba1965]). Gravity gives the tilt; the
heading shows in horizontal accelerations a only, with a variance of sigma^2 / sum of a^2. Because the gyro drifts, R is
found for each `SECONDS`, from the part of the flight that tells the heading best on to both sides, with the rotation of
the part beside as three further pairs of vectors, its unit vectors.
"""

import numpy as np
from scipy.spatial.transform import Rotation, Slerp

from haltere.flight.window import IdentifyError
from haltere.foundation.numbers import Floats, Ints

SPACING = 0.3
"""s between the positions of a second difference: shorter ones see noise, longer ones the gyro's drift."""
SECONDS = 5.0
"""For which a rotation is found."""
DRIFT = 0.1
"""rad, of the integrated gyro in that time."""
WIDEST = np.deg2rad(20.0)
"""Deviation of the heading beyond which it is not known."""


def find_attitude(
    time: Floats, gyro: Floats, accel: Floats, stamps: Floats, position: Floats, gravity: Floats
) -> Floats:
    """(T, 4) q_WI of the IMU at its samples, wxyz.

    Args:
        time: (T,) s, of the IMU.
        gyro: (T, 3) rad/s, IMU axes.
        accel: (T, 3) m/s2, specific force, IMU axes.
        stamps: (K,) s, of the positions, on the same clock.
        position: (K, 3) m, world.
        gravity: (3,) m/s2, world.

    Raises:
        IdentifyError: the flight is too short, or its horizontal accelerations too small for a heading.
    """
    kept = (stamps >= time[0]) & (stamps <= time[-1])
    stamps, position = stamps[kept], position[kept]
    triples = _triples(stamps)
    turned = _integrated(time, gyro)
    integral = _double_integral(time, turned.apply(accel))
    at = np.stack([np.interp(stamps, time, column) for column in integral.T], axis=1)
    of_positions = _second(stamps, position, triples) - 0.5 * gravity
    of_forces = _second(stamps, at, triples)
    edges = np.linspace(time[0], time[-1], max(int((time[-1] - time[0]) / SECONDS), 1) + 1)
    part = np.clip(np.searchsorted(edges, stamps[triples[1]], "right") - 1, 0, len(edges) - 2)
    own = [np.flatnonzero(part == k) for k in range(len(edges) - 1)]
    begin, first, variance = _best(of_positions, of_forces, own, edges[1] - edges[0])
    found = [first] * len(own)
    beside = 0.5 * variance / DRIFT**2
    for order in (range(begin + 1, len(own)), range(begin - 1, -1, -1)):
        last = first
        for k in order:
            more = of_positions[own[k]].T @ of_forces[own[k]] + beside * last.as_matrix()
            last = found[k] = _nearest(more)
    middles = np.concatenate([[time[0] - 1.0], 0.5 * (edges[1:] + edges[:-1]), [time[-1] + 1.0]])
    rotation = Slerp(middles, Rotation.concatenate([found[0], *found, found[-1]]))(time)
    return np.asarray(np.roll((rotation * turned).as_quat(), 1, axis=1))


def _best(
    of_positions: Floats, of_forces: Floats, parts: list[Ints], length: float
) -> tuple[int, Rotation, float]:
    """Of parts of some length, s, the one that tells the heading best, its rotation, and the variance of a pair."""
    best, chosen = np.inf, (0, Rotation.identity(), 0.0)
    for k, own in enumerate(parts):
        if len(own) < 3:
            continue
        rotation = _nearest(of_positions[own].T @ of_forces[own])
        turned = rotation.apply(of_forces[own])
        # Neighbouring triples share samples: about one in a whole span is independent.
        independent = max(length / (2.0 * SPACING), 1.0)
        variance = float(np.mean((of_positions[own] - turned) ** 2) * len(own) / independent)
        # Of horizontal accelerations: noise of one of the two does not pass for motion.
        told = float(np.sum(of_positions[own, :2] * turned[:, :2]))
        if told > 0.0 and variance / told < best:
            best, chosen = variance / told, (k, rotation, variance)
    if not best < WIDEST**2:
        raise IdentifyError(
            f"no {SECONDS:g} s of the flight tell the heading, because the vehicle hardly accelerates sideways; "
            "log an attitude (pose.wxyz or estimate.wxyz), or give a flight that does"
        )
    return chosen


def _nearest(moments: Floats) -> Rotation:
    """The rotation R with the largest trace of R^T moments (3, 3): that between vectors of which these are the sums."""
    U, _, Vt = np.linalg.svd(moments)
    return Rotation.from_matrix(U @ np.diag([1.0, 1.0, np.linalg.det(U @ Vt)]) @ Vt)


def _triples(stamps: Floats) -> tuple[Ints, Ints, Ints]:
    """Indices (n,) of positions that lie `SPACING` from each other."""
    middle = np.arange(len(stamps))
    first = np.searchsorted(stamps, stamps - SPACING)
    last = np.searchsorted(stamps, stamps + SPACING)
    whole = (first > 0) & (last < len(stamps)) & (last > middle) & (first < middle)
    if np.sum(whole) < 3:
        raise IdentifyError(
            f"got {len(stamps)} positions beside the IMU, too few in {4 * SPACING:g} s for an attitude; "
            "log an attitude (pose.wxyz or estimate.wxyz), or give a longer flight"
        )
    return first[whole], middle[whole], last[whole]


def _integrated(time: Floats, gyro: Floats) -> Rotation:
    """(T,) rotations from the axes of each sample to those of the first."""
    attitude, found = Rotation.identity(), [Rotation.identity()]
    for step in Rotation.from_rotvec(0.5 * np.diff(time)[:, None] * (gyro[1:] + gyro[:-1])):
        attitude = attitude * step
        found.append(attitude)
    return Rotation.concatenate(found)


def _double_integral(time: Floats, force: Floats) -> Floats:
    """(T, 3) double integral of the specific force (T, 3), axes of the first sample."""
    dt, start = np.diff(time)[:, None], np.zeros((1, 3))
    velocity = np.concatenate([start, np.cumsum(0.5 * dt * (force[1:] + force[:-1]), axis=0)])
    steps = dt * velocity[:-1] + dt**2 * (2.0 * force[:-1] + force[1:]) / 6.0
    return np.concatenate([start, np.cumsum(steps, axis=0)])


def _second(t: Floats, x: Floats, triples: tuple[Ints, Ints, Ints]) -> Floats:
    """(n, 3) second divided differences of x (K, 3) over the stamps t (K,)."""
    i, j, k = triples
    a, b = t[j] - t[i], t[k] - t[j]
    return np.asarray(((x[k] - x[j]) / b[:, None] - (x[j] - x[i]) / a[:, None]) / (a + b)[:, None])
