"""Gripping in flight: the vehicle stays where it is if the payload chain is on, and what it reports is true."""

import pytest

from haltere.papers.schmitz.grip_flights import flight_rows

INTERVALS = (
    "payload mass outside its 95 % interval",
    "vehicle mass outside its 95 % interval",
    "centre of mass x outside its 95 % interval",
    "centre of mass y outside its 95 % interval",
    "centre of mass z outside its 95 % interval",
)


def by_quantity(rows):
    return {row.quantity: row.ours for row in rows}


def test_the_chain_holds_six_vehicles():
    """The short form: few flights, wide bounds for chance; the others are below."""
    rows = by_quantity(flight_rows(6, 9))
    assert rows["position error, chain off"] > 0.05
    assert rows["on over off"] < 0.2
    assert rows["largest position error, chain on"] < 0.2 * rows["largest position error, chain off"]
    assert rows["mean error of the mass"] < 0.04
    for name in ("hover thrust", "CoG filter"):
        assert rows[f"{name} from the others, mean (1 is chance)"] < 4.0
    assert all(rows[name] <= 0.5 for name in INTERVALS)


@pytest.mark.slow
def test_a_hundred_flights_report_the_truth():
    """Five times nearer, and 95 % intervals that hold 95 % of the truths, neither all of them nor few of any kind."""
    rows = by_quantity(flight_rows(100, 7))
    assert rows["position error, chain off"] > 0.05
    assert rows["on over off"] < 0.2
    outside = [rows[name] for name in INTERVALS]
    assert 0.005 <= sum(outside) / len(outside) <= 0.05
    assert max(outside) <= 0.10
    assert rows["hover thrust from the others, mean (1 is chance)"] < 1.5
    assert rows["CoG filter from the others, mean (1 is chance)"] < 1.5
