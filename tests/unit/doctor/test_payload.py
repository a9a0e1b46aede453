"""A payload that was estimated below zero is an error of the data."""

import pytest

from haltere.doctor.payload import check_payload


@pytest.mark.parametrize(("mass", "sigma"), [(0.1, 0.02), (0.0, 0.01), (-0.019, 0.01), (float("nan"), 0.01)])
def test_what_may_be_nothing_or_more_is_none(mass, sigma):
    assert check_payload(mass, sigma, "look") is None


def test_less_than_nothing_is_found():
    finding = check_payload(-0.1, 0.02, "look", ("rotors.speed",))
    assert finding.kind == "payload-negative"
    assert "-100 g" in finding.evidence
    assert "5.0 sigma" in finding.evidence
    assert (finding.remedy, finding.certain, finding.channels) == ("look", True, ("rotors.speed",))
