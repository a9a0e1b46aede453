"""The estimate in flight: what a stream does to it, and what it says of that."""

import copy
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from tests.world.adapters.base import to_flight
from tests.world.drawings import QUADROTOR
from tests.world.flights import fly
from tests.world.levels import IDEAL, REALISTIC

from haltere.airframe import loads
from haltere.estimation.core.readings import Reading, ReadingError
from haltere.estimation.vehicle.online import OnlineVehicle, replay
from haltere.estimation.vehicle.stream import (
    AGREEING,
    ImuSample,
    PoseSample,
    RotorSample,
    SampleSeries,
    SensorBuffer,
    SkipReason,
    samples_of,
)
from haltere.foundation import HaltereError

SEED = 700
EVENT = 6.0
"""s of the flight at which something happens to the readings."""
USABLE = 2.0
"""s after which the estimate is usable again."""
RADIUS = 4.0
"""Deviations that a number may move through what happened."""


@pytest.fixture(scope="module")
def flown():
    (flight,) = fly(QUADROTOR, REALISTIC, "full", seeds=(SEED,), duration=9.0)
    return flight


@pytest.fixture(scope="module")
def airframe(flown):
    return loads(flown.nominal)


@pytest.fixture(scope="module")
def readings(flown, airframe):
    names = tuple(rotor.name for rotor in airframe.rotors)
    return list(samples_of(to_flight(flown, ("imu.", "rotors.", "pose.")), names))


@pytest.fixture(scope="module")
def begun(airframe, readings):
    """The estimate just before `EVENT`."""
    online = OnlineVehicle(airframe, known={"mass": (airframe.total_mass, 0.005 * airframe.total_mass)})
    assert {p.source for p in online.estimate()} == {"prior", "user"}
    for reading in readings:
        if reading.time < EVENT:
            online.step(reading)
    return online


@pytest.fixture(scope="module")
def undisturbed(begun, readings):
    """The estimate when nothing happens."""
    return run_on(begun, readings)


def run_on(begun, readings, until=EVENT + USABLE):
    online = copy.deepcopy(begun)
    for reading in readings:
        if EVENT <= reading.time < until or not np.isfinite(reading.time):
            online.step(reading)
    return online


def assert_usable(online, undisturbed, clock=0.0):
    """The filter runs, is positive definite, and says what it says when nothing happens."""
    found, expected = online.estimate(), undisturbed.estimate()
    assert found.behind < 0.1
    assert np.linalg.eigvalsh(found.numbers.cov).min() > -1e-9 * np.abs(found.numbers.cov).max()
    belief = online._belief
    assert np.linalg.eigvalsh(belief.precision).min() > 0.0
    assert np.linalg.eigvalsh(belief.P).min() > 0.0
    position = belief.x[:3] + belief.x[3:6] * (expected.time - found.time + clock)
    assert np.linalg.norm(position - undisturbed._belief.x[:3]) < 0.02
    for p, q in zip(found, expected, strict=True):
        assert abs(p.value - q.value) < RADIUS * q.sigma, p.name
        assert p.sigma < 3.0 * q.sigma, p.name


def moved_back(belief, way, velocity):
    """The belief with its position and velocity changed by as much, to be compared with the undisturbed one."""
    return belief._replace(x=np.concatenate([belief.x[:3] - way, belief.x[3:6] - velocity, belief.x[6:]]))


def changed(readings, kind, between, change):
    """The readings with those of a kind within some seconds changed; None drops one."""
    found = [change(r) if isinstance(r, kind) and between[0] <= r.time < between[1] else r for r in readings]
    return [r for r in found if r is not None]


def test_numbers_come_from_the_flight_after_five_seconds(undisturbed, flown):
    estimate = undisturbed.estimate()
    assert estimate.time == pytest.approx(EVENT + USABLE, abs=0.1)
    assert estimate.behind < 0.1
    told = [p for p in estimate if p.source == "data"]
    assert len(told) > 20
    close = [abs(p.value - flown.truth[p.name]) < 3.0 * p.sigma for p in told if p.name in flown.truth]
    assert np.mean(close) > 0.9
    assert estimate["mass"].source == "user"
    assert len(undisturbed.skipped) == 0
    assert "smoothed" in undisturbed.events[0].text


