"""Thrown bodies: a measuring device with an IMU and a flywheel on a body of unknown inertia, carried, thrown, caught.

    flights = fly_bodies(REALISTIC, seeds=range(20))
    flights[0].streams["imu.gyro"], .streams["rotors.speed"]    one clock, one sample of the wheel with each of the IMU
    flights[0].truth["principal.1"], .nominal["flywheel.inertia"], .throws.releases

Body axes are those of the device, its origin the IMU. I is the inertia of the whole body about its centre of mass c,
the flywheel in it as if it were locked: about its axis a and across it, with the mass of the wheel at its place. The
wheel turns at W relative to the body, which is what the motor's telemetry counts, so that its momentum beside I w is

    (1)  h = J W a,   dh = J dW a,   dW = (target - W) / lag,

and rigid.py's (1) to (3) hold; the motor's torque on the wheel is internal, -dh its reaction on the body. Air, at
the true airspeed u of the centre of pressure, body axes, of a body with the mean area A and the longest side d:

    (2)  F = -1/2 rho 1.05 A |u| u,   T = -0.02 rho d^5 |w| w          [Hoerner, Fluid-Dynamic Drag 1965, ch. 3, box]
    (3)  M = -1/2 rho W |W| r^5 3.87 / sqrt(|W| r^2 / nu) a        [Schlichting, free disc, laminar, both sides]

(3) is what the air does to the wheel; the motor holds its speed, so the body feels it. The fingers slip in the last
30 ms before the release; a catch or a landing is the hand's plus pulses of force at points of the surface.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields

import numpy as np
import scipy.signal
from tests.world.draws import clipped_normal, generator
from tests.world.hand import CARRY, FREE, STROKE, Hand, Throws
from tests.world.levels import Level
from tests.world.rigid import GRAVITY, MassProperties, Motion, Wrench, derivative, step_rk4
from tests.world.streams import Stream, draw_clock
from tests.world.vectors import (
    apply_transposed,
    cross,
    norm,
    normalize,
    quaternion_of_vector,
    rotation_matrix,
)

RATE = 4000  # Hz, of the plant and of the sensors
TICK = 1.0 / RATE
LOG_RATES = {"ideal": (1000, 2000, 4000), "realistic": (1000, 2000, 4000), "nasty": (1000,)}
TELEMETRY_RATES = {
    "ideal": RATE,
    "realistic": 1000,
    "nasty": 200,
}  # Hz, the log holds the last value in between
KNOWN_WHEEL = {
    "ideal": 0.0,
    "realistic": 0.0075,
    "nasty": 0.015,
}  # relative error of the nominal J, deviation
WHEEL_INERTIA = 1.689e-6  # kg m2
WHEEL_RADIUS = 0.0125  # m
WHEEL_FLOOR = 60.0  # rad/s below which a sensorless motor reports that it stands
ERPM = 100 / 7 * 2 * np.pi / 60  # rad/s of one unit of telemetry
VIBRATION_SPEED = 3000.0  # rad/s at which vibration has the size of the level
GYRO_RANGE, ACCEL_RANGE = np.radians(2000.0), 16 * GRAVITY
GYRO_UNIT, ACCEL_UNIT = np.radians(1 / 16.384), GRAVITY / 2048
AIR, VISCOSITY = 1.2, 1.5e-5  # kg/m3, m2/s
PULSES = 6  # of a throw: one before the release, the others at its end
SHAPES = ("elongated", "axisymmetric", "general")


@dataclass(frozen=True)
class ThrownBody:
    """One body with its device; in a batch the flights are a last axis. SI units, body axes, origin the IMU."""

    mass: np.ndarray
    com: np.ndarray  # (3,)
    inertia: np.ndarray  # (3, 3) about the centre of mass, locked wheel included
    size: np.ndarray  # (3,) m, along the principal axes
    pressure: np.ndarray  # (3,) centre of pressure
    wheel_inertia: np.ndarray
    wheel_axis: np.ndarray  # (3,)
    wheel_nominal: np.ndarray  # J as the user knows it
    imu_wxyz: np.ndarray  # (4,) IMU's axes in the body's

    @property
    def principal(self):
        """Principal moments (3,), ascending, and their axes as columns (3, 3), right-handed."""
        moments, axes = np.linalg.eigh(self.inertia)
        return moments, axes * np.array([1.0, 1.0, np.sign(np.linalg.det(axes))])


@dataclass(frozen=True)
class Wheel:
    """Targets of a flywheel: from starts (S,) s on, target (S,) rad/s is approached with lag (S,) s."""

    starts: np.ndarray
    targets: np.ndarray
    lags: np.ndarray


@dataclass(frozen=True)
class Shocks:
    """Half sines of force: starts and lengths (K,) s, force (K, 3) N at point (K, 3) m, body axes."""

    starts: np.ndarray
    lengths: np.ndarray
    force: np.ndarray
    point: np.ndarray


@dataclass(frozen=True)
class BodyRecord:
    """The true flight at 4 kHz: arrays (T, ...) of the origin, which is the IMU; body axes but for the first two."""

    time: np.ndarray
    position: np.ndarray
    velocity: np.ndarray
    wxyz: np.ndarray
    rate: np.ndarray
    specific_force: np.ndarray
    angular: np.ndarray
    speed: np.ndarray  # (T,) of the wheel
    angle: np.ndarray  # (T,)


@dataclass(frozen=True)
class BodyFlight:
    """One log: streams by channel, truth by parameter, what the user knows, when it flew freely."""

    seed: int
    level: Level
    body: ThrownBody
    wheel: Wheel
    streams: dict[str, Stream]
    truth: dict
    nominal: dict
    throws: Throws
    telemetry_late: float  # s
    record: BodyRecord | None = field(default=None, repr=False)


def draw_body(level: Level, seed: int) -> ThrownBody:
    """A body of 0.15 to 1.5 kg and 4 to 20 cm: elongated, nearly axisymmetric, or with three different moments."""
    rng = generator(seed, "thrown body")
    shape = SHAPES[int(rng.integers(len(SHAPES)))]
    mass = float(np.exp(rng.uniform(np.log(0.15), np.log(1.5))))
    if shape == "elongated":
        size = np.array([rng.uniform(0.13, 0.2), rng.uniform(0.05, 0.08), rng.uniform(0.04, 0.06)])
    elif shape == "axisymmetric":
        side = rng.uniform(0.05, 0.12)
        size = np.array([rng.uniform(0.05, 0.2), side, side * (1 + 0.03 * clipped_normal(rng))])
    else:
        size = rng.permutation([rng.uniform(0.13, 0.18), rng.uniform(0.08, 0.12), rng.uniform(0.04, 0.07)])
    second = mass * size**2 / 12 * rng.uniform(0.8, 1.3)  # hollow, or heavy in its middle
    turn = 0.1 * clipped_normal(rng, 3) if rng.random() < 0.7 else rng.uniform(-2.0, 2.0, 3)
    frame = rotation_matrix(quaternion_of_vector(turn)) @ np.eye(3)[rng.permutation(3)]
    direction = rng.standard_normal(3)
    com = rng.uniform(0.005, 0.05) * direction / np.linalg.norm(direction)
    wheel = WHEEL_INERTIA * rng.uniform(0.8, 1.25)
    tilt = level.axis_error * clipped_normal(rng, 2)
    mounting = level.imu_misalignment * clipped_normal(rng, 3)
    return ThrownBody(
        mass=np.float64(mass),
        com=com,
        inertia=frame @ np.diag(second.sum() - second) @ frame.T,
        size=size,
        pressure=com + frame @ (0.03 * size * clipped_normal(rng, 3)),
        wheel_inertia=np.float64(wheel),
        wheel_axis=normalize(np.array([*tilt, -1.0])),
        wheel_nominal=np.float64(wheel * (1 + KNOWN_WHEEL[level.name.split("+")[0]] * clipped_normal(rng))),
        imu_wxyz=quaternion_of_vector(mounting),
    )


def on_grid(time: float) -> float:
    """A time moved to a tick: what jumps does so between two steps."""
    return round(time * RATE) / RATE


def draw_plan(seed: int, body: ThrownBody, count: int) -> tuple[Throws, Wheel, Shocks]:
    """Throws of 0.8 to 1.2 s, spun at 2 to 15 rad/s about each axis; the wheel is started 40 to 150 ms after each."""
    rng = generator(seed, "body throws")
    starts, kinds, accelerations, turnings, lengths = [0.0], [], [], [], []
    wheel, shocks = [(0.0, _idle(rng), 0.05)], []
    pulsed = rng.random() < 0.5
    for _ in range(count):
        free, stroke = rng.uniform(0.8, 1.2), rng.uniform(0.25, 0.35)
        scale = np.pi / (2 * stroke)  # peak of half a sine whose integral is one
        up = GRAVITY * free / 2 * rng.uniform(0.95, 1.05)
        accelerations.append(scale * np.array([*(0.08 * up * rng.standard_normal(2)), up]))
        turnings.append(scale * rng.uniform(2.0, 15.0, 3) * rng.choice([-1.0, 1.0], 3))
        lengths.append(on_grid(stroke))
        for kind, time in ((CARRY, rng.uniform(0.4, 0.6)), (STROKE, stroke), (FREE, free)):
            kinds.append(kind)
            starts.append(on_grid(starts[-1] + time))
        release, end = starts[-2], starts[-1]
        begin, lag = release + rng.uniform(0.04, 0.15), rng.uniform(0.03, 0.09)
        stop = begin + rng.uniform(0.35, 0.5) if pulsed else end + rng.uniform(0.05, 0.2)
        wheel.append((on_grid(begin), np.exp(rng.uniform(np.log(800.0), np.log(6000.0))), lag))
        wheel.append((on_grid(stop), wheel[0][1], lag * rng.uniform(1.0, 1.5)))
        shocks += _draw_pulses(rng, body, release, end)
    kinds.append(CARRY)
    starts.append(float("inf"))
    plan = Throws(
        np.array(starts), np.array(kinds), np.array(accelerations), np.array(turnings), np.array(lengths)
    )
    columns = [np.array(column) for column in zip(*shocks, strict=True)]
    return plan, Wheel(*(np.array(column) for column in zip(*wheel, strict=True))), Shocks(*columns)


def _idle(rng) -> float:
    return rng.uniform(60.0, 300.0) if rng.random() < 0.5 else 0.0


def _draw_pulses(rng, body: ThrownBody, release: float, end: float):
    """Pulses of one throw: start, length, force, point; the first of the fingers, others of the catch or the floor."""
    lands = rng.random() < 0.5
    offsets = np.sort(rng.uniform(0.0, 0.15, PULSES - 1))
    for k in range(PULSES):
        length = rng.uniform(0.004, 0.012)
        start = release - length - rng.uniform(0.0, 0.02) if k == 0 else end + (k > 1) * offsets[k - 1]
        peak = rng.uniform(3.0, 20.0) if k == 0 else rng.uniform(40.0, 500.0 if lands else 150.0) / k
        way = rng.standard_normal(3)
        point = body.com + rng.uniform(-0.5, 0.5, 3) * body.size.min()
        yield on_grid(start), on_grid(length), float(body.mass) * peak * way / np.linalg.norm(way), point


def duration_of(count: int) -> float:
    """Length of a log of `count` throws, s, the same whoever flies beside."""
    return count * (0.6 + 0.35 + 1.2) + 0.35


def stacked(parts):
    """Equal dataclasses of arrays as one, the parts as a last axis."""
    kind = type(parts[0])
    return kind(**{f.name: np.stack([getattr(p, f.name) for p in parts], axis=-1) for f in fields(kind)})


class BodyPlant:
    """Bodies of a batch in the hand and in the air."""

    def __init__(self, level: Level, seeds, bodies, plans):
        self.level, self.bodies, self.count = level, stacked(bodies), len(seeds)
        self.properties = MassProperties.of(self.bodies.mass, self.bodies.com, self.bodies.inertia)
        self.hand = Hand([plan for plan, _, _ in plans], seeds, lambda _time: self.properties)
        self.wheel, self.shocks = stacked([w for _, w, _ in plans]), stacked([s for _, _, s in plans])
        rngs = [generator(seed, "body start") for seed in seeds]
        heading = np.stack([rng.uniform(-2.0, 2.0, 3) for rng in rngs], axis=-1)
        wind = [level.wind_mean * clipped_normal(rng, 2) / np.sqrt(2) for rng in rngs]
        self.wind = np.stack([np.array([*w, 0.0]) for w in wind], axis=-1)
        zero = np.zeros((3, self.count))
        height = zero + np.array([[0.0], [0.0], [1.3]])
        self.motion = Motion(height, quaternion_of_vector(heading), zero, zero)
        sides = self.bodies.size
        self.area = (sides[0] * sides[1] + sides[1] * sides[2] + sides[2] * sides[0]) / 3
        self.length = sides.max(axis=0)
        self.flights = np.arange(self.count)
        self.stage = np.zeros(self.count, int)
        self.entry = self.wheel.targets[0].copy()  # speed at the start of the stage
        self.angle = np.zeros(self.count)

    def begin_tick(self, time: float) -> None:
        """Take over what changes at this tick: phase of the hand, stage of the wheel."""
        self.hand.begin_tick(time, self.motion)
        self.held = (self.hand.kinds[self.hand.phase, self.flights] != FREE).any()
        begun = self.shocks.starts < time + TICK
        self.acting = np.flatnonzero((begun & (time <= self.shocks.starts + self.shocks.lengths)).any(axis=1))
        stage = (time >= self.wheel.starts[1:] - 1e-9).sum(axis=0)
        if (stage != self.stage).any():
            self.entry = np.where(stage != self.stage, self.spin(time)[0], self.entry)
            self.stage = stage

    def spin(self, time: float):
        """Speed and acceleration (N) of the wheels, (1) solved exactly within the stage."""
        start, target, lag = (
            part[self.stage, self.flights]
            for part in (self.wheel.starts, self.wheel.targets, self.wheel.lags)
        )
        off = (self.entry - target) * np.exp(-(time - start) / lag)
        return target + off, -off / lag

    def wrench(self, time: float, motion: Motion) -> Wrench:
        """Everything but gravity: hand, shocks, air, and the wheel's momentum."""
        attitude = rotation_matrix(motion.wxyz)
        force = torque = np.zeros_like(motion.rate)
        if self.held:
            force, torque = self.hand(time, motion, attitude)
        for k in self.acting:
            since = time - self.shocks.starts[k]
            acts = (since >= 0) & (since <= self.shocks.lengths[k])
            pulse = self.shocks.force[k] * np.where(acts, np.sin(np.pi * since / self.shocks.lengths[k]), 0.0)
            force, torque = force + pulse, torque + cross(self.shocks.point[k], pulse)
        speed, change = self.spin(time)
        body, air = self.bodies, self.level.aero
        if air > 0:
            wind = apply_transposed(attitude, motion.velocity - self.wind)
            wind = wind + cross(motion.rate, body.pressure)
            drag = -0.5 * AIR * 1.05 * self.area * norm(wind) * wind
            damping = -0.02 * AIR * self.length**5 * norm(motion.rate) * motion.rate
            reynolds = np.maximum(np.abs(speed) * WHEEL_RADIUS**2 / VISCOSITY, 1.0)
            disc = -0.5 * AIR * speed * np.abs(speed) * WHEEL_RADIUS**5 * 3.87 / np.sqrt(reynolds)
            force = force + air * drag
            torque = torque + air * (cross(body.pressure, drag) + damping + disc * body.wheel_axis)
        axis = body.wheel_inertia * body.wheel_axis
        return Wrench(force, torque, speed * axis, change * axis)

    def run(self, duration: float) -> dict[str, np.ndarray]:
        """Arrays (T, ..., N) of the names of `BodyRecord`."""
        ticks = round(duration * RATE)
        found: dict[str, list] = {f.name: [] for f in fields(BodyRecord)}
        for tick in range(ticks):
            time = tick * TICK
            self.begin_tick(time)
            now = self.motion
            first = self.wrench(time, now)
            _, force, angular = derivative(self.properties, now, first)
            speed, _ = self.spin(time)
            row = (
                time, now.position, now.velocity, now.wxyz, now.rate, force, angular, speed, self.angle
            )  # fmt: skip
            for values, value in zip(found.values(), row, strict=True):
                values.append(value)
            self.motion = step_rk4(
                self.properties,
                now,
                lambda t, m, first=first, now=now: first if m is now else self.wrench(t, m),
                time,
                TICK,
            )
            target, lag = (
                self.wheel.targets[self.stage, self.flights],
                self.wheel.lags[self.stage, self.flights],
            )
            self.angle = self.angle + target * TICK + (speed - target) * lag * (1 - np.exp(-TICK / lag))
        return {name: np.array(values) for name, values in found.items()}


