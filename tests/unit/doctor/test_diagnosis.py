"""The doctor names each fault that is put into a good flight, and finds none in flights without."""

import numpy as np
import pytest
from tests.unit.doctor import faults
from tests.unit.doctor.faults import FAULTS
from tests.unit.identification.made_flight import PLACES, SPINS, airframe, made

from haltere.doctor.diagnosis import diagnose
from haltere.flight import Flight

SEEDS = 50
NEEDS_AIRFRAME = {
    "motors_swapped", "motor_missing", "speed_in_rpm", "speed_electrical", "poles_wrong",
}  # fmt: skip


@pytest.fixture(scope="module")
def flights():
    """Flights with poses, each another figure with another noise."""
    return [made(seed, lively=1.0 + (seed % 5) * 0.4) for seed in range(25)]


@pytest.fixture(scope="module")
def nominal():
    return airframe()


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f.__name__)
def test_each_fault_is_found(fault, flights, nominal):
    """Few seeds here; all fifty in the slow test below."""
    kind, _ = FAULTS[fault]
    given = nominal if fault.__name__ in NEEDS_AIRFRAME else None
    for seed in range(3):
        diagnosis = diagnose(fault(flights[seed], np.random.default_rng(seed)), given)
        assert kind in diagnosis.kinds(), diagnosis.kinds()


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f.__name__)
def test_each_fault_is_found_in_fifty_flights(fault, flights, nominal):
    kind, _ = FAULTS[fault]
    given = nominal if fault.__name__ in NEEDS_AIRFRAME else None
    found, other = 0, []
    for seed in range(SEEDS):
        kinds = diagnose(fault(flights[seed % len(flights)], np.random.default_rng(seed)), given).kinds()
        found += kind in kinds
        other += [k for k in kinds if k != kind]
    assert found >= 0.95 * SEEDS
    assert len(other) <= 0.05 * SEEDS


@pytest.mark.parametrize("seeds", [range(100, 116), pytest.param(range(200, 400), marks=pytest.mark.slow)])
def test_no_alarm_without_a_fault(seeds, nominal):
    for seed in seeds:
        flight = made(seed, pose=seed % 3 > 0, lively=(0.3, 1.0, 2.0, 3.0)[seed % 4])
        given = nominal if seed % 2 else None
        assert diagnose(flight, given).kinds() == (), seed


@pytest.mark.parametrize(
    "fault",
    [
        faults.accel_in_g,
        faults.gyro_in_degrees,
        faults.imu_in_frd,
        faults.gravity_reversed,
        faults.quaternion_xyzw,
        faults.quaternion_inverse,
        faults.speeds_swapped,
    ],
    ids=lambda f: f.__name__,
)
def test_certain_remedies_give_the_good_flight_back(fault, flights):
    good = flights[0]
    diagnosis = diagnose(fault(good, np.random.default_rng(0)))
    assert all(finding.certain for finding in diagnosis.findings)
    for name in good.names:
        assert np.allclose(diagnosis.mended[name].values, good[name].values, atol=1e-9), name


def test_two_faults_at_once(flights):
    both = faults.quaternion_xyzw(faults.accel_in_g(flights[1], None), None)
    assert set(diagnose(both).kinds()) == {"accel-unit", "quaternion-order"}


def test_all_in_ned_and_frd_is_told_from_a_reversed_accelerometer(flights):
    from tests.unit.logs.writers import frd, ned, ned_frd

    turned = faults.changed(flights[2], ["imu.accel", "imu.gyro"], frd)
    turned = faults.changed(turned, ["pose.position"], ned)
    turned = faults.changed(turned, ["pose.wxyz"], ned_frd)
    diagnosis = diagnose(turned)
    assert diagnosis.kinds() == ("axes-ned",)
    assert np.allclose(diagnosis.mended["pose.position"].values, flights[2]["pose.position"].values)
    found, wanted = diagnosis.mended["pose.wxyz"].values, flights[2]["pose.wxyz"].values
    assert np.allclose(np.abs(np.sum(found * wanted, axis=1)), 1.0)


