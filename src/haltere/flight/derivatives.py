"""Derivatives of sampled signals by local polynomials, without delay, with bandwidth and noise stated.

A polynomial of degree d + 2 is fitted to 2 m + 1 samples around each one and differentiated d times
[Savitzky1964]: y_i = sum_j c_j x_(i+j), with j from -m to m. Against the ideal derivative its response is

    (1)  r(f) = sum_j c_j exp(i w j / f_s) / (i w)^d,  w = 2 pi f: real, 1 at f = 0
    (2)  `bandwidth`: the lowest f with r(f) = 1 / sqrt(2)
    (3)  white noise of sigma on x becomes `noise_gain` sigma on y, noise_gain = sqrt(sum_j c_j^2)

The widest window that keeps the bandwidth asked for is taken. Stretches between gaps and NaN are treated each
on its own; those shorter than the window become NaN.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy import optimize, signal

from haltere.flight.channel import Channel, FlightError
from haltere.flight.resampling import refuse_rotations, regular_rate, stretches
from haltere.foundation.numbers import Floats

_UNITS = {
    "m": ("m/s", "m/s2"),
    "m/s": ("m/s2", "m/s3"),
    "rad": ("rad/s", "rad/s2"),
    "rad/s": ("rad/s2", "rad/s3"),
    "1": ("1/s", "1/s2"),
}
_HALF_POWER = 0.5**0.5


@dataclass(frozen=True)
class Derivative:
    """A derivative: its samples, the bandwidth reached, Hz, and what it makes of white noise, eqs. (2), (3)."""

    channel: Channel
    bandwidth: float
    noise_gain: float


def derivative(channel: Channel, bandwidth: float, order: int = 1, name: str | None = None) -> Derivative:
    """Differentiate a channel with respect to time.

    Args:
        channel: Regularly sampled numbers or vectors.
        bandwidth: Up to where the derivative is to be followed, Hz; noise above is damped.
        order: 1 or 2.
        name: Of the result; that of the channel with `_dot` or `_ddot` added if none is given.
    """
    refuse_rotations(channel, "use angular_velocity")
    if order not in {1, 2}:
        raise FlightError(f"derivative of order {order}; give 1 or 2")
    rate = regular_rate(channel)
    half = _half_width(channel, rate, bandwidth, order)
    values = _apply(channel, channel.values, half, order, rate)
    title = name or channel.name + ("_dot" if order == 1 else "_ddot")
    plain = f"({channel.unit})/s" + ("" if order == 1 else "2")
    unit = _UNITS[channel.unit][order - 1] if channel.unit in _UNITS else plain
    result = Channel(title, channel.time, values, unit, channel.frame, channel.columns)
    gain = float(np.linalg.norm(_weights(half, order, rate)))
    return Derivative(result, _bandwidth(half, order, rate), gain)


def angular_velocity(channel: Channel, bandwidth: float, name: str, frame: str = "body") -> Derivative:
    """Differentiate an orientation: w = 2 vec(q* q_dot), rad/s, in the axes of the frame that rotates.

    Args:
        channel: (T, 4) quaternions wxyz of `frame` relative to the channel's frame.
        bandwidth: Up to where the rate is to be followed, Hz.
        name: Of the result.
        frame: What rotates.
    """
    if channel.values.shape[1:] != (4,):
        raise FlightError(f"channel '{channel.name}': shape {channel.values.shape}; give quaternions (T, 4)")
    rate = regular_rate(channel)
    half = _half_width(channel, rate, bandwidth, 1)
    q = channel.values.copy()
    for run in stretches(channel):  # q and -q are one orientation: take the way that does not jump
        flips = np.einsum("ij,ij->i", q[run][1:], q[run][:-1]) < 0.0
        q[run][1:][np.cumsum(flips) % 2 == 1] *= -1.0
    d = _apply(channel, q, half, 1, rate)
    values = 2.0 * (q[:, :1] * d[:, 1:] - d[:, :1] * q[:, 1:] - np.cross(q[:, 1:], d[:, 1:]))
    gain = 2.0 * float(np.linalg.norm(_weights(half, 1, rate)))
    result = replace(channel, name=name, values=values, unit="rad/s", frame=frame, columns=())
    return Derivative(result, _bandwidth(half, 1, rate), gain)


def _apply(channel: Channel, values: Floats, half: int, order: int, rate: float) -> Floats:
    found = np.full(values.shape, np.nan)
    for run in stretches(channel):
        if run.stop - run.start > 2 * half:
            found[run] = signal.savgol_filter(
                values[run], 2 * half + 1, order + 2, deriv=order, delta=1.0 / rate, axis=0
            )
    if np.isnan(found).all():
        raise FlightError(
            f"channel '{channel.name}': no stretch of {2 * half + 1} samples without a gap; ask for more bandwidth"
        )
    return found


def _weights(half: int, order: int, rate: float) -> Floats:
    return np.asarray(signal.savgol_coeffs(2 * half + 1, order + 2, deriv=order, delta=1.0 / rate, use="dot"))


def _response(frequency: float, half: int, order: int, rate: float) -> float:
    """Return eq. (1)."""
    w = 2.0 * np.pi * frequency
    waves = np.exp(1j * w * np.arange(-half, half + 1) / rate)
    return float(np.real(_weights(half, order, rate) @ waves / (1j * w) ** order))


def _bandwidth(half: int, order: int, rate: float) -> float:
    """Return eq. (2)."""
    grid = np.linspace(0.0, 0.5 * rate, 40 * half + 2)[1:]
    low = next(k for k, f in enumerate(grid) if _response(f, half, order, rate) < _HALF_POWER)
    start = grid[low - 1] if low else 0.1 * grid[0]
    return float(optimize.brentq(lambda f: _response(f, half, order, rate) - _HALF_POWER, start, grid[low]))


def _half_width(channel: Channel, rate: float, bandwidth: float, order: int) -> int:
    """Return the largest m that keeps the bandwidth: the first m that is too large, less one."""
    smallest = (order + 3) // 2
    most = _bandwidth(smallest, order, rate)
    if not 0.0 < bandwidth <= most:
        raise FlightError(
            f"channel '{channel.name}': bandwidth {bandwidth:g} Hz at {rate:g} samples per second; "
            f"give more than 0 and at most {most:.4g} Hz"
        )
    low, high = smallest, smallest + int(2 * (order + 2) * rate / bandwidth)
    while high - low > 1:
        middle = (low + high) // 2
        if _response(bandwidth, middle, order, rate) >= _HALF_POWER:
            low = middle
        else:
            high = middle
    return low