def fly_bodies(
    level: Level,
    seeds: Sequence[int],
    throws: int = 1,
    *,
    body_seeds: Sequence[int] | None = None,
    bodies: Sequence[ThrownBody] | None = None,
    keep_record: bool = False,
) -> list[BodyFlight]:
    """Throw a body per seed `throws` times in one log; `body_seeds` lets flights share one; or give `bodies`."""
    seeds = [int(seed) for seed in seeds]
    bodies = list(bodies or [draw_body(level, seed) for seed in body_seeds or seeds])
    if len(bodies) != len(seeds):
        raise ValueError(f"{len(bodies)} bodies for {len(seeds)} flights; give one for each flight")
    plans = [draw_plan(seed, body, throws) for seed, body in zip(seeds, bodies, strict=True)]
    twice = 2 if len(seeds) == 1 else 1  # sums over one column may be added in another order
    plant = BodyPlant(level, seeds * twice, bodies * twice, plans * twice)
    columns = plant.run(duration_of(throws))
    flights = []
    for index, (seed, body, (plan, wheel, _)) in enumerate(zip(seeds, bodies, plans, strict=True)):
        record = BodyRecord(
            **{name: v if name == "time" else v[..., index].copy() for name, v in columns.items()}
        )
        streams, late = measure(record, body, level, seed)
        nominal = {"flywheel.inertia": float(body.wheel_nominal), "flywheel.axis": (0.0, 0.0, -1.0)}
        kept = record if keep_record else None
        truth = truth_of_body(body)
        flights.append(BodyFlight(seed, level, body, wheel, streams, truth, nominal, plan, late, kept))
    return flights