def test_saturated_samples_are_missing_ones(begun, readings, undisturbed):
    def saturate(reading):
        return ImuSample(reading.time, np.full(3, 156.9), np.full(3, -34.9))

    online = run_on(begun, changed(readings, ImuSample, (EVENT, EVENT + 0.02), saturate))
    assert online.skipped.counts[SkipReason.SATURATED] >= 4
    assert_usable(online, undisturbed)


@pytest.mark.parametrize("kind", [ImuSample, RotorSample, PoseSample, tuple])
def test_half_a_second_without_readings(kind, begun, readings, undisturbed):
    online = run_on(begun, changed(readings, kind, (EVENT + 0.1, EVENT + 0.6), lambda _: None))
    assert_usable(online, undisturbed)


def test_a_hit_moves_the_vehicle_and_not_its_numbers(begun, readings, undisturbed):
    """50 m/s2 for 20 ms along x of the world: 1 m/s more from then on."""
    begin, end, more = EVENT + 0.1, EVENT + 0.12, 1.0

    def struck(reading):
        return reading._replace(accel=np.add(reading.accel, [50.0, 0.0, 0.0]))

    def carried_off(reading):
        way = more * (reading.time - 0.5 * (begin + end))
        return reading._replace(position=np.add(reading.position, [max(way, 0.0), 0.0, 0.0]))

    online = run_on(
        begun,
        changed(changed(readings, ImuSample, (begin, end), struck), PoseSample, (begin, np.inf), carried_off),
    )
    online.estimate()
    way = [more * (online._next - 0.5 * (begin + end)), 0.0, 0.0]
    online._belief = moved_back(online._belief, way, [more, 0.0, 0.0])
    assert_usable(online, undisturbed)


@pytest.mark.parametrize("stamp", [np.nan, np.inf, -np.inf, 1e9, -1e9, EVENT - 2.0])
def test_a_wrong_stamp_is_skipped(stamp, begun, readings, undisturbed):
    wrong = [r._replace(time=stamp) for r in readings if r.time >= EVENT][:3]
    online = copy.deepcopy(begun)
    for reading in wrong:
        online.step(reading)
    reason = SkipReason.STAMP
    if np.isfinite(stamp):
        reason = SkipReason.FAR if stamp > EVENT else SkipReason.BACKWARDS
    assert online.skipped.counts == {reason: 3}
    assert [s.reason for s in online.skipped] == [reason] * 3
    assert_usable(run_on(online, readings), undisturbed)


def test_values_that_are_no_numbers_are_skipped(begun, readings, undisturbed):
    online = copy.deepcopy(begun)
    online.step(ImuSample(EVENT, [np.nan, 0.0, 0.0], np.zeros(3)))
    online.step(RotorSample(EVENT, [np.inf, 0.0, 0.0, 0.0]))
    online.step(PoseSample(EVENT, np.zeros(3), np.zeros(4)))
    online.step(ImuSample(EVENT, [1e30, 0.0, 0.0], np.zeros(3)))
    assert online.skipped.counts == {SkipReason.VALUE: 2, SkipReason.RANGE: 2}
    assert {s.stream for s in online.skipped} == {"imu", "rotors", "pose"}
    assert_usable(run_on(online, readings), undisturbed)


def test_outliers_of_the_pose_count_for_nothing(begun, readings, undisturbed):
    rng = np.random.default_rng(1)

    def thrown(reading):
        if rng.random() > 0.1:
            return reading
        return reading._replace(position=np.asarray(reading.position) + rng.normal(size=3))

    assert_usable(run_on(begun, changed(readings, PoseSample, (EVENT, EVENT + USABLE), thrown)), undisturbed)


