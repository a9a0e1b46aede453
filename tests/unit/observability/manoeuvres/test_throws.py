"""Throws against what can be done by hand: a constant spin about a principal axis."""

import numpy as np
import pytest

from haltere.airframe import from_catalogue
from haltere.observability import ObservabilityError
from haltere.observability.information.fisher import RATE, ReadingNoise
from haltere.observability.manoeuvres.throws import design_throws, judge_throws


@pytest.fixture(scope="module")
def plans():
    return design_throws("hummingbird", 12.0).plans


def test_more_throws_are_better_and_tumble(plans):
    assert [len(p.axes) for p in plans] == [1, 2, 3]
    assert plans[2].worst < plans[1].worst < plans[0].worst < 0.001
    assert len(set(plans[1].axes)) == 2
    assert plans[0].axes[0] not in ("x", "y", "z"), "a spin about a principal axis says nothing along it"


def test_a_constant_spin_by_hand():
    """About z: r_x and r_y are seen with gain w^2 and r_z not at all."""
    thrown = judge_throws(from_catalogue("hummingbird"), ("z", "z"), 12.0)
    sigma = ReadingNoise.of(from_catalogue("hummingbird"), ("imu",)).sigma[7]
    expected = sigma / 12.0**2 / np.sqrt(2 * 0.8 * RATE)
    assert thrown.sigma["imu.position.x"] == pytest.approx(expected, rel=0.03)
    assert thrown.sigma["imu.position.y"] == pytest.approx(expected, rel=0.03)
    assert thrown.sigma["imu.position.z"] is None
    assert thrown.worst == np.inf


def test_nonsense_is_told():
    for rate in (0.0, -1.0, np.inf):
        with pytest.raises(ObservabilityError, match="rad/s"):
            design_throws(from_catalogue("hummingbird"), rate)
