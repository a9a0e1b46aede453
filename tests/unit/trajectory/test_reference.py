"""Every trajectory gives exact derivatives, may be mapped over and differentiated, and is the curve it says."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from haltere.airframe import from_catalogue
from haltere.dynamics import Model
from haltere.lie import so3
from haltere.trajectory import (
    Holding,
    TrajectoryError,
    chirp,
    circle,
    hover,
    lissajous,
    minimum_snap,
    multisine,
    paced,
    random_lissajous,
    step,
    throw,
)

CORNERS = [[0.0, 0.0, 1.0], [2.0, 0.5, 1.5], [2.5, 2.0, 1.0], [0.0, 2.0, 2.0]]
TRAJECTORIES = {
    "lissajous": lissajous((3.3, 4.1, 7.9, 5.0)),
    "circle": circle(1.5, 5.0, yaw_along_path=True),
    "multisine": multisine((1.0, 0.5, 0.3, 0.2)),
    "chirp": chirp((1.0, 0.0, 0.5, 0.3)),
    "minimum_snap": minimum_snap(CORNERS, yaw=[0.0, 0.5, 1.0, 0.0]),
    "slowed": paced(lissajous((3.0, 4.0, 5.0, 6.0)), 1.7),
    "eased": paced(circle(1.0, 4.0, 12.0), 1.3, 2.5),
    "hover": hover(),
    "step": step(),
}


@pytest.mark.parametrize("name", TRAJECTORIES)
def test_derivatives_are_those_of_the_curve(name):
    """Against central differences of the derivative below, whose error is of the order of h^2."""
    path = TRAJECTORIES[name]
    times = jnp.linspace(0.03, 0.97, 41) * path.duration
    h = 1e-4
    sample = jax.jit(jax.vmap(path.derivatives))
    here, after, before = (np.asarray(sample(times + shift)) for shift in (0.0, h, -h))
    slope = (after - before) / (2.0 * h)
    for order in range(1, 5):
        scale = 1.0 + np.abs(here[:, order]).max()
        np.testing.assert_allclose(here[:, order], slope[:, order - 1], atol=1e-5 * scale)


@pytest.mark.parametrize("name", TRAJECTORIES)
def test_is_a_tree_of_numbers_and_differentiable_in_them(name):
    path = TRAJECTORIES[name]
    leaves = jax.tree.leaves(path)
    assert leaves
    assert all(isinstance(leaf, jax.Array) for leaf in leaves)
    slope = jax.jit(jax.grad(lambda p, t: jnp.sum(p.derivatives(t))))(path, 0.37 * path.duration)
    assert all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(slope))
    reference = jax.eval_shape(path.at, 0.5)
    assert reference.position.shape == reference.snap.shape == (3,)
    assert reference.yaw.shape == ()
    assert reference.wxyz is None


def test_the_figure_is_that_of_the_paper():
    cycles, t = np.asarray([3.0, 4.5, 6.0, 8.0]), 7.3
    angle = cycles * 2.0 * np.pi * t / 30.0
    expected = np.sin(angle) + 0.1 * np.sin(5.0 * angle)
    reference = lissajous(cycles, 30.0, centre=(0.0, 0.0, 0.0)).at(t)
    np.testing.assert_allclose([*reference.position, reference.yaw], expected, atol=1e-12)


def test_random_figures_have_three_to_eight_cycles_and_follow_the_key():
    keys = jax.random.split(jax.random.key(1), 200)
    cycles = jax.vmap(random_lissajous)(keys).frequency[:, 0] * 30.0 / (2.0 * np.pi)
    assert 3.0 <= cycles.min() < 3.2
    assert 7.8 < cycles.max() <= 8.0
    assert jnp.array_equal(random_lissajous(keys[0]).frequency, random_lissajous(keys[0]).frequency)


@pytest.mark.parametrize("period", [5.0, -5.0])
def test_a_circle_has_its_radius_and_looks_along_its_path(period):
    path = circle(2.0, period, centre=(1.0, 0.0, 3.0), yaw_along_path=True)
    reference = jax.vmap(path.at)(jnp.linspace(0.0, 9.0, 20))
    np.testing.assert_allclose(np.linalg.norm(reference.position - jnp.asarray([1.0, 0.0, 3.0]), axis=1), 2.0)
    heading = np.stack([np.cos(reference.yaw), np.sin(reference.yaw)], axis=1)
    speed = 2.0 * 2.0 * np.pi / 5.0
    np.testing.assert_allclose(np.asarray(reference.velocity[:, :2]), speed * heading, atol=1e-9)


def test_the_axes_of_a_multisine_do_not_correlate():
    path = multisine((1.0, 1.0, 1.0, 1.0), 40.0)
    samples = jax.vmap(lambda t: path.derivatives(t)[0] - path.centre)(jnp.arange(4000) * 0.01)
    np.testing.assert_allclose(samples.T @ samples / 4000, 0.5 * np.eye(4), atol=1e-9)
    assert np.max(np.abs(samples)) < 2.0  # eight sines in phase would reach 2.8


def test_a_multisine_without_room_says_so():
    with pytest.raises(TrajectoryError, match="room for"):
        multisine((1.0, 0.0, 0.0, 0.0), 5.0, sines=20)


def test_an_eased_path_starts_and_ends_at_rest_on_its_ends():
    path = circle(1.0, 4.0, 12.0)
    eased = paced(path, 1.5, 3.0)
    assert float(eased.duration) == pytest.approx(12.0 * 1.5 + 3.0)
    for t, end in ((0.0, 0.0), (eased.duration, 12.0)):
        np.testing.assert_allclose(eased.derivatives(t)[0], path.derivatives(end)[0], atol=1e-9)
        np.testing.assert_allclose(eased.derivatives(t)[1:], 0.0, atol=1e-9)


def test_easing_longer_than_the_path_is_cut():
    eased = paced(circle(1.0, 4.0, 2.0), 1.0, 50.0)
    assert float(eased.duration) == pytest.approx(4.0)
    np.testing.assert_allclose(eased.clock(eased.duration), 2.0)
    with pytest.raises(TrajectoryError, match="ease"):
        paced(circle(), 1.0, -1.0)


def test_slowing_scales_each_derivative():
    path = lissajous((3.0, 4.0, 5.0, 6.0))
    slow = paced(path, 2.0)
    np.testing.assert_allclose(
        slow.derivatives(4.0), path.derivatives(2.0) / 2.0 ** np.arange(5)[:, None], rtol=1e-9
    )


def test_an_attitude_to_hold_turns_with_yaw():
    tilt = so3.exp_wxyz(jnp.asarray([0.2, 0.0, 0.0]))
    path = paced(Holding(circle(yaw_along_path=True), tilt), 1.2)
    reference = path.at(1.0)
    yaw = so3.exp_wxyz(jnp.asarray([0.0, 0.0, 1.0]) * reference.yaw)
    np.testing.assert_allclose(
        so3.from_wxyz(reference.wxyz), so3.from_wxyz(yaw) @ so3.from_wxyz(tilt), atol=1e-12
    )


def test_a_throw_is_a_state_and_no_reference():
    wxyz = np.asarray([0.9, 0.1, 0.3, -0.2])
    thrown = throw(velocity=(1.0, 2.0, 3.0), spin=(4.0, 5.0, 6.0), wxyz=wxyz)
    state = thrown.state(Model.from_airframe(from_catalogue("hummingbird")))
    np.testing.assert_allclose(state.R_WB @ state.twist[:3], [1.0, 2.0, 3.0], atol=1e-12)
    np.testing.assert_allclose(state.twist[3:], [4.0, 5.0, 6.0])
    assert not np.any(state.rotor_rates)
    assert not hasattr(thrown, "at")
