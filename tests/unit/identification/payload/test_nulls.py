"""Readings that say nothing of a payload give no mass: shuffled loads, a frozen servo, an arm that grips nothing."""

import numpy as np
import pytest

from haltere.flight import Channel, Flight
from haltere.identification.payload.reading import estimate_payload
from haltere.papers.schmitz import series
from haltere.papers.schmitz.bench import draw_arms
from haltere.papers.schmitz.runs import run_of

SEED = 79
NAMES = ("upper_arm", "forearm")


@pytest.fixture(scope="module")
def bench():
    return draw_arms(1, SEED)


def read(record, load, angle=None):
    stamps = np.arange(record.samples, dtype=np.int64) * int(1e9 / record.rate) + 1
    angle = record.angle if angle is None else angle
    channels = {"angle": (angle, "rad"), "load": (load, "1"), "goal": (record.goal, "rad")}
    return Flight.of(
        *(
            Channel(f"joints.{name}", stamps, values, unit, "", NAMES)
            for name, (values, unit) in channels.items()
        )
    )


def has_mass(flight):
    said = estimate_payload(flight).to_dict()
    return said["mass"] is not None and 1.96 * said["sigma"] <= 0.25 * abs(said["mass"])


def test_shuffled_loads_have_no_mass(bench):
    record = run_of(series.series_record(bench, (45.0, 45.0), 0.15), 0)
    assert has_mass(read(record, record.load))
    shuffled = np.random.default_rng(SEED).permutation(record.load)
    assert not has_mass(read(record, shuffled))


@pytest.mark.parametrize("joint", [0, 1])
def test_a_frozen_servo_has_no_mass(bench, joint):
    record = run_of(series.series_record(bench, (45.0, 45.0), 0.15), 0)
    load, angle = record.load.copy(), record.angle.copy()
    load[:, joint], angle[:, joint] = load[0, joint], angle[0, joint]
    reading = estimate_payload(read(record, load, angle))
    assert "servo-frozen" in [finding.kind for finding in reading.findings]
    assert reading.to_dict()["mass"] is None


def test_an_empty_arm_holds_nothing_that_is_identified(bench):
    record = run_of(series.series_record(bench, (45.0, 45.0), 0.0), 0)
    reading = estimate_payload(read(record, record.load))
    assert not has_mass(read(record, record.load))
    assert reading.history.events == ()
    assert abs(float(reading.estimate.mass)) < 1.96 * float(reading.estimate.sigma)
