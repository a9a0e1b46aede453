"""Recorded flights with motion capture through the batch smoother: possible, and in agreement with another method."""

from dataclasses import dataclass

import numpy as np
import pytest
from tests.recovery.test_batch import check_possible

from haltere.airframe import load_airframe
from haltere.airframe.rigid import RigidAirframe
from haltere.foundation.verdict import arm_length
from haltere.identification.pipeline import identify
from haltere.logs import read

NANO = "nanodrone"
AIRFRAME = f"{NANO}/cf-brushless.toml"
NANO_FLIGHTS = [f"{kind}_run{run}" for kind in ("square", "random", "chirp") for run in (1, 2, 3, 4)]
CRAZYFLIES = {"brushless_eckart36": 0.0370, "payload_eckart32": 0.0444}
"""Weighed, kg."""
WEIGHED = 0.01
"""Relative deviation of a mass that was weighed."""
COMPARED = (".effectiveness.p", ".effectiveness.q", ".effectiveness.fz", ".thrust_coefficient")
FURTHEST = 3.0 + 1e-6
"""Both deviations."""
MOST_REJECTED = 0.1
FEWEST_ACCEPTED = 8
"""Flights of the nano-drone with no more poses rejected."""


@dataclass(frozen=True)
class Compared:
    """What the smoother said of a flight.

    Attributes:
        method: that `identify` used.
        rejected: share of the poses.
        apart: of each number that the effectiveness method finds too, the difference over both deviations.
        identified: how many numbers are.
        notes: of the result.
    """

    method: str
    rejected: float
    apart: dict
    identified: int
    notes: list

    def line(self, name):
        """One row of a table."""
        worst = max(self.apart, key=lambda n: abs(self.apart[n]), default="")
        far = f"{worst} {self.apart[worst]:.1f} sigma apart" if worst else ""
        return f"{name}: {self.method}, {self.rejected:.1%} of poses off, {self.identified} identified, {far}"


def compared(flight, airframe, mass):
    """`identify` of a flight, its numbers checked for whether a vehicle can have them."""
    known = {"mass": (mass, WEIGHED * mass)}
    result = identify(flight, airframe, known=known)
    if result.method != "batch":
        return Compared(result.method, np.nan, {}, 0, result.notes)
    check_possible(result)
    arm = arm_length(RigidAirframe.from_airframe(airframe).positions)
    value = {p.name: p.value for p in result.parameters}
    assert all(np.sqrt(value[f"inertia.{axis}{axis}"] / value["mass"]) < arm for axis in "xyz")
    other = identify(flight, airframe, known=known, method="effectiveness")
    apart = {}
    for p in result.parameters:
        q = other.parameters.get(p.name)
        if p.name.endswith(COMPARED) and q is not None and q.sigma and q.value is not None:
            apart[p.name] = (p.value - q.value) / np.hypot(p.sigma, q.sigma)
    identified = sum(p.verdict == "identified" for p in result.parameters)
    return Compared(result.method, result.fit["rejected_poses"], apart, identified, result.notes)


def check_agreement(found):
    assert found.apart
    assert max(map(abs, found.apart.values())) <= FURTHEST, found.apart


def nano_flight(recorded, name):
    what = "the whole vehicle from motion capture against the effectiveness method"
    file, mapping = recorded(f"{NANO}/raw/{name}.csv", what), recorded(f"{NANO}/map.toml", what)
    return read(file, mapping=mapping)


def nano_airframe(recorded):
    return load_airframe(str(recorded(AIRFRAME, "the nano-drone")))


def test_a_square_of_the_nano_drone(recorded):
    airframe = nano_airframe(recorded)
    found = compared(nano_flight(recorded, "square_run3"), airframe, airframe.total_mass)
    assert found.method == "batch", found.notes
    assert found.rejected <= MOST_REJECTED
    check_agreement(found)


@pytest.mark.slow
def test_all_flights_of_the_nano_drone(recorded):
    airframe = nano_airframe(recorded)
    accepted = []
    for name in NANO_FLIGHTS:
        found = compared(nano_flight(recorded, name), airframe, airframe.total_mass)
        print(found.line(name), flush=True)
        if found.method == "batch":
            accepted.append(found)
    assert sum(found.rejected <= MOST_REJECTED for found in accepted) >= FEWEST_ACCEPTED
    for found in accepted:
        check_agreement(found)


@pytest.mark.slow
@pytest.mark.parametrize("name", CRAZYFLIES)
def test_crazyflies(recorded, name):
    """The same airframe, but for what these two weighed: the second has a load on a cable."""
    flight = read(recorded(f"crazyflie_rpm/{name}", "the whole vehicle from motion capture"))
    airframe = nano_airframe(recorded)
    mass = CRAZYFLIES[name]
    body = airframe.body.model_copy(update={"mass": mass})
    found = compared(flight, airframe.model_copy(update={"body": body}), mass)
    print(found.line(name))
    assert found.method == "batch", found.notes
    assert found.rejected <= MOST_REJECTED
    check_agreement(found)
