"""The first attitude of a flight that only positions and an IMU have recorded.

The gyro's rates, integrated from the first sample on, rotate every specific force into the axes I0 that the IMU had
then. With S their double integral and D the second divided difference over three positions p some tenths of a second
apart, which neither the first position nor the first velocity touches,

    D p = R_WI0 D S + g / 2                                                                               (1)

so the attitude R_WI0 is the rotation between two bundles of vectors ([Wahba1965]). Gravity gives the tilt; the heading
shows in horizontal accelerations a only, with a variance of sigma^2 / sum of a^2.
"""

import numpy as np
from scipy.spatial.transform import Rotation

from haltere.foundation import HaltereError
from haltere.foundation.numbers import Floats

SPACING = 0.3
"""s between the positions of a second difference: shorter ones see noise, longer ones the gyro's drift."""
SECONDS = 5.0
"""How much of the flight is used."""
WIDEST = np.deg2rad(20.0)
"""Deviation of the heading beyond which it is not known."""


class AlignmentError(HaltereError):
    """A flight whose first attitude its positions do not tell."""


def first_attitude(
    time: Floats, gyro: Floats, accel: Floats, stamps: Floats, position: Floats, gravity: Floats
) -> Floats:
    """(4,) q_WI of the IMU at its first sample, wxyz.

    Args:
        time: (T,) s, of the IMU.
        gyro: (T, 3) rad/s, IMU axes.
        accel: (T, 3) m/s2, specific force, IMU axes.
        stamps: (K,) s, of the positions, on the same clock.
        position: (K, 3) m, world.
        gravity: (3,) m/s2, world.

    Raises:
        AlignmentError: the flight is too short, or its horizontal accelerations too small for a heading.
    """
    used = time <= time[0] + SECONDS
    time, gyro, accel = time[used], gyro[used], accel[used]
    kept = (stamps >= time[0]) & (stamps <= time[-1])
    stamps, position = stamps[kept], position[kept]
    first, middle, last = _triples(stamps)
    moved = _moved(time, gyro, accel)
    at = np.stack([np.interp(stamps, time, column) for column in moved.T], axis=1)
    seen = _second(stamps, position, first, middle, last) - 0.5 * gravity
    felt = _second(stamps, at, first, middle, last)
    turn = Rotation.align_vectors(seen, felt)[0]
    turned = turn.apply(felt)
    # Neighbouring triples share samples: about one in a whole span is independent.
    independent = max((stamps[-1] - stamps[0]) / (2.0 * SPACING), 1.0)
    variance = np.mean((seen - turned) ** 2) * len(seen) / independent
    # Of horizontal accelerations: noise of one of the two does not pass for motion.
    told = float(np.sum(seen[:, :2] * turned[:, :2]))
    if not variance < WIDEST**2 * told:
        raise AlignmentError(
            f"the first {SECONDS:g} s do not tell the heading, because the vehicle hardly accelerates sideways; "
            "give first_attitude (or estimate.wxyz in the log), or a flight that does"
        )
    return np.asarray(np.roll(turn.as_quat(), 1))


def _triples(stamps: Floats) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Indices (n,) of positions that lie `SPACING` from each other."""
    middle = np.arange(len(stamps))
    first = np.searchsorted(stamps, stamps - SPACING)
    last = np.searchsorted(stamps, stamps + SPACING)
    whole = (first > 0) & (last < len(stamps)) & (last > middle) & (first < middle)
    if np.sum(whole) < 3:
        raise AlignmentError(
            f"got {len(stamps)} positions in the first {SECONDS:g} s, too few in {4 * SPACING:g} s for an attitude; "
            "give first_attitude, or a longer flight"
        )
    return first[whole], middle[whole], last[whole]


def _moved(time: Floats, gyro: Floats, accel: Floats) -> Floats:
    """(T, 3) double integral of the specific force, axes of the first sample."""
    dt = np.diff(time)[:, None]
    attitude, turns = Rotation.identity(), [Rotation.identity()]
    for step in Rotation.from_rotvec(0.5 * dt * (gyro[1:] + gyro[:-1])):
        attitude = attitude * step
        turns.append(attitude)
    force = Rotation.concatenate(turns).apply(accel)
    start = np.zeros((1, 3))
    velocity = np.concatenate([start, np.cumsum(0.5 * dt * (force[1:] + force[:-1]), axis=0)])
    return np.concatenate(
        [start, np.cumsum(dt * velocity[:-1] + dt**2 * (2.0 * force[:-1] + force[1:]) / 6.0, axis=0)]
    )


def _second(t: Floats, x: Floats, i: np.ndarray, j: np.ndarray, k: np.ndarray) -> Floats:
    """(n, 3) second divided differences of x (K, 3) over the stamps t (K,)."""
    a, b = t[j] - t[i], t[k] - t[j]
    rotor_accelerations = (x[k] - x[j]) / b[:, None] - (x[j] - x[i]) / a[:, None]
    return np.asarray(rotor_accelerations / (a + b)[:, None])
