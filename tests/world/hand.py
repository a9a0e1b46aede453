"""A hand that carries a vehicle, throws it, catches it and throws it again.

The hand is a frame with a motion of its own, and holds the body by springs and dampers in all six directions:

    (1)  F = m (n^2 (p_h - p) + 2 z n (v_h - v) + a_h - g),   T = I (n^2 e + 2 z n (w_h - w)),

T about the centre of gravity, e the rotation vector from body to hand. Phases, repeated for each throw: carry (sway
of an arm and tremor near 9 Hz; Elble, J. Neurol. Sci. 1986), stroke (half a sine of acceleration and of angular
acceleration, which ends in the release), free flight. A catch takes over the body's position, velocity and rate and
brings them to rest in about 0.1 s.
"""

from dataclasses import dataclass

import numpy as np
from tests.world.draws import generator
from tests.world.rigid import GRAVITY, MassProperties, Motion
from tests.world.vectors import (
    apply,
    apply_transposed,
    conjugate,
    cross,
    multiply,
    quaternion_of_vector,
    vector_of_quaternion,
)

CARRY, STROKE, FREE = range(3)
STOP = 0.10  # s in which a caught vehicle comes to rest
STIFFNESS = 55.0  # rad/s
DAMPING = 0.7


@dataclass(frozen=True)
class Throws:
    """The plan of one flight: starts (P + 1) s of its phases, kinds (P), and the strokes (K of each)."""

    starts: np.ndarray
    kinds: np.ndarray
    acceleration: np.ndarray  # (K, 3) m/s2, peak, world axes
    turning: np.ndarray  # (K, 3) rad/s2, peak, body axes
    lengths: np.ndarray  # (K,) s

    @property
    def releases(self) -> list[float]:
        """Times of release, s."""
        return [float(t) for t, kind in zip(self.starts, self.kinds, strict=False) if kind == FREE]

    @property
    def catches(self) -> list[float]:
        """Times of the catches, s."""
        return [float(self.starts[i + 1]) for i, kind in enumerate(self.kinds) if kind == FREE]


def draw_throws(
    seed: int, count: int = 2, spin: float = 6.0, height: float = 1.5, flight: float | None = None
) -> Throws:
    """A plan of `count` throws, about `height` m up, spinning at about `spin` rad/s per axis.

    `flight` is the time to the next catch, s; by default that of the fall back to the hand.
    """
    rng = generator(seed, "throws")
    starts, kinds, now = [0.0], [], 0.0
    accelerations, turnings, lengths = [], [], []
    for _ in range(count):
        length = rng.uniform(0.25, 0.35)
        speed = np.sqrt(2 * GRAVITY * height) * rng.uniform(0.9, 1.1)
        lean = 0.08 * speed * rng.standard_normal(2)
        scale = np.pi / (2 * length)  # peak of half a sine whose integral is one
        accelerations.append(scale * np.array([*lean, speed]))
        turnings.append(scale * spin * rng.standard_normal(3))
        lengths.append(length)
        free = 2 * speed / GRAVITY * 0.95 if flight is None else flight
        for kind, time in ((CARRY, rng.uniform(1.5, 2.5)), (STROKE, length), (FREE, free)):
            now += time
            kinds.append(kind)
            starts.append(now)
    kinds.append(CARRY)
    starts.append(float("inf"))
    return Throws(
        np.array(starts), np.array(kinds), np.array(accelerations), np.array(turnings), np.array(lengths)
    )


def longest_throw(height: float = 1.5, flight: float | None = None) -> float:
    """The longest that a carry, a stroke and a flight of `draw_throws` can last together, s."""
    fall = 2 * 1.1 * np.sqrt(2 * GRAVITY * height) / GRAVITY * 0.95
    return float(2.5 + 0.35 + (fall if flight is None else flight))


