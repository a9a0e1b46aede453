"""Faults of one rotor's telemetry: the rotor named, the others untouched."""

import numpy as np
import pytest
from tests.world.drawings import QUADROTOR
from tests.world.flights import fly
from tests.world.levels import REALISTIC
from tests.world.rotor_faults import KINDS, with_fault


@pytest.fixture(scope="module")
def flight():
    return fly(QUADROTOR, REALISTIC, "full", (21,), 4.0, settle=0.2)[0]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(5))
def test_one_rotor_is_wrong_and_the_others_are_not(flight, kind, seed):
    faulty = with_fault(flight, kind, 2, seed)
    before, after = flight.streams["rotors.speed"].values, faulty.streams["rotors.speed"].values
    changed = before != after
    assert not changed[:, [0, 1, 3]].any()
    assert 0.03 < changed[:, 2].mean() <= 1
    assert faulty.truth == flight.truth
    assert {name: s for name, s in faulty.streams.items() if name != "rotors.speed"} == {
        name: s for name, s in flight.streams.items() if name != "rotors.speed"
    }
    ratio = after[changed[:, 2], 2] / before[changed[:, 2], 2]
    if kind in {"half", "double"}:
        np.testing.assert_allclose(ratio, 0.5 if kind == "half" else 2.0)
    if kind == "dead":
        assert not ratio.any()
    again = with_fault(flight, kind, 2, seed).streams["rotors.speed"].values
    assert np.array_equal(again, after)


def test_an_unknown_fault_is_refused(flight):
    with pytest.raises(ValueError, match="no rotor fault 'loud'"):
        with_fault(flight, "loud", 0, 1)
