"""Mass and payload where numbers that were given contradict the log."""

from functools import cache

import pytest
from tests.unit.doctor.faults import changed
from tests.unit.identification.made_flight import MASS, K, made

from haltere.identification.pipeline import identify


@cache
def found(scale, weighed=MASS):
    flight = changed(made(1, pose=False), ["rotors.speed"], lambda v: scale * v)
    return identify(flight, known={"rotors.*.thrust_coefficient": K, "mass": weighed})


def test_an_empty_vehicle_carries_nothing():
    result = found(1.0)
    low, high = result.parameters["payload.mass"].interval
    assert low < 0.0 < high
    assert result.parameters["mass"].value == pytest.approx(MASS, rel=0.03)
    assert "payload-negative" not in [finding["kind"] for finding in result.findings]


@pytest.mark.parametrize(("scale", "weighed"), [(0.85, MASS), (1.0, 1.3 * MASS)])
def test_a_payload_below_zero_is_no_result(scale, weighed):
    result = found(scale, weighed)
    [finding] = [finding for finding in result.findings if finding["kind"] == "payload-negative"]
    assert finding["certain"]
    for name in ("mass", "payload.mass", "inertia.xx", "inertia.yy", "inertia.zz"):
        assert result.parameters[name].verdict == "unobservable"
        assert result.parameters[name].value is None
    assert "thrust coefficients" in result.parameters["mass"].fix
