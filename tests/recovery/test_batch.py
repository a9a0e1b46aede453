"""Vehicles of the catalogue, flown with known truth, through the batch smoother of `identify`."""

from dataclasses import dataclass

import numpy as np
import pytest
from tests.recovery.bound import vector
from tests.recovery.catalogue_flights import G, Spread
from tests.recovery.test_catalogue import RIGID, SCALE, flown

from haltere.identification.pipeline import identify
from haltere.identification.result import Identification

BUILT = Spread(
    mass=0.01,
    inertia=0.1,
    k=0.05,
    ratio=0.08,
    arm=0.015,
    height=2e-3,
    tilt=8e-3,
    spin=0.04,
    sensor=3e-3,
    turned=0.02,
)
"""A vehicle built about as drawn."""


def body_truth(vehicle):
    """Name to true number of a vehicle, in body axes from the airframe's origin."""
    J = vehicle.inertia
    found = {"mass": vehicle.mass}
    found |= {f"com.{c}": x for c, x in zip("xyz", vehicle.com, strict=True)}
    found |= {
        f"inertia.{a}{b}": J["xyz".index(a), "xyz".index(b)] for a, b in ("xx", "yy", "zz", "xy", "xz", "yz")
    }
    found |= {f"gravity.{c}": x for c, x in zip("xyz", (0.0, 0.0, -G), strict=True)}
    for sensor, place, turned in (
        ("imu", vehicle.imu_place, vehicle.imu_turn), ("pose", vehicle.pose_place, vehicle.pose_turn),
    ):  # fmt: skip
        found |= {f"{sensor}.position.{c}": x for c, x in zip("xyz", place, strict=True)}
        found |= {f"{sensor}.rotation.{c}": x for c, x in zip("xyz", vector(turned), strict=True)}
    rows = [row for block in vehicle.rows for row in block]
    kinds = ("fx", "fy", "fz", "p", "q", "r", "p_dot", "q_dot", "r_dot")
    for i, name in enumerate(vehicle.names):
        head = f"rotors.{name}"
        found |= {f"{head}.{kind}.{c}": v[i, k] for kind, v in (("position", vehicle.place), ("axis", vehicle.axis))
                  for k, c in enumerate("xyz")}  # fmt: skip
        found |= {f"{head}.effectiveness.{kind}": row[i] for kind, row in zip(kinds, rows, strict=True)}
        found |= {f"{head}.thrust_coefficient": vehicle.k[i], f"{head}.torque_ratio": vehicle.ratio[i]}
        if vehicle.spin_inertia.any():
            found[f"{head}.spin_inertia"] = vehicle.spin_inertia[i]
    return found


@dataclass(frozen=True)
class Judged:
    """A result, and the errors over sigma of what it calls identified."""

    result: Identification
    away: dict


def judged(name, seed):
    airframe, _, truth, flight, weighed = flown(name, seed, BUILT, 12.0)
    result = identify(flight, airframe, known={"mass": weighed})
    assert result.method == "batch", result.notes
    true = body_truth(truth.vehicle)
    told = {p.name: p for p in result.parameters if p.verdict == "identified" and p.name in true}
    return Judged(result, {name: (p.value - true[name]) / p.sigma for name, p in told.items()})


def check_possible(result):
    """No number that no vehicle has: masses and moments above zero, triangle inequality, the body within its arms."""
    value = {p.name: p.value for p in result.parameters}
    J = np.array([[value["inertia." + "".join(sorted(a + b))] for b in "xyz"] for a in "xyz"])
    moments = np.linalg.eigvalsh(J)
    assert moments[0] > 0.0
    assert moments[0] + moments[1] >= moments[2] * (1 - 1e-9)
    assert all(p.value > 0.0 for p in result.parameters if p.name.endswith(("thrust_coefficient", "mass")))


@pytest.mark.parametrize("name", ["hummingbird", "hexa-tilted"])
def test_a_vehicle_built_about_as_drawn(name):
    found = judged(name, 1)
    check_possible(found.result)
    assert len(found.away) >= 40
    assert max(map(abs, found.away.values())) < 4.0, found.away
    assert (
        0.3 < np.sqrt(np.mean(np.square(list(found.away.values())))) < 1.5
    )  # numbers of one flight go together
    assert found.result.airframe is not None
    assert found.result.parameters["mass"].sigma <= 2.0 * SCALE * found.result.parameters["mass"].value
    for held_out in found.result.predictions[3:5]:
        assert np.std(held_out.measured - held_out.predicted) < 0.5 * np.std(held_out.measured), held_out.name


@pytest.mark.slow
def test_every_vehicle_of_the_catalogue():
    away = []
    for name in RIGID:
        for seed in (1, 2, 3):
            found = judged(name, seed)
            check_possible(found.result)
            e = np.array(list(found.away.values()))
            print(
                f"{name} {seed}: {len(e)} identified, largest {np.max(np.abs(e)):.2f}, rms {np.sqrt(np.mean(e**2)):.2f}"
            )
            away += list(e)
    print(
        f"{len(away)} numbers, {np.mean(np.abs(away) < 1.96):.3f} held, rms {np.sqrt(np.mean(np.square(away))):.2f}"
    )
    assert np.mean(np.abs(away) < 1.96) > 0.91
    assert 0.4 < np.sqrt(np.mean(np.square(away))) < 1.3
    assert np.max(np.abs(away)) < 5.0
