"""The observability tables of Boehm et al. 2022, exactly; the numbers are those of the paper and its errata."""

import numpy as np
import pytest

from haltere.airframe import from_catalogue
from haltere.observability import Question, RationalVehicle, analyse, count_rank, exact_matrices
from haltere.papers.boehm import ranks

SETS = [Question(s) for s in (("pose", "imu"), ("position", "imu"), ("pose",), ("position",), ("imu",))]
SETS.append(Question(("imu",), frozen=True))


@pytest.mark.parametrize("n", [1, 4, 6, 8])
def test_ranks_without_symmetry(n):
    vehicle = RationalVehicle.generic(n, np.random.default_rng([n, 11]))
    matrices = exact_matrices(vehicle, SETS, np.random.default_rng(n))
    offsets = [(38, 6), (35, 6), (26, 6), (23, 6), (20, 6), (20, 3)]
    assert [count_rank(m, vehicle, "all") for m in matrices] == [a + b * n for a, b in offsets]
    offsets = [(38, 6), (34, 6), (25, 6), (21, 6), (18, 6), (18, 3)]
    assert [count_rank(m, vehicle, "determined") for m in matrices] == [a + b * n for a, b in offsets]
    assert (vehicle.coordinates.states, vehicle.coordinates.errors) == (40 + 7 * n, 37 + 7 * n)


def test_hummingbird_on_the_sphere():
    vehicle = RationalVehicle.from_airframe(from_catalogue("hummingbird"))
    matrices = exact_matrices(vehicle, SETS[:5], np.random.default_rng(0))
    assert [count_rank(m, vehicle, "all") for m in matrices] == [61, 58, 49, 46, 43]


def test_null_space_of_the_general_vehicle():
    result = analyse(RationalVehicle.generic(4, np.random.default_rng(5)), Question(("pose", "imu")))
    kinds = [d.kind for d in result.directions]
    assert kinds == ["mass scale", "leverage scale", *["slide"] * 4]
    scale = dict(result.directions[0].members)
    assert {name.rsplit(".", 1)[-1] for name in scale} == {"mass", "xx", "yy", "zz", "thrust_coefficient"}


def test_mass_and_any_five_of_six_distances_are_enough():
    vehicle = RationalVehicle.generic(4, np.random.default_rng(5))
    pairs = [f"distance.r{a}.r{b}" for a, b in ((1, 2), (1, 3), (1, 4), (2, 3), (2, 4), (3, 4))]
    ranks = [analyse(vehicle, Question(("pose", "imu")), ["mass", *pairs[:k]]).rank for k in range(6)]
    assert ranks == [63, 64, 65, 66, 67, 68]
    for left_out in pairs:
        chosen = ["mass", *(p for p in pairs if p != left_out)]
        assert analyse(vehicle, Question(("pose", "imu")), chosen).rank == 68


def test_yaw_of_the_principal_axes_holds_what_the_paper_lists_and_more():
    result = analyse(RationalVehicle.from_airframe(from_catalogue("hummingbird")), Question(("pose", "imu")))
    turn = next(d for d in result.directions if d.kind == "turn")
    groups = {name.rsplit(".", 1)[0] for name, _ in turn.members}
    paper = {"state.attitude", "state.rate", "pose.position", "pose.rotation", "imu.position", "imu.rotation"}
    assert paper <= groups
    assert groups - paper == {
        "state.velocity",
        *(f"rotors.{r}.position" for r in ("front", "left", "back", "right")),
    }
    assert "state.rate.z" not in dict(turn.members)


def test_the_tables_beside_the_paper():
    tables = {table.name: [row.to_dict() for row in table.rows] for table in ranks.rank_tables()}
    rows = [row for table in tables.values() for row in table]
    assert all(row["ours"] == row["bound"] for row in rows if row["unit"] == "rank")
    assert all({"quantity", "unit", "paper", "ours", "bound", "note"} == set(row) for row in rows)
    assert all("\n" not in row["note"] for row in rows)
    labels = tables["Table I: state by state, N = 4"]
    assert len(labels) == 5 * 18
    different = {row["quantity"]: row["ours"] for row in labels if row["ours"] != row["paper"]}
    with_rotors = ("pose & IMU", "position & IMU", "pose", "position")
    assert different == {f"{name}: i": "J2 J3" for name in with_rotors}
