"""Flights as CSV."""

import csv

import numpy as np
import pytest
from tests.world.csv_files import write_csv
from tests.world.drawings import QUADROTOR
from tests.world.flights import fly
from tests.world.levels import REALISTIC


@pytest.fixture(scope="module")
def flight():
    return fly(QUADROTOR, REALISTIC, "full", (31,), 2.0)[0]


@pytest.mark.parametrize("layout", ["rows", "columns"])
def test_every_sample_is_there_once(flight, layout, tmp_path):
    write_csv(flight, tmp_path / "a.csv", layout)
    with (tmp_path / "a.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for channel, stream in flight.streams.items():
        for i, column in enumerate(stream.columns):
            name = channel if len(stream.columns) == 1 else f"{channel}.{column}"
            clock = "time" if layout == "rows" else f"{channel}.time"
            pairs = [(float(row[clock]), float(row[name])) for row in rows if row[name] != ""]
            np.testing.assert_allclose(pairs, np.column_stack([stream.time, stream.values[:, i]]), atol=1e-6)


def test_the_same_seed_gives_the_same_bytes(flight, tmp_path):
    write_csv(flight, tmp_path / "a.csv")
    write_csv(fly(QUADROTOR, REALISTIC, "full", (31,), 2.0)[0], tmp_path / "b.csv")
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()


def test_an_unknown_layout_is_refused(flight, tmp_path):
    with pytest.raises(ValueError, match="no layout 'wide'"):
        write_csv(flight, tmp_path / "a.csv", "wide")
