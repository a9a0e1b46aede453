"""Numbers that the user knows: how they are written, and what is said of a slip."""

import pytest

from haltere.flight.window import IdentifyError
from haltere.identification.known import Known, check_rotors, of_rotors, parse_known


def test_forms():
    found = parse_known(["mass=0.037+-0.0005, rotors.*.thrust_coefficient=3.77e-8", "inertia.xx=1e-5"])
    assert found["mass"] == Known(0.037, 0.0005)
    assert found["rotors.*.thrust_coefficient"] == Known(3.77e-8)
    assert list(found) == ["mass", "rotors.*.thrust_coefficient", "inertia.xx"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("mas=1", "did you mean mass?"),
        ("rotors.m1.thrust_coeficient=1", "thrust_coefficient"),
        ("mass", "NAME=VALUE"),
        ("mass=heavy", "no number"),
        ("mass=nan", "no number"),
        ("mass=1+-x", "no number"),
        ("mass=-1", "above zero"),
        ("mass=1+--0.1", "negative"),
        ("mass=1,mass=2", "twice"),
    ],
)
def test_slips_are_named(text, said):
    with pytest.raises(IdentifyError, match=said):
        parse_known([text])


def test_a_name_goes_before_a_pattern_and_all_or_none():
    known = parse_known(["rotors.*.position.x=0.1,rotors.m2.position.x=0.2,rotors.m1.torque_ratio=0.01"])
    assert [k.value for k in of_rotors(known, ("m1", "m2", "m3"), "position.x")] == [0.1, 0.2, 0.1]
    assert of_rotors(known, ("m1", "m2"), "torque_ratio") is None


def test_a_rotor_that_is_not_there():
    with pytest.raises(IdentifyError, match="no rotor is called 'm9'"):
        check_rotors(parse_known(["rotors.m9.torque_ratio=0.01"]), ("m1", "m2"))