def truth_of_body(body: ThrownBody) -> dict:
    """What an estimator may say, body axes: the whole body about its centre of mass, locked wheel included."""
    moments, axes = body.principal
    truth = {"mass": float(body.mass), "flywheel.inertia": float(body.wheel_inertia)}
    truth |= {f"principal.{i + 1}": float(moment) for i, moment in enumerate(moments)}
    truth["principal.axes"] = axes
    pairs = {"xx": (0, 0), "yy": (1, 1), "zz": (2, 2), "xy": (0, 1), "xz": (0, 2), "yz": (1, 2)}
    truth |= {f"inertia.{name}": float(body.inertia[pair]) for name, pair in pairs.items()}
    truth |= {f"imu.position.{k}": float(-v) for k, v in zip("xyz", body.com, strict=True)}
    truth["flywheel.axis"], truth["imu.wxyz"] = body.wheel_axis, body.imu_wxyz
    return truth


def measure(record: BodyRecord, body: ThrownBody, level: Level, seed: int):
    """Streams by channel, and how late the telemetry is, s."""
    rng = generator(seed, "body imu")
    name = level.name.split("+")[0]
    rotation = rotation_matrix(body.imu_wxyz)
    rough = level.accel_vibration > 0 or level.gyro_vibration > 0
    waves = _waves(record) if rough else None
    scales = 1 + level.imu_scale * rng.standard_normal((2, 3))
    biases = np.array([[level.gyro_bias], [level.accel_bias]]) * rng.standard_normal((2, 3))
    measured = []
    for true, scale, bias, vibration, cutoff, noise, limit, unit in (
        (record.rate, scales[0], biases[0], level.gyro_vibration, level.gyro_cutoff, level.gyro_noise,
         GYRO_RANGE, GYRO_UNIT),
        (record.specific_force, scales[1], biases[1], level.accel_vibration, level.accel_cutoff, level.accel_noise,
         ACCEL_RANGE, ACCEL_UNIT),
    ):  # fmt: skip
        shape = rng.standard_normal((3, 4)) * np.array([1.0, 1.0, 0.3, 0.3])
        raw = true @ rotation
        if waves is not None:
            raw = raw + vibration * waves @ (shape / np.sqrt((shape**2).sum(axis=1, keepdims=True) / 2)).T
        raw = np.clip(scale * raw + bias, -limit, limit)
        if cutoff > 0:
            b, a = scipy.signal.butter(2, cutoff, fs=RATE)
            raw = scipy.signal.lfilter(
                b, a, raw, axis=0, zi=scipy.signal.lfilter_zi(b, a)[:, None] * raw[:1]
            )[0]
        raw = raw + noise * rng.standard_normal(raw.shape)
        measured.append(np.round(raw / unit) * unit if name != "ideal" else raw)
    speed, late = measure_wheel(record, level, generator(seed, "wheel telemetry"))
    log_rate = int(generator(seed, "log rate").choice(LOG_RATES[name]))
    stride = RATE // log_rate
    kept = slice(int(rng.integers(stride)), None, stride)
    clocks = generator(seed, "body clock")
    clock = draw_clock(level, clocks, float(record.time[-1]), 0.0)
    period = stride * TICK
    clock = type(clock)(clock.offset, min(clock.jitter, 0.3 * period), clock.dropped, clock.gap)
    stamps, arrived = clock.stamp(record.time[kept], clocks)
    axes = ("x", "y", "z")
    streams = {
        channel: Stream(stamps[arrived], values[kept][arrived], columns, unit)
        for channel, values, columns, unit in (
            ("imu.gyro", measured[0], axes, "rad/s"),
            ("imu.accel", measured[1], axes, "m/s2"),
            ("rotors.speed", speed[:, None], ("flywheel",), "rad/s"),
        )
    }
    return streams, late


