"""Thrown into the air: what the program's loop learns from the hand to hover, and what the log of it tells afterwards.

Two throws with the motors at rest come first, as `haltere throw` has them, in a flight of their own: their log gives
the position of the IMU and the shape of the inertia. Where it does not, the loop does without, as `haltere throw
--no-prior-throws` does. Then the vehicle is thrown about 2.5 m high, spinning, and never caught.

The numbers with which the loop of `tests.world.adapters.throw_loop` flies the vehicle are compared with the truth in
axes of the IMU, and judged by the rule of `identify`. A throw that does not end within 0.5 m and 0.5 m/s of the
setpoint 6 s after release, or that touches the ground before, counts as a refusal, as `haltere throw` counts, and what
was stated on the way counts all the same. The time is not the loop's.
"""

from collections.abc import Sequence
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
from tests.world import flights as world
from tests.world.adapters import tumble
from tests.world.adapters.base import Estimator, Stated, to_flight
from tests.world.adapters.throw_loop import GOAL, Flown, Thrower
from tests.world.adapters.throw_readings import ThrowBatch
from tests.world.attempts import Attempt
from tests.world.batch import Setup
from tests.world.drawings import Drawing
from tests.world.hand import draw_throws
from tests.world.levels import Level
from tests.world.pilot import PERIOD
from tests.world.streams import Stream
from tests.world.vectors import rotation_matrix
from tests.world.vehicles import TICK, draw_vehicle

import haltere as ht
from haltere.airframe import Airframe
from haltere.airframe.rigid import RigidAirframe
from haltere.control.throw_loop import SensorNoise, TumbleKnowledge
from haltere.foundation.arrays import double_precision
from haltere.foundation.verdict import NORMAL, arm_length, judge, limits
from haltere.identification.tumble.imu_position import locate_imu
from haltere.identification.tumble.inertia import inertia_shape
from haltere.identification.tumble.tumble import find_tumbles
from haltere.scenarios.throw.chain import GYRO_RANGE
from haltere.scenarios.throw.throws import NEAR, SECONDS, SLOW

HEIGHT, SPIN = 2.5, 4.0
"""m of rise and rad/s, one sigma per axis: about those of `haltere throw`, 2.5 m and up to 7 rad/s."""
BIAS = 0.2
"""m/s2, what the loop is told of the accelerometer's."""
IN_HAND = 2.5 + 0.35 + 0.15
"""s: the longest carry and stroke, and a bit."""
ANOTHER = 1_000_000
"""Added to the seed of the two tumbles for that of the throw."""
VECTORS = (("fx", "fy", "fz"), ("p", "q", "r"), ("p_dot", "q_dot", "r_dot"))
MOTOR = ("max_speed", "idle_speed", "time_constant")
HEADING = "heading.rotation.z"
"""rad, from the level frame of the loop to the world."""
LEARNT, END = "throw.learnt", "throw.end"
"""Streams with the numbers of the loop, heading first, then as `names`, then all deviations; and with its end."""


def names(rotors: Sequence[str]) -> list[str]:
    """Of all numbers that the loop learns of a vehicle with these rotors."""
    rows = [f"effectiveness.{row}" for vector in VECTORS for row in vector]
    return [f"rotors.{r}.{kind}" for r in rotors for kind in (*rows, *MOTOR)] + [
        f"imu.position.{axis}" for axis in "xyz"
    ]


@double_precision()
def fly_to_hover(drawing: Drawing, level: Level, seeds: Sequence[int]) -> list[world.Flight]:
    """Two tumbles and a throw of each vehicle; the flights are those of the throws."""
    tumbled = [_knowledge(flight) for flight in tumble.fly_throws(drawing, level, seeds)]
    flights: dict[int, world.Flight] = {}
    for prior in (True, False):
        chosen = [
            (seed, known) for seed, known in zip(seeds, tumbled, strict=True) if (known is not None) == prior
        ]
        if chosen:
            some = [seed for seed, _ in chosen]
            own = [known or TumbleKnowledge.nothing() for _, known in chosen]
            flights |= dict(zip(some, throw(drawing, level, some, own, prior), strict=True))
    return [flights[seed] for seed in seeds]


def _knowledge(flight: world.Flight) -> TumbleKnowledge | None:
    """What the log of two tumbles tells; None if the program refuses it."""
    try:
        throws = find_tumbles(to_flight(flight, ("imu.",)))
        position = locate_imu(throws).position
        shape = inertia_shape([each.gyro for each in throws], throws[0].rate)
    except ht.HaltereError:
        return None
    return TumbleKnowledge.of(jnp.asarray(position), jnp.asarray(shape))


