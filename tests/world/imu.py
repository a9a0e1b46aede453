"""The inertial measurement unit: errors drawn per flight, vibration, on-board low-pass.

The unit samples at 1 kHz, without an analogue filter: what vibrates above 500 Hz is folded there already. In its
own axes it measures scale * (R_IB x + vibration) + bias + walk, then a second-order Butterworth low-pass (bilinear,
at 1 kHz), then white noise; the log keeps every n-th sample, which folds once more. Vibration is the sum over
rotors of the speed's first and second harmonic with phases from the rotor angles and the size (W / W_hover)^2:
unbalance, and two blades. The accelerometer stands at the IMU's position r: f + dw x r + w x (w x r).
"""

from dataclasses import dataclass, fields

import numpy as np
import scipy.signal
from tests.world.draws import generator
from tests.world.levels import Level
from tests.world.vectors import apply_transposed, cross, rotation_matrix
from tests.world.vehicles import Vehicle

RATE = 1000.0  # Hz
WALK_GRID = 0.5  # s


@dataclass(frozen=True)
class ImuErrors:
    """Errors of one flight's accelerometer and gyro; in a batch with the flights as a last axis."""

    gyro_scale: np.ndarray  # (3,)
    accel_scale: np.ndarray  # (3,)
    gyro_bias: np.ndarray  # (K, 3) every half second: bias and walk
    accel_bias: np.ndarray  # (K, 3)
    gyro_vibration: np.ndarray  # (3, 4 R): cosine and sine of the first harmonic, of the second
    accel_vibration: np.ndarray  # (3, 4 R)


def draw_errors(level: Level, seed: int, vehicle: Vehicle, duration: float) -> ImuErrors:
    """The errors of one flight."""
    rng = generator(seed, "imu")
    count = int(np.ceil(duration / WALK_GRID)) + 2
    rotors = len(vehicle.spin)

    def bias(size, walk):
        steps = walk * np.sqrt(WALK_GRID / 60) * rng.standard_normal((count, 3))
        return size * rng.standard_normal(3) + np.cumsum(steps, axis=0)

    def vibration(size):
        first = rng.standard_normal((3, 2, rotors))
        second = 0.6 * rng.standard_normal((3, 2, rotors))
        raw = np.concatenate([first, second], axis=1)
        raw = raw / np.sqrt((raw**2).sum(axis=(1, 2), keepdims=True) / 2)  # rms one per axis
        return size * (raw * vehicle.unbalance).reshape(3, 4 * rotors)

    scales = 1 + level.imu_scale * rng.standard_normal((2, 3))
    return ImuErrors(
        gyro_scale=scales[0],
        accel_scale=scales[1],
        gyro_bias=bias(level.gyro_bias, level.gyro_bias_walk),
        accel_bias=bias(level.accel_bias, level.accel_bias_walk),
        gyro_vibration=vibration(level.gyro_vibration),
        accel_vibration=vibration(level.accel_vibration),
    )


def stack_errors(errors: list[ImuErrors]) -> ImuErrors:
    """The errors of a batch."""
    return ImuErrors(
        **{f.name: np.stack([getattr(e, f.name) for e in errors], axis=-1) for f in fields(ImuErrors)}
    )


def harmonics(angle, relative_speed):
    """(4 R, ...) cosine and sine of the first and second harmonic of rotor angles (R, ...), times speed squared."""
    size = relative_speed * relative_speed
    c, s = np.cos(angle), np.sin(angle)
    return np.concatenate([size * c, size * s, size * (2 * c * c - 1), size * (2 * s * c)])


def low_pass(cutoff: float):
    """Coefficients b, a of the second-order low-pass, or nothing where there is none."""
    return scipy.signal.butter(2, cutoff, fs=RATE) if cutoff > 0 else None