def test_a_clock_that_is_set_anew_is_followed(begun, readings, undisturbed):
    online = copy.deepcopy(begun)
    for reading in readings:
        if EVENT <= reading.time < EVENT + USABLE:
            online.step(reading._replace(time=reading.time + 1000.0))
    assert online.skipped.counts == {SkipReason.FAR: AGREEING - 1}
    assert any("clock" in event.text for event in online.events)
    assert online.estimate().time == pytest.approx(1000.0 + EVENT + USABLE, abs=0.1)
    assert_usable(online, undisturbed, clock=1000.0)


def test_a_vehicle_that_is_carried_off_is_found_again(begun, readings, undisturbed):
    def elsewhere(reading):
        return reading._replace(position=np.add(reading.position, [3.0, 0.0, 0.0]))

    online = run_on(begun, changed(readings, PoseSample, (EVENT, np.inf), elsewhere))
    assert [e.text.split(":")[0] for e in online.events][-2:] == ["lost", "the states have begun again"]
    online.estimate()
    online._belief = moved_back(online._belief, [3.0, 0.0, 0.0], np.zeros(3))
    assert_usable(online, undisturbed)


def test_a_belief_that_is_not_finite_is_replaced(begun, readings, undisturbed):
    online = copy.deepcopy(begun)
    online._belief = online._belief._replace(x=np.full(31, np.nan))
    online = run_on(online, readings)
    assert any("not finite" in event.text for event in online.events)
    assert_usable(online, undisturbed)


def test_readings_of_another_shape_are_the_callers_mistake(begun):
    with pytest.raises(ReadingError, match="rotor speeds of shape"):
        copy.deepcopy(begun).step(RotorSample(EVENT, np.zeros(3)))
    with pytest.raises(ReadingError, match="give a Reading"):
        copy.deepcopy(begun).step((EVENT, np.zeros(3)))


def test_a_reading_may_hold_several_sensors(begun, readings):
    imu, rotors, pose = (
        next(r for r in readings if isinstance(r, kind) and r.time >= EVENT)
        for kind in (ImuSample, RotorSample, PoseSample)
    )
    online, apart = copy.deepcopy(begun), copy.deepcopy(begun)
    time = max(imu.time, rotors.time, pose.time)
    online.step(
        Reading(time, (imu.accel, imu.gyro), rotors.speeds, pose=(pose.position, pose.wxyz), joints=[0.1])
    )
    for sample in (imu, rotors, pose):
        apart.step(sample._replace(time=time))
    for name in ("imu", "rotors", "poses"):
        both = [getattr(each._buffer, name) for each in (online, apart)]
        assert both[0].newest == both[1].newest == time - online._buffer.origin
        np.testing.assert_array_equal(both[0].values, both[1].values)
    online.step(Reading(time + 0.001, pose=pose.position))
    assert online.skipped.counts == {SkipReason.VALUE: 1}


def test_an_unknown_name_is_refused(airframe):
    with pytest.raises(HaltereError, match=r"known weight"):
        OnlineVehicle(airframe, known={"weight": 1.0})


def test_smoothing_in_the_background_ends_in_the_same(airframe, readings, begun):
    with ThreadPoolExecutor(1) as pool:
        online = OnlineVehicle(
            airframe, known={"mass": (airframe.total_mass, 0.005 * airframe.total_mass)}, executor=pool
        )
        for reading in readings:
            if reading.time < EVENT:
                online.step(reading)
                if online._job is not None:
                    online._job.result()
    expected = begun.estimate()
    for p, q in zip(online.estimate(), expected, strict=True):
        assert abs(p.value - q.value) < 0.3 * q.sigma, p.name


@pytest.mark.parametrize("level", [IDEAL, REALISTIC], ids=lambda level: level.name)
def test_a_hover_claims_nothing_of_the_rotors(level):
    """What rotors do in a hover is mostly noise, from which a filter would learn without end."""
    (hover,) = fly(QUADROTOR, level, "hover", seeds=(SEED,), duration=9.0)
    airframe = loads(hover.nominal)
    online = replay(to_flight(hover, ("imu.", "rotors.", "pose.")), airframe, smoothed_after=(5.0,))
    known = [p for p in online.estimate() if p.verdict == "identified" and p.name != "mass"]
    assert not [p.name for p in known if p.name.startswith(("rotors.", "inertia."))]
    assert not [p.name for p in known if abs(p.value - hover.truth.get(p.name, p.value)) > 4.0 * p.sigma]


