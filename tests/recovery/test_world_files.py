"""A flight of the foreign world gives the same numbers through its files as from its streams."""

import pytest
from tests.world.adapters.base import to_flight
from tests.world.drawings import QUADROTOR
from tests.world.files import write
from tests.world.flights import fly
from tests.world.levels import REALISTIC

import haltere as ht
from haltere.airframe import loads


@pytest.fixture(scope="module")
def flight():
    return fly(QUADROTOR, REALISTIC, "full", (81_100,), 10.0)[0]


@pytest.fixture(scope="module")
def from_streams(flight):
    return identified(to_flight(flight, ("imu.", "rotors.", "battery.")), flight)


def identified(record, flight):
    airframe = loads(flight.nominal)
    weighed = (airframe.total_mass, 0.005 * airframe.total_mass)
    result = ht.identify(record, airframe, known={"mass": weighed}, method="effectiveness")
    return {p.name: p for p in result.parameters}


@pytest.mark.parametrize(("ending", "apart"), [("csv", 1e-4), ("ulg", 0.1)])
def test_numbers_do_not_depend_on_the_file(ending, apart, flight, from_streams, tmp_path):
    """The CSV has a row for every stamp of any stream and empty cells elsewhere; a ULog rounds to whole rpm."""
    path = tmp_path / f"flight.{ending}"
    write(flight, path)
    found = identified(ht.read(path), flight)
    assert {n: p.verdict for n, p in found.items()} == {n: p.verdict for n, p in from_streams.items()}
    differences = [
        abs(p.value - from_streams[name].value) / p.sigma
        for name, p in found.items()
        if p.value is not None and p.sigma
    ]
    assert len(differences) > 40
    assert max(differences) < apart
