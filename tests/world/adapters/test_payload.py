"""The short form of the payload on the arm: bench and flight of one vehicle, and what the program says of them."""

import numpy as np
import pytest
from tests.world import estimators, plan
from tests.world.adapters import base, payload
from tests.world.levels import IDEAL
from tests.world.plan import Batch

SEED = 10_301


@pytest.fixture(scope="module")
def flight():
    (found,) = payload.fly_grips(IDEAL, (SEED,), 5.0)
    return found


def test_the_program_reads_the_mass_that_the_arm_gripped(flight):
    batch = Batch("ideal", payload.VEHICLE, "", (SEED,), scenario="grips")
    found = base.attempt("payload on the arm", payload.PAYLOAD, batch, SEED, flight)
    assert found.refusal == ""
    claims = {claim.name: claim for claim in found.claims}
    assert set(claims) == {"payload.mass", "center_of_mass.x", "center_of_mass.y", "center_of_mass.z"}
    mass = claims["payload.mass"]
    assert payload.FULL[0] < mass.truth < payload.FULL[1]
    assert mass.value == pytest.approx(mass.truth, rel=0.2)
    assert claims["center_of_mass.y"].verdict != "identified"  # along the joints' axes nothing shows


def test_the_bench_has_the_columns_that_a_calibration_asks_for(flight):
    names = {name for name in flight.streams if name.startswith(payload.BENCH)}
    assert names == {"bench.joints.angle", "bench.joints.load", "bench.joints.goal", "bench.payload.mass"}
    known = flight.streams["bench.payload.mass"]
    assert sorted(set(known.values[:, 0])) == list(payload.KNOWN)
    assert (np.diff(known.time) > 0.0).all()
    load = flight.streams["bench.joints.load"].values[:, 0]
    means = [load[known.values[:, 0] == mass].mean() for mass in payload.KNOWN]
    lever = 0.0733 * np.sin(np.pi / 4) + 0.1055
    expected = 9.81 * lever * payload.KNOWN[2] / 2.5
    assert means[2] - means[0] == pytest.approx(expected, rel=0.3)


def test_goals_go_from_pose_to_pose():
    poses = np.array([[[0.2], [0.1]], [[1.0], [0.1]]])
    goals = payload.Sweeps((0.0, 4.0), poses, 0.1, (0.5, 0.25))
    assert goals(0.0)[:, 0] == pytest.approx([0.2, 0.1])
    assert goals(1.0)[:, 0] == pytest.approx([0.2, 0.2])
    assert goals(4.5)[0, 0] == pytest.approx(0.2 + 0.8 * 0.5 + 0.1)
    assert goals(8.0)[:, 0] == pytest.approx([1.0, 0.1])


def test_the_vehicle_with_an_arm_flies_as_often_as_the_others_together():
    found = estimators.batches(plan.SIZES["full"], "grips")
    for level in plan.LEVELS:
        assert sum(len(batch.seeds) for batch in found if batch.level == level) == 100
    assert {batch.vehicle for batch in found} == {payload.VEHICLE}
    assert not any(batch.effect for batch in found)
