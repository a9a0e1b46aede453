"""`VehicleFilter`: the belief of the estimate in flight from the same readings, without a state of its own."""

import copy
from dataclasses import replace

import jax
import numpy as np
import pytest
from tests.world.adapters.base import to_flight
from tests.world.drawings import QUADROTOR
from tests.world.flights import fly
from tests.world.levels import REALISTIC

import haltere as ht
from haltere.airframe import loads
from haltere.estimation.core.readings import ReadingError
from haltere.estimation.vehicle.filter import PRIOR_FACTOR, VehicleFilter
from haltere.estimation.vehicle.filter_belief import FilterBelief, RecentSamples, filter_ready
from haltere.estimation.vehicle.motion import NODE
from haltere.estimation.vehicle.online import OnlineVehicle
from haltere.estimation.vehicle.stream import samples_of
from haltere.foundation import HaltereError
from haltere.foundation.arrays import double_precision

HOVER = 453.2
IMU = ([0.0, 0.0, 9.81], [0.0, 0.0, 0.0])
POSE = ([0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 0.0])
SPEEDS = [HOVER] * 4


@pytest.fixture(scope="module")
def vehicle():
    with jax.enable_x64(False):
        return VehicleFilter("hummingbird", known={"mass": (0.716, 1e-3)})


