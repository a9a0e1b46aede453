"""The centre of gravity in flight, for any multirotor: a small bank of Kalman filters, belief in, belief out.

Three modes differ in how the offset may move (`Mode`): they are mixed, predicted, corrected and weighed by their
likelihood at every tick (`haltere.estimation.cog.bank`).

Along the thrust nothing is known at hover: a centre of mass higher or lower changes nothing. There the gain is cut,
until the information gathered by lever-arm accelerations in the last seconds suffices (`CogSettings.excitation`):

    i *= exp(-T / memory),  i += |slope of the reading along the thrust|^2 over its variance               (1)

The level of the torque noise rho multiplies its variance and follows the correlation of successive gyroscope
innovations e, which is zero when the filter is neither too slow nor too fast:

    ln rho += gain e_k . e_(k-1)                                                                           (2)

Rotor speeds follow command and lag, and measurements where there are any. What is missing or absurd is left out and
counted by `Reason`; a belief that is not finite never replaces a finite one.
"""

from dataclasses import dataclass, field, replace

import jax
import jax.numpy as jnp

from haltere.airframe import Airframe
from haltere.estimation.cog.bank import (
    Bank,
    CogPrediction,
    Innovation,
    LinearResponse,
    corrected,
    linear_response_at,
    mixed,
    predicted,
    unit,
)
from haltere.estimation.cog.belief import (
    FIXED,
    MASS,
    OFFSET,
    THRUST,
    TORQUE,
    CogBelief,
    CogEstimate,
    CogReading,
)
from haltere.estimation.cog.settings import CogSettings, Mode, Reason
from haltere.estimation.cog.vehicle import CogError, CogNumbers
from haltere.foundation.arrays import Array, ArrayLike, pytree

FIRST_RATE = 10.0
"""Deviation of the rate before the first reading, rad/s."""


