"""Every vehicle of the catalogue, flown with known truth, through files of four formats and `identify`.

A sigma from ten blocks of a flight has nine degrees of freedom: with `SPREAD` of `laws` seven in a thousand numbers lie
beyond 3 sigma by chance. So the rule has two sides over many numbers: the share within 3 sigma, and the mean of squared
errors over sigma; the largest is bounded, too.
"""

from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest
from tests.recovery.body_truth import BUILT, body_truth
from tests.recovery.catalogue_flights import DRAWING, drawn, equipped, fly, matrix, record, rigid, turn
from tests.recovery.row_bound import row_bound
from tests.unit.logs import writers

from haltere.airframe import from_catalogue
from haltere.doctor.diagnosis import diagnose
from haltere.flight import Channel
from haltere.flight.mcap import write_mcap
from haltere.flight.window import IdentifyError
from haltere.identification.known import Known
from haltere.identification.methods.vehicle_method import applied_rotation, as_logged
from haltere.identification.pipeline import identify
from haltere.logs import read

WINGED = ("hong-fixed-wing", "hong-tilt-wing")
RIGID = (
    "hummingbird", "x500", "crazyflie", "indiflight-3inch", "neo", "hexa-tilted", "octorotor", "coaxial", "quad-arm",
    "hong-quadrotor", "hong-tilt-rotor",
)  # fmt: skip
WRITERS = {
    "mcap": write_mcap,
    "csv": lambda flight, path: writers.table(flight, path, pose=True),
    "ulg": writers.ulog,
    "usd": writers.usd,
}
SCALE = 1e-3
"""Relative deviation of the mass from a scale."""


@lru_cache(maxsize=2)
def flown(name, seed, spread, duration=12.0):
    """The airframe file, its numbers, what happened, the record, and what the scale said."""
    airframe = equipped(name)
    file, rng = rigid(airframe), np.random.default_rng(seed)
    truth = fly(drawn(file, rng, spread), rng, duration)
    flight = record(truth, airframe, rng)
    sigma = SCALE * file.mass
    return airframe, file, truth, flight, Known(truth.vehicle.mass + sigma * rng.normal(), sigma)


def through(flight, ending, folder):
    """The flight as it is read from a file."""
    path = folder / f"flight.{ending}"
    WRITERS[ending](flight, path)
    return read(path)


def rows_truth(vehicle):
    """What the method without pose should say of a vehicle, body axes."""
    force, torque, answer = vehicle.rows
    J = np.diag(vehicle.inertia)
    found = {f"inertia.{c}{c}": J[i] for i, c in enumerate("xyz")}
    found |= {"inertia.yy/inertia.xx": J[1] / J[0], "inertia.zz/inertia.xx": J[2] / J[0]}
    found["thrust_to_weight"] = (force[2] @ vehicle.top**2) / 9.80665
    found |= {f"imu.position.{c}": x for c, x in zip("xyz", vehicle.imu_place - vehicle.com, strict=True)}
    for i, name in enumerate(vehicle.names):
        path = f"rotors.{name}"
        for k, c in enumerate("xyz"):
            found[f"{path}.effectiveness.f{c}"] = force[k, i]
            found[f"{path}.effectiveness.{'pqr'[k]}"] = torque[k, i]
            found[f"{path}.effectiveness.{'pqr'[k]}_dot"] = answer[k, i]
        found |= {f"{path}.max_speed": vehicle.top[i], f"{path}.idle_speed": vehicle.idle[i]}
        found |= {f"{path}.time_constant": vehicle.tau[i], f"{path}.delay": 0.0}
        found[f"{path}.thrust_coefficient"] = vehicle.k[i]
        if (
            vehicle.kappa[i] or vehicle.share[i] == 1.0
        ):  # the other kind of curve is not the one that is fitted
            found[f"{path}.curve"] = vehicle.share[i]
    return found


def errors(result, truth):
    """In sigma, of all that was told."""
    told = {name: result.parameters.get(name) for name in truth}
    return {
        n: (p.value - truth[n]) / p.sigma for n, p in told.items() if p is not None and p.value is not None
    }


def without_pose(name, seed, ending, folder, duration=12.0):
    airframe, _, truth, flight, weighed = flown(name, seed, DRAWING, duration)
    record = through(flight, ending, folder)
    result = identify(record, airframe, known={"mass": weighed}, method="effectiveness")
    assert not result.findings
    return result, errors(result, rows_truth(truth.vehicle))


