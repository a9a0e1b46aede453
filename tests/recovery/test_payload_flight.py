"""Gripping in flight: the vehicle stays where it is if the payload chain is on."""

import pytest

from haltere.studies.payload_flight import flight_rows


@pytest.mark.slow
def test_the_chain_holds_the_vehicle():
    rows = {row["quantity"]: row for row in flight_rows(20, 9)}
    assert rows["on over off"]["ours"] < 0.2
    assert rows["position error, chain off"]["ours"] > 0.05
    assert rows["payload mass outside its 95 % interval"]["ours"] <= 0.15
