"""Trajectories from tables, and one clear line for each table that makes none."""

import jax
import numpy as np
import pytest

from haltere.trajectory import ThrowRelease, TrajectoryError, circle, trajectory_from_table

GOOD = [
    {"kind": "hover", "position": [0, 0, 2]},
    {"kind": "step", "offset": [1, 0, 0], "time": 0.5},
    {"kind": "lissajous", "cycles": [3, 4, 5, 6], "duration": 20},
    {"kind": "lissajous"},
    {"kind": "circle", "radius": 2, "period": -8, "yaw_along_path": True, "ease": 2},
    {"kind": "chirp", "amplitude": [1, 0, 0, 0], "band_hz": [0.1, 1]},
    {"kind": "multisine", "amplitude": [1, 1, 0, 0], "sines": 4, "hold": [1, 0, 0, 0]},
    {"kind": "periodic", "sines": [[1, 0, 0.2, 0], [0, 0.5, 0, 1]], "period": 8},
    {"kind": "waypoints", "waypoints": [[0, 0, 1], [1, 0, 1]], "yaw": 0.5},
]


@pytest.mark.parametrize("table", GOOD, ids=lambda table: "-".join(table)[:40])
def test_good_tables_make_trajectories(table):
    path = trajectory_from_table(table, jax.random.key(0))
    assert float(path.duration) > 0.0
    assert np.all(np.isfinite(path.at(0.5).position))


def test_a_table_is_the_call_it_names():
    made = trajectory_from_table({"kind": "circle", "radius": 2.0, "centre": [1, 2, 3]})
    np.testing.assert_allclose(made.derivatives(1.0), circle(2.0, centre=(1.0, 2.0, 3.0)).derivatives(1.0))


def test_a_throw_is_made_too():
    assert isinstance(trajectory_from_table({"kind": "throw", "spin": [1, 2, 3]}), ThrowRelease)


BAD = [
    ({"kind": "lisajous"}, "did you mean 'lissajous'"),
    ({}, "no kind"),
    ({"kind": "zebra"}, "known are"),
    ({"kind": "circle", "radus": 1.0}, "did you mean 'radius'"),
    ({"kind": "circle", "duration": -3}, "above zero"),
    ({"kind": "circle", "period": 0}, "above zero"),
    ({"kind": "circle", "centre": [1, 2]}, "centre"),
    ({"kind": "circle", "radius": "big"}, "finite numbers"),
    ({"kind": "circle", "radius": float("nan")}, "finite numbers"),
    ({"kind": "circle", "yaw_along_path": 1}, "true or false"),
    ({"kind": "circle", "ease": -1}, "zero or more"),
    ({"kind": "circle", "hold": [0, 0, 0, 0]}, "no attitude"),
    ({"kind": "lissajous"}, "cycles is missing"),
    ({"kind": "chirp"}, "amplitude is missing"),
    ({"kind": "waypoints", "waypoints": [[0, 0, 1]]}, "at least two"),
    ({"kind": "waypoints", "waypoints": []}, "at least two"),
    ({"kind": "periodic", "sines": [[1, 0, 0, 0]], "cosines": []}, "1 sines and 0 cosines"),
    ({"kind": "periodic", "sines": []}, "at least one"),
    ({"kind": "throw", "ease": 1.0}, "unknown field"),
]


@pytest.mark.parametrize(("table", "words"), BAD, ids=[words for _, words in BAD])
def test_bad_tables_are_one_clear_line(table, words):
    with pytest.raises(TrajectoryError, match=words) as error:
        trajectory_from_table(table)
    assert "\n" not in str(error.value)