def _waves(record: BodyRecord):
    """Cosine and sine of the wheel's angle and of twice it, times its speed squared: unbalance (T, 4)."""
    size = (record.speed / VIBRATION_SPEED) ** 2
    once = [np.cos(record.angle), np.sin(record.angle)]
    return np.stack([size * w for w in (*once, np.cos(2 * record.angle), np.sin(2 * record.angle))], axis=1)


def measure_wheel(record: BodyRecord, level: Level, rng):
    """Telemetry of the wheel (T,) rad/s: late, held, rounded, zero below the floor; and how late it is, s."""
    name = level.name.split("+")[0]
    late = level.speed_latency * rng.uniform(0.8, 1.2)
    hold = RATE // TELEMETRY_RATES[name]
    phase = int(rng.integers(hold))
    updates = np.maximum((np.arange(len(record.time)) - phase) // hold * hold + phase, 0)
    speed = np.interp(record.time[updates] - late, record.time, record.speed)
    noise = level.speed_noise * rng.standard_normal(len(record.time))
    speed = speed * (1 + noise[updates])
    if level.speed_quantum > 0:
        period = 2.0 ** np.floor(np.log2(1e6 / np.maximum(speed, 1.0))) / 512  # nine bits of period
        speed = 1e6 / (np.round(1e6 / np.maximum(speed, 1.0) / period) * period)
        unit = max(ERPM, level.speed_quantum * 2 * np.pi / 60) if name == "nasty" else ERPM
        speed = np.where(speed < WHEEL_FLOOR, 0.0, np.round(speed / unit) * unit)
    return speed, late
