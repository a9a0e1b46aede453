"""Hands flights of the world to the estimators of the program: one adapter for each.

This module alone joins the world and the program. Streams become channels of an `ht.Flight` as they are, each on its
own clock; the nominal airframe is read from the text that the world gives. The vehicle was weighed: its mass is given
with the deviation of the scale. What an estimator states is compared with the truth in the frame of its result; numbers
whose truth the world does not state are left out.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import jax
import numpy as np
from tests.world import flights as world
from tests.world.attempts import Attempt, Claim
from tests.world.drawings import DRAWINGS, Drawing
from tests.world.frames import Truth, group_of, in_frame
from tests.world.hand import Unarmed, UnarmedMixer, draw_throws
from tests.world.levels import EFFECTS as GROUPS_OF_EFFECTS
from tests.world.levels import IDEAL, LEVELS, NASTY, REALISTIC, Level
from tests.world.plan import Batch

import haltere as ht
from haltere.airframe import Airframe, loads
from haltere.airframe.rigid import RigidAirframe
from haltere.dynamics.motors import Motors
from haltere.flight import Channel, nanoseconds
from haltere.foundation.arrays import double_precision
from haltere.foundation.verdict import NORMAL, arm_length, judge, limits
from haltere.identification.tumble.imu_position import locate_imu
from haltere.identification.tumble.tumble import find_tumbles

PROFILE = "full"
HAND_HEIGHT = 1.3
"""m above the ground, of the hand that throws."""
THROWS_DURATION = 9.5
"""s: two throws take at most 8.1 s."""
SCALE_SIGMA = 0.005
"""Relative deviation of the scale."""
EFFECTS = tuple(GROUPS_OF_EFFECTS)
NOT_SCORED = {
    "payload on the arm": "its readings are not yet taken from the world",
    "throw to hover": "its pilot does not yet fly in the world",
}


@dataclass(frozen=True)
class Stated:
    """A number that an estimator states; fields as in the JSON of `identify`."""

    name: str
    value: float | None
    interval: tuple[float | None, float | None]
    verdict: str
    scale: float | None


@dataclass(frozen=True)
class Estimator:
    """An estimator as its users call it.

    Attributes:
        modules: that it starts from; a change of these or of what they import makes new attempts.
        frame: that its numbers refer to, see `tests.world.frames`.
        channels: first words of the channels that it gets.
        run: a flight and its nominal airframe to what it states.
        scenario: that it is for, one of `tests.world.plan.SCENARIOS`.
    """

    modules: tuple[str, ...]
    frame: str
    channels: tuple[str, ...]
    run: Callable[[ht.Flight, Airframe], Iterable[Stated]]
    scenario: str = "flight"


def fly(batch: Batch) -> list[world.Flight]:
    """The flights of a batch."""
    level = level_of(batch.level, batch.effect)
    drawing = DRAWINGS[batch.vehicle]
    if batch.scenario == "throws":
        return _fly_throws(drawing, level, batch.seeds)
    return world.fly(drawing, level, PROFILE, batch.seeds, batch.duration)


def _fly_throws(drawing: Drawing, level: Level, seeds: Sequence[int]) -> list[world.Flight]:
    """Two throws each with the motors at rest; all records are equally long, so that none depends on its batch."""
    plans = [draw_throws(seed) for seed in seeds]
    return world.fly(
        drawing,
        level,
        "hover",
        seeds,
        THROWS_DURATION,
        height=HAND_HEIGHT,
        throws=plans,
        settle=0.0,
        controller=Unarmed,
        mixer=UnarmedMixer,
    )


def level_of(name: str, effect: str = "") -> Level:
    """A level, with one effect of the realistic world if one is named, or of the nasty one if only that has it."""
    level = LEVELS[name]
    if not effect:
        return level
    realistic = level.with_effects(effect, source=REALISTIC)
    changed = any(getattr(realistic, field) != getattr(IDEAL, field) for field in GROUPS_OF_EFFECTS[effect])
    return realistic if changed else level.with_effects(effect, source=NASTY)


def attempt(name: str, batch: Batch, seed: int, flight: world.Flight) -> Attempt:
    """What an estimator says of a flight; an error of the program counts as a refusal and is named as one."""
    estimator = ESTIMATORS[name]
    record, airframe = to_flight(flight, estimator.channels), loads(flight.nominal)
    stated: list[Stated] = []
    refusal = ""
    began = time.process_time()
    try:
        stated = list(estimator.run(record, airframe))
    except ht.HaltereError as error:
        refusal = str(error) or type(error).__name__
    except Exception as error:  # one flight must not end a run of hours
        refusal = f"error of the program: {type(error).__name__}: {error}"
    seconds = time.process_time() - began
    claims = tuple(compare(stated, true_numbers(flight.truth, estimator.frame)))
    return Attempt(name, batch.level, batch.vehicle, str(seed), claims, refusal, seconds, batch.effect)


def to_flight(flight: world.Flight, channels: Sequence[str]) -> ht.Flight:
    """The streams whose names begin with one of `channels`."""
    frames = {"imu": "imu", "pose": "world"}
    made = []
    for name, stream in flight.streams.items():
        if name.startswith(tuple(channels)):
            values = stream.values[:, 0] if stream.values.shape[1] == 1 else stream.values
            columns = stream.columns if name.startswith("rotors.") else ()
            frame = frames.get(name.split(".", maxsplit=1)[0], "")
            made.append(Channel(name, nanoseconds(stream.time), values, stream.unit, frame, columns))
    return ht.Flight.of(*made)


def true_numbers(truth: dict[str, Truth], frame: str) -> dict[str, Truth]:
    """The truth in a frame, with the numbers that follow from others: ratios of inertia, authority at full command."""
    found = in_frame({name: _sorted(value) for name, value in truth.items()}, frame)
    for axis in "yz" if "inertia.xx" in found else "":
        found[f"inertia.{axis}{axis}/inertia.xx"] = found[f"inertia.{axis}{axis}"] / found["inertia.xx"]
    for name in [n for n in found if ".effectiveness." in n and not n.endswith("_dot")]:
        head, _, row = name.partition(".effectiveness.")
        found[f"{head}.authority.{row}"] = found[name] * found[f"{head}.max_speed"] ** 2
    return found


def _sorted(value: Truth) -> Truth:
    return (min(value), max(value)) if isinstance(value, tuple) else value


def compare(stated: Iterable[Stated], truth: dict[str, Truth]) -> Iterable[Claim]:
    """What is stated beside what is true."""
    for s in stated:
        if s.name in truth:
            yield Claim(group_of(s.name), s.name, s.value, s.interval, s.verdict, truth[s.name], s.scale)


def _identify(method: str) -> Callable[[ht.Flight, Airframe], Iterable[Stated]]:
    def run(flight: ht.Flight, airframe: Airframe) -> Iterable[Stated]:
        weighed = airframe.total_mass
        known = {"mass": (weighed, SCALE_SIGMA * weighed)}
        result = ht.identify(flight, airframe, known=known, method=method)
        return [Stated(p.name, p.value, p.interval, p.verdict, p.scale) for p in result.parameters]

    return run


def _locate_imu(flight: ht.Flight, airframe: Airframe) -> list[Stated]:
    """The position of the IMU from the free falls of a log, in its own axes."""
    found = locate_imu(find_tumbles(flight))
    values = {f"imu.position.{axis}": float(x) for axis, x in zip("xyz", found.position, strict=True)}
    sigmas = np.sqrt(np.diagonal(found.cov))
    return _judged(values, sigmas, airframe, (True, True, True))


def _judged(
    values: dict[str, float], sigmas: np.ndarray, airframe: Airframe, seen: Sequence[bool]
) -> list[Stated]:
    """Positions with the verdicts that `identify` gives such numbers; what was not seen is unobservable."""
    arm = arm_length(RigidAirframe.from_airframe(airframe).positions)
    stated = []
    for (name, limit), sigma, shown in zip(limits(values, arm).items(), sigmas, seen, strict=True):
        half = NORMAL * float(sigma)
        verdict = judge(half, limit) if shown else "unobservable"
        stated.append(
            Stated(name, values[name], (values[name] - half, values[name] + half), verdict, limit.scale)
        )
    return stated


@double_precision()
def _estimate_cog(flight: ht.Flight, airframe: Airframe) -> list[Stated]:
    """The centre of gravity at the end of the flight, every reading taken as it comes."""
    cog = ht.CogFilter(airframe)
    belief = cog.core.begin(None)
    belief, _ = _run_cog(cog.core, Motors.from_airframe(airframe), belief, _cog_readings(flight))
    estimate = cog.estimate(belief)
    values = {f"com.{axis}": float(x) for axis, x in zip("xyz", estimate.com, strict=True)}
    upright = int(np.argmax(np.abs(np.asarray(estimate.axis))))
    seen = [k != upright or bool(estimate.observable) for k in range(3)]
    return _judged(values, np.asarray(estimate.sigma), airframe, seen)


PADDED = 2000
"""Readings are filled up to a multiple of this, so that one program serves flights of many lengths."""


def _cog_readings(flight: ht.Flight) -> tuple[np.ndarray, ...]:
    """dt (T,), gyro and accel (T, 3), rotor speeds and commands (T, R): for each IMU reading the last of the others."""
    gyro, accel = flight["imu.gyro"], flight["imu.accel"]
    stamps = gyro.time
    force = accel.values[np.clip(np.searchsorted(accel.time, stamps), 0, len(accel) - 1)]
    rotors = []
    for name in ("rotors.speed", "rotors.command"):
        channel = flight[name]
        index = np.searchsorted(channel.time, stamps, side="right") - 1
        rotors.append(np.where(index[:, None] >= 0, channel.values[np.maximum(index, 0)], np.nan))
    dt = np.diff(stamps, prepend=stamps[0] - int(np.median(np.diff(stamps)))) * 1e-9
    parts = (dt, gyro.values, force, *rotors)
    missing = -len(dt) % PADDED
    filled = [np.concatenate([p, np.full((missing, *p.shape[1:]), np.nan)]) for p in parts]
    filled[0][len(dt) :] = 1e-9
    return tuple(filled)


@jax.jit
def _run_cog(core, motors, belief, readings):
    def step(belief, reading):
        dt, gyro, accel, speeds, commands = reading
        timed = replace(core, settings=replace(core.settings, period=dt))
        belief = timed.predict(replace(belief, prediction=None), speeds, motors.target(commands), None)
        return replace(core.correct(belief, gyro, accel), prediction=None), None

    return jax.lax.scan(step, belief, readings)


PIPELINE = ("haltere.identification.pipeline", "haltere.identification.methods.registry")
ESTIMATORS = {
    "effectiveness from speeds": Estimator(
        PIPELINE, "com", ("imu.", "rotors.", "battery."), _identify("effectiveness")
    ),
    "effectiveness from commands": Estimator(
        PIPELINE, "com", ("imu.", "rotors.command", "battery."), _identify("command")
    ),
    "vehicle filter": Estimator(
        PIPELINE, "principal", ("imu.", "rotors.", "pose.", "battery."), _identify("filter")
    ),
    "centre-of-gravity filter": Estimator(
        ("haltere.estimation.cog.filter",), "airframe", ("imu.", "rotors."), _estimate_cog
    ),
    "tumble": Estimator(
        ("haltere.identification.tumble.imu_position", "haltere.identification.tumble.tumble"),
        "imu",
        ("imu.",),
        _locate_imu,
        "throws",
    ),
}
