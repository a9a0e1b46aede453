"""The centre of gravity in flight, for any multirotor: one Kalman filter over windows, belief in, belief out.

Every tick adds a sample to two windows (`haltere.estimation.cog.windows`); when one closes, its rows
(`haltere.estimation.cog.rows`) correct the state (`haltere.estimation.cog.state`).

What changed without a mark is found by rivals (`haltere.estimation.cog.rivals`). Where a change is likelier than
anything else the filter goes on from before it, opened, with readings from now on: the windows that contain the change
say nothing of it.

Rotor speeds follow command and lag, and measurements where there are any. What is missing or absurd is left out and
counted by `Reason`; a belief that is not finite never replaces a finite one.
"""

from dataclasses import dataclass, field, replace

import jax
import jax.numpy as jnp

from haltere.airframe import Airframe
from haltere.estimation.cog import state as kalman
from haltere.estimation.cog.answers import answers_of
from haltere.estimation.cog.belief import CogBelief, CogEstimate, CogReading, Gate, RotorTrack, Weighing
from haltere.estimation.cog.noise import NoiseLevels
from haltere.estimation.cog.rivals import Rivals
from haltere.estimation.cog.rows import Rows, rows_of, thrust_axes
from haltere.estimation.cog.settings import CogSettings, Reason
from haltere.estimation.cog.state import GAIN, Gaussian
from haltere.estimation.cog.vehicle import CogNumbers
from haltere.estimation.cog.wind_thrust import wind_thrust_of
from haltere.estimation.cog.windows import Windows, add_sample
from haltere.foundation.arrays import Array, ArrayLike, pytree
from haltere.lie import so3

FIRST_RATE, FIRST_FORCE = 0.05, 1.0
"""Least deviation of single samples from those around them that the gate takes for usual, rad/s and m/s2."""
LEVEL_MEMORY, VARIANCE_MEMORY = 0.05, 1.0
"""s."""
SCALE_MEMORY = 5.0
"""s over which the speed that a command gives is learnt."""
FRACTION_MEMORY = 0.7
"""s over which the shares of the rotors in the thrust are averaged until they are held."""
SWUNG = 0.5
"""rad: rotation across the thrust while weighing beyond which the gyroscope must be wrong."""
QUIET = 4.0
"""Windows since a mark, an event or a gap, until changes are looked for."""