@pytree(static=("settings",))
@dataclass(frozen=True)
class CogCore:
    """A filter for one vehicle, all of it JAX: `begin` makes a belief, `estimate` reads it.

    `tick` takes a whole reading; `predict` and `correct` are its two halves, for readings that come apart.
    """

    numbers: CogNumbers
    settings: CogSettings = field(default_factory=CogSettings)

    @classmethod
    def from_airframe(
        cls, airframe: Airframe, settings: CogSettings | None = None, joint_angles: ArrayLike | None = None
    ) -> "CogCore":
        """The filter for an airframe held at `joint_angles` (J,) rad at the beginning."""
        return cls(CogNumbers.from_airframe(airframe, joint_angles), settings or CogSettings())

    def begin(self, speeds: Array | None = None, offset: ArrayLike = 0.0) -> CogBelief:
        """With rotor speeds (R,) rad/s (hover where not given) and a guess of the offset (3,), m."""
        known, s = self.numbers.vehicle, self.settings
        turning = speeds if speeds is not None else self.numbers.hover_speeds()
        lever, R = known.lever, self.numbers.rotors
        force = known.allocation[:3] @ turning**2
        axis = unit(force)
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
        start = (
            jnp.zeros(len(Mode)).at[Mode.AT_REST].set(0.9).at[Mode.MOVING].set(0.05).at[Mode.JUMP].set(0.05)
        )
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
        belief = replace(belief, prediction=None)
        numbers = self._at_angles(reading.joint_angles)
        speeds, speed_var, speed_rates, raised = self._speeds(belief, reading)
        middle = 0.5 * (belief.speeds + speeds)
        bank, response, information, free = self._predicted(numbers, belief, middle, speed_rates, speed_var)
        now = replace(belief, information=information, counts=belief.counts + raised)
        later = self._corrected(numbers, now, reading, bank, response, free)
        later = replace(later, speeds=speeds, speed_var=speed_var, nominal=numbers.vehicle.com)
        return self._finite(later, belief)

    def predict(
        self, belief: CogBelief, speeds: Array, targets: Array, joint_angles: Array | None = None
    ) -> CogBelief:
        """The belief after one period, before its IMU reading; arguments as the fields of `CogReading`."""
        before = replace(belief, prediction=None)
        missing = jnp.full(3, jnp.nan)
        reading = CogReading(missing, missing, speeds, targets, joint_angles)
        numbers = self._at_angles(joint_angles)
        w, speed_var, speed_rates, raised = self._speeds(before, reading)
        middle = 0.5 * (before.speeds + w)
        bank, response, information, free = self._predicted(numbers, before, middle, speed_rates, speed_var)
        later = replace(
            before,
            means=bank.means,
            covs=bank.covs,
            weights=bank.weights,
            speeds=w,
            speed_var=speed_var,
            information=information,
            nominal=numbers.vehicle.com,
            axis=response.axis,
            counts=before.counts + raised,
        )
        return replace(self._finite(later, before), prediction=CogPrediction(before, response, free))

    def correct(self, belief: CogBelief, gyro: Array, accel: Array) -> CogBelief:
        """The belief after the IMU reading (3,), (3,) that follows a prediction.

        Raises:
            CogError: the belief is not one of `predict`.
        """
        if belief.prediction is None:
            raise CogError(
                "a correction follows a prediction; call predict first, with rotor speeds or commands"
            )
        before, response, free = belief.prediction.before, belief.prediction.response, belief.prediction.free
        now = replace(belief, prediction=None)
        reading = CogReading(gyro, accel, now.speeds, now.speeds)
        bank = Bank(now.means, now.covs, now.weights)
        return self._finite(self._corrected(self.numbers, now, reading, bank, response, free), before)

    def _at_angles(self, angles: Array | None) -> CogNumbers:
        if angles is not None:
            angles = jnp.where(jnp.all(jnp.isfinite(angles)), angles, jnp.zeros_like(angles))
        return self.numbers.at_joint_angles(angles)

    def _finite(self, later: CogBelief, before: CogBelief) -> CogBelief:
        """The later belief if it is finite, else the one before, which counts that."""
        sound = jnp.all(jnp.isfinite(later.means)) & jnp.all(jnp.isfinite(later.covs))
        sound = (
            sound & jnp.all(jnp.isfinite(later.weights)) & jnp.all(jnp.diagonal(later.covs, 0, 1, 2) >= 0.0)
        )
        kept = replace(before, counts=later.counts.at[Reason.DIVERGED].add(1))
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

    def _predicted(
        self, numbers: CogNumbers, belief: CogBelief, speeds: Array, speed_rates: Array, speed_var: Array
    ) -> tuple[Bank, LinearResponse, Array, Array]:
        """The modes after one period at rotor speeds (R,) with their rates and variances.

        Also the line along which they moved, the information about the offset along the thrust, and whether it
        suffices.
        """
        s, T, lever = self.settings, self.settings.period, numbers.vehicle.lever
        response = linear_response_at(numbers, belief.mean, speeds, speed_rates)
        noise = belief.noise * s.torque_noise**2 * T * jnp.eye(3)
        noise = noise + T**2 * (response.by_speed * speed_var) @ response.by_speed.T
        information = belief.information * jnp.exp(-T / s.excitation_memory)
        information = information + self._along(numbers, response, noise)
        free = information > (s.excitation * lever) ** -2
        bank = mixed(Bank(belief.means, belief.covs, belief.weights), s)
        bank = predicted(bank, response, s, lever, noise, self._torque_cov(response.axis), free)
        return bank, response, information, free

    def _corrected(
        self,
        numbers: CogNumbers,
        belief: CogBelief,
        reading: CogReading,
        bank: Bank,
        response: LinearResponse,
        free: Array,
    ) -> CogBelief:
        """The belief after gyroscope and accelerometer."""
        s = self.settings
        innovation, streaks, lost = self._seen(numbers, bank, response, reading, belief.streaks)
        across = response.across
        bank = corrected(bank, innovation, jnp.where(free, jnp.eye(3), across), across)
        e = bank.weights @ (innovation.residual[:, :3] / jnp.sqrt(jnp.diagonal(innovation.S, 0, 1, 2)[:, :3]))
        return replace(
            belief,
            means=bank.means,
            covs=bank.covs,
            weights=bank.weights,
            noise=jnp.clip(belief.noise * jnp.exp(s.noise_gain * (e @ belief.innovation)), *s.noise_range),
            innovation=e,
            streaks=streaks,
            axis=response.axis,
            counts=belief.counts + lost,
        )

    def _along(self, numbers: CogNumbers, response: LinearResponse, noise: Array) -> Array:
        """() what one tick tells of the offset along the thrust, 1/m2."""
        seen = response.slope[3:, OFFSET] @ response.axis
        turned = self.settings.period * response.slope[:3, OFFSET] @ response.axis
        doubt = noise + numbers.sigma_gyro**2 * jnp.eye(3)
        fresh: Array = seen @ seen / numbers.sigma_accel**2 + turned @ jnp.linalg.solve(doubt, turned)
        return fresh

    def _seen(
        self, numbers: CogNumbers, bank: Bank, response: LinearResponse, reading: CogReading, streaks: Array
    ) -> tuple[Innovation, Array, Array]:
        """The reading without what is missing or absurd, outliers in a row (2,), and the reasons raised."""
        s, n = self.settings, bank.means.shape[1]
        body = numbers.imu_rotation
        read = jnp.concatenate([body @ reading.gyro, body @ reading.accel])
        H = jnp.concatenate([jnp.eye(3, n), response.slope[3:]])
        level = jnp.concatenate([jnp.zeros(3), response.level[3:]])
        there = jnp.isfinite(read).reshape(2, 3).all(axis=1)
        y = jnp.where(jnp.repeat(there, 3), read, 0.0) - bank.means @ H.T - level
        sigma2 = jnp.repeat(jnp.stack([numbers.sigma_gyro, numbers.sigma_accel]) ** 2, 3)
        S = H @ bank.covs @ H.T + jnp.diag(sigma2)
        off2 = jnp.min(jnp.max((y**2 / jnp.diagonal(S, 0, 1, 2)).reshape(3, 2, 3), axis=2), axis=0)
        far = there & (off2 > s.gate**2)
        odd = far & (streaks < s.patience)
        longer = jnp.where(far, jnp.minimum(streaks + 1, 2 * s.patience), 0)
        used = jnp.repeat(there & ~odd, 3)
        innovation = Innovation(
            jnp.where(used[:, None], H, 0.0),
            jnp.where(used, y, 0.0),
            jnp.where(used[:, None] & used[None, :], S, jnp.eye(6)),
            jnp.where(used, sigma2, 0.0),
        )
        lost = jnp.zeros(len(Reason), int)
        for reason, one in (
            (Reason.GYRO_MISSING, ~there[0]),
            (Reason.ACCEL_MISSING, ~there[1]),
            (Reason.GYRO_OUTLIER, odd[0]),
            (Reason.ACCEL_OUTLIER, odd[1]),
        ):
            lost = lost.at[reason].set(one.astype(int))
        return innovation, jnp.where(there, longer, streaks), lost
