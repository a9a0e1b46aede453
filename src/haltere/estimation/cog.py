"""The centre of gravity in flight, for any multirotor: a small bank of Kalman filters, belief in, belief out.

Three modes share one linearisation of `cog_numbers.answer` and differ in how the offset may move (`Mode`): they are
mixed, predicted, corrected and weighed by their likelihood at every tick (interacting multiple models, [Blom1988]).
With T = `period`, B the probability of each change of mode, and for each mode j

    mixed x_j, P_j from the modes i with weights B_ij p_i                                                  (1)
    w += T alpha(x),  offset += T velocity (moving only),  d *= exp(-T / memory)                           (2)
    gain K_j from gyroscope and accelerometer; its rows of offset and velocity are cut along the thrust    (3)
    p_j ~ (sum_i B_ij p_i) N(innovation; 0, S_j)                                                           (4)

(3) holds while little is known along the thrust: at hover a centre of mass higher or lower changes nothing. The cut
gain is used in Joseph form, so the covariance stays honest; the cut ends when the information gathered by lever-arm
accelerations in the last seconds suffices (`CogSettings.excitation`).

The level of the torque noise rho multiplies its variance and follows the correlation of successive gyroscope
innovations e, which is zero when the filter is neither too slow nor too fast:

    ln rho += gain e_k . e_(k-1)                                                                           (5)

Rotor speeds follow command and lag, and measurements where there are any. What is missing or absurd is left out and
counted by `Reason`; a belief that is not finite never replaces a finite one.
"""

from dataclasses import dataclass, field, replace

import jax
import jax.numpy as jnp

from haltere.airframe import Airframe
from haltere.algebra import join_single, soa, split_single
from haltere.dynamics.model import leaves
from haltere.estimation.cog_belief import (
    FIXED,
    MASS,
    OFFSET,
    RATE,
    SPEED,
    THRUST,
    TORQUE,
    CogBelief,
    CogEstimate,
    CogReading,
)
from haltere.estimation.cog_numbers import CogNumbers, answer
from haltere.estimation.cog_settings import CogSettings, Mode, Reason
from haltere.foundation.arrays import Array, ArrayLike

FIRST_RATE = 10.0
"""Deviation of the rate before the first reading, rad/s."""


