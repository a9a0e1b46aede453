"""Motors from a recorded throw, by output error: the speeds that a motor would have had beside those it had.

With command d, curve y(d) of the firmware or of the paper, lag tau, dead time T, speeds w_0 at rest and w_1 at full
command, and a limit on the rotor's acceleration,

    w' = clip((w_0 + (w_1 - w_0) y(d(t - T)) - w) / tau, +-slew)                                           (1)
    y = sqrt(k d^2 + (1 - k) d)  "quadratic",   y = k d + (1 - k) sqrt(d)  "kappa"    [Blaha2024]           (2)

integrated exactly over a sample where the limit does not act. A first-order fit without dead time comes out 4 to 10 ms
too slow, because rotor speeds arrive late: T holds that, too. Dropouts of the speed are weighed down (soft L1).
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from scipy import optimize, signal

from haltere.flight import Flight
from haltere.flight.fault import Values
from haltere.flight.sampling import regular_rate
from haltere.foundation import HaltereError
from haltere.foundation.arrays import Array

DELAYS = (0.0005, 0.0015, 0.0025, 0.0032, 0.0042, 0.006)
"""s, dead times to start from: commands are logged in steps, so the fit has a minimum near each of their samples."""
NEAR = 0.0006
"""s, how far a fit may move from there."""
CURVES = ("quadratic", "kappa")
_SCALE = np.array([1000.0, 1.0, 1000.0, 0.01, 0.001, 1e5])


@dataclass(frozen=True)
class LogMotor:
    """One motor: rad/s, curve constant, s, s, rad/s2; `residual` is the rms of the speed, rad/s."""

    max_speed: float
    curve: float
    kind: str
    idle_speed: float
    time_constant: float
    delay: float
    slew: float
    residual: float


def log_motors(flight: Flight, start: float, end: float, kinds: tuple[str, ...] = CURVES) -> list[LogMotor]:
    """Every motor of a log from `start` to `end`, s since the first sample; the better of the `kinds` of curve."""
    command, speed = flight["rotors.command"], flight["rotors.speed"]
    if not np.array_equal(command.time, speed.time):
        raise HaltereError(
            "commands and rotor speeds have clocks of their own; resample one to the other first"
        )
    time = command.seconds(flight.start)
    inside = (time >= start) & (time <= end)
    if inside.sum() < 100:
        raise HaltereError(f"{start:g} to {end:g} s hold {inside.sum()} samples; give at least 100")
    rate = regular_rate(command)
    speeds = signal.medfilt(speed.values[inside], (3, 1))
    found = []
    for d, w in zip(command.values[inside].T, speeds.T, strict=True):
        fits = [_fit(d, w, rate, kind, delay) for kind in kinds for delay in DELAYS]
        found.append(min(fits, key=lambda fit: fit.residual))
    return found


def _simulated(numbers: Array, d: Array, first: Array, rate: float, quadratic: bool) -> Array:
    """(N,) speeds by equation (1) from the six scaled numbers w_1, k, w_0, tau, T, slew."""
    top, k, idle, lag, delay, slew = numbers * jnp.asarray(_SCALE)
    time = jnp.arange(len(d)) / rate
    late = jnp.interp(time - delay, time, d)
    safe = jnp.maximum(late, 1e-9)
    inside = k * safe**2 + (1.0 - k) * safe
    y = jnp.sqrt(jnp.maximum(inside, 1e-12)) if quadratic else k * safe + (1.0 - k) * jnp.sqrt(safe)
    target = idle + (top - idle) * y
    share = 1.0 - jnp.exp(-1.0 / (rate * lag))

    def step(w: Array, goal: Array) -> tuple[Array, Array]:
        return w + jnp.clip((goal - w) * share, -slew / rate, slew / rate), w

    return jax.lax.scan(step, first, target)[1]


_values = jax.jit(_simulated, static_argnames=("rate", "quadratic"))
_slopes = jax.jit(jax.jacfwd(_simulated), static_argnames=("rate", "quadratic"))


def _fit(d: Values, w: Values, rate: float, kind: str, delay: float) -> LogMotor:
    given = (jnp.asarray(d), jnp.asarray(w[0]), rate, kind == "quadratic")
    top = float(np.max(w)) / max(float(np.max(d)), 0.1) ** 0.5
    begin = np.array([top, 0.5, 0.1 * top, 0.02, delay, 6e4]) / _SCALE
    low = np.array([0.5 * top, 0.0, 0.0, 0.004, max(delay - NEAR, 0.0), 1e4]) / _SCALE
    high = np.array([3.0 * top, 1.0, 0.5 * top, 0.1, delay + NEAR, 1e6]) / _SCALE
    size = max(0.02 * top, 1.0)
    answer = optimize.least_squares(
        lambda x: (np.asarray(_values(jnp.asarray(x), *given)) - w) / size,
        begin,
        jac=lambda x: np.asarray(_slopes(jnp.asarray(x), *given)) / size,
        bounds=(low, high),
        loss="soft_l1",
        max_nfev=60,
    )
    w_1, k, w_0, tau, dead, slew = answer.x * _SCALE
    left = np.asarray(_values(jnp.asarray(answer.x), *given)) - w
    rms = float(np.sqrt(np.mean(left**2)))
    return LogMotor(float(w_1), float(k), kind, float(w_0), float(tau), float(dead), float(slew), rms)