@double_precision()
def throw(
    drawing: Drawing,
    level: Level,
    seeds: Sequence[int],
    known: Sequence[TumbleKnowledge],
    prior: bool,
    seconds: float = SECONDS,
) -> list[world.Flight]:
    """The throws of a batch, with the numbers of the loop and the end of the flight as streams.

    Args:
        drawing: of the vehicles.
        level: of the world.
        seeds: of the flights.
        known: what each knows before.
        prior: whether tumbles gave it.
        seconds: from the release to the end of the flight.
    """
    duration = IN_HAND + seconds
    many, own = list(seeds), list(known)
    if len(many) == 1:  # as `fly`: no flight alone
        many, own = 2 * many, 2 * own
    plans = [draw_throws(seed + ANOTHER, 1, SPIN, HEIGHT, 2.0 * duration) for seed in many]
    stacked = jax.tree.map(lambda *x: jnp.stack(x), *own)
    noise = SensorNoise(level.gyro_noise, level.accel_noise, BIAS)
    thrower = Thrower(stacked, prior, noise, len(drawing.rotor_names))
    setup = Setup(tumble.HAND_HEIGHT, settle=0.0, throws=tuple(plans))
    vehicles = [draw_vehicle(drawing, level, seed) for seed in many]
    batch = ThrowBatch(drawing, level, many, vehicles, duration, setup)
    batch.run("hover", thrower.controller, thrower.mixer)
    flights = [world.finish(batch, index, True) for index in range(len(many))]
    assert thrower.flown is not None
    found = []
    for index in range(len(seeds)):
        flown = jax.tree.map(lambda x, i=index: np.asarray(x[i]), thrower.flown)
        position = np.asarray(own[index].imu_position)
        when = float(thrower.concluded[index]), float(thrower.fastest[index])
        found.append(_finish(flights[index], flown, position, *when, seconds))
    return found


def _finish(
    flight: world.Flight,
    flown: Flown,
    imu_position: np.ndarray,
    concluded: float,
    fastest: float,
    seconds: float,
) -> world.Flight:
    """The flight with what came of it as streams, and its truth in the axes of the IMU.

    Args:
        flight: with its record.
        flown: the loop at its end.
        imu_position: (3,) m, that it began with.
        concluded: s, when its excitation was over.
        fastest: rad/s, largest rate on one axis until then.
        seconds: from the release to the end.
    """
    learned = flown.hovering.learned
    e, u, heading = learned.effectiveness, learned.uncertainty, float(learned.alignment.psi)
    rows = np.concatenate([e.force, e.torque, e.spin, [e.max_speed, e.idle_speed, e.time_constant]])
    sigmas = np.concatenate([u.force, u.torque, u.spin, [u.max_speed, u.idle_speed, u.time_constant]])
    values = np.concatenate([[heading], rows.T.ravel(), imu_position + e.shift])
    learnt = np.concatenate([values, [learned.alignment.sigma], sigmas.T.ravel(), u.shift])
    record, release = flight.record, flight.throws.releases[0]  # type: ignore[union-attr]
    assert record is not None
    times = (record.time >= release) & (record.time <= release + seconds)
    position, velocity = record.position[times], record.velocity[times]
    thrust = learned.thrust
    end = [
        float(flown.ascent.throw.released),
        fastest,
        float(thrust.inside & thrust.steerable),
        float(position[:, 2].min()),
        float(np.linalg.norm(position[-1] - GOAL)),
        float(np.linalg.norm(velocity[-1])),
    ]
    streams = {
        name: Stream(np.zeros(1), np.array([values]), (), "1")
        for name, values in ((LEARNT, np.where(flown.hovers, learnt, np.nan)), (END, end))
    }
    truth = dict(flight.truth)
    turn = rotation_matrix(flight.vehicle.imu_wxyz)
    if flown.hovers:
        attitude = rotation_matrix(record.wxyz[round((concluded - PERIOD) / TICK)]) @ turn
        level_to_world = attitude @ rotation_matrix(flown.ascent.reckoning.wxyz).T
        true = np.arctan2(level_to_world[1, 0], level_to_world[0, 0])
        truth[HEADING] = heading + float(np.remainder(true - heading + np.pi, 2.0 * np.pi) - np.pi)
    for rotor in flight.drawing.rotor_names:
        for vector in VECTORS:
            paths = [f"rotors.{rotor}.effectiveness.{row}" for row in vector]
            turned = turn.T @ np.array([flight.truth[path] for path in paths])
            truth |= dict(zip(paths, turned.tolist(), strict=True))
    return replace(flight, streams=flight.streams | streams, truth=truth, record=None)


def _state_learnt(flight: ht.Flight, airframe: Airframe) -> list[Stated]:
    """The numbers that the loop learnt, if it did."""
    every = [HEADING, *names([rotor.name for rotor in airframe.rotors])]
    values, sigmas = flight[LEARNT].values[0].reshape(2, len(every)).tolist()
    if not np.isfinite(values[0]):
        return []
    stated, arm = [], arm_length(RigidAirframe.from_airframe(airframe).positions)
    for (name, limit), sigma in zip(
        limits(dict(zip(every, values, strict=True)), arm).items(), sigmas, strict=True
    ):
        value, half = values[len(stated)], NORMAL * sigma
        stated.append(Stated(name, value, (value - half, value + half), judge(half, limit), limit.scale))
    return stated


def with_end(attempt: Attempt, flight: world.Flight) -> Attempt:
    """The attempt as a refusal if the vehicle did not hover in the end."""
    noticed, fastest, inside, lowest, away, speed = flight.streams[END].values[0]
    if noticed and lowest > 0.0 and away < NEAR and speed < SLOW:
        return attempt
    cause = "touched the ground" if lowest <= 0.0 else f"{away:.1f} m and {speed:.1f} m/s off at the end"
    cause += f"; the gyro left its range ({fastest:.0f} rad/s)" if fastest >= GYRO_RANGE else ""
    cause += "" if inside else "; by what it learnt it cannot hover"
    return replace(attempt, refusal=f"did not hover: {cause if noticed else 'the release was not noticed'}")


THROW = Estimator((__name__,), "imu", (LEARNT,), _state_learnt, "hover")
