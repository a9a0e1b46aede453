"""What `identify` makes of flights whose drawing, poses or readings are not what they should be."""

from dataclasses import replace

import numpy as np
import pytest
from tests.world.adapters.base import to_flight, true_numbers
from tests.world.adapters.identify import SCALE_SIGMA
from tests.world.drawings import QUADROTOR
from tests.world.flights import fly
from tests.world.levels import NASTY, REALISTIC

import haltere as ht
from haltere.airframe import loads
from haltere.estimation.vehicle.parameters import Widths

CHANNELS = ("imu.", "rotors.", "pose.", "battery.")
DRAWN = {
    "thrust": 0.04, "torque_ratio": 0.057, "position": 0.002, "com_arm": 0.04, "tilt": 0.005, "moment": 0.08,
    "product": 0.03,
}  # fmt: skip
"""Deviations of the vehicles of the world from their drawing, realistic."""
FLIGHTS = 20


def identified(flight, factor=None, **options):
    """The result of a flight of the world; with priors `factor` times as wide as its vehicles differ."""
    airframe = loads(flight.nominal)
    mass = airframe.total_mass
    with pytest.MonkeyPatch.context() as patch:
        if factor is not None:
            own = replace(Widths(), **{name: factor * width for name, width in DRAWN.items()})
            patch.setattr(Widths, "from_airframe", lambda _: own)
        return ht.identify(
            to_flight(flight, CHANNELS), airframe, known={"mass": (mass, SCALE_SIGMA * mass)}, **options
        )


def holds(interval, truth):
    """Whether an interval touches the truth, which may be a range."""
    low, high = truth if isinstance(truth, tuple) else (truth, truth)
    return interval[0] <= high and low <= interval[1]


@pytest.mark.parametrize("count", [2, pytest.param(FLIGHTS, marks=pytest.mark.slow)])
def test_a_lively_flight_tells_most_of_the_vehicle(count):
    """At least 40 numbers, inertia and thrust nine times of ten, and no wider than half more than the model's bound."""
    numbers, needed, held, widened = [], [], [], []
    for flight in fly(QUADROTOR, REALISTIC, "full", seeds=range(40_200, 40_200 + count), duration=24.0):
        result = identified(flight, method="batch")
        known = {p.name: p for p in result.parameters if p.verdict == "identified"}
        numbers.append(len(known))
        needed += [f"inertia.{axis}{axis}" in known for axis in "xyz"]
        needed += [f"rotors.{name}.thrust_coefficient" in known for name in QUADROTOR.rotor_names]
        truth = true_numbers(flight.truth, "airframe")
        held += [holds(p.interval, truth[name]) for name, p in known.items() if name in truth]
        widened.append(result.fit["widened"])
    print(f"{min(numbers)} to {max(numbers)} numbers, {np.mean(needed):.0%} of inertia and thrust")
    print(
        f"{np.mean(held):.1%} of {len(held)} held, widened {np.median(widened):.2f}, at most {max(widened):.2f}"
    )
    assert min(numbers) >= 40
    assert np.mean(needed) >= 0.9
    assert np.mean(held) >= 0.9
    assert max(widened) <= 1.5


def test_a_hover_claims_little():
    """Rotors that hardly change are mostly noise: their rows would come out a third too weak."""
    (flight,) = fly(QUADROTOR, REALISTIC, "hover", seeds=(40_300,), duration=16.0)
    result = identified(flight, method="batch")
    truth = true_numbers(flight.truth, "airframe")
    known = [p for p in result.parameters if p.verdict == "identified" and p.name in truth]
    assert len(known) < 15
    assert not any(p.name.startswith("inertia.") or p.name.endswith(".p") for p in known)
    for p in known:
        if not isinstance(truth[p.name], tuple):
            assert abs(p.value - truth[p.name]) < 4.0 * p.sigma, p.name


@pytest.mark.slow
def test_priors_of_another_width():
    """Half as wide as vehicles differ: said in nine flights of ten. Twice as wide: deviations grow by 30 % at most."""
    told, growth = [], []
    flights = fly(QUADROTOR, REALISTIC, "full", seeds=range(40_000, 40_000 + FLIGHTS), duration=24.0)
    for flight in flights:
        narrow, right, wide = (
            identified(flight, factor=factor, method="batch") for factor in (0.5, 1.0, 2.0)
        )
        told.append(any("times as far from the airframe file as usual" in note for note in narrow.notes))
        known = [p.name for p in right.parameters if p.verdict == "identified" and p.source == "data"]
        growth.append(np.median([wide.parameters[n].sigma / right.parameters[n].sigma for n in known]))
        print(f"told {told[-1]}, growth {growth[-1]:.2f} (median of {len(known)})")
    print(
        f"told in {np.mean(told):.0%} of {FLIGHTS} flights; growth {np.median(growth):.2f}, {max(growth):.2f}"
    )
    assert np.mean(told) >= 0.9
    assert np.median(growth) <= 1.3


def test_poses_of_another_flight_leave_the_effectiveness():
    """What the smoother refuses, the effectiveness method takes: torque rows of all rotors come out, and hold."""
    flight, other = fly(QUADROTOR, NASTY, "full", seeds=(40_100, 40_101), duration=16.0)
    streams = flight.streams | {
        name: stream for name, stream in other.streams.items() if name.startswith("pose.")
    }
    result = identified(replace(flight, streams=streams))
    assert result.method == "effectiveness"
    assert any("could not be used" in note for note in result.notes)
    rows = [
        result.parameters[f"rotors.{name}.effectiveness.{row}"]
        for name in QUADROTOR.rotor_names
        for row in "pq"
    ]
    for p in rows:
        assert p.value is not None, p.name
        assert abs(p.value - flight.truth[p.name]) < 4.0 * p.sigma, p.name