class Hand:
    """The hands of a batch; `begin_tick` is called once a tick, the object itself for the wrench at any state."""

    def __init__(self, plans: list[Throws], seeds, masses):
        self.plans, self.masses = plans, masses
        count = len(plans)
        self.starts = np.stack([plan.starts for plan in plans], axis=-1)
        self.kinds = np.stack([plan.kinds for plan in plans], axis=-1)
        self.acceleration = np.stack([plan.acceleration for plan in plans], axis=-1)
        self.turning = np.stack([plan.turning for plan in plans], axis=-1)
        self.lengths = np.stack([plan.lengths for plan in plans], axis=-1)
        rngs = [generator(seed, "hand") for seed in seeds]
        self.sway = np.stack([rng.normal(size=(3, 3)) * [0.03, 0.03, 0.0006] for rng in rngs], axis=-1)
        self.frequency = np.stack([rng.uniform([0.2, 0.5, 8.0], [0.5, 1.2, 10.0]) for rng in rngs], axis=-1)
        self.flights = np.arange(count)
        self.phase = np.full(count, -1)
        self.anchor = None

    def begin_tick(self, time: float, motion: Motion) -> None:
        """Where a phase begins, take over the body's state."""
        phase = (time >= self.starts[1:] - 1e-9).sum(axis=0)
        new = phase != self.phase
        if self.anchor is None:
            self.anchor = motion
        elif new.any():
            kept = zip(vars(self.anchor).values(), vars(motion).values(), strict=True)
            self.anchor = Motion(*(np.where(new, now, old) for old, now in kept))
        self.phase = phase

    def frame(self, time: float):
        """Position, velocity, acceleration (3, N) world; rotation from the anchor, rate (3, N) body; who holds."""
        start = self.starts[self.phase, self.flights]
        since = np.maximum(time - start, 0.0)
        kind = self.kinds[self.phase, self.flights]
        anchor = self.anchor
        rest = np.exp(-since / STOP)
        ramp = 1 - np.exp(-since / 0.3)
        ramp_rate = np.exp(-since / 0.3) / 0.3
        omega = 2 * np.pi * self.frequency
        sine, cosine = np.sin(omega * since), np.cos(omega * since)
        sway = (self.sway * sine).sum(axis=1)
        sway_rate = (self.sway * omega * cosine).sum(axis=1)
        position = anchor.position + anchor.velocity * STOP * (1 - rest) + ramp * sway
        velocity = anchor.velocity * rest + ramp * sway_rate + ramp_rate * sway
        acceleration = -anchor.velocity * rest / STOP
        angle, rate = anchor.rate * STOP * (1 - rest), anchor.rate * rest
        stroke = kind == STROKE
        which = np.minimum(self.phase // 3, len(self.lengths) - 1)
        length = self.lengths[which, self.flights]
        peak = self.acceleration[which, :, self.flights].T
        turn = self.turning[which, :, self.flights].T
        part = np.pi * np.minimum(since / length, 1.0)
        once = length / np.pi * (1 - np.cos(part))
        twice = length / np.pi * (since - length / np.pi * np.sin(part))
        return (
            np.where(stroke, anchor.position + anchor.velocity * since + peak * twice, position),
            np.where(stroke, anchor.velocity + peak * once, velocity),
            np.where(stroke, peak * np.sin(part), acceleration),
            np.where(stroke, turn * twice, angle),
            np.where(stroke, turn * once, rate),
            kind != FREE,
        )

    def __call__(self, time: float, motion: Motion, attitude):
        """Force and torque about the origin (3, N), body axes, (1)."""
        position, velocity, acceleration, angle, rate, holds = self.frame(time)
        body: MassProperties = self.masses(time)
        pull = STIFFNESS**2 * (position - motion.position) + 2 * DAMPING * STIFFNESS * (
            velocity - motion.velocity
        )
        pull = pull + acceleration
        pull[2] += GRAVITY
        force = apply_transposed(attitude, body.mass * pull)
        wanted = multiply(self.anchor.wxyz, quaternion_of_vector(angle))
        error = vector_of_quaternion(multiply(conjugate(motion.wxyz), wanted))
        twist = STIFFNESS**2 * error + 2 * DAMPING * STIFFNESS * (rate - motion.rate)
        torque = apply(body.inertia, twist) + cross(body.com, force)
        return np.where(holds, force, 0.0), np.where(holds, torque, 0.0)


class Unarmed:
    """A controller and mixer in one that never starts the motors."""

    def __init__(self, drawing, *_):
        self.count = len(drawing.rotor_names)

    def __call__(self, measured, *_):
        shape = measured.gyro.shape[1]
        return np.zeros(shape), np.zeros((3, shape))


class UnarmedMixer(Unarmed):
    """Commands below zero: the motors stand."""

    def __call__(self, measured, *_):
        return np.full((self.count, measured.gyro.shape[1]), -1.0)
