"""Faults of servo readings: each named, none in good ones, with and without goals."""

from dataclasses import replace

import pytest

from haltere.doctor.arm import payload_faults
from haltere.papers.schmitz import series
from haltere.papers.schmitz.bench import draw_arms
from haltere.papers.schmitz.runs import FAULTS, run_of, with_fault

RUNS = 8
BELIEF = series.nominal_arm


@pytest.fixture(scope="module")
def record():
    return series.series_record(draw_arms(RUNS, 78), (45.0, 45.0), 0.138)


@pytest.mark.parametrize("kind", FAULTS)
@pytest.mark.parametrize("goals", [True, False])
def test_a_fault_is_named(record, kind, goals):
    belief = BELIEF()
    for run in range(RUNS):
        one = run_of(record, run)
        one = one if goals else replace(one, goal=None)
        assert {f.kind for f in payload_faults(belief, with_fault(one, kind, run % 2))} == {kind}


def test_good_readings_raise_no_alarm(record):
    belief = BELIEF()
    assert not any(payload_faults(belief, run_of(record, run)) for run in range(RUNS))


def test_an_arm_straight_down_is_named():
    record = series.series_record(draw_arms(RUNS, 79), (0.0, 0.0), 0.273)
    found = payload_faults(BELIEF(), run_of(record, 0))
    assert [f.kind for f in found] == ["arm-straight-down"]
    assert "lever" in found[0].evidence
