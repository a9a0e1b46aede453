"""Rival explanations of the last windows: nothing new, a change of the vehicle, a gust, or another accelerometer bias.

Each comparison begins at some window with what was believed there and goes on for a fixed number of windows, with the
noise levels of its beginning, so that a change cannot pass for noise that has just grown. Two short ones find what
stands out at once, two long ones what needs a second to stand out of the noise; of each two, one begins halfway
through the other. A change is likelier than anything else where the logarithm of its likelihood exceeds that of no
change by `CogSettings.adopt` and that of a gust, or of a bias, by `CogSettings.margin`.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from haltere.estimation.cog import state as kalman
from haltere.estimation.cog.rows import Rows
from haltere.estimation.cog.settings import CogSettings
from haltere.estimation.cog.state import Gaussian
from haltere.foundation.arrays import Array, pytree

LENGTHS = (2, 2, 8, 8)
"""Windows of each comparison."""
DELAYS = (0, 1, 0, 4)
"""Windows until each begins."""


@pytree
@dataclass(frozen=True)
class Rivals:
    """All comparisons that go on, C of them."""

    start: Gaussian
    """(C, n), (C, n, n) what was believed at the beginning."""
    beliefs: Gaussian
    """(C, 4, n), (C, 4, n, n) with no change, a change, a gust, another bias."""
    scores: Array
    """(C, 4) logarithms of their likelihoods."""
    levels: Array
    """(C, 3, 5) of the rows at the beginning."""
    age: Array
    """(C,) windows since the beginning, negative before it."""

    @classmethod
    def begin(
        cls, settings: CogSettings, state: Gaussian, lever: Array, axis: Array, levels: Array
    ) -> "Rivals":
        """With no window yet."""
        count = len(LENGTHS)
        opened = _opened(settings, state, lever, axis, levels)
        start, beliefs = (
            jax.tree.map(lambda x: jnp.broadcast_to(x, (count, *x.shape)), each) for each in (state, opened)
        )
        return cls(
            start,
            beliefs,
            jnp.zeros((count, 4)),
            jnp.broadcast_to(levels, (count, *levels.shape)),
            -jnp.asarray(DELAYS, float),
        )

    def add(self, settings: CogSettings, lever: Array, rows: Rows) -> "Rivals":
        """With one window more."""
        half = jnp.asarray(0.5 * settings.window)

        def one(belief: Gaussian, levels: Array) -> tuple[Gaussian, Array]:
            return kalman.correct(kalman.advance(settings, belief, lever, half, levels), rows, levels)

        beliefs, scores = jax.vmap(jax.vmap(one, in_axes=(0, None)))(self.beliefs, self.levels)
        return Rivals(self.start, beliefs, self.scores + scores, self.levels, self.age + 1.0)

    def most_likely(self, settings: CogSettings) -> tuple[Array, Array, Gaussian]:
        """() whether the vehicle changed, () whether it did or the bias jumped, and what was believed before it did."""
        usual, change, gust, bias = self.scores.T
        either = jnp.maximum(change, bias)
        likely = (self.age >= 2.0) & (either - usual > settings.adopt) & (either - gust > settings.margin)
        first = jnp.argmax(likely)
        start = jax.tree.map(lambda x: x[first], self.start)
        jumped = likely[first]
        return jumped & (change - bias > settings.margin)[first], jumped, start

    def restarted(
        self, settings: CogSettings, state: Gaussian, lever: Array, axis: Array, levels: Array
    ) -> "Rivals":
        """With the comparisons that have ended or begin now begun anew."""
        fresh = Rivals.begin(settings, state, lever, axis, levels)
        ended = (self.age >= jnp.asarray(LENGTHS, float)) | (self.age == 0.0)

        def chosen(new: Array, old: Array) -> Array:
            return jnp.where(ended.reshape(-1, *[1] * (old.ndim - 1)), new, old)

        merged: Rivals = jax.tree.map(chosen, fresh, self)
        return Rivals(
            merged.start, merged.beliefs, merged.scores, merged.levels, jnp.where(ended, 0.0, self.age)
        )


def _opened(settings: CogSettings, state: Gaussian, lever: Array, axis: Array, levels: Array) -> Gaussian:
    """(4, n), (4, n, n): the explanations before any window."""
    gust = kalman.open_gust(settings, state, levels)
    rivals = (
        state,
        kalman.open_change(settings, state, lever, axis, settings.likely),
        gust,
        kalman.open_bias(settings, gust),
    )
    stacked: Gaussian = jax.tree.map(lambda *x: jnp.stack(x), *rivals)
    return stacked