@leaves("numbers", static=("settings",))
@dataclass(frozen=True)
class CogFilter:
    """A filter for one vehicle; `begin` makes a belief, `tick` renews it, `estimate` reads it. All of it is JAX."""

    numbers: CogNumbers
    settings: CogSettings = field(default_factory=CogSettings)

    @classmethod
    def from_airframe(
        cls, airframe: Airframe, settings: CogSettings | None = None, joint_angles: ArrayLike | None = None
    ) -> "CogFilter":
        """The filter for an airframe held at `joint_angles` (J,) rad at the beginning."""
        return cls(CogNumbers.from_airframe(airframe, joint_angles), settings or CogSettings())

    def begin(self, speeds: Array | None = None, offset: ArrayLike = 0.0) -> CogBelief:
        """With rotor speeds (R,) rad/s (hover where not given) and a guess of the offset (3,), m."""
        known, s = self.numbers.vehicle, self.settings
        turning = speeds if speeds is not None else self.numbers.hover_speeds()
        lever, R = known.lever, self.numbers.rotors
        force = known.allocation[:3] @ turning**2
        axis = _unit(force)
        sigma = jnp.concatenate(
            [
                jnp.full(3, FIRST_RATE),
                jnp.full(3, s.first_offset * lever),
                jnp.full(3, s.first_speed * lever),
                jnp.asarray([s.mass]),
                jnp.zeros(3),
                jnp.full(R, s.thrust),
            ]
        )
        cov = jnp.diag(sigma**2).at[TORQUE, TORQUE].set(self._torque_cov(axis))
        mean = jnp.zeros(FIXED + R).at[OFFSET].set(jnp.broadcast_to(jnp.asarray(offset, float), (3,)))
        start = jnp.zeros(len(Mode)).at[Mode.STILL].set(0.9).at[Mode.MOVING].set(0.05).at[Mode.JUMP].set(0.05)
        return CogBelief(
            means=jnp.tile(mean, (len(Mode), 1)),
            covs=jnp.tile(cov, (len(Mode), 1, 1)),
            weights=start,
            speeds=turning,
            speed_var=jnp.full(R, 1.0) * (s.speed_drift * self.numbers.top_speed) ** 2,
            noise=jnp.ones(()),
            innovation=jnp.zeros(3),
            streaks=jnp.zeros(2, int),
            information=jnp.zeros(()),
            nominal=known.com,
            axis=axis,
            counts=jnp.zeros(len(Reason), int),
        )

    def tick(self, belief: CogBelief, reading: CogReading) -> CogBelief:
        """The belief after one reading."""
        angles = reading.joint_angles
        if angles is not None:
            angles = jnp.where(jnp.all(jnp.isfinite(angles)), angles, jnp.zeros_like(angles))
        numbers = self.numbers.posed(angles)
        speeds, speed_var, speed_rates, raised = self._speeds(belief, reading)
        middle = 0.5 * (belief.speeds + speeds)
        later = self._filtered(numbers, belief, reading, middle, speed_rates, speed_var, raised)
        later = replace(later, speeds=speeds, speed_var=speed_var, nominal=numbers.vehicle.com)
        sound = jnp.all(jnp.isfinite(later.means)) & jnp.all(jnp.isfinite(later.covs))
        sound = (
            sound & jnp.all(jnp.isfinite(later.weights)) & jnp.all(jnp.diagonal(later.covs, 0, 1, 2) >= 0.0)
        )
        kept = replace(belief, counts=later.counts.at[Reason.DIVERGED].add(1))
        chosen: CogBelief = jax.tree.map(lambda new, old: jnp.where(sound, new, old), later, kept)
        return chosen

    def estimate(self, belief: CogBelief) -> CogEstimate:
        """What the belief says."""
        mean, cov = belief.mean, belief.cov
        known = self.numbers.vehicle
        offset, block, axis = mean[OFFSET], cov[OFFSET, OFFSET], belief.axis
        first = self.settings.first_offset * known.lever
        return CogEstimate(
            com=belief.nominal + offset,
            offset=offset,
            cov=block,
            axis=axis,
            observable=axis @ block @ axis < (0.5 * first) ** 2,
            mass=known.mass / (1.0 + mean[MASS]),
            thrust_scale=mean[THRUST],
            modes=belief.weights,
            noise=belief.noise,
        )

    def _torque_cov(self, axis: Array) -> Array:
        """(3, 3) of a lasting torque, (rad/s2)^2."""
        known, s = self.numbers.vehicle, self.settings
        along = jnp.outer(axis, axis)
        size = s.torque**2 * (jnp.eye(3) - along) + s.torque_along**2 * along
        unit = known.weight * known.lever * jnp.linalg.inv(known.inertia)
        cov: Array = unit @ size @ unit.T
        return cov

    def _speeds(self, belief: CogBelief, reading: CogReading) -> tuple[Array, Array, Array, Array]:
        """Rotor speeds (R,), their variances, their rates rad/s2, and the reasons raised."""
        s, numbers = self.settings, self.numbers
        keep = jnp.exp(-s.period / numbers.lag)
        known = jnp.isfinite(reading.targets)
        target = jnp.where(known, reading.targets, belief.speeds)
        guess = target + keep * (belief.speeds - target)
        drift = (s.speed_drift * numbers.top_speed) ** 2
        var = keep**2 * belief.speed_var + (1.0 - keep**2) * drift
        noise = (s.speed_sigma * numbers.top_speed) ** 2
        there = jnp.isfinite(reading.speeds)
        apart = jnp.where(there, reading.speeds, guess) - guess
        absurd = there & (
            (apart**2 > s.gate**2 * (var + noise) + (0.25 * numbers.top_speed) ** 2)
            | (guess + apart < -0.05 * numbers.top_speed)
            | (guess + apart > 1.5 * numbers.top_speed)
        )
        used = there & ~absurd
        gain = jnp.where(used, var / (var + noise), 0.0)
        speeds = guess + gain * jnp.where(used, apart, 0.0)
        raised = jnp.zeros(len(Reason), int)
        raised = raised.at[Reason.SPEED_MISSING].set(jnp.any(~there).astype(int))
        raised = raised.at[Reason.SPEED_OUTLIER].set(jnp.any(absurd).astype(int))
        raised = raised.at[Reason.TARGET_MISSING].set(jnp.any(~known).astype(int))
        return speeds, (1.0 - gain) * var, (target - speeds) / numbers.lag, raised

    def _filtered(
        self,
        numbers: CogNumbers,
        belief: CogBelief,
        reading: CogReading,
        speeds: Array,
        speed_rates: Array,
        speed_var: Array,
        raised: Array,
    ) -> CogBelief:
        s, T = self.settings, self.settings.period
        lever, n = numbers.vehicle.lever, belief.means.shape[1]
        mean = belief.mean

        now, slope, by_speed = linearised(numbers, mean, speeds, speed_rates)
        axis = _unit((numbers.vehicle.allocation[:3] * (1.0 + mean[THRUST])) @ speeds**2)

        # equation (1)
        change = _transitions(s)
        chance = belief.weights @ change
        share = change * belief.weights[:, None] / chance
        means = share.T @ belief.means
        apart = belief.means[:, None, :] - means[None, :, :]
        covs = jnp.einsum("ij,ikl->jkl", share, belief.covs) + jnp.einsum(
            "ij,ijk,ijl->jkl", share, apart, apart
        )

        # how much is known along the thrust
        noise = belief.noise * s.torque_noise**2 * T * jnp.eye(3) + T**2 * (by_speed * speed_var) @ by_speed.T
        seen, turned = slope[3:, OFFSET] @ axis, T * slope[:3, OFFSET] @ axis
        fresh = seen @ seen / numbers.sigma_accel**2 + turned @ jnp.linalg.solve(
            noise + numbers.sigma_gyro**2 * jnp.eye(3), turned
        )
        information = belief.information * jnp.exp(-T / s.excitation_memory) + fresh
        free = information > (s.excitation * lever) ** -2
        across = jnp.eye(3) - jnp.outer(axis, axis)
        cut = jnp.where(free, jnp.eye(3), across)

        # equation (2)
        moving = jnp.asarray([0.0, 1.0, 0.0])
        memory = jnp.asarray([0.2, s.speed_memory, 0.2])
        keep = jnp.exp(-T / memory)
        fade = jnp.exp(-T / s.torque_memory)
        F = jnp.eye(n).at[RATE].add(T * slope[:3]).at[TORQUE, TORQUE].multiply(fade)
        F = jnp.tile(F, (3, 1, 1)).at[:, OFFSET, SPEED].add(moving[:, None, None] * T * across)
        F = F.at[:, SPEED, SPEED].multiply(keep[:, None, None])
        walks = jnp.asarray([s.still_walk, s.still_walk, s.jump_walk]) * lever
        along = s.along_walk * lever
        walk = walks[:, None, None] ** 2 * across + jnp.where(free, along**2, 0.0) * jnp.outer(axis, axis)
        stirred = jnp.where(moving > 0.0, T * s.speed_walk**2, (1.0 - keep**2) * s.first_speed**2) * lever**2
        Q = jnp.zeros((3, n, n)).at[:, RATE, RATE].set(noise)
        Q = Q.at[:, OFFSET, OFFSET].set(T * walk).at[:, SPEED, SPEED].set(stirred[:, None, None] * across)
        Q = Q.at[:, MASS, MASS].set(T * jnp.asarray([s.mass_walk, s.mass_walk, s.mass_jump]) ** 2)
        Q = Q.at[:, TORQUE, TORQUE].set((1.0 - fade**2) * self._torque_cov(axis))
        shift = T * (now[:3] - slope[:3] @ mean)
        means = jnp.einsum("jkl,jl->jk", F, means).at[:, RATE].add(shift)
        covs = F @ covs @ jnp.swapaxes(F, 1, 2) + Q

        # what the sensors say, in body axes, without what is missing or absurd
        gyro, accel = numbers.imu_rotation @ reading.gyro, numbers.imu_rotation @ reading.accel
        H = jnp.concatenate([jnp.eye(3, n), slope[3:]])
        level = jnp.concatenate([jnp.zeros(3), now[3:] - slope[3:] @ mean])
        read = jnp.concatenate([gyro, accel])
        there = jnp.isfinite(read).reshape(2, 3).all(axis=1)
        y = jnp.where(jnp.repeat(there, 3), read, 0.0) - means @ H.T - level
        sigma2 = jnp.repeat(jnp.stack([numbers.sigma_gyro, numbers.sigma_accel]) ** 2, 3)
        S = H @ covs @ H.T + jnp.diag(sigma2)
        off2 = jnp.min(jnp.max((y**2 / jnp.diagonal(S, 0, 1, 2)).reshape(3, 2, 3), axis=2), axis=0)
        far = there & (off2 > s.gate**2)
        odd = far & (belief.streaks < s.patience)
        streaks = jnp.where(
            there, jnp.where(far, jnp.minimum(belief.streaks + 1, 2 * s.patience), 0), belief.streaks
        )
        used = jnp.repeat(there & ~odd, 3)
        both_used = used[:, None] & used[None, :]
        S = jnp.where(both_used, S, jnp.eye(6))
        H = jnp.where(used[:, None], H, 0.0)
        y = jnp.where(used, y, 0.0)

        # equations (3) and (4)
        L = jnp.linalg.cholesky(S)
        white = jax.vmap(lambda low, v: jax.scipy.linalg.solve_triangular(low, v, lower=True))(L, y)
        gain = jnp.swapaxes(
            jax.vmap(lambda low, HP: jax.scipy.linalg.cho_solve((low, True), HP))(L, H @ covs), 1, 2
        )
        gain = gain.at[:, OFFSET].set(cut @ gain[:, OFFSET]).at[:, SPEED].set(across @ gain[:, SPEED])
        means = means + jnp.einsum("jkl,jl->jk", gain, y)
        rest = jnp.eye(n) - gain @ H
        covs = rest @ covs @ jnp.swapaxes(rest, 1, 2) + (
            gain * jnp.where(used, sigma2, 1.0 * used)
        ) @ jnp.swapaxes(gain, 1, 2)
        covs = 0.5 * (covs + jnp.swapaxes(covs, 1, 2))
        score = -0.5 * jnp.sum(white**2, axis=1) - jnp.sum(jnp.log(jnp.diagonal(L, 0, 1, 2)), axis=1)
        weights = chance * jnp.exp(score - jnp.max(score))
        weights = jnp.maximum(weights / jnp.sum(weights), 1e-6)
        weights = weights / jnp.sum(weights)

        # equation (5)
        e = weights @ (y[:, :3] / jnp.sqrt(jnp.diagonal(S, 0, 1, 2)[:, :3]))
        low, high = s.noise_range
        learnt = jnp.clip(belief.noise * jnp.exp(s.noise_gain * (e @ belief.innovation)), low, high)
        raised = raised.at[Reason.GYRO_MISSING].set((~there[0]).astype(int))
        raised = raised.at[Reason.ACCEL_MISSING].set((~there[1]).astype(int))
        raised = raised.at[Reason.GYRO_OUTLIER].set(odd[0].astype(int))
        raised = raised.at[Reason.ACCEL_OUTLIER].set(odd[1].astype(int))
        return replace(
            belief,
            means=means,
            covs=covs,
            weights=weights,
            noise=learnt,
            innovation=e,
            streaks=streaks,
            information=information,
            axis=axis,
            counts=belief.counts + raised,
        )


