"""What the pilot's sticks ask for: roll and pitch (rad), yaw rate (rad/s), climb (m/s), every 2 ms.

Profiles: "full" mixes doublets, steps, chirps of 0.5 to 6 Hz (25 to 35 degrees, 2 to 3 rad/s) and climbs of 2 m/s
in an order drawn by seed; "doublets", "steps", "chirps" and "climbs" have one kind only; "gentle" mixes them at 5
to 10 degrees; "hover" asks for nothing. Sticks move no quicker than the rate that is asked for.
"""

import numpy as np
from tests.world.draws import generator

STEP = 0.002  # s
KINDS = ("doublets", "steps", "chirps", "climbs")
PROFILES = ("full", *KINDS, "gentle", "hover")
ROLL, PITCH, YAW, CLIMB = range(4)


def draw_sticks(profile: str, seeds, duration: float):
    """Sticks (K, 4, N) of flights: 1.5 s of hover, manoeuvres, at least 1 s of hover; a tenth of a short flight."""
    if profile not in PROFILES:
        raise ValueError(f"no stick profile {profile!r}; there are {PROFILES}")
    drawn = [_manoeuvres(profile, seed, duration) for seed in seeds]
    return limit_rate(np.stack([d[0] for d in drawn], axis=-1), np.stack([d[1] for d in drawn], axis=-1))


def _manoeuvres(profile, seed, duration):
    """Wanted sticks (K, 4) of a flight, and the rate (4,) per second at which each stick moves at most."""
    count = round(duration / STEP)
    out = np.zeros((count, 4))
    rng = generator(seed, "sticks")
    gentle = profile == "gentle"
    rate = rng.uniform(0.4, 0.8) if gentle else rng.uniform(2.0, 3.0)
    kinds = {"full": KINDS, "gentle": KINDS, "hover": ()}.get(profile, (profile,))
    end = count - round(min(1.0, 0.1 * duration) / STEP)
    start = round(min(1.5, 0.1 * duration) / STEP)
    while kinds and start < end:
        for kind in rng.permutation(kinds):
            piece = _PIECES[str(kind)](rng, gentle)
            length = min(len(piece), max(end - start, 0))
            out[start : start + length] += piece[:length]
            start += length + round(0.3 / STEP)
    return out, np.array([rate, rate, 4 * rate, 4.0])


def limit_rate(values, rate):
    """The values (K, ...), followed no quicker than `rate` (...) per second."""
    out = np.empty_like(values)
    now, most = np.zeros_like(values[0]), rate * STEP
    for k, value in enumerate(values):
        now = now + np.clip(value - now, -most, most)
        out[k] = now
    return out


def _tilt(rng, gentle):
    return np.deg2rad(rng.uniform(5, 10) if gentle else rng.uniform(25, 35))


def _yaw(rng, gentle):
    return rng.uniform(0.3, 0.6) if gentle else rng.uniform(2.0, 3.0)


def _doublets(rng, gentle):
    """One doublet in roll, one in pitch, one in yaw rate, in random order."""
    pieces = []
    for axis in rng.permutation(3):
        size = _yaw(rng, gentle) if axis == YAW else _tilt(rng, gentle)
        half, sign = int(rng.uniform(0.3, 0.55) / STEP), rng.choice([-1.0, 1.0])
        piece = np.zeros((2 * half + int(0.3 / STEP), 4))
        piece[:half, axis] = sign * size
        piece[half : 2 * half, axis] = -sign * size
        pieces.append(piece)
    return np.concatenate(pieces)


def _steps(rng, gentle):
    """Roll and pitch stepped together to random corners."""
    pieces = []
    size = _tilt(rng, gentle)
    first = rng.choice([-1.0, 1.0], 2)
    for corner in (first, -first, first * [1, -1], -first * [1, -1]):
        piece = np.zeros((int(rng.uniform(0.4, 0.7) / STEP), 4))
        piece[:, :2] = 0.7 * size * corner
        pieces.append(piece)
    return np.concatenate(pieces)


def _chirps(rng, gentle):
    """A sweep from 0.5 to 6 Hz in roll or pitch and one in the other, with yaw below."""
    pieces = []
    for axis in rng.permutation(2):
        time = np.arange(0.0, rng.uniform(2.5, 3.5), STEP)
        ratio = 12.0
        frequency = 0.5 * ratio ** (time / time[-1])
        phase = 2 * np.pi * np.cumsum(frequency) * STEP
        most = (0.6 if gentle else rng.uniform(2.0, 3.0)) / (2 * np.pi * frequency)
        piece = np.zeros((len(time), 4))
        piece[:, axis] = rng.choice([-1.0, 1.0]) * np.minimum(_tilt(rng, gentle), most) * np.sin(phase)
        piece[:, YAW] = 0.5 * _yaw(rng, gentle) * np.sin(2 * np.pi * time / time[-1])
        pieces.append(piece)
    return np.concatenate(pieces)


def _climbs(rng, gentle):
    """Up and down again, or down and up where the flight is high enough (the pilot sees to the ground)."""
    speed = 0.7 if gentle else 2.0
    up, down = int(rng.uniform(0.8, 1.2) / STEP), int(0.4 / STEP)
    piece = np.zeros((2 * up + down, 4))
    piece[:up, CLIMB] = speed
    piece[up + down :, CLIMB] = -speed
    return piece


_PIECES = {"doublets": _doublets, "steps": _steps, "chirps": _chirps, "climbs": _climbs}