def test_vehicles_without_pose(tmp_path):
    """A few vehicles, each through one format: the quick form of the test after this one."""
    found = []
    cases = zip(("x500", "hexa-tilted", "coaxial", "hong-tilt-rotor"), WRITERS, strict=True)
    for name, ending in cases:
        _, away = without_pose(name, 1, ending, tmp_path, 10.0)
        assert len(away) > 60
        assert max(map(abs, away.values())) < 4.0, (name, away)
        found += away.values()
    assert np.mean(np.abs(found) < 3.0) > 0.98
    assert 0.2 < np.mean(np.square(found)) < 1.3


@pytest.mark.slow
def test_every_vehicle_without_pose_in_every_format(tmp_path):
    found, table, wide = [], {}, {}
    for name in (*RIGID, *WINGED):
        for seed in (1, 2, 3):
            for ending in WRITERS if seed == 1 else ("mcap",):
                folder = tmp_path / f"{name}-{seed}"
                folder.mkdir(exist_ok=True)
                result, away = without_pose(name, seed, ending, folder)
                found += away.values()
                table[name, seed, ending] = max(map(abs, away.values()))
                assert table[name, seed, ending] < 5.0, (name, seed, ending, away)
            told = row_ratios(result, name, seed)
            ratios = list(told.values())
            assert np.median(ratios) < 1.5
            for each, ratio in told.items():
                wide.setdefault(each.rsplit(".", 1)[-1] if "imu" not in each else "place", []).append(ratio)
            print(f"{name} {seed}: largest {table[name, seed, 'mcap']:.2f}, of the bound {np.median(ratios):.2f} "
                  f"{np.max(ratios):.2f}")  # fmt: skip
    print(f"{len(found)} numbers, {np.mean(np.abs(found) < 3.0):.4f} within 3 sigma, "
          f"mean square {np.mean(np.square(found)):.2f}, largest {np.max(np.abs(found)):.2f}")  # fmt: skip
    every = np.concatenate(list(wide.values()))
    print(f"of {len(every)} rows {np.mean(every > 2.0):.4f} have a sigma above twice the bound, by kind: "
          + ", ".join(f"{kind} {np.mean(np.array(x) > 2.0):.3f}" for kind, x in wide.items()))  # fmt: skip
    assert np.mean(np.abs(found) < 3.0) > 0.99
    assert 0.3 < np.mean(np.square(found)) < 1.2
    assert np.mean(every > 2.0) < 0.03


def row_ratios(result, name, seed):
    """Name to sigma over what the bound with the stated floors allows, of the rows."""
    _, _, truth, _, _ = flown(name, seed, DRAWING)
    airframe = equipped(name)
    limits = row_bound(truth, airframe)
    told = {n: result.parameters.get(n) for n in limits}
    return {n: p.sigma / limits[n] for n, p in told.items() if p.verdict in ("identified", "weak")}


def of_identified(result, truth):
    """Errors in sigma of what has the verdict; of rotor inertias only if there are any."""
    sure = {p.name for p in result.parameters if p.verdict == "identified"}
    return {name: e for name, e in errors(result, truth).items() if name in sure}


@pytest.mark.slow
@pytest.mark.parametrize("name", RIGID)
def test_every_vehicle_in_flight(name, tmp_path):
    """The filter over four seeds, each in a format of its own."""
    found = []
    for seed, ending in zip((1, 2, 3, 4), WRITERS, strict=True):
        airframe, _, truth, flight, weighed = flown(name, seed, BUILT)
        result = identify(
            through(flight, ending, tmp_path), airframe, known={"mass": weighed}, method="filter"
        )
        away = of_identified(result, body_truth(truth.vehicle))
        e = np.array(list(away.values()))
        print(f"{name} {seed} {ending}: {len(e)} identified, largest {np.max(np.abs(e)):.2f}, "
              f"mean square {np.mean(e**2):.2f}")  # fmt: skip
        assert max(map(abs, away.values())) < 5.0, away
        found += away.values()
    assert len(found) > 100
    assert np.mean(np.abs(found) < 3.0) > 0.97
    assert np.mean(np.square(found)) < 2.0  # numbers of one flight are not independent


@pytest.mark.parametrize("name", WINGED)
def test_wings_are_refused_in_a_line(name):
    airframe, _, _, flight, weighed = flown(name, 1, DRAWING, 6.0)
    with pytest.raises(IdentifyError, match=r"has wings .*use --method effectiveness") as refused:
        identify(flight, airframe, known={"mass": weighed}, method="batch")
    assert "\n" not in str(refused.value)
    result = identify(flight, airframe, known={"mass": weighed})
    assert result.method == "effectiveness"
    assert any("has wings" in note for note in result.notes)