class Gyro:
    """The gyro of a batch, sampled in the loop every millisecond."""

    def __init__(
        self, vehicle: Vehicle, errors: ImuErrors, level: Level, seeds, ticks: int, hover_speed: float
    ):
        self.rotation = rotation_matrix(vehicle.imu_wxyz)
        self.errors = errors
        self.hover_speed = hover_speed
        self.vibrates = level.gyro_vibration > 0
        self.noise = np.stack(
            [level.gyro_noise * generator(seed, "gyro").standard_normal((ticks, 3)) for seed in seeds],
            axis=-1,
        )
        self.coefficients = low_pass(level.gyro_cutoff)
        self.memory = None

    def sample(self, tick: int, time: float, rate, angle, speed):
        """Measured angular velocity (3, N) of this tick from the true one, rotor angles and speeds (R, N)."""
        true = apply_transposed(self.rotation, rate)
        if self.vibrates:
            waves = harmonics(angle, speed / self.hover_speed)
            true = true + (self.errors.gyro_vibration * waves).sum(axis=1)
        position = max(time, 0.0) / WALK_GRID
        index = int(position)
        part = position - index
        bias = self.errors.gyro_bias[index] * (1 - part) + self.errors.gyro_bias[index + 1] * part
        raw = self.errors.gyro_scale * true + bias
        return self._filter(raw) + self.noise[tick]

    def _filter(self, raw):
        """Direct form II, transposed; starts at rest at the first sample."""
        if self.coefficients is None:
            return raw
        b, a = self.coefficients
        if self.memory is None:
            self.memory = ((1 - b[0]) * raw, (b[2] - a[2]) * raw)
        first, second = self.memory
        out = b[0] * raw + first
        self.memory = (b[1] * raw - a[1] * out + second, b[2] * raw - a[2] * out)
        return out


class Accelerometer:
    """What the flight controller reads of the accelerometer; the log has samples of its own."""

    def __init__(
        self, vehicle: Vehicle, errors: ImuErrors, level: Level, seeds, ticks: int, hover_speed: float
    ):
        self.rotation, self.lever = rotation_matrix(vehicle.imu_wxyz), vehicle.imu_position
        self.errors = errors
        self.noise = np.stack(
            [
                level.accel_noise * generator(seed, "accel in the loop").standard_normal((ticks // 2 + 1, 3))
                for seed in seeds
            ],
            axis=-1,
        )

    def sample(self, tick: int, time: float, plant):
        """Measured specific force (3, N) of the last step, IMU axes, with bias, scale and noise."""
        rate = plant.motion.rate
        force = plant.specific_force + cross(plant.angular, self.lever) + cross(rate, cross(rate, self.lever))
        bias = self.errors.accel_bias[int(max(time, 0.0) / WALK_GRID)]
        return self.errors.accel_scale * apply_transposed(self.rotation, force) + bias + self.noise[tick // 2]


def measure_acceleration(
    level: Level, vehicle: Vehicle, errors: ImuErrors, seed: int, record, hover_speed: float
):
    """Accelerometer (T, 3) of one flight every millisecond, from its record; IMU axes, m/s2."""
    lever = vehicle.imu_position
    rate = record.rate
    force = record.specific_force + np.cross(record.angular, lever) + np.cross(rate, np.cross(rate, lever))
    true = force @ rotation_matrix(vehicle.imu_wxyz)
    if level.accel_vibration > 0:
        waves = harmonics(record.angle.T, record.speed.T / hover_speed)
        true = true + (errors.accel_vibration @ waves).T
    grid = np.arange(len(errors.accel_bias)) * WALK_GRID
    bias = np.stack([np.interp(record.time, grid, errors.accel_bias[:, i]) for i in range(3)], axis=1)
    raw = errors.accel_scale * true + bias
    coefficients = low_pass(level.accel_cutoff)
    if coefficients is not None:
        start = scipy.signal.lfilter_zi(*coefficients)[:, None] * raw[:1]
        raw = scipy.signal.lfilter(*coefficients, raw, axis=0, zi=start)[0]
    return raw + level.accel_noise * generator(seed, "accel").standard_normal(raw.shape)
