"""A flight as nodes 20 ms apart on the gyro's clock: low-passed readings, rotor inputs, and the poses near each node.

Gyro, accelerometer, rotor speeds and their squares pass the same low-pass without phase at the Nyquist rate of the
nodes, so that what is left of one is what is left of the others. Signals are interpolated by cubic splines: straight
lines between telemetry samples lose 1 to 2 % of what the rotors do at 8 Hz.

Rotor speeds are read with noise, and a regression on noisy inputs finds too little of an effect. So each of their
principal components is shrunk by Wiener's filter first: the expectation of the true speed given the readings has no
such bias. Of a quadrotor the components are close to thrust, roll, pitch and yaw, of which yaw is the faintest.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy import ndimage, signal
from scipy.interpolate import CubicSpline

from haltere.estimation.vehicle.alignment import find_attitude
from haltere.estimation.vehicle.motion import NODE, STATE
from haltere.estimation.vehicle.parameters import NominalVehicle
from haltere.flight import Channel, Flight
from haltere.flight.filters import white_noise, wiener_mix
from haltere.flight.resampling import interpolate_columns
from haltere.flight.rotations import conjugate, matrices_from_wxyz, matrix_from_wxyz, multiply, unwrap
from haltere.flight.window import IdentifyError
from haltere.foundation.constants import STANDARD_GRAVITY
from haltere.foundation.numbers import Bools, Floats, Ints

FINE = 0.002
"""s between two samples of the signals that are low-passed."""
CUTOFF = 0.5 / NODE
"""Hz. Below the Nyquist rate of the nodes the noise would look smaller than it is."""
EDGE = 0.1
"""s, left out at both ends: the low-pass needs them."""
GAP = 0.05
"""s without a sample from which on a signal is missing."""
BESIDE_GAP = 2
"""Nodes on both sides of a gap that the low-pass fills with what it does not know."""
DELAY_STEP = 1e-3
"""s, of the differences that give slopes in time."""
SHORTEST = 3.0
"""s of flight at least."""
COHERENT = 10.0
"""s of a log in which a clock's pace is looked for."""
CLOCK_SECONDS = 2.0
"""Over which a clock's drift is followed."""
CLOCK_WINDOW = 25
"""Samples for that at least."""
JITTERED = 0.4
"""Deviation of stamps from a steady clock, over its period, up to which they may be jittered ones."""
LOGGED_AGAIN = 4
"""Of as many samples in a row that repeat the one before, one stays."""
SAME_POSE = 1e-3
"""s between the stamps of a position and of an attitude, up to which they are one pose."""
OUTLIER_WINDOW = 5
"""Samples of the median that the first guess of the motion takes poses from."""


