"""Verdicts from covariances that are made by hand."""

import jax.numpy as jnp
import numpy as np
import pytest

from haltere.airframe import from_catalogue
from haltere.estimation.vehicle.change import change_spread
from haltere.estimation.vehicle.description import describe_vehicle
from haltere.estimation.vehicle.prior import ten_percent
from haltere.estimation.vehicle.verdicts import judge, sentences


@pytest.fixture(scope="module")
def bird():
    return describe_vehicle(from_catalogue("hummingbird"))


def after(bird, directions):
    """A posterior that knows all to a hundredth of the prior but for some directions of the printed numbers."""
    sigma = np.asarray(ten_percent(bird.chart, bird.printed)[1])
    cov = np.diag((0.01 * sigma) ** 2)
    for direction in directions:
        d = np.zeros(len(sigma))
        for name, relative in direction.items():
            d[bird.chart.names.index(name)] = relative
        cov += np.outer(d, d)
    return cov, sigma


def test_what_is_known_is_identified(bird) -> None:
    cov, sigma = after(bird, [])
    judged = judge(bird.chart, bird.printed, cov, sigma)
    assert {j.verdict for j in judged} == {"identified"}
    assert sentences(bird.chart.names, judged) == []


def test_scales_are_combinations_and_a_slide_stands_alone(bird) -> None:
    p = bird.printed
    scale = {"mass": 0.1 * float(p["mass"][0])}
    scale |= {f"inertia.{c}{c}": 0.1 * float(p["inertia"][i]) for i, c in enumerate("xyz")}
    scale |= {
        f"rotors.{r}.thrust_coefficient": 0.1 * float(p["thrust_coefficient"][i])
        for i, r in enumerate(bird.chart.rotors)
    }
    cov, sigma = after(bird, [scale, {"rotors.front.position.z": 5e-3}])
    judged = dict(zip(bird.chart.names, judge(bird.chart, p, cov, sigma), strict=True))
    assert judged["mass"].verdict == "combination"
    assert set(judged["mass"].partners) == set(scale) - {"mass"}
    assert judged["rotors.front.position.z"].verdict == "unobservable"
    assert judged["rotors.left.position.z"].verdict == "identified"
    lines = sentences(bird.chart.names, list(judged.values()))
    assert len(lines) == 2
    assert any("together" in line and "mass" in line for line in lines)


def test_a_wide_interval_is_weak(bird) -> None:
    cov, sigma = after(bird, [{"inertia.zz": 0.04 * float(bird.printed["inertia"][2])}])
    place = bird.chart.names.index("inertia.zz")
    assert judge(bird.chart, bird.printed, cov, sigma)[place].verdict == "identified"
    assert judge(bird.chart, bird.printed, cov, 0.7 * sigma)[place].verdict == "weak"  # a prior as narrow
    cov[place, place] = (0.14 * float(bird.printed["inertia"][2])) ** 2
    assert judge(bird.chart, bird.printed, cov, 3.0 * sigma)[place].verdict == "weak"


def test_change_moves_body_and_leaves_rotors_strong(bird) -> None:
    """Equation (1) of `vehicle_change` by moving the vehicle itself and reading the coordinates."""
    chart, printed = bird.chart, bird.printed
    moving = {b.name: jnp.zeros(b.shape) for b in chart.moving.blocks}
    moving |= {"attitude": jnp.asarray([0.8, 0.0, 0.6, 0.0]), "rates": jnp.asarray([1.0, 2.0, 3.0])}
    mean = {**moving, **chart.to_coordinates(printed)}
    spread = np.asarray(change_spread(chart, mean, jnp.asarray([0.0, 1.0, 0.0])))
    size = 1e-7
    shift = jnp.asarray([size, 0.0, 0.0])
    moved = {**printed, "rotor_position": printed["rotor_position"] - shift}
    moved |= {name: printed[name] - shift for name in ("pose_position", "imu_position")}
    there = chart.to_coordinates(moved)
    seen = np.asarray(chart.constant.minus(there, chart.constants(mean))) / size
    first = chart.moving.dimension
    # the columns of all three shifts are in the spread: that of x is one of its directions
    values, vectors = np.linalg.eigh(spread)
    basis = vectors[:, values > 1e-9 * values[-1]]
    whole = np.concatenate([np.asarray([0.28, 0.0, -0.96, 0.0, 3.0, -2.0]), np.zeros(first - 6), seen])
    assert basis.shape[1] == 3
    np.testing.assert_allclose(basis @ (basis.T @ whole), whole, atol=1e-5 * np.max(np.abs(whole)))
    weight = np.asarray(change_spread(chart, mean, jnp.asarray([0.1, 0.0, 0.0])))
    np.testing.assert_allclose(
        np.sqrt(weight[chart.space.slices["log_mass"]][0, chart.space.slices["log_mass"]]), 0.1
    )
