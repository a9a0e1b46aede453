"""What parts of a flight tell of the coordinates: deviations are held to the spread between them."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np

from haltere.foundation.numbers import Floats

BLOCKS = 12
"""Parts of the flight that the jackknife leaves out one by one."""


@dataclass(frozen=True)
class FlightParts:
    """What each of B parts of a flight tells of the coordinates, around those before the last step.

    Attributes:
        information: (B, n, n) A of equation (2) of `marginal`.
        right: (B, n) g.
        step: (n,) the step that all of them make together.
        measured: (n, n) information of hand measurements beside the prior, or zero.
    """

    information: Floats
    right: Floats
    step: Floats
    measured: Floats | float = 0.0

    @classmethod
    def of_passes(cls, innovations: Floats, slopes: Floats, step: Floats, measured: Floats) -> Self:
        """Of whitened innovations (K, 12) with slopes (K, 12, n) in the coordinates; `step` and `measured` as above."""
        information, right = [], []
        for block in np.array_split(np.arange(len(innovations)), BLOCKS):
            W = slopes[block].reshape(-1, len(step))
            information.append(W.T @ W)
            right.append(W.T @ innovations[block].reshape(-1))
        return cls(np.array(information), np.array(right), step, measured)

    def jackknife(self) -> Floats:
        """(n, n) covariance of the coordinates from their spread when one part is left out."""
        count = len(self.right)
        steps = np.array([self.step_of([k for k in range(count) if k != left]) for left in range(count)])
        spread = steps - steps.mean(axis=0)
        return np.asarray((count - 1) / count * spread.T @ spread)

    def step_of(self, parts: Iterable[int]) -> Floats:
        """(n,) the step that some of the parts make."""
        own = list(parts)
        before = np.eye(len(self.step)) + self.measured
        prior = self.right.sum(axis=0) - (self.information.sum(axis=0) + before) @ self.step
        whole = self.information[own].sum(axis=0) + before
        return np.asarray(np.linalg.solve(whole, self.right[own].sum(axis=0) - prior))
