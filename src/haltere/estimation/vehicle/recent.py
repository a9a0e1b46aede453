"""Nodes of a stream, from its last readings: the same signals as those of a whole flight, a moment after they came."""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Self

import numpy as np
from scipy import ndimage

from haltere.estimation.vehicle.motion import NODE
from haltere.estimation.vehicle.nodes import (
    BESIDE_GAP,
    FINE,
    GAP,
    FlightNodes,
    low_pass,
    principal_components,
    spline,
    thinned,
)
from haltere.flight.filters import wiener_gains
from haltere.flight.resampling import interpolate_columns
from haltere.foundation.numbers import Bools, Floats

RECENT = 0.08
"""s around nodes of a stream whose signals are looked at."""
LOW_PASS_REACH = 0.04
"""s after a node that the low-pass needs: beyond, its kernel is below 2 % of its largest."""


@dataclass(frozen=True)
class RotorShrinkage:
    """What is done to the rotor speeds of a stream: Wiener's filter of their principal components, after a flight.

    Attributes:
        vectors: (R, R) the components as columns.
        kernels: (2 N + 1, R) of each on the fine clock, up to `RECENT` on both sides.
    """

    vectors: Floats
    kernels: Floats

    @classmethod
    def from_recent(cls, time: Floats, values: Floats) -> Self:
        """After the last readings of a stream, stamps (T,) s and rotor speeds (T, R).

        What moves in the last second only must not be taken for noise: the larger gain counts, of all and of that.
        """
        _, rate, _, vectors, components = principal_components(time, values)
        reach = round(RECENT / FINE)
        gains = np.ones((4 * reach + 1, values.shape[1]))
        if len(components) > 32 and rate > 32.0:
            whole = np.fft.rfftfreq(8 * reach, FINE)
            last = components[-int(rate) :]
            each = [interpolate_columns(whole, *wiener_gains(x, rate)) for x in (components, last)]
            gains = np.maximum(*each)
        kernels = np.roll(np.fft.irfft(gains, 8 * reach, axis=0), 4 * reach, axis=0)
        kernels = kernels[3 * reach : 5 * reach + 1] * np.hanning(2 * reach + 3)[1:-1, None]
        return cls(vectors, kernels / kernels.sum(axis=0))

    def apply(self, rotor_speeds: Floats) -> Floats:
        """Rotor speeds (N, R) on the fine clock without what is noise in them; the last `RECENT` s less so."""
        components = rotor_speeds @ self.vectors
        for k, kernel in enumerate(self.kernels.T):
            components[:, k] = ndimage.correlate1d(components[:, k], kernel, mode="nearest")
        return components @ self.vectors.T


def recent_nodes(
    time: Floats,
    imu: tuple[Floats, Floats],
    rotors: tuple[Floats, Floats],
    poses: tuple[Floats, Floats],
    newest: float,
    shrinkage: RotorShrinkage,
) -> FlightNodes:
    """Nodes near the end of a stream, whose stamps are taken as they are.

    Beyond the newest reading signals are held, which the low-pass hardly notices `LOW_PASS_REACH` before it.

    Args:
        time: (K,) s, of the nodes.
        imu: stamps (T,) s and gyro and accelerometer (T, 6) around them.
        rotors: stamps and rotor speeds (T, R).
        poses: stamps (M,) and positions with unit quaternions (M, 7).
        newest: s, stamp of the newest reading of all.
        shrinkage: of the rotor speeds.
    """
    fine = np.arange(time[0] - 2.0 * RECENT, time[-1] + RECENT, FINE)
    count = rotors[1].shape[1]
    rotor_speeds = shrinkage.apply(spline(*rotors, fine))
    raw = [spline(*thinned(*imu), fine), rotor_speeds * np.abs(rotor_speeds), rotor_speeds]
    smooth = ndimage.correlate1d(np.concatenate(raw, axis=1), low_pass_kernel(), axis=0, mode="nearest")
    valid = [covered(stamps, time, newest) for stamps in (imu[0], rotors[0])]
    found = FlightNodes(
        time, time, valid[0], valid[1], fine, smooth[:, 3:6], smooth[:, 6 : 6 + count], smooth[:, 6 + count :],
        *poses, np.zeros(2), np.nan, np.zeros(count),
    )  # fmt: skip
    return replace(found, gyro=found.at(smooth[:, :3], 0.0))


@lru_cache(maxsize=1)
def low_pass_kernel() -> Floats:
    """(2 N + 1,) what the low-pass makes of one sample of the fine clock, up to `RECENT` from it."""
    reach = round(RECENT / FINE)
    one: Any = np.zeros(8 * reach + 1)
    one[4 * reach] = 1.0
    kernel = low_pass(one)[3 * reach : 5 * reach + 1]
    return np.asarray(kernel / kernel.sum())


def covered(stamps: Floats, time: Floats, newest: float) -> Bools:
    """(K,) whether a stream that goes on until `newest` was read around each time: no gap from 2 nodes before it on."""
    before = np.append(stamps, newest)
    gaps = np.flatnonzero(np.diff(before) > GAP)
    beside = BESIDE_GAP * NODE
    begin, end = before[gaps], before[gaps + 1]
    missing = (time[:, None] + beside > begin) & (time[:, None] - beside < end)
    return np.asarray(~missing.any(axis=1) & (time > stamps[0]))
