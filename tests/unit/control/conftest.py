"""A plain closed loop: rigid bodies by Runge-Kutta, first-order motors, the command held over a step."""

from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import pytest

from haltere.control import Integral, control_step, start_on_trajectory
from haltere.dynamics import Drive, Model, State, forward_dynamics
from haltere.lie import so3


def _rate(model, state, target, lag):
    drive = Drive.accelerations(model, rotors=(target - state.rotor_rates) / lag)
    motion = forward_dynamics(model, state, drive)
    spin = jnp.concatenate([jnp.zeros(1), state.twist[3:]])
    return State(
        state.R_WB @ state.twist[:3],
        0.5 * so3.multiply_wxyz(state.wxyz, spin),
        motion.acceleration,
        state.joint_rates,
        motion.joint_accelerations,
        state.rotor_rates,
        motion.rotor_accelerations,
    )


def _advance(model, state, target, lag, dt):
    def stage(carry, weights):
        slope, total = carry
        here = jax.tree.map(lambda x, k: x + weights[0] * dt * k, state, slope)
        slope = _rate(model, here, target, lag)
        return (slope, jax.tree.map(lambda x, k: x + weights[1] * dt / 6.0 * k, total, slope)), None

    weights = jnp.asarray([[0.0, 1.0], [0.5, 2.0], [0.5, 2.0], [1.0, 1.0]])
    (_, later), _ = jax.lax.scan(stage, (jax.tree.map(jnp.zeros_like, state), state), weights)
    return replace(later, wxyz=later.wxyz / jnp.linalg.norm(later.wxyz))


def _fly(model, controller, path, state, lag, steps, dt):
    def period(carry, k):
        state, integral = carry
        u, integral = control_step(controller, integral, state, path.at(k * dt), dt)
        return (_advance(model, state, jnp.sqrt(u), lag, dt), integral), (state, u)

    return jax.lax.scan(period, (state, Integral.zero()), jnp.arange(steps))[1]


@partial(jax.jit, static_argnames=("steps",))
def _fly_all(models, controllers, paths, states, lags, steps, dt):
    return jax.vmap(lambda *each: _fly(*each, steps, dt))(models, controllers, paths, states, lags)


def _stack(trees):
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *trees)


class ClosedLoop:
    """Several vehicles of equal form flown at once, so that there is one thing to compile."""

    dt = 0.005

    def fly(self, airframes, controllers, paths, seconds, truths=None, states=None):
        """(B, T) states and (B, T, R) commands; each starts on its path unless `states` are given."""
        models = [Model.from_airframe(airframe) for airframe in airframes]
        models = [replace(model, topology=models[0].topology) for model in models]
        if states is None:
            states = [
                start_on_trajectory(*each) for each in zip(models, truths or controllers, paths, strict=True)
            ]
        lags = [jnp.asarray([rotor.time_constant for rotor in airframe.rotors]) for airframe in airframes]
        stacked = (_stack(trees) for trees in (models, controllers, paths, states, lags))
        return _fly_all(*stacked, round(seconds / self.dt), self.dt)

    def errors(self, states, paths):
        """(B, T) distances of the body origins from their paths, m."""
        times = self.dt * jnp.arange(states.position.shape[1])
        wanted = jax.vmap(lambda path: jax.vmap(lambda t: path.at(t).position)(times))(_stack(paths))
        return jnp.linalg.norm(states.position - wanted, axis=-1)

    @staticmethod
    def tilts(states):
        """(B, T) angles of the body's z axis to the vertical, rad."""
        R = jax.vmap(jax.vmap(so3.from_wxyz))(states.wxyz)
        return jnp.arccos(jnp.clip(R[..., 2, 2], -1.0, 1.0))


@pytest.fixture(scope="session")
def loop():
    return ClosedLoop()