@pytest.mark.parametrize("wrong", range(4))
def test_a_motor_that_spins_the_other_way(flights, wrong):
    spins = SPINS.copy()
    spins[wrong] *= -1
    diagnosis = diagnose(flights[3], airframe(spins))
    assert diagnosis.kinds() == ("motor-spin",)
    assert ("front", "left", "back", "right")[wrong] in diagnosis.findings[0].evidence


def test_swapped_motors_are_named(flights):
    places = PLACES[[1, 0, 2, 3]]
    diagnosis = diagnose(flights[4], airframe(SPINS[[1, 0, 2, 3]], places))
    assert diagnosis.kinds() == ("motor-order",)
    assert diagnosis.findings[0].remedy.endswith("[2, 1, 3, 4]")


def test_an_imu_that_is_turned(flights):
    c, s = np.cos(0.7), np.sin(0.7)
    turn = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
    diagnosis = diagnose(faults.changed(flights[5], ["imu.accel", "imu.gyro"], lambda v: v @ turn.T))
    assert diagnosis.kinds() == ("imu-rotated",)
    assert "40 deg" in diagnosis.findings[0].evidence
    assert np.allclose(diagnosis.mended["imu.gyro"].values, flights[5]["imu.gyro"].values, atol=0.1)


def test_gravity_that_was_taken_off(flights):
    from tests.unit.logs.writers import matrix

    flight = flights[6]
    q = flight["pose.wxyz"]
    up = np.array([matrix(each).T @ [0, 0, 9.81] for each in q.values])
    fast = np.column_stack([np.interp(flight["imu.accel"].time, q.time, column) for column in up.T])
    kinds = diagnose(faults.changed(flight, ["imu.accel"], lambda v: v - fast)).kinds()
    assert kinds == ("gravity-missing",)


def test_what_the_data_cannot_tell_is_said_and_not_guessed():
    alone = made(7, pose=False)
    diagnosis = diagnose(alone)
    assert {"rotor-scale", "motor-order", "attitude-axes"} <= {each.kind for each in diagnosis.undecided}
    mirrored = diagnose(faults.gravity_reversed(alone, None))
    assert [(f.kind, f.certain) for f in mirrored.findings] == [("gravity-sign", False)]
    assert np.array_equal(mirrored.mended["imu.accel"].values, -alone["imu.accel"].values)
    assert np.array_equal(diagnose(faults.speed_in_rpm(alone, None)).kinds(), ())
    asked = diagnose(faults.gravity_reversed(alone, None), apply=["gravity-sign"])
    assert np.array_equal(asked.mended["imu.accel"].values, alone["imu.accel"].values)


@pytest.mark.parametrize(
    ("fault", "kind"), [(faults.gravity_reversed, "gravity-sign"), (faults.imu_in_frd, "imu-axes")]
)
def test_rotor_places_tell_axes_from_sign_without_attitude(fault, kind, nominal):
    diagnosis = diagnose(fault(made(8, pose=False), None), nominal)
    assert [(f.kind, f.certain) for f in diagnosis.findings] == [(kind, True)]


def test_the_delay_is_measured(flights):
    from dataclasses import replace

    for seconds in (0.010, 0.025):
        channel = flights[9]["rotors.speed"]
        late = flights[9].with_channel(replace(channel, time=channel.time + int(seconds * 1e9)))
        measures = diagnose(late).measures
        error = measures["rotors.speed.delay"] - seconds
        assert abs(error) < 4 * measures["rotors.speed.delay_sigma"] + 5e-4


def test_flights_with_nothing_to_examine():
    assert diagnose(Flight()).findings == ()
    assert diagnose(made(10).between(0.0, 0.1)).findings == ()


def test_plain_data(flights):
    data = diagnose(faults.accel_in_g(flights[0], None)).to_dict()
    assert {"kind", "evidence", "remedy", "certain"} <= set(data["findings"][0])
    assert all(isinstance(value, float) for value in data["measures"].values())
