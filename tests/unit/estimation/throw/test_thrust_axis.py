"""The quick thrust axis against LAPACK, against the exact problem, and where it must say that it cannot."""

import jax
import numpy as np
import pytest
from scipy.linalg import null_space as scipy_null_space

from haltere.airframe import from_catalogue
from haltere.dynamics import Model
from haltere.dynamics.rigid import Compact
from haltere.estimation.throw.thrust_axis import null_space, thrust_axis
from haltere.foundation import HaltereError
from haltere.trajectory.hover_attitudes import hovers


def effectiveness(name):
    """F (3, m) and T (3, m) of a catalogue vehicle, about its centre of mass."""
    compact = Compact.from_model(Model.from_airframe(from_catalogue(name)))
    both = np.linalg.solve(np.asarray(compact.inertia), np.asarray(compact.allocation))
    return both[:3], both[3:]


def random_vehicle(rng, rotors, tilt=0.2):
    """F and T of a vehicle with rotors around it, tilted by about `tilt` rad."""
    angle = 2 * np.pi * (np.arange(rotors) + 0.3 * rng.normal(size=rotors)) / rotors
    place = np.stack([np.cos(angle), np.sin(angle), 0.2 * rng.normal(size=rotors)]) * 0.12
    axis = np.stack([tilt * rng.normal(size=rotors), tilt * rng.normal(size=rotors), np.ones(rotors)])
    axis /= np.linalg.norm(axis, axis=0)
    spin = (-1.0) ** np.arange(rotors)
    k = 2e-7 * rng.uniform(0.7, 1.3, rotors)
    torque = k * (np.cross(place, axis, axis=0) - 0.01 * spin * axis)
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    inertia = np.diag([6e-4, 7e-4, 9e-4])
    return turn @ (k * axis / 0.4), turn @ np.linalg.solve(inertia, torque)


def angle(a, b):
    return np.degrees(np.arccos(np.clip(np.dot(a, b), -1.0, 1.0)))


@pytest.mark.parametrize("rotors", [4, 6, 8])
def test_null_space_is_that_of_lapack(rotors):
    rng = np.random.default_rng(rotors)
    T = rng.normal(size=(3, rotors))
    N, full = jax.jit(null_space)(T)
    assert full
    np.testing.assert_allclose(np.asarray(N).T @ N, np.eye(rotors - 3), atol=1e-12)
    ours, theirs = np.asarray(N) @ np.asarray(N).T, scipy_null_space(T)
    np.testing.assert_allclose(ours, theirs @ theirs.T, atol=1e-12)


@pytest.mark.parametrize("rotors", [4, 6, 8])
def test_quick_and_exact_agree_or_the_quick_one_says_that_it_cannot(rotors):
    rng = np.random.default_rng(10 + rotors)
    step = jax.jit(thrust_axis)
    agreed = 0
    for _ in range(12):
        F, T = random_vehicle(rng, rotors, 0.06 if rotors == 4 else 0.2)
        top = 2.5 * 9.81 / np.sum(np.linalg.norm(F, axis=0))
        quick = step(F, T, 0.0, top)
        for _ in range(20):
            quick = step(F, T, 0.0, top, guess=quick.axis)
        exact = hovers(F, T, 0.0, top)
        if quick.inside:
            agreed += 1
            assert angle(quick.axis, exact.best.axis) < 0.05
            np.testing.assert_allclose(quick.u, exact.best.u, rtol=1e-3, atol=1e-3 * top)
        elif exact.attitudes:
            assert exact.best.cost >= float(quick.u @ quick.u) * (1 - 1e-6)
    assert agreed >= 6


def test_the_rolled_hexarotor_and_weights():
    F, T = effectiveness("hexa-tilted")
    quick = thrust_axis(F, T, 0.0, 4900.0**2)
    assert angle(quick.axis, [0, 0, 1]) < 1e-6
    assert quick.inside
    assert quick.steerable
    assert hovers(F, T, 0.0, 4900.0**2).freedom == 3
    weights = np.array([1.0, 2.0, 1.0, 3.0, 1.0, 1.5])
    exact = hovers(F, T, 0.0, 4900.0**2, weights)
    step = thrust_axis(F, T, 0.0, 4900.0**2, weights, squarings=9)
    assert step.inside
    assert angle(step.axis, exact.best.axis) < 0.05


def test_maximum_speeds_do_not_enter():
    """Two motors with a wrong maximum speed moved the paper's axis by 3.4 degrees; per squared speed nothing moves."""
    F, T = effectiveness("hexa-tilted")
    scale = np.array([7140.0, 7140.0, 4900.0, 4900.0, 4900.0, 4900.0]) ** 2
    theirs = thrust_axis(F * scale, T * scale, squarings=8)
    ours = thrust_axis(F, T, squarings=8)
    assert angle(ours.axis, [0, 0, 1]) < 1e-6
    assert angle(theirs.axis, [0, 0, 1]) > 2.0


def test_a_cube_of_rotors_has_several_attitudes():
    """Twelve pairs of opposite yaw along the axes: the force is as cheap along x, y and z."""
    axes = np.repeat(np.eye(3), 4, axis=0)
    places = np.concatenate(
        [np.roll(np.array([[0, a, b] for a in (-1, 1) for b in (-1, 1)]), i, 1) for i in range(3)]
    )
    spin = np.tile([1.0, -1.0, -1.0, 1.0], 3)
    F = 2e-6 * axes.T
    T = 2e-4 * (np.cross(0.1 * places, axes) - 0.02 * spin[:, None] * axes).T
    found = hovers(F, T, 0.0, 4e6)
    assert found.freedom == 3
    assert len(found.attitudes) >= 1
    assert float(thrust_axis(F, T).gap) > 0.99


def test_a_vehicle_that_cannot_hover_is_reported():
    F, T = effectiveness("indiflight-3inch")
    weak = 0.5 * 9.81 / np.sum(F[2])
    quick, exact = thrust_axis(F, T, 0.0, weak), hovers(F, T, 0.0, weak)
    assert not quick.inside
    assert exact.attitudes == ()
    with pytest.raises(HaltereError, match="cannot hover"):
        _ = exact.best
    flat = T.copy()
    flat[2] = 0.0
    assert not thrust_axis(F, flat).steerable
    assert hovers(F, flat).attitudes == ()