def test_joints_that_move_are_refused_in_a_line():
    airframe, _, _, flight, weighed = flown("quad-arm", 1, DRAWING, 6.0)
    gyro = flight["imu.gyro"].time
    swing = 0.4 * np.sin(np.linspace(0.0, 9.0, len(gyro)))
    angles = np.stack([0.0 * swing, swing], axis=1)
    moved = flight.with_channel(Channel("joints.angle", gyro, angles, "rad", "", ("upper_arm", "forearm")))
    with pytest.raises(IdentifyError, match="joint of forearm moved by 33 deg") as refused:
        identify(moved, airframe, known={"mass": weighed}, method="filter")
    assert "\n" not in str(refused.value)
    other = flight.with_channel(Channel("joints.angle", gyro, angles, "rad", "", ("left", "right")))
    with pytest.raises(
        IdentifyError, match=r"joints\.angle has left, right and quad-arm the joints"
    ) as refused:
        identify(other, airframe, known={"mass": weighed}, method="filter")
    assert "\n" not in str(refused.value)


def test_an_arm_that_is_held_out_is_part_of_the_vehicle():
    """The quadrotor with its arm held at an angle that the log tells: another centre of mass, another inertia."""
    held = {"upper_arm": 0.7, "forearm": -1.2}
    airframe, rng = equipped("quad-arm"), np.random.default_rng(3)
    file = rigid(airframe, held)
    straight = rigid(airframe)
    assert np.linalg.norm(file.com - straight.com) > 2e-3
    truth = fly(drawn(file, rng, BUILT), rng, 8.0)
    flight = record(truth, airframe, rng)
    clock = flight["pose.position"].time
    angles = np.tile([held["forearm"], held["upper_arm"]], (len(clock), 1)) + 0.01 * rng.normal(
        size=(len(clock), 2)
    )
    flight = flight.with_channel(Channel("joints.angle", clock, angles, "rad", "", ("forearm", "upper_arm")))
    weighed = Known(truth.vehicle.mass, SCALE * file.mass)
    result = identify(flight, airframe, known={"mass": weighed}, method="filter")
    assert any("joints at upper_arm 40, forearm -69 deg" in note for note in result.notes)
    for held_out in result.predictions[3:]:  # angular acceleration, of which rotors that speed up make some
        assert np.std(held_out.measured - held_out.predicted) < 0.4 * np.std(held_out.measured), held_out.name
    away = np.array(list(of_identified(result, body_truth(truth.vehicle)).values()))
    assert len(away) > 25
    assert np.max(np.abs(away)) < 5.0
    assert np.mean(np.abs(away) < 3.0) > 0.95
    assert np.mean(away**2) < 2.0


def test_files_without_imu_or_pose_say_what_is_missing():
    """The vehicles of [Hong2021] have no sensors: the log must have an IMU, and the sensor's place is assumed."""
    _, _, _, flight, weighed = flown("hong-quadrotor", 1, DRAWING, 6.0)
    bare = from_catalogue("hong-quadrotor")
    assert (*bare.imu, *bare.pose) == ()
    result = identify(flight, bare, known={"mass": weighed}, method="effectiveness")
    assert result.parameters["rotors.rotor_1.thrust_coefficient"].verdict in ("identified", "weak")
    blind = flight.without("imu.gyro")
    with pytest.raises(IdentifyError, match=r"no imu\.gyro; log a gyro in flight"):
        identify(blind, bare, known={"mass": weighed})


@pytest.mark.parametrize("degrees", [12.0, 40.0])
def test_an_imu_turned_against_its_file_is_left_to_the_filter(degrees):
    """The filter finds how the IMU is mounted: it gets the readings as they are, and the file's turn if it is large."""
    airframe, _, _, flight, _ = flown("hummingbird", 4, DRAWING)
    M = turn(np.radians(degrees) * np.array([0.6, 0.0, 0.8]))
    turned = flight
    for name in ("imu.gyro", "imu.accel"):
        turned = turned.with_channel(replace(flight[name], values=flight[name].values @ M))
    diagnosis = diagnose(turned, airframe)
    assert diagnosis.kinds() == ("imu-rotated",)
    found = applied_rotation(diagnosis, ())
    np.testing.assert_allclose(found, M, atol=0.05)
    raw, meant = as_logged(diagnosis.mended, airframe, found)
    np.testing.assert_allclose(raw["imu.gyro"].values, turned["imu.gyro"].values, atol=1e-12)
    near = M if degrees > 25.0 else np.eye(3)
    np.testing.assert_allclose(matrix(meant.imu[0].wxyz), near, atol=0.05)
