"""Faults of one rotor's telemetry, put into the streams of a flight.

    faulty = with_fault(flight, "half", rotor=2, seed=7)

The rotor itself flies as before; only what is logged of its speed is wrong. In three of five flights the fault
lasts from the first sample, else from a moment in the first half.
"""

from dataclasses import replace

import numpy as np
from tests.world.draws import generator
from tests.world.flights import Flight

KINDS = ("dead", "stuttering", "frozen", "half", "double")


def with_fault(flight: Flight, kind: str, rotor: int, seed: int) -> Flight:
    """The flight with one rotor's speed telemetry at fault.

    dead: zero. stuttering: bursts of 20 to 200 ms, 2 to 4 a second, in which it is zero or repeats the last value.
    frozen: pieces of 0.5 to 3 s at the value of their start, half of the time in all. half, double: read at half or at
    double the speed, as with a wrong number of poles or a missed edge.
    """
    if kind not in KINDS:
        raise ValueError(f"no rotor fault {kind!r}; there are {KINDS}")
    stream = flight.streams["rotors.speed"]
    rng = generator(seed, f"fault {kind} {rotor}")
    time = stream.time - stream.time[0]
    start = 0.0 if rng.random() < 0.6 else rng.uniform(0.05, 0.5) * time[-1]
    speed = stream.values[:, rotor].copy()
    begin = int(np.searchsorted(time, start))
    if kind == "dead":
        speed[begin:] = 0.0
    elif kind in {"half", "double"}:
        speed[begin:] *= 0.5 if kind == "half" else 2.0
    else:
        zeros = kind == "stuttering" and rng.random() < 0.5
        for first, last in _pieces(kind, rng, time, start):
            speed[first:last] = 0.0 if zeros else speed[max(first - 1, 0)]
    values = stream.values.copy()
    values[:, rotor] = speed
    return replace(flight, streams=flight.streams | {"rotors.speed": replace(stream, values=values)})


def _pieces(kind, rng, time, start):
    """Index ranges of the pieces in which the telemetry is wrong."""
    now = start
    while now < time[-1]:
        wait, last = (
            (rng.uniform(0.1, 0.4), rng.uniform(0.02, 0.2))
            if kind == "stuttering"
            else (rng.uniform(0.5, 3.0), rng.uniform(0.5, 3.0))
        )
        first, end = np.searchsorted(time, [now + wait, now + wait + last])
        if end > first:
            yield int(first), int(end)
        now += wait + last
