"""Faults of one rotor's telemetry in flights of the foreign world: found, the right rotor named, and no wrong mass."""

import pytest
from tests.recovery.rotor_faults import flights_of, outcome, study
from tests.world.drawings import QUADROTOR
from tests.world.levels import NASTY
from tests.world.rotor_faults import KINDS
from tests.world.vehicles import Damage

SEED = 81_000


@pytest.fixture(scope="module")
def flights():
    return flights_of((QUADROTOR, NASTY, "full", Damage(2)), SEED, 3, 8.0)


def test_good_flights_raise_no_alarm(flights):
    for label, flight in flights:
        assert set(outcome(flight, label).findings) <= {"gap", "rotor-latency"}


@pytest.mark.parametrize("kind", KINDS)
def test_a_fault_is_found_and_its_rotor_named(kind, flights):
    for number, (label, flight) in enumerate(flights):
        result = outcome(flight, label, kind, number + 1, number, with_mass=False)
        assert result.is_right, result


@pytest.mark.parametrize("kind", ["dead", "half"])
def test_a_wrong_rotor_gives_no_mass(kind, flights):
    label, flight = flights[0]
    assert outcome(flight, label, kind, 1, 5).mass == "refused"


@pytest.mark.slow
def test_all_vehicles_and_levels(tmp_path):
    outcomes = study(tmp_path)
    good = [o for o in outcomes if not o.kind]
    assert len(good) >= 200
    assert [o for o in good if o.is_found] == []
    assert {kind for o in good for kind in o.findings} <= {"gap", "rotor-latency"}
    for kind in KINDS:
        lively = [o for o in outcomes if o.kind == kind and not o.is_calm]
        assert len(lively) >= 50
        assert sum(o.is_right for o in lively) >= 0.95 * len(lively)
    assert [o for o in outcomes if o.mass == "wrong"] == []