def hover(vehicle, belief, count, **changes):
    """Some readings, with changed ones in the middle."""
    for k in range(count):
        own = {"imu": IMU, "rotor_speeds": SPEEDS, "pose": POSE} | (changes if k == count // 2 else {})
        belief = vehicle.predict(belief, own["imu"], own["rotor_speeds"], 0.005)
        if k % 4 == 3 or "pose" in changes:
            belief = vehicle.correct(belief, own["pose"])
    return belief


@pytest.fixture(scope="module")
def first(vehicle):
    return vehicle.begin(pose=POSE, rotor_speeds=SPEEDS, imu=IMU)


@pytest.fixture(scope="module")
def hovered(vehicle, first):
    with jax.enable_x64(False):
        return hover(vehicle, first, 60)


def parts(belief):
    return [np.asarray(part) for part in belief.causal]


def test_nodes_are_filtered_as_in_flight():
    """A node of `OnlineVehicle` from the readings of its buffer: the same belief."""
    (flown,) = fly(QUADROTOR, REALISTIC, "full", seeds=(700,), duration=6.0)
    online = OnlineVehicle(loads(flown.nominal))
    for sample in samples_of(to_flight(flown, ("imu.", "rotors.", "pose.")), online.rotor_names):
        online.step(sample)
    online.estimate()
    buffer = online._buffer
    late = 3.0 * NODE
    belief = FilterBelief(
        time=buffer.newest + late,
        node=online._next,
        causal=online._belief,
        nominal=online.nominal,
        log_levels=online._log_levels,
        sigma_factor=1.0,
        imu=RecentSamples(buffer.imu.time, buffer.imu.values),
        rotors=RecentSamples(buffer.rotors.time, buffer.rotors.values),
        poses=RecentSamples(buffer.poses.time, buffer.poses.values),
        shrinkage=online._shrinkage,
        shrunk_at=online._shrunk_at,
    )
    buffer.newest += late
    count = online._ready()
    with double_precision():
        found = filter_ready(belief)
        assert round((found.node - belief.node) / NODE) == count >= 2
        for _ in range(count):
            online._filter_nodes(1)
    assert found.node == pytest.approx(online._next, abs=1e-12)
    for ours, theirs in zip(parts(found), online._belief, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9 * np.abs(theirs).max())


def test_a_belief_that_was_kept_says_the_same(vehicle, first, hovered):
    before = vehicle.estimate(hovered)
    kept = copy.deepcopy(parts(hovered))
    later = hover(vehicle, hovered, 40)
    assert later.node > hovered.node
    for ours, theirs in zip(parts(hovered), kept, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert vehicle.estimate(hovered).parameters == before.parameters
    again = hover(vehicle, first, 60)
    for ours, theirs in zip(parts(again), parts(hovered), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_numbers_come_from_the_prior_until_something_was_flown(vehicle, first, hovered):
    assert {p.source for p in vehicle.estimate(first)} == {"prior", "user"}
    estimate = vehicle.estimate(hovered)
    assert estimate["mass"].value == pytest.approx(0.716, abs=5e-4)
    assert estimate["mass"].sigma == pytest.approx(1e-3, rel=0.02)
    assert estimate.time == pytest.approx(0.3, abs=0.15)
    assert estimate.behind < 0.15
    assert all(isinstance(part, np.ndarray) and part.dtype == np.float64 for part in parts(hovered))
    assert hovered.sigma_factor == PRIOR_FACTOR


def test_an_estimate_prints_as_a_table(vehicle, hovered):
    estimate = vehicle.estimate(hovered)
    table = estimate.table()
    assert table.columns == ("name", "value", "sigma", "source", "verdict")
    assert [row[0] for row in table.rows] == [p.name for p in estimate]
    assert repr(estimate).splitlines()[1].startswith("mass ")
    assert "<td>mass</td>" in estimate._repr_html_()
    with pytest.raises(HaltereError, match="no number is called 'mas'"):
        estimate["mas"]


@pytest.mark.parametrize(
    "changes",
    [
        {"imu": ([0.0, 0.0, np.nan], [0.0, 0.0, 0.0])},
        {"rotor_speeds": [np.inf, *SPEEDS[1:]]},
        {"pose": ([0.0, np.nan, 1.0], POSE[1])},
        {"pose": (POSE[0], [np.nan, 0.0, 0.0, 0.0])},
        {"pose": (POSE[0], np.zeros(4))},
    ],
)
def test_a_reading_that_is_not_finite_is_left_out(vehicle, first, hovered, changes):
    expected = vehicle.estimate(hover(vehicle, first, 60, pose=POSE))
    found = vehicle.estimate(hover(vehicle, first, 60, **{"pose": POSE, **changes}))
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.value == pytest.approx(theirs.value, abs=0.2 * theirs.sigma), ours.name
        assert ours.sigma == pytest.approx(theirs.sigma, rel=0.1), ours.name


def test_a_position_alone_is_a_reading(vehicle, hovered):
    found = vehicle.correct(hovered, POSE[0])
    assert np.isnan(found.poses.values[-1, 3:]).all()
    later = hover(vehicle, found, 40)
    assert np.isfinite(later.causal.x).all()
    assert later.causal.x[2] == pytest.approx(hovered.causal.x[2], abs=0.01)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda v, b: v.predict(b, IMU, SPEEDS, -0.005), "got dt -0.005"),
        (lambda v, b: v.predict(b, IMU, SPEEDS, np.nan), "got dt nan"),
        (lambda v, b: v.predict(b, IMU, np.ones(3), 0.005), r"rotor speeds of shape \(3,\)"),
        (lambda v, b: v.predict(b, np.zeros(5), SPEEDS, 0.005), r"an IMU reading of shape \(5,\)"),
        (lambda v, b: v.correct(b, ((0.0, 0.0), POSE[1])), r"a position of shape \(2,\)"),
        (lambda v, _: v.begin(pose=POSE[0], rotor_speeds=SPEEDS, imu=IMU), "position without attitude"),
        (
            lambda v, _: v.begin(pose=POSE, rotor_speeds=[np.nan] * 4, imu=IMU),
            "got rotor speeds .* give the next",
        ),
    ],
)
def test_readings_that_are_none_are_named(vehicle, hovered, call, message):
    before = copy.deepcopy(parts(hovered))
    with pytest.raises(ReadingError, match=message) as error:
        call(vehicle, hovered)
    assert "\n" not in str(error.value)
    for ours, theirs in zip(parts(hovered), before, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_an_unknown_name_is_refused():
    with pytest.raises(HaltereError, match="known weight"):
        VehicleFilter("hummingbird", known={"weight": 1.0})


def test_a_payload_makes_it_heavier(vehicle):
    loaded = vehicle.with_payload([0.1, 0.0, 0.0, -0.1, 0.0], np.diag([1e-6, 0.0, 0.0, 0.0, 0.0]))
    found = loaded.estimate(loaded.begin(pose=POSE, rotor_speeds=SPEEDS, imu=IMU))
    assert found["mass"].value == pytest.approx(0.816, abs=1e-9)
    assert vehicle.nominal.mass == pytest.approx(0.716)


def test_readings_that_stay_small(vehicle, first):
    belief = first
    for _ in range(1500):  # without a node being filtered nothing would be dropped
        belief = replace(belief, node=belief.time, time=belief.time + 0.005)
        belief = replace(belief, imu=belief.imu.add(belief.time, np.zeros(6), replaces=True))
        belief = replace(belief, rotors=belief.rotors.add(belief.time, np.zeros(4), replaces=True)).trimmed()
    assert len(belief.imu.time) < 100
    assert len(belief.rotors.time) < 1100


@pytest.fixture(scope="module")
def figure():
    return ht.simulate("examples/figure.toml").between(0.0, 8.0)


def run(vehicle, flight, belief, first, last):
    """The IMU samples from `first` to `last`, and the poses between them."""
    gyro, accel, speed = (flight[name] for name in ("imu.gyro", "imu.accel", "rotors.speed"))
    position, wxyz = flight["pose.position"], flight["pose.wxyz"]
    pose = int(np.searchsorted(position.time, gyro.time[first], side="right"))
    for k in range(first, last):
        dt = 1e-9 * (gyro.time[k + 1] - gyro.time[k])
        belief = vehicle.predict(belief, (accel.values[k], gyro.values[k]), speed.values[k], dt)
        if pose < len(position) and position.time[pose] <= gyro.time[k + 1]:
            belief = vehicle.correct(belief, (position.values[pose], wxyz.values[pose]))
            pose += 1
    return belief


def readings(flight, k):
    """What `begin` takes, at an IMU sample at which there is a pose, too."""
    at = int(np.searchsorted(flight["pose.position"].time, flight["imu.gyro"].time[k]))
    return {
        "pose": (flight["pose.position"].values[at], flight["pose.wxyz"].values[at]),
        "imu": (flight["imu.accel"].values[k], flight["imu.gyro"].values[k]),
        "rotor_speeds": flight["rotors.speed"].values[k],
    }


def test_the_mass_is_found_in_flight(figure):
    """Begun 5 % too heavy, with rotors that were measured to 0.5 % on a test stand."""
    heavy = ht.load_airframe("hummingbird")
    heavy = heavy.model_copy(update={"body": heavy.body.model_copy(update={"mass": 0.75})})
    thrust = heavy.rotors[0].thrust_coefficient
    known = {"rotors.*.thrust_coefficient": (thrust, 0.005 * thrust)}
    vehicle = VehicleFilter(heavy, known=known)
    belief = run(vehicle, figure, vehicle.begin(**readings(figure, 0)), 0, 1400)
    mass = vehicle.estimate(belief)["mass"]
    assert abs(mass.value - 0.716) < 2.0 * mass.sigma
    assert mass.source == "data"
    assert abs(mass.value - 0.716) < 0.3 * (0.75 - 0.716)
    with pytest.raises(HaltereError, match="could not be smoothed"):
        vehicle.begin(**readings(figure, 400), start=figure.between(0.0, 2.0))


@pytest.mark.slow
def test_it_goes_on_from_a_smoothed_start(figure):
    vehicle = VehicleFilter("hummingbird", known={"mass": (0.716, 1e-3)})
    start = figure.between(0.0, 5.0 + 1e-6)
    belief = vehicle.begin(**readings(figure, 1000), start=start)
    early = vehicle.estimate(belief)
    last = vehicle.estimate(run(vehicle, figure, belief, 1000, 1550))
    assert last.time == pytest.approx(7.75, abs=0.15)
    assert sum(p.source == "data" for p in early) > 20
    smoothed = vehicle.fit(figure)
    told = [p for p in last if p.source == "data" and not p.name.endswith("_dot")]
    assert len(told) > 20
    assert all(p.sigma < 1.1 * early[p.name].sigma for p in told)
    assert np.mean([abs(p.value - smoothed[p.name].value) < 3.0 * p.sigma for p in told]) > 0.9