@dataclass(frozen=True)
class FlightNodes:
    """Signals of a flight of K nodes with R rotors.

    Attributes:
        time: (K,) s since the flight's first sample.
        gyro: (K, 3) rad/s.
        imu_valid: (K,) whether gyro and accelerometer were read near the node.
        rotor_valid: (K,) whether rotor speeds were.
        fine: (N,) s, of the signals below.
        accel: (N, 3) m/s2.
        square, speed: (N, R) squared rotor speeds and speeds.
        pose_time: (M,) s.
        pose: (M, 7) position and unit quaternion; the quaternion is NaN where no attitude was read.
        white: (2,) deviation at a node of what is white in gyro and accelerometer, rad/s and m/s2.
        rotor_period: s between two samples of the rotor speeds.
        rotor_noise: (R,) deviation at a node of what is noise or rounding in squared rotor speeds, (rad/s)^2.
    """

    time: Floats
    gyro: Floats
    imu_valid: Bools
    rotor_valid: Bools
    fine: Floats
    accel: Floats
    square: Floats
    speed: Floats
    pose_time: Floats
    pose: Floats
    white: Floats
    rotor_period: float
    rotor_noise: Floats

    @classmethod
    def from_flight(cls, flight: Flight, rotor_names: tuple[str, ...] = ()) -> Self:
        """The nodes of a flight with `imu.gyro`, `imu.accel`, `rotors.speed`, `pose.position`, and `pose.wxyz` if read.

        Args:
            flight: the record; readings in IMU axes.
            rotor_names: order of the rotors, that of the log if empty.
        """
        gyro, accel = (_readings(flight, f"imu.{name}", clipped=True) for name in ("gyro", "accel"))
        rotors = _readings(flight, "rotors.speed")
        columns = flight["rotors.speed"].columns
        if rotor_names and set(columns) == set(rotor_names):
            rotors = (rotors[0], rotors[1][:, [columns.index(name) for name in rotor_names]])
        pose_time, pose = _poses(flight)
        signals = (gyro, accel, rotors, (pose_time, pose))
        begin = max(time[0] for time, _ in signals) + EDGE
        end = min(time[-1] for time, _ in signals) - EDGE
        if end - begin < SHORTEST:
            raise IdentifyError(
                f"pose, IMU and rotor speeds were logged together for {max(end - begin, 0.0):.2g} s; at least "
                f"{SHORTEST:g} s are needed"
            )
        fine = np.arange(begin - EDGE, end + EDGE, FINE)
        time = begin + NODE * np.arange(int((end - begin) / NODE))
        speeds = spline(*_shrunk(*rotors), fine)
        smooth = low_pass(spline(*gyro, fine))
        return cls(
            time=time,
            gyro=spline(fine, smooth, time),
            imu_valid=_near(gyro[0], time) & _near(accel[0], time),
            rotor_valid=_near(rotors[0], time),
            fine=fine,
            accel=low_pass(spline(*accel, fine)),
            square=low_pass(speeds * np.abs(speeds)),
            speed=low_pass(speeds),
            pose_time=pose_time,
            pose=pose,
            white=np.array([_white(*gyro), _white(*accel)]),
            rotor_period=float(np.median(np.diff(rotors[0]))),
            rotor_noise=_square_noise(*rotors),
        )

    @property
    def has_attitude(self) -> bool:
        """Whether some pose has an attitude."""
        return bool(np.isfinite(self.pose[:, 3]).any())

    def without_attitude(self) -> Self:
        """The same flight with positions only."""
        unread = np.full((len(self.pose), 4), np.nan)
        return replace(self, pose=np.concatenate([self.pose[:, :3], unread], axis=1))

    def between(self, first: int, last: int) -> Self:
        """The nodes from `first` up to `last`, that one not included."""
        nodes = slice(first, last)
        return replace(
            self,
            time=self.time[nodes],
            gyro=self.gyro[nodes],
            imu_valid=self.imu_valid[nodes],
            rotor_valid=self.rotor_valid[nodes],
        )

    def accel_at(self, delay: float) -> tuple[Floats, Floats]:
        """(K, 3) the accelerometer `delay` s after each node, and its slope in the delay."""
        early, here, late = (self.at(self.accel, delay + d) for d in (-DELAY_STEP, 0.0, DELAY_STEP))
        return here, (late - early) / (2.0 * DELAY_STEP)

    def rotors_at(self, delay: float) -> tuple[Floats, Floats]:
        """(K, 6, R) `RotorInputs` of speeds that are logged `delay` s late, and their slope in the delay."""
        sums = [_integral(self.square), _integral(self.speed)]
        sums.insert(1, _integral(sums[0]))
        slope = np.gradient(self.speed, FINE, axis=0)
        early, here, late = (self._inputs(sums, slope, delay + d) for d in (-DELAY_STEP, 0.0, DELAY_STEP))
        return here, (late - early) / (2.0 * DELAY_STEP)

    def _inputs(self, sums: list[Floats], slope: Floats, delay: float) -> Floats:
        squares, twice, speeds = sums
        s0, s1 = self.at(squares, delay), self.at(squares, delay + NODE)
        early = self.at(twice, delay + NODE) - self.at(twice, delay) - NODE * s0
        speed = (self.at(speeds, delay + NODE) - self.at(speeds, delay)) / NODE
        here = [self.at(x, delay) for x in (self.square, self.speed, slope)]
        return np.stack([(s1 - s0) / NODE, 2.0 / NODE**2 * early, speed, *here], axis=1)

    def at(self, values: Floats, later: float) -> Floats:
        """Values of the fine clock `later` s after each node; linear between its samples."""
        place = (self.time + later - self.fine[0]) / FINE
        index = np.clip(place.astype(np.int64), 0, len(values) - 2)
        share = (place - index)[:, None]
        return np.asarray(values[index] * (1.0 - share) + values[index + 1] * share)

    def poses_at(self, delay: float, slots: int) -> tuple[Floats, Floats, Bools]:
        """Poses of each node if they come `delay` s late: times after it (K, P), poses (K, P, 7), which there are."""
        nodes = len(self.time)
        node = np.round((self.pose_time - delay - self.time[0]) / NODE).astype(np.int64)
        inside = np.flatnonzero((node >= 0) & (node < nodes))
        rank = _rank_in_run(node[inside])
        kept = rank < slots
        index = np.zeros((nodes, slots), np.int64)
        present = np.zeros((nodes, slots), bool)
        index[node[inside][kept], rank[kept]] = inside[kept]
        present[node[inside][kept], rank[kept]] = True
        later = np.where(present, self.pose_time[index] - self.time[:, None], delay)
        return later, self.pose[index], present

    @property
    def slots(self) -> int:
        """Poses of a node at most, P."""
        node = np.round((self.pose_time - self.time[0]) / NODE).astype(np.int64)
        usual = len(self.pose_time) / max(self.pose_time[-1] - self.pose_time[0], NODE) * NODE
        return int(np.clip(np.bincount(node - node.min()).max(), 1, np.ceil(usual) + 1))

    def first_guess(self, nominal: NominalVehicle) -> Floats:
        """(K, 31) states from poses and gyro, disturbances and biases zero.

        Raises:
            IdentifyError: the poses have no attitude, and the motion does not show it.
        """
        place = ndimage.median_filter(self.pose[:, :3], (OUTLIER_WINDOW, 1))
        turned = np.isfinite(self.pose[:, 3])
        if self.has_attitude:
            seen = ndimage.median_filter(unwrap(self.pose[turned, 3:]), (OUTLIER_WINDOW, 1))
            seen = interpolate_columns(self.time, self.pose_time[turned], seen)
            q = multiply(seen, conjugate(np.asarray(nominal.pose_wxyz))[None])
        else:
            down = np.array([0.0, 0.0, -STANDARD_GRAVITY])
            seen = find_attitude(self.time, self.gyro, self.accel_at(0.0)[0], self.pose_time, place, down)
            q = multiply(seen, conjugate(np.asarray(nominal.imu_wxyz))[None])
        q /= np.linalg.norm(q, axis=1, keepdims=True)
        arm = np.asarray(nominal.pose_position) - np.asarray(nominal.com)
        place = interpolate_columns(self.time, self.pose_time, place) - matrices_from_wxyz(q) @ arm
        size = min(11, (len(place) - 1) // 2 * 2 + 1)
        velocity = signal.savgol_filter(place, size, 3, deriv=1, delta=NODE, axis=0)
        rate = self.gyro @ matrix_from_wxyz(nominal.imu_wxyz).T
        spin = self.at(self.speed, 0.0) * np.asarray(nominal.spin * nominal.spin_inertia)
        rate = rate + spin @ np.asarray(nominal.axis) @ np.linalg.inv(np.asarray(nominal.inertia)).T
        states = np.zeros((len(self.time), STATE))
        states[:, :13] = np.concatenate(
            [signal.savgol_filter(place, size, 3, axis=0), velocity, q, rate], axis=1
        )
        return states


def _readings(flight: Flight, name: str, *, clipped: bool = False) -> tuple[Floats, Floats]:
    """Times (T,) s and values (T, m) of a channel's good samples; those of a saturated sensor are not."""
    stamps, values = _samples(flight, name, clipped=clipped)
    return thinned(steady_clock(stamps, values), values)


def _samples(flight: Flight, name: str, *, clipped: bool = False) -> tuple[Floats, Floats]:
    """Stamps (T,) s and values (T, m) of the good samples, as they were logged."""
    channel: Channel = flight[name]
    good = channel.finite
    stamps, values = channel.seconds(flight.start)[good], channel.values[good]
    if clipped and len(values):
        good = ~_saturated(values)
        stamps, values = stamps[good], values[good]
    fresh = ~_repeated(values)
    stamps, values = stamps[fresh], values[fresh]
    if len(stamps) < 4:
        raise IdentifyError(f"the log has no {name}; log it in flight")
    return stamps, values


def _repeated(values: Floats) -> Bools:
    """(T,) where samples (T, m) are those before, logged again; of many in a row some stay, so that no gap is made."""
    order = np.arange(len(values))
    same = np.concatenate([[False], np.all(values[1:] == values[:-1], axis=1)])
    since = order - np.maximum.accumulate(np.where(same, 0, order))
    return np.asarray(same & (since % LOGGED_AGAIN != 0))


def thinned(time: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Stamps (T,) and samples (T, m) without what is faster than the fine clock and would be folded into it."""
    faster = int(FINE / np.median(np.diff(time)) + 0.5)
    if faster > 1:
        values = ndimage.uniform_filter1d(values, faster, axis=0, mode="nearest")
    return time, values


def steady_clock(time: Floats, values: Floats) -> Floats:
    """Stamps (T,) s without jitter, if the samples (T, m) were taken at a steady pace; else the stamps themselves.

    Samples that were taken steadily and stamped with jitter are smooth over their count, those that were taken whenever
    their stamps say are smooth over their stamps: the clock over which the signal bends less is the right one.
    """
    if len(time) < 2 * CLOCK_WINDOW:
        return time
    period, begin = _pace(time[time < time[0] + COHERENT])
    until = COHERENT
    while True:
        own = time < time[0] + until
        count = _counts(time[own], period, begin)
        period, begin = (float(x) for x in np.polyfit(count, time[own], 1))
        if own.all():
            break
        until *= 2.0
    count = _counts(time, period, begin)
    late = time - begin - period * count
    size = int(np.clip(CLOCK_SECONDS / period, CLOCK_WINDOW, len(time))) | 1
    late = ndimage.uniform_filter1d(ndimage.median_filter(late, size, mode="nearest"), size, mode="nearest")
    steady = begin + period * count + late
    if np.std(time - steady) > JITTERED * period:
        return time
    return steady if _bend(steady, values) < _bend(time, values) else time


def _pace(time: Floats) -> tuple[float, float]:
    """Period and first tick, s, of the steady clock that fits stamps (T,) best: that in whose phase they agree most."""
    usual = 1.0 / float(np.median(np.diff(time)))
    length = float(time[-1] - time[0])
    paces = usual + np.arange(-0.03 * usual, 0.03 * usual, 0.25 / length)
    phases = np.exp(2j * np.pi * np.outer(paces, time[:2000] - time[0])).sum(axis=1)
    best = int(np.argmax(np.abs(phases)))
    return 1.0 / paces[best], time[0] + float(np.angle(phases[best])) / (2.0 * np.pi * paces[best])


def _counts(time: Floats, period: float, begin: float) -> Floats:
    """(T,) ticks of a clock nearest to stamps, each later than the one before."""
    order = np.arange(len(time))
    dropped = np.round((time - begin) / period) - order
    # A stamp more than half a period late looks like a lost sample, which the next one denies.
    dropped = ndimage.median_filter(dropped, 3, mode="nearest")
    return np.asarray(np.maximum.accumulate(dropped) + order)


def _bend(time: Floats, values: Floats) -> float:
    """How far samples are from the line through their neighbours, median over samples and columns in units of each."""
    before, after = np.diff(time)[:-1, None], np.diff(time)[1:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        line = (values[:-2] * after + values[2:] * before) / (before + after)
    apart = np.abs(values[1:-1] - line)
    usual = np.std(values, axis=0)
    return float(np.nanmean(np.sqrt(np.nanmean(apart**2, axis=0)) / np.where(usual > 0.0, usual, np.inf)))


def _saturated(values: Floats) -> Bools:
    """(T,) where a sensor stays at its largest or smallest reading for two samples or more; not if it never moves."""
    found = np.zeros(len(values), bool)
    for column in values.T[np.ptp(values, axis=0) > 0.0]:
        for extreme in (np.nanmax(column), np.nanmin(column)):
            at = column == extreme
            found |= at & (np.roll(at, 1) | np.roll(at, -1)) if at.sum() > 1 else False
    return found


def _poses(flight: Flight) -> tuple[Floats, Floats]:
    """Times (M,) s, positions and unit quaternions (M, 7)."""
    stamps, position = _samples(flight, "pose.position")
    time, position = thinned(steady_clock(stamps, position), position)
    without = np.concatenate([position, np.full((len(time), 4), np.nan)], axis=1)
    if "pose.wxyz" not in flight:
        return time, without
    turned = flight["pose.wxyz"]
    good = turned.finite & (np.linalg.norm(turned.values, axis=1) > 0.5)
    own, wxyz = turned.seconds(flight.start)[good], turned.values[good]
    if not len(own):
        return time, without
    wxyz = wxyz / np.linalg.norm(wxyz, axis=1, keepdims=True)
    wxyz[_repeated(wxyz)] = np.nan
    index = np.clip(np.searchsorted(own, stamps), 0, len(own) - 1)
    before = np.clip(index - 1, 0, None)
    index = np.where(np.abs(own[before] - stamps) < np.abs(own[index] - stamps), before, index)
    together = np.abs(own[index] - stamps) < SAME_POSE
    if together.sum() < 4:
        raise IdentifyError(
            "pose.position and pose.wxyz have no stamps in common; log both of each pose with one stamp"
        )
    return time[together], np.concatenate([position, wxyz[index]], axis=1)[together]


def _shrunk(time: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Rotor speeds on a regular clock, their principal components shrunk by what is noise in them."""
    clock, rate, mean, vectors, components = principal_components(time, values)
    return clock, wiener_mix(components, np.zeros_like(components), rate) @ vectors.T + mean


def principal_components(time: Floats, values: Floats) -> tuple[Floats, float, Floats, Floats, Floats]:
    """Regular clock, its rate, and mean, directions (R, R) and principal components (T, R) of rotor speeds there."""
    rate = 1.0 / float(np.median(np.diff(time)))
    clock = np.arange(time[0], time[-1], 1.0 / rate)
    regular = spline(time, values, clock)
    mean = regular.mean(axis=0)
    _, vectors = np.linalg.eigh(np.atleast_2d(np.cov((regular - mean).T)))
    return clock, rate, mean, vectors, (regular - mean) @ vectors


def spline(time: Floats, values: Floats, at: Floats) -> Floats:
    """Values at other times by a cubic spline, straight across gaps."""
    gaps = np.flatnonzero(np.diff(time) > GAP)
    if len(gaps):
        added = np.concatenate([np.arange(time[i] + 0.005, time[i + 1] - 0.002, 0.005) for i in gaps])
        across = interpolate_columns(added, time, values)
        order = np.argsort(np.concatenate([time, added]), kind="stable")
        time = np.concatenate([time, added])[order]
        values = np.concatenate([values, across])[order]
    return np.asarray(CubicSpline(time, values, axis=0)(np.clip(at, time[0], time[-1])))


def low_pass(values: Floats) -> Floats:
    """Signals (N, m) on the fine clock without what the nodes cannot follow, and without phase."""
    b, a = signal.butter(2, CUTOFF, fs=1.0 / FINE)
    return np.asarray(signal.filtfilt(b, a, values, axis=0))


def _integral(values: Floats) -> Floats:
    """Running integral over the fine clock, from zero."""
    steps = 0.5 * FINE * (values[1:] + values[:-1])
    return np.concatenate([np.zeros_like(values[:1]), np.cumsum(steps, axis=0)])


def _square_noise(time: Floats, values: Floats) -> Floats:
    """(R,) deviation of noise and rounding in the mean of squared rotor speeds (N, R) over a node, (rad/s)^2."""
    steps = np.abs(np.diff(values, axis=0))
    rounding = np.min(np.where(steps > 0.0, steps, np.inf), axis=0)
    rounding = np.where(np.isfinite(rounding), rounding, 0.0) / np.sqrt(12.0)
    share = min(float(np.median(np.diff(time))) / NODE, 1.0)
    speed = np.mean(np.abs(values), axis=0)
    return np.asarray(2.0 * speed * np.maximum(white_noise(values), rounding) * np.sqrt(share))


def _white(time: Floats, values: Floats) -> float:
    """Deviation that the white noise of readings has after the low-pass."""
    rate = 1.0 / float(np.median(np.diff(time)))
    return float(np.median(white_noise(values)) * np.sqrt(min(2.0 * CUTOFF / rate, 1.0)))


def _near(stamps: Floats, time: Floats) -> Bools:
    """(K,) whether a time lies between two stamps that are no gap apart, and so do its neighbours."""
    index = np.clip(np.searchsorted(stamps, time), 1, len(stamps) - 1)
    missing = stamps[index] - stamps[index - 1] > GAP
    beside: Bools = ndimage.binary_dilation(missing, iterations=BESIDE_GAP)
    return ~beside


def _rank_in_run(numbers: Ints) -> Ints:
    """For each of (N,) sorted numbers how many equal ones stand before it."""
    starts = np.searchsorted(numbers, numbers, side="left")
    return np.asarray(np.arange(len(numbers)) - starts, np.int64)
