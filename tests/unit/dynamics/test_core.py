"""The physics core keeps to a fixed set of primitives that every algebra can evaluate; also on the lowest JAX."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from haltere.airframe import from_catalogue
from haltere.algebra import batched, casadi_function, primitives_of
from haltere.dynamics import Drive, Model, Motion, State, core_dynamics, forward_dynamics

ARITHMETIC = {
    "add",
    "sub",
    "mul",
    "div",
    "neg",
    "sin",
    "cos",
    "sqrt",
    "integer_pow",
    "dot_general",
    "add_any",
}
PLACES = {
    "slice", "squeeze", "broadcast_in_dim", "concatenate", "stack", "split", "transpose", "reshape",
    "convert_element_type", "reduce_sum", "copy", "pad",
}  # fmt: skip
CALLS = {"jit", "pjit"}


def situation(name: str, seed: int = 0) -> tuple[Model, State, Drive]:
    model = Model.from_airframe(from_catalogue(name))
    rng = np.random.default_rng(seed)
    joints, rotors = model.topology.joints, model.topology.rotors
    wxyz = rng.normal(size=4)
    state = State(
        jnp.asarray(rng.normal(size=3)),
        jnp.asarray(wxyz / np.linalg.norm(wxyz)),
        jnp.asarray(rng.normal(size=6)),
        *(jnp.asarray(rng.normal(size=joints)) for _ in range(2)),
        jnp.asarray(rng.normal(size=rotors)),
        jnp.asarray(rng.uniform(100.0, 400.0, rotors)),
    )
    given = tuple(bool(x > 0.0) for x in np.asarray(model.rotors.mass))
    return model, state, Drive(jnp.zeros(joints), jnp.zeros(rotors), (True,) * joints, given)


def core(model: Model, state: State, drive: Drive, gravity: jax.Array) -> Motion:
    return core_dynamics(
        model, state, drive, state.rotor_rates * state.rotor_rates, state.rotor_rates, gravity
    )


GRAVITY = jnp.asarray([0.0, 0.0, -9.81])


@pytest.mark.parametrize("name", ["hong-quadrotor", "hong-tilt-rotor", "hexa-tilted", "quad-arm"])
def test_primitives_of_the_core(name: str) -> None:
    model, state, drive = situation(name)
    new = primitives_of(core, model, state, drive, GRAVITY) - ARITHMETIC - PLACES - CALLS
    assert not new, f"the physics core has grown the primitives {sorted(new)}; write it without them"


def test_primitives_of_its_derivative() -> None:
    model, state, drive = situation("hong-tilt-rotor")

    def slope(step: jax.Array) -> jax.Array:
        return core(model, state.displaced(step, step), drive, GRAVITY).acceleration

    constants = {"iota", "eq"}  # of the identity matrix that jacfwd starts from
    new = primitives_of(jax.jacfwd(slope), jnp.zeros(14)) - ARITHMETIC - PLACES - CALLS - constants
    assert not new, f"the derivative has grown the primitives {sorted(new)}"


def test_core_equals_forward_dynamics() -> None:
    model, state, drive = situation("hong-tilt-rotor")
    ours, full = jax.jit(core)(model, state, drive, GRAVITY), forward_dynamics(model, state, drive)
    for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(full), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-11)


def test_batch_algebra() -> None:
    """A batch evaluated element by element equals `vmap`."""
    model, state, drive = situation("hong-quadrotor")

    def one(wxyz: jax.Array, twist: jax.Array, rates: jax.Array) -> jax.Array:
        there = State(state.position, wxyz, twist, *jax.tree.leaves(state)[3:6], rates)
        return core(model, there, drive, GRAVITY).acceleration

    rng = np.random.default_rng(1)
    wxyz = rng.normal(size=(7, 4))
    wxyz /= np.linalg.norm(wxyz, axis=1, keepdims=True)
    args = (
        jnp.asarray(wxyz),
        jnp.asarray(rng.normal(size=(7, 6))),
        jnp.asarray(rng.uniform(0.0, 400.0, (7, 4))),
    )
    np.testing.assert_allclose(batched(one)(*args), jax.jit(jax.vmap(one))(*args), rtol=1e-11, atol=1e-11)


def test_casadi_symbols() -> None:
    """CasADi's evaluation of the traced core, a compiler that is not XLA, gives the same numbers."""
    pytest.importorskip("casadi", reason="the dynamics as CasADi symbols; needs haltere[embed]")
    model, state, drive = situation("hong-tilt-rotor")

    def one(twist: jax.Array, rates: jax.Array) -> jax.Array:
        there = State(state.position, state.wxyz, twist, *jax.tree.leaves(state)[3:6], rates)
        return core(model, there, drive, GRAVITY).acceleration

    function = casadi_function(one, (state.twist, state.rotor_rates), "acceleration")
    got = np.asarray(function(np.asarray(state.twist), np.asarray(state.rotor_rates))).ravel()
    expected = jax.jit(partial(core, model, state, drive))(GRAVITY).acceleration
    np.testing.assert_allclose(got, expected, rtol=1e-11, atol=1e-11)
