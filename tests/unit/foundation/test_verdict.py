"""The one rule of verdicts: scales by quantity, limits, cross terms, and where a number comes from."""

import math

import pytest

from haltere.foundation.verdict import KNOWN, NORMAL, USUAL_ARM, VERDICTS, Limit, arm_length, judge, limits

QUAD = {
    "mass": 0.7,
    "com.x": 0.0,
    "inertia.xx": 4e-3,
    "inertia.yy": 9e-3,
    "inertia.xy": 0.0,
    "inertia.yy/inertia.xx": 2.25,
    "gravity.x": 0.0,
    "gravity.y": 0.6,
    "gravity.z": -0.8,
    "imu.position.x": 0.0,
    "imu.rotation.x": 0.0,
    **{
        f"rotors.{name}.{quantity}": value
        for name, sign in (("a", 1.0), ("b", -1.0))
        for quantity, value in {
            "position.x": 0.15 * sign,
            "position.y": 0.2 * sign,
            "position.z": 0.05,
            "axis.x": 0.0,
            "effectiveness.fx": 0.0,
            "effectiveness.fz": 1e-5,
            "effectiveness.p": 2e-4 * sign,
            "effectiveness.q": 1e-5,
            "effectiveness.r": 3e-6 * sign,
            "effectiveness.p_dot": 0.0,
            "effectiveness.r_dot": 0.02 * sign,
            "delay": 0.001,
            "curve": 0.0,
            "idle_speed": 0.0,
            "max_speed": 1000.0,
        }.items()
    },
}


@pytest.mark.parametrize(
    ("name", "scale", "fraction"),
    [
        ("mass", 0.7, 0.25),
        ("com.x", 0.25, 0.05),
        ("inertia.xx", 4e-3, 0.25),
        ("inertia.xy", 6e-3, 0.05),
        ("inertia.yy/inertia.xx", 2.25, 0.25),
        ("gravity.x", 1.0, 0.05),
        ("imu.position.x", 0.25, 0.05),
        ("imu.rotation.x", 1.0, 0.05),
        ("rotors.a.position.z", 0.25, 0.05),
        ("rotors.a.axis.x", 1.0, 0.05),
        ("rotors.a.effectiveness.fz", 1e-5, 0.25),
        ("rotors.a.effectiveness.fx", 1e-5, 0.1),
        ("rotors.a.effectiveness.p", 2e-4, 0.25),
        ("rotors.a.effectiveness.q", 2e-4, 0.1),
        ("rotors.b.effectiveness.r", 3e-6, 0.25),
        ("rotors.b.effectiveness.r_dot", 0.02, 0.25),
        ("rotors.b.effectiveness.p_dot", 0.02, 0.1),
        ("rotors.a.delay", 0.01, 0.25),
        ("rotors.a.curve", 0.4, 0.25),
        ("rotors.a.idle_speed", 1000.0, 0.05),
        ("rotors.a.max_speed", 1000.0, 0.25),
    ],
)
def test_scales_and_limits(name, scale, fraction):
    limit = limits(QUAD)[name]
    assert limit.scale == pytest.approx(scale)
    assert limit.fraction == fraction


def test_a_true_zero_can_be_identified():
    """A cross term of zero, known to two percent of the main one."""
    limit = limits(QUAD)["rotors.a.effectiveness.fx"]
    assert judge(NORMAL * 0.02 * 1e-5, limit) == "identified"
    assert judge(NORMAL * 0.06 * 1e-5, limit) == "weak"


def test_the_limit_itself_is_identified():
    assert judge(0.25, Limit(1.0, 0.25)) == "identified"
    assert judge(math.nextafter(0.25, 1.0), Limit(1.0, 0.25)) == "weak"


def test_the_source_counts():
    assert judge(0.0, Limit(1.0, 0.25), "prior") == "weak"
    assert judge(9.0, Limit(1.0, 0.25), "user") == "given"


def test_a_number_of_scale_zero_is_never_identified_by_noise():
    assert judge(1e-9, limits({"mass": 0.0})["mass"]) == "weak"


def test_the_arm():
    assert arm_length([(0.0, 0.0, 0.0), (0.0, 0.6, 0.8)]) == pytest.approx(0.5)
    assert arm_length([(0.1, 0.0, 0.0)]) is None
    assert arm_length([(math.nan, 0.0, 0.0), (0.0, 0.0, 0.0)]) is None
    assert limits({"imu.position.x": 0.0})["imu.position.x"].scale == USUAL_ARM
    assert limits({"imu.position.x": 0.0}, 0.3)["imu.position.x"].scale == 0.3


def test_verdicts():
    assert set(KNOWN) < set(VERDICTS)