@pytest.mark.slow
def test_ten_minutes_of_hover():
    """Nothing grows, nothing is lost, and what is said holds: the filter learns no more than hover can tell."""
    minutes = 10
    level = replace(REALISTIC, sag=REALISTIC.sag / minutes)  # a battery that lasts so long
    (hover,) = fly(QUADROTOR, level, "hover", seeds=(SEED,), duration=60.0 * minutes)
    airframe = loads(hover.nominal)
    names = tuple(rotor.name for rotor in airframe.rotors)
    online = OnlineVehicle(airframe, known={"mass": (airframe.total_mass, 0.005 * airframe.total_mass)})
    sizes = []
    for reading in samples_of(to_flight(hover, ("imu.", "rotors.", "pose.")), names):
        online.step(reading)
        if reading.time > 60.0 * (len(sizes) + 1):
            buffer = online._buffer
            sizes.append(sum(len(series._time) for series in (buffer.imu, buffer.rotors, buffer.poses)))
            print(
                f"{len(sizes)} min: {sizes[-1]} rows, {len(online.events)} events, {len(online.skipped)} skipped"
            )
    estimate = online.estimate()
    assert len(sizes) == minutes - 1
    assert sizes[-1] == sizes[1]
    assert estimate.behind < 0.1
    assert not any("lost" in event.text for event in online.events)
    assert np.linalg.eigvalsh(online._belief.precision).min() > 0.0
    assert np.linalg.eigvalsh(online._belief.P).min() > 0.0
    told = [p for p in estimate if p.verdict == "identified" and p.name in hover.truth]
    away = [
        (p.value - hover.truth[p.name]) / p.sigma for p in told if not isinstance(hover.truth[p.name], tuple)
    ]
    print(f"{len(away)} identified, largest {np.max(np.abs(away)):.1f} sigma")
    assert np.mean(np.abs(away) < 1.96) > 0.85
    assert np.max(np.abs(away)) < 5.0


def test_a_flight_is_replayed(flown, airframe, undisturbed):
    online = replay(to_flight(flown, ("imu.", "rotors.", "pose.")), airframe)
    estimate = online.estimate()
    assert estimate.time == pytest.approx(9.0, abs=0.15)
    assert sum(p.source == "data" for p in estimate) > 20
    assert "inertia.xx" in repr(estimate)


def test_a_series_forgets_and_stays_small():
    series = SampleSeries(3, 2.0)
    for k in range(50_000):
        series.append(0.002 * k, [float(k)] * 3)
    assert len(series._time) <= 4096
    assert series.newest == pytest.approx(99.998)
    assert series.newest - series.oldest >= 2.0
    time, values = series.since(99.9, 0)
    assert time[0] == pytest.approx(99.9)
    assert values[-1].tolist() == [49_999.0] * 3


def test_a_buffer_of_hover_stays_small():
    buffer = SensorBuffer(4, 5.0)
    rng = np.random.default_rng(0)

    def feed(first, last):
        for k in range(first, last):
            accel = [*rng.normal(size=2), 9.8 + rng.normal()]
            buffer.add(ImuSample(0.005 * k, accel, 0.1 * rng.normal(size=3)))
            buffer.add(ImuSample(np.nan, accel, np.zeros(3)))

    feed(0, 4000)
    tracemalloc.start()
    feed(4000, 24_000)
    current, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert current < 300_000
    assert buffer.skipped.counts[SkipReason.STAMP] == 24_000
    assert len(list(buffer.skipped)) == 200


def test_an_unknown_number_is_named(airframe):
    with pytest.raises(HaltereError, match=r"no number is called 'mas'; there are mass, com\.x"):
        OnlineVehicle(airframe).estimate()["mas"]
