"""The estimators of [Fresk2017] as printed, for any airframe: its centre-of-gravity filter, and its "ground truth".

`PaperCogFilter` is the filter of Section III. State x = (w, Omega, Delta l), 6 + R numbers, Omega in units of top
speed. With the mapping of [Fresk2017] eq. (10), taken from `RigidVehicle.allocation_at_com` of a vehicle whose
centre of mass stands at c = c_0 - Delta l (the sign of [Fresk2017] eq. (9)):

    w_k = w + dt I^-1 K_t(Delta l) Omega^2                    `rate`     [Fresk2017] eq. (12)             (1)
    Omega_k = (tau Omega + dt Omega_ref) / (dt + tau)         `speeds`   [Fresk2017] eq. (13)             (2)
    Delta l_k = Delta l                                                  [Fresk2017] eq. (14)             (3)
    z = (K_f Omega^2 / m, w)                                             [Fresk2017] eq. (15)             (4)

with Q, R, P0 of [Fresk2017] eqs. (16) to (18); the two entries of (17) are swapped, see `Tuning`. An extended Kalman
filter, in Joseph form. The IMU counts as standing in the nominal centre, as in the paper.

`ReferenceCog` is the "ground truth estimator" of Section IV-A.
"""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp

from haltere.estimation.cog.vehicle import CogNumbers
from haltere.foundation.arrays import Array, ArrayLike, pytree


@dataclass(frozen=True)
class Tuning:
    """Variances of [Fresk2017] eqs. (16) to (18), for one step at 220 Hz.

    (17) prints 1.81e-3 for the accelerometer and 0.148 for the gyroscope; 0.0425 rad/s and 0.385 m/s2 are the
    plausible deviations, so they are swapped here.
    """

    rate: float = 1e-4
    speed: float = 1e-8
    offset: float = 1e-8
    accel: float = 0.148
    gyro: float = 1.81e-3
    first_offset: float = 1e-3
    period: float = 1.0 / 220.0
    """s."""


@pytree
@dataclass(frozen=True)
class PaperBelief:
    """Mean (6 + R,) and covariance of (w in rad/s, Omega in 0..1, Delta l in m)."""

    mean: Array
    cov: Array

    @property
    def offset(self) -> Array:
        """(3,) of the centre of mass from its nominal position: -Delta l, m."""
        return -self.mean[-3:]


@pytree(static=("tuning",))
@dataclass(frozen=True)
class PaperCogFilter:
    """The filter of the paper; `begin` makes a belief and `tick` renews it."""

    numbers: CogNumbers
    tuning: Tuning = Tuning()

    def begin(self, speeds: Array, offset: ArrayLike = 0.0, rate: ArrayLike = 0.0) -> PaperBelief:
        """With rotor speeds (R,) rad/s, a guess of the offset (3,) m, and the rate (3,) rad/s that P0 calls known."""
        share = speeds / self.numbers.top_speed
        spin, place = (jnp.broadcast_to(jnp.asarray(x, float), (3,)) for x in (rate, offset))
        mean = jnp.concatenate([spin, share, -place])
        first = jnp.concatenate([jnp.zeros(3 + share.shape[0]), jnp.full(3, self.tuning.first_offset)])
        return PaperBelief(mean, jnp.diag(first))

    def tick(self, belief: PaperBelief, gyro: Array, accel: Array, targets: Array) -> PaperBelief:
        """One step with gyro (3,) rad/s and accel (3,) m/s2 in body axes, and commanded speeds (R,) rad/s."""
        t, R = self.tuning, self.numbers.rotors
        wanted = targets / self.numbers.top_speed
        x = self._propagate(belief.mean, wanted)
        F = jax.jacfwd(self._propagate)(belief.mean, wanted)
        Q = jnp.concatenate([jnp.full(3, t.rate), jnp.full(R, t.speed), jnp.full(3, t.offset)])
        P = F @ belief.cov @ F.T + jnp.diag(Q)
        H = jax.jacfwd(self._predict_reading)(x)
        noise = jnp.diag(jnp.concatenate([jnp.full(3, t.accel), jnp.full(3, t.gyro)]))
        gain = jnp.linalg.solve(H @ P @ H.T + noise, H @ P).T
        x = x + gain @ (jnp.concatenate([accel, gyro]) - self._predict_reading(x))
        rest = jnp.eye(x.shape[0]) - gain @ H
        return PaperBelief(x, rest @ P @ rest.T + gain @ noise @ gain.T)

    def _effect(self, offset: Array) -> tuple[Array, Array]:
        """(3, R) linear and (3, R) angular acceleration per squared share of top speed."""
        known = self.numbers.vehicle
        table = replace(known, com=known.com + offset).allocation_at_com * self.numbers.top_speed**2
        return table[:3] / known.mass, jnp.linalg.solve(known.inertia, table[3:])

    def _propagate(self, x: Array, wanted: Array) -> Array:
        dt, lag = self.tuning.period, self.numbers.lag
        rate, speeds, length = x[:3], x[3:-3], x[-3:]
        turn = self._effect(-length)[1] @ speeds**2
        return jnp.concatenate([rate + dt * turn, (lag * speeds + dt * wanted) / (dt + lag), length])

    def _predict_reading(self, x: Array) -> Array:
        return jnp.concatenate([self._effect(-x[-3:])[0] @ x[3:-3] ** 2, x[:3]])


GAIN = 0.01
"""1/s: with 25 m of drift per metre of offset, a time constant of 4 s."""


@pytree
@dataclass(frozen=True)
class ReferenceCog:
    """The position error, integrated until it vanishes: `offset` (3,) m.

        offset' = gain e,   e = position error of the hover, body axes, x and y only                       (5)

    The mixer flies with `offset`; when the error stays zero the offset is the one that holds the vehicle, whatever
    its cause: centre of mass, weak rotors, wash. A vehicle that drifts to +x is heavier there. It is slow: the loop
    gain g^2 m / (I k_x k_R) times `gain` must stay well below the bandwidth of the position.
    """

    offset: Array

    def tick(self, error: Array, dt: float, gain: float = GAIN) -> "ReferenceCog":
        """After `dt` s with the position error (3,) in body axes, m."""
        across = jnp.asarray([1.0, 1.0, 0.0])
        return ReferenceCog(self.offset + dt * gain * across * error)