def linearised(
    numbers: CogNumbers, x: Array, speeds: Array, speed_rates: Array
) -> tuple[Array, Array, Array]:
    """`answer` (6,), angular acceleration first, its slope by the state (6, 13 + R), and of the first by speeds (3, R).

    Evaluated scalar by scalar (`haltere.algebra.soa`).
    """

    def both(x: Array, w: Array, rates: Array, numbers: CogNumbers) -> Array:
        parts = (x[RATE], x[OFFSET], x[MASS], x[TORQUE], x[THRUST])
        return jnp.concatenate(answer(numbers, *parts, w, rates))

    def all_three(x: Array, w: Array, rates: Array, numbers: CogNumbers) -> tuple[Array, Array, Array]:
        by_state, by_speed = jax.jacfwd(both, (0, 1))(x, w, rates, numbers)
        return both(x, w, rates, numbers), by_state, by_speed[:3]

    plain = replace(numbers, model=None)
    found: tuple[Array, Array, Array] = join_single(
        soa(all_three)(*split_single((x, speeds, speed_rates, plain)))
    )
    return found


def _transitions(settings: CogSettings) -> Array:
    """(3, 3) probability of each change of mode in one tick."""
    (a, b), (c, d), (e, f) = settings.stay
    rates = jnp.asarray([[0.0, a, b], [c, 0.0, d], [e, f, 0.0]]) * settings.period
    return rates + jnp.diag(1.0 - jnp.sum(rates, axis=1))


def _unit(vector: Array) -> Array:
    return vector / jnp.maximum(jnp.sqrt(vector @ vector), 1e-12)
