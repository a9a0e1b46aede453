"""The diagram of streams keeps the books of the power flow."""

import numpy as np
import pytest

from haltere.dynamics import PowerFlow, Topology
from haltere.report.power import Stream, power_chart, streams

TOPOLOGY = Topology(
    link_names=("body", "arm"),
    link_parents=(-1, 0),
    moving_links=(1,),
    rotor_names=("a", "b"),
    rotor_links=(1, 0),
    wing_links=(),
    wing_kinds=(),
    drag_links=(),
)


def flow():
    """Body, arm, rotor a (on the arm), rotor b (on the body): numbers that obey the balance of every node."""
    joint = np.array([0.0, 2.0, 50.0, 40.0])
    given = np.array([0.0, -3.0, -10.0, 6.0])
    received = given + joint
    gravity = np.array([-4.0, 1.0, -0.5, 0.0])
    external = np.array([-1.0, 0.0, -38.0, -44.0])
    taken = np.array([given[1] + given[3], given[2], 0.0, 0.0])
    return PowerFlow(gravity + external + received - taken, gravity, external, received, given, joint)


def test_what_enters_a_kind_leaves_it():
    found = streams(TOPOLOGY, flow())
    assert all(stream.power >= 0.0 for stream in found)
    for kind in ("body", "links", "rotors"):
        enters = sum(stream.power for stream in found if stream.target == kind)
        leaves = sum(stream.power for stream in found if stream.source == kind)
        assert enters == pytest.approx(leaves)


def test_streams_run_the_way_the_power_does():
    found = {(stream.source, stream.target): stream.power for stream in streams(TOPOLOGY, flow())}
    assert found["rotor drives", "rotors"] == pytest.approx(90.0)
    assert found["joint drives", "links"] == pytest.approx(2.0)
    assert found["rotors", "links"] == pytest.approx(10.0)
    assert found["body", "rotors"] == pytest.approx(6.0)
    assert found["links", "body"] == pytest.approx(3.0)
    assert found["rotors", "air"] == pytest.approx(82.0)
    assert found["gravity", "links"] == pytest.approx(1.0)


def test_the_chart_shows_all_but_the_smallest_streams():
    figure = power_chart(
        [
            Stream("rotor drives", "rotors", 100.0),
            Stream("rotors", "air", 99.9),
            Stream("rotors", "body", 0.1),
        ]
    )
    (sankey,) = figure.data
    assert list(sankey.link.value) == [100.0, 99.9]
    assert list(sankey.node.label) == ["rotor drives<br>100 W", "rotors<br>100 W", "air<br>100 W"]


def test_the_air_may_give_and_take():
    figure = power_chart(
        [Stream("air", "links", 5.0), Stream("links", "rotors", 5.0), Stream("rotors", "air", 5.0)]
    )
    assert [label.split("<")[0] for label in figure.data[0].node.label].count("air") == 2
