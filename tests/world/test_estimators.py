"""The short form of `make world`: a flight through runner and estimators, and what the adapters hand over."""

import numpy as np
import pytest
from tests.world import estimators, plan
from tests.world.adapters import base
from tests.world.adapters.tumble import THROWS_DURATION
from tests.world.hand import draw_throws
from tests.world.plan import Batch
from tests.world.run import Door, collect, run
from tests.world.store import Store, estimator_hash, imported_files, world_hash

NAMES = ("effectiveness from speeds", "effectiveness from commands", "centre-of-gravity filter")
BATCHES = list(plan.batches(plan.SIZES["test"]))


@pytest.fixture(scope="module")
def flown(tmp_path_factory):
    keys = {name: estimator_hash(estimators.ESTIMATORS[name].modules) for name in NAMES}
    store = Store(tmp_path_factory.mktemp("world"), keys, world_hash())
    result = run(BATCHES, NAMES, store, Door(estimators.fly, estimators.attempt), workers=0)
    return result, collect(BATCHES, NAMES, store)


def test_every_estimator_answers_in_the_ideal_world(flown):
    result, attempts = flown
    assert [a.refusal for a in attempts] == [""] * 3
    rows = {row.estimator: row for row in result.vehicles if row.name == "all"}
    assert rows["effectiveness from speeds"].claimed > 40
    assert rows["effectiveness from speeds"].held > 0.8
    assert rows["centre-of-gravity filter"].median_error < 0.05
    assert rows["effectiveness from commands"].claimed > 5


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("effectiveness from speeds", "methods/effectiveness.py"),
        ("effectiveness from commands", "methods/command.py"),
        ("vehicle smoother", "vehicle/marginal.py"),
        ("vehicle in flight", "vehicle/causal.py"),
    ],
)
def test_what_an_estimator_runs_counts_for_its_results(name, file):
    modules = estimators.ESTIMATORS[name].modules
    paths = [path.as_posix() for module in modules for path in imported_files(module)]
    assert any(path.endswith(file) for path in paths)


def test_claims_stand_beside_the_truth(flown):
    _, attempts = flown
    speeds = next(a for a in attempts if a.estimator == "effectiveness from speeds")
    names = {claim.name for claim in speeds.claims}
    assert {"rotors.m1.effectiveness.fz", "rotors.m4.time_constant", "imu.position.x", "inertia.xx"} <= names
    lift = next(c for c in speeds.claims if c.name == "rotors.m1.effectiveness.fz")
    assert lift.value == pytest.approx(lift.truth, rel=0.1)


def test_a_throw_tells_where_the_imu_is():
    batch = Batch("ideal", "quadrotor-x", "", (10_200,), scenario="throws")
    (flight,) = estimators.fly(batch)
    found = estimators.attempt("tumble", batch, 10_200, flight)
    assert found.refusal == ""
    assert {claim.name for claim in found.claims} == {f"imu.position.{axis}" for axis in "xyz"}
    assert max(abs(claim.value - claim.truth) for claim in found.claims) < 3e-3


def test_throws_end_before_their_record():
    plans = [draw_throws(seed) for seed in range(300)]
    assert max(plan.starts[-2] for plan in plans) < THROWS_DURATION - 1.0


def test_a_flight_has_the_streams_that_an_estimator_asks_for():
    flight = estimators.fly(Batch("realistic", "quadrotor-x", "", (10_100,), 2.0))[0]
    record = base.to_flight(flight, ("imu.", "rotors.command"))
    assert set(record.names) == {"imu.accel", "imu.gyro", "rotors.command"}
    stream = flight.streams["imu.gyro"]
    assert np.array_equal(record["imu.gyro"].values, stream.values)
    assert record["imu.gyro"].seconds() == pytest.approx(stream.time, abs=1e-9)
    assert record["rotors.command"].columns == ("m1", "m2", "m3", "m4")


def test_truth_has_what_follows_from_it():
    truth = {
        "com.x": 0.0, "com.y": 0.0, "com.z": 0.0, "inertia.xx": 2.0, "inertia.yy": 3.0, "inertia.zz": 4.0,
        "rotors.a.effectiveness.fz": 2e-6, "rotors.a.max_speed": 1e3, "rotors.a.time_constant": (0.03, 0.02),
    }  # fmt: skip
    found = base.true_numbers(truth, "com")
    assert found["inertia.zz/inertia.xx"] == 2.0
    assert found["rotors.a.authority.fz"] == pytest.approx(2.0)
    assert found["rotors.a.time_constant"] == (0.02, 0.03)


@pytest.mark.parametrize("effect", estimators.EFFECTS)
def test_a_single_effect_changes_the_ideal_world(effect):
    alone, ideal = estimators.level_of("ideal", effect), estimators.level_of("ideal")
    fields = estimators.GROUPS_OF_EFFECTS[effect]
    assert any(getattr(alone, field) != getattr(ideal, field) for field in fields)
