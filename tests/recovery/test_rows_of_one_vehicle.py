"""Flights of one vehicle of the foreign world: rows of effectiveness, with and without its drawing."""

import numpy as np
import pytest
from tests.world.adapters.base import to_flight, true_numbers
from tests.world.drawings import DRAWINGS, nominal_toml
from tests.world.flights import fly
from tests.world.levels import IDEAL, REALISTIC

import haltere as ht
from haltere.airframe import loads

CHANNELS = ("imu.", "rotors.", "battery.")
NORMAL = 1.96


def identified(flight, airframe):
    """Parameters by name, of a vehicle whose mass was weighed to 0.5 %."""
    mass = loads(flight.nominal).total_mass
    known = {"mass": (mass, 0.005 * mass)}
    return ht.identify(to_flight(flight, CHANNELS), airframe, known=known, method="effectiveness")


def ratios(result, truth):
    """Errors over sigma of the rows that are identified."""
    sure = [p for p in result.parameters if p.verdict == "identified" and ".effectiveness." in p.name]
    half = {p.name: (p.interval[1] - p.interval[0]) / (2.0 * NORMAL) for p in sure}
    return {p.name: (p.value - truth[p.name]) / half[p.name] for p in sure}


def with_first_two_exchanged(airframe):
    """The airframe with the positions, axes and spins of its first two rotors exchanged."""
    rotors = list(airframe.rotors)
    parts = [{name: getattr(r, name) for name in ("position", "axis", "spin")} for r in rotors]
    order = [1, 0, *range(2, len(rotors))]
    changed = [r.model_copy(update=parts[k]) for r, k in zip(rotors, order, strict=True)]
    return airframe.model_copy(update={"rotors": tuple(changed)})


def test_single_rotors_of_a_hexarotor_are_known_by_its_drawing():
    """Ideal world, a test seed: without the drawing mostly sums, with it every rotor; a wrong one is noticed."""
    (flight,) = fly(DRAWINGS["hexarotor"], IDEAL, "full", [10_000], 12.0)
    truth = true_numbers(flight.truth, "com")
    drawing = loads(flight.nominal)
    found = identified(flight, drawing)
    errors = ratios(found, truth)
    names = [f"rotors.m{k}.effectiveness.{row}" for k in range(1, 7) for row in ("fz", "p", "q")]
    strong = [n for n in names if found.parameters[n].verdict == "identified"]
    assert len(strong) >= 15
    assert max(map(abs, errors.values())) < 4.0
    alone = identified(flight, None)
    assert len([n for n in names if alone.parameters[n].verdict == "identified"]) <= 6
    assert max(map(abs, ratios(alone, truth).values())) < 4.0
    exchanged = identified(flight, with_first_two_exchanged(drawing))
    assert "motor-order" in [finding["kind"] for finding in exchanged.findings]
    other = identified(flight, loads(nominal_toml(DRAWINGS["coaxial-y"])))
    assert any("contradicts the log" in note for note in other.notes)


@pytest.mark.slow
def test_flights_of_one_vehicle_agree():
    """Realistic world, test seeds: six flights of one vehicle, without its drawing, so that only the log counts.

    Deviations hold causes that repeat from flight to flight, such as the rotation of the gyro: chi-square may be below
    its degrees of freedom, and not above.
    """
    count = 6
    flights = fly(
        DRAWINGS["quadrotor-x"], REALISTIC, "full", range(10_100, 10_100 + count), 24.0,
        vehicle_seeds=[10_100] * count,
    )  # fmt: skip
    every = [identified(flight, None) for flight in flights]
    names = [
        n for n in (p.name for p in every[0].parameters) if n.endswith((".p", ".q", ".max_speed", ".curve"))
    ]
    chi = []
    for name in names:
        known = [r.parameters[name] for r in every if r.parameters[name].verdict == "identified"]
        if len(known) < count:
            continue
        values, sigmas = (np.array([getattr(p, part) for p in known]) for part in ("value", "sigma"))
        mean = np.average(values, weights=sigmas**-2)
        chi.append(float(np.sum(((values - mean) / sigmas) ** 2)) / (count - 1))
    assert len(chi) >= 8
    assert max(chi) < 4.1  # 99.9 % of five degrees of freedom
    assert np.mean(chi) < 1.5
