"""A flat step does what the step does, with whole numbers and truth values kept."""

import jax
import jax.numpy as jnp
import numpy as np

from haltere.foundation.flat_step import FlatStep


def step(kept, given):
    count, place = kept["count"] + 1, kept["place"] + given[0] * given[1]
    return {"count": count, "place": place}, {"odd": count % 2 == 1, "place": place, "count": count}


KEPT = {"count": jnp.asarray(0), "place": jnp.zeros((2, 2))}
GIVEN = (jnp.asarray(0.5), jnp.arange(4.0).reshape(2, 2))


def test_it_does_what_the_step_does():
    flat, kept = FlatStep(step, KEPT, GIVEN), KEPT
    assert flat.begin.shape == (5,)
    assert list(flat.inputs) == [0.5, 0.0, 1.0, 2.0, 3.0]
    memory = flat.begin
    for scale in (0.5, 2.0, -1.0):
        kept, wanted = step(kept, (scale, GIVEN[1]))
        memory, told = flat(memory, np.array([scale, 0.0, 1.0, 2.0, 3.0]))
        said = flat.unpacked(told)
        assert said["odd"].dtype == bool
        assert said["odd"] == wanted["odd"]
        assert said["count"] == wanted["count"]
        assert np.array_equal(said["place"], wanted["place"])


def test_a_batch_has_one_axis_more():
    flat = FlatStep(step, KEPT, GIVEN)
    given = np.tile(flat.inputs, (3, 1)) * np.array([[1.0], [2.0], [3.0]])
    _, told = jax.vmap(flat.function)(jnp.tile(flat.begin, (3, 1)), given)
    said = flat.unpacked(told)
    assert said["place"].shape == (3, 2, 2)
    assert list(said["place"][:, 1, 1]) == [1.5, 6.0, 13.5]
    assert said["odd"].all()


def test_a_step_can_be_begun_twice():
    """The memory is given away to the call, the beginning is not."""
    flat = FlatStep(step, KEPT, GIVEN)
    first = [float(flat(flat.begin, flat.inputs)[1][0]) for _ in range(2)]
    assert first[0] == first[1]