@pytree(static=("settings",))
@dataclass(frozen=True)
class CogCore:
    """A filter for one vehicle, all of it JAX: `begin` makes a belief, `tick` takes a reading, `estimate` reads it."""

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
        known, s, R = self.numbers.vehicle, self.settings, self.numbers.rotors
        hover = self.numbers.hover_speeds()
        turning = speeds if speeds is not None else hover
        guess = jnp.broadcast_to(jnp.asarray(offset, float), (3,))
        state = kalman.begin(s, known.lever, R, guess)
        windows = Windows.zero(R, s.window)
        squares = hover**2
        drift = (s.speed_drift * self.numbers.top_speed) ** 2
        axes, noise = thrust_axes(known.allocation[:3] @ squares), NoiseLevels.begin(s, known.lever)
        return CogBelief(
            state=state,
            rivals=Rivals.begin(s, state, known.lever, axes[:, 2], noise.levels),
            quiet=jnp.zeros(()),
            windows=windows,
            noise=noise,
            admitted=jnp.zeros(3),
            rotors=RotorTrack(turning, drift * jnp.ones(R), jnp.ones(R), jnp.zeros(R, bool), squares),
            gate=Gate(
                jnp.full(6, jnp.nan),
                jnp.repeat(jnp.asarray([FIRST_RATE, FIRST_FORCE]) ** 2, 3),
                jnp.zeros(2, int),
            ),
            weighing=Weighing.zero(),
            time=jnp.zeros(()),
            since=jnp.zeros(()),
            elapsed=jnp.zeros(()),
            events=jnp.zeros((), int),
            nominal=known.com,
            axes=axes,
            counts=jnp.zeros(len(Reason), int),
        )

    def tick(self, belief: CogBelief, reading: CogReading, dt: ArrayLike | None = None) -> CogBelief:
        """The belief after one reading, `dt` s after the one before."""
        s = self.settings
        step = jnp.asarray(s.period if dt is None else dt, float)
        numbers = self._at_angles(reading.joint_angles)
        forward = step > 0.0
        dt = jnp.where(forward, step, 0.0)
        rotors, raised = self._rotors(belief, reading, dt)
        gyro, accel, gate, raw, more = self._gated(numbers, belief.gate, reading, dt)
        raised = raised + more
        valid = jnp.where(forward, 1.0, jnp.nan)
        windows = add_sample(
            belief.windows,
            numbers,
            s.window,
            dt,
            valid * gyro,
            valid * accel,
            rotors.speeds,
            (raw, reading.speeds, reading.targets),
        )
        weighing = self._weighing(numbers, belief.weighing, gyro, rotors.speeds, dt)
        counts = belief.counts + raised
        counts = counts.at[Reason.STAMPS_BACK].add((step < 0.0).astype(int))
        counts = counts.at[Reason.READINGS_LOST].add((step > s.window).astype(int))
        now = replace(
            belief,
            windows=windows,
            rotors=rotors,
            gate=gate,
            weighing=weighing,
            time=belief.time + dt,
            since=belief.since + dt,
            elapsed=belief.elapsed + dt,
            nominal=numbers.vehicle.com,
            counts=counts,
        )
        closes = windows.age >= s.window
        lost = jnp.any(windows.age > 1.5 * s.window)
        after: CogBelief = jax.lax.cond(
            jnp.any(closes),
            lambda b: self._finite(self._closed(numbers, b, closes, lost), b),
            lambda b: b,
            now,
        )
        return after

    def mark(self, belief: CogBelief) -> CogBelief:
        """The belief at a grip or drop that the vehicle knows of: what was is remembered, what is may be other."""
        known = self.numbers.vehicle
        state = kalman.advance(self.settings, belief.state, known.lever, belief.elapsed, belief.noise.levels)
        opened = kalman.open_change(self.settings, state, known.lever, belief.axes[:, 2])
        return self._begun_anew(replace(belief, elapsed=jnp.zeros(())), opened)

    def reopen(self, belief: CogBelief) -> CogBelief:
        """The belief while a marked change goes on, as with a gripper that closes slowly; nothing new is remembered."""
        known, s = self.numbers.vehicle, self.settings
        opened = kalman.open_more(s, belief.state, known.lever, belief.axes[:, 2])
        later = replace(self._begun_anew(belief, opened), windows=belief.windows, elapsed=belief.elapsed)
        return replace(later, since=belief.since)

    def estimate(self, belief: CogBelief) -> CogEstimate:
        """What the belief says."""
        return answers_of(self.numbers, self.settings, belief)

    def _at_angles(self, angles: Array | None) -> CogNumbers:
        if angles is not None:
            angles = jnp.where(jnp.all(jnp.isfinite(angles)), angles, jnp.zeros_like(angles))
        return self.numbers.at_joint_angles(angles)

    def _finite(self, later: CogBelief, before: CogBelief) -> CogBelief:
        """The later belief if it is finite, else the one before, which counts that."""
        sound = jnp.all(jnp.isfinite(later.state.mean)) & jnp.all(jnp.isfinite(later.state.cov))
        sound = sound & jnp.all(jnp.diagonal(later.state.cov) >= 0.0)
        sound = sound & jnp.all(jnp.isfinite(later.noise.levels))
        empty = Windows.zero(self.numbers.rotors, self.settings.window)
        kept = replace(
            before, windows=empty, quiet=jnp.zeros(()), counts=later.counts.at[Reason.DIVERGED].add(1)
        )
        chosen: CogBelief = jax.tree.map(lambda new, old: jnp.where(sound, new, old), later, kept)
        return chosen

    def _rotors(self, belief: CogBelief, reading: CogReading, dt: Array) -> tuple[RotorTrack, Array]:
        """Rotor speeds by command, lag and telemetry, and the reasons raised."""
        s, numbers, last = self.settings, self.numbers, belief.rotors
        keep = jnp.exp(-dt / numbers.lag)
        known = jnp.isfinite(reading.targets)
        target = jnp.where(known, reading.targets * last.scale, last.speeds)
        guess = target + keep * (last.speeds - target)
        drift = (s.speed_drift * numbers.top_speed) ** 2
        var = keep**2 * last.variance + (1.0 - keep**2) * drift
        noise = (s.speed_sigma * numbers.top_speed) ** 2
        there = jnp.isfinite(reading.speeds)
        apart = jnp.where(there, reading.speeds, guess) - guess
        absurd = there & (
            (apart**2 > s.gate**2 * (var + noise) + (0.1 * numbers.top_speed) ** 2)
            | (guess + apart < -0.05 * numbers.top_speed)
            | (guess + apart > 1.5 * numbers.top_speed)
        )
        used = there & ~absurd & ~last.stuck
        gain = jnp.where(used, var / (var + noise), 0.0)
        speeds = guess + gain * jnp.where(used, apart, 0.0)
        learnt = 1.0 - jnp.exp(-dt / SCALE_MEMORY)
        ratio = jnp.clip(apart / jnp.maximum(guess, 0.05 * numbers.top_speed), -0.2, 0.2)
        scale = jnp.where(used & known, jnp.clip(last.scale * (1.0 + learnt * ratio), 0.5, 2.0), last.scale)
        settling = belief.time < s.settling
        follow = jnp.where(settling, 1.0 - jnp.exp(-dt / FRACTION_MEMORY), 0.0)
        squares = last.squared_speeds + follow * (speeds * jnp.abs(speeds) - last.squared_speeds)
        raised = jnp.zeros(len(Reason), int)
        raised = raised.at[Reason.SPEED_MISSING].set(jnp.any(~there).astype(int))
        raised = raised.at[Reason.SPEED_OUTLIER].set(jnp.any(absurd).astype(int))
        raised = raised.at[Reason.TARGET_MISSING].set(jnp.any(~known).astype(int))
        return RotorTrack(speeds, (1.0 - gain) * var, scale, last.stuck, squares), raised

    def _gated(
        self, numbers: CogNumbers, gate: Gate, reading: CogReading, dt: Array
    ) -> tuple[Array, Array, Gate, Array, Array]:
        """Gyroscope and accelerometer in body axes, NaN where left out, the gate, the readings, the reasons raised."""
        s = self.settings
        raw = jnp.concatenate([reading.gyro, reading.accel])
        there = jnp.isfinite(raw).reshape(2, 3).all(axis=1)
        first = ~jnp.isfinite(gate.level)
        away = jnp.where(first | ~jnp.repeat(there, 3), 0.0, raw - gate.level)
        least = jnp.repeat(jnp.asarray([FIRST_RATE, FIRST_FORCE]) ** 2, 3)
        far = jnp.any((away**2 > s.gate**2 * jnp.maximum(gate.variance, least)).reshape(2, 3), axis=1)
        odd = far & (gate.streaks < s.patience)
        used = jnp.repeat(there & ~odd, 3)
        follow = 1.0 - jnp.exp(-dt / LEVEL_MEMORY)
        again = jnp.repeat(far & ~odd, 3) | first
        level = jnp.where(used, jnp.where(again, raw, gate.level + follow * away), gate.level)
        learn = 1.0 - jnp.exp(-dt / VARIANCE_MEMORY)
        variance = jnp.where(used & ~again, gate.variance + learn * (away**2 - gate.variance), gate.variance)
        streaks = jnp.where(there, jnp.where(far, gate.streaks + 1, 0), gate.streaks)
        streaks = jnp.where(far & ~odd, 0, streaks)
        body = numbers.imu_rotation
        clean = jnp.where(used, raw, jnp.nan)
        raised = jnp.zeros(len(Reason), int)
        for reason, one in (
            (Reason.GYRO_MISSING, ~there[0]),
            (Reason.ACCEL_MISSING, ~there[1]),
            (Reason.GYRO_OUTLIER, odd[0]),
            (Reason.ACCEL_OUTLIER, odd[1]),
        ):
            raised = raised.at[reason].set(one.astype(int))
        return body @ clean[:3], body @ clean[3:], Gate(level, variance, streaks), raw, raised

    def _weighing(
        self, numbers: CogNumbers, last: Weighing, gyro: Array, speeds: Array, dt: Array
    ) -> Weighing:
        rate = jnp.where(jnp.isfinite(gyro), gyro, 0.0)
        force = numbers.vehicle.allocation[:3] @ (speeds * jnp.abs(speeds))
        rotation = last.rotation @ so3.exp(dt * rate)
        return Weighing(rotation, last.force + dt * (rotation @ force), last.time + dt, last.rate + dt * rate)

    def _closed(self, numbers: CogNumbers, belief: CogBelief, closes: Array, lost: Array) -> CogBelief:
        """The belief after a window has closed."""
        s, lever = self.settings, numbers.vehicle.lever
        index = jnp.argmax(jnp.where(closes, belief.windows.age, -jnp.inf))
        rows = rows_of(belief.windows, index, numbers, s, belief.rotors.squared_speeds)
        levels = belief.noise.levels
        ahead = kalman.advance(s, belief.state, lever, belief.elapsed, levels)
        wind = wind_thrust_of(s, ahead.mean, rows.axes, levels, numbers.vehicle.gravity)
        rows = replace(rows, value=rows.value.at[4].add(-wind.thrust * rows.thrust_now))
        state, _ = kalman.correct(ahead, rows, levels)
        state, admitted = kalman.admit(state, rows, belief.admitted, levels, belief.time)
        stuck, stuck_moving = self._stuck(belief.windows, index)
        counts = belief.counts
        for reason, one in (
            (Reason.GYRO_STUCK, rows.problems[0]),
            (Reason.ACCEL_STUCK, rows.problems[1]),
            (Reason.ACCEL_IMPLAUSIBLE, rows.problems[2]),
            (Reason.READINGS_LOST, rows.problems[3] | rows.problems[4]),
            (Reason.SPEED_STUCK, jnp.any(stuck_moving)),
        ):
            counts = counts.at[reason].add(one.astype(int))
        window = jnp.asarray(s.window)
        empty = Windows.zero(numbers.rotors, s.window)
        fresh = belief.windows.restarted(closes, s.window)
        fresh = jax.tree.map(lambda a, b: jnp.where(lost, a, b), empty, fresh)
        follows = ~lost & (belief.elapsed < window)
        later = replace(
            belief,
            state=state,
            quiet=jnp.where(follows, belief.quiet + 1.0, 0.0),
            windows=fresh,
            noise=self._noise(belief, rows, state, lost),
            admitted=admitted,
            rotors=replace(belief.rotors, stuck=stuck),
            elapsed=jnp.zeros(()),
            axes=jnp.where(rows.valid[0], rows.axes, belief.axes),
            counts=counts,
        )
        later = self._with_changes(belief, later, rows)
        return self._weighed(numbers, later)

    def _stuck(self, windows: Windows, index: Array) -> tuple[Array, Array]:
        """(R,) whether telemetry repeated one value through the window, and whether the command moved meanwhile."""
        repeats = (windows.telemetry.fraction(index) == 1.0) & (windows.telemetry.count[index] > 4)
        moved = windows.targets.high[index] - windows.targets.low[index] > 0.02 * self.numbers.top_speed
        return repeats, repeats & moved

    def _noise(self, belief: CogBelief, rows: Rows, state: Gaussian, lost: Array) -> NoiseLevels:
        """Noise levels with the residuals of the window, disturbances left in."""
        # offset and bias drop out of differences; thrust over mass has a slope that changes
        residual = rows.value.at[4].add(-rows.thrust_now * state.mean[GAIN])
        residual = jnp.where(rows.valid, residual, jnp.nan)
        levels: NoiseLevels = jax.tree.map(
            lambda a, b: jnp.where(lost, a, b), belief.noise.forgetting_residuals(), belief.noise
        )
        return levels.add(self.settings, residual)

    def _with_changes(self, belief: CogBelief, later: CogBelief, rows: Rows) -> CogBelief:
        """The belief after a change, if one is likelier than anything else."""
        s, lever, axis = self.settings, self.numbers.vehicle.lever, later.axes[:, 2]
        rivals = belief.rivals.add(s, lever, rows)
        changed, jumped, start = rivals.most_likely(s)
        looked = (later.quiet >= QUIET) & (later.time > s.settling) & jnp.all(rows.valid[:2])
        restarted = rivals.restarted(s, later.state, lever, axis, later.noise.levels)
        reset = Rivals.begin(s, later.state, lever, axis, later.noise.levels)
        going = jax.tree.map(lambda a, b: jnp.where(looked, a, b), restarted, reset)
        usual = replace(later, rivals=going)
        opened = kalman.open_found(s, start, lever, axis, belief.noise.levels)
        event = self._begun_anew(later, opened)
        event = replace(event, events=later.events + 1)
        jump = self._begun_anew(later, kalman.open_all(s, start, lever, axis))
        jump = replace(jump, since=later.since, counts=jump.counts.at[Reason.FORCE_JUMP].add(1))
        for condition, anew in ((looked & jumped, jump), (looked & changed, event)):
            usual = jax.tree.map(lambda a, b, c=condition: jnp.where(c, a, b), anew, usual)
        return usual

    def _begun_anew(self, belief: CogBelief, state: Gaussian) -> CogBelief:
        """With another state, windows that begin now, and nothing to compare them with."""
        return replace(
            belief,
            state=state,
            quiet=jnp.zeros(()),
            windows=Windows.zero(self.numbers.rotors, self.settings.window),
            noise=belief.noise.forgetting_residuals(),
            weighing=Weighing.zero(),
            since=jnp.zeros(()),
            elapsed=jnp.zeros(()),
        )

    def _weighed(self, numbers: CogNumbers, belief: CogBelief) -> CogBelief:
        """The belief after weight has been compared with thrust, where enough time has gone by."""
        s, known, weighing = self.settings, numbers.vehicle, belief.weighing
        mean = weighing.force / jnp.maximum(weighing.time, 1e-3) / known.mass
        pull = jnp.sqrt(mean @ mean)
        across = weighing.rate @ belief.axes[:, :2]
        _, fast, slow, memory = belief.noise.levels[:, 4]
        sound = (across @ across < SWUNG**2) & (pull > 0.3 * known.gravity)
        air = 2.0 * (fast * s.fast + slow * memory) / s.block + 1e-4
        wind = wind_thrust_of(s, belief.state.mean, belief.axes, belief.noise.levels, known.gravity)
        pull, weight = (1.0 + wind.thrust) * pull, wind.weight * known.gravity
        state = kalman.weigh(s, belief.state, pull, jnp.maximum(weighing.time, 1e-3), weight, air)
        due = weighing.time >= s.block
        state = jax.tree.map(lambda a, b: jnp.where(due & sound, a, b), state, belief.state)
        fresh = jax.tree.map(lambda a, b: jnp.where(due, a, b), Weighing.zero(), weighing)
        return replace(belief, state=state, weighing=fresh)
