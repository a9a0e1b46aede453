"""Between the world and the program: what every adapter of an estimator needs.

Streams become channels of an `ht.Flight` as they are, each on its own clock; the nominal airframe is read from the
text that the world gives. What an estimator states is compared with the truth in the frame of its result; numbers
whose truth the world does not state are left out.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from tests.world import flights as world
from tests.world.attempts import Attempt, Claim
from tests.world.frames import Truth, group_of, in_frame
from tests.world.plan import Batch
from tests.world.thrown_bodies import BodyFlight

import haltere as ht
from haltere.airframe import Airframe, loads
from haltere.airframe.rigid import RigidAirframe
from haltere.flight import Channel, nanoseconds
from haltere.foundation.verdict import NORMAL, arm_length, judge, limits


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
        scenario: that it is for, one of `tests.world.estimators.SCENARIOS`.
    """

    modules: tuple[str, ...]
    frame: str
    channels: tuple[str, ...]
    run: Callable[[ht.Flight, Airframe], Iterable[Stated]]
    scenario: str = "flight"


def attempt(name: str, estimator: Estimator, batch: Batch, seed: int, flight: world.Flight) -> Attempt:
    """What an estimator says of a flight; an error of the program counts as a refusal and is named as one."""
    record, airframe = to_flight(flight, estimator.channels), loads(flight.nominal)
    stated, refusal, seconds = answer(lambda: estimator.run(record, airframe))
    claims = tuple(compare(stated, true_numbers(flight.truth, estimator.frame)))
    return Attempt(name, batch.level, batch.vehicle, str(seed), claims, refusal, seconds, batch.effect)


def answer(run: Callable[[], Iterable[Stated]]) -> tuple[list[Stated], str, float]:
    """What a run states, why it refused, and its CPU time, s."""
    stated: list[Stated] = []
    refusal = ""
    began = time.process_time()
    try:
        stated = list(run())
    except ht.HaltereError as error:
        refusal = str(error) or type(error).__name__
    except Exception as error:  # one flight must not end a run of hours
        refusal = f"error of the program: {type(error).__name__}: {error}"
    return stated, refusal, time.process_time() - began


def to_flight(flight: world.Flight | BodyFlight, channels: Sequence[str]) -> ht.Flight:
    """The streams whose names begin with one of `channels`."""
    frames = {"imu": "imu", "pose": "world"}
    made = []
    for name, stream in flight.streams.items():
        if name.startswith(tuple(channels)):
            rotors = name.startswith("rotors.")
            values = stream.values[:, 0] if stream.values.shape[1] == 1 and not rotors else stream.values
            columns = stream.columns if rotors else ()
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


def judged(
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
