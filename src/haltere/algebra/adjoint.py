"""Gradients through a program in real numbers: one sweep back over its steps, for all points at once.

With v the slots and w = dL/dv, a step c = a b adds w_a += w_c b, w_b += w_c a, a step c = a / b adds w_a += w_c / b,
w_b -= w_c c / b ([Griewank2008] chapter 3). Sums over equal operands are products with sparse matrices of ones.
"""

import numpy as np
from scipy import sparse

from haltere.algebra.program import Program
from haltere.algebra.series import Tape
from haltere.foundation.numbers import Floats


class Adjoint:
    """The way back through one program."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._scatter = [
            tuple(
                sparse.csr_matrix(
                    (np.ones(len(places)), (places, np.arange(len(places)))), (program.slots, len(places))
                )
                for places in (step.left, step.right)
            )
            for step in program.steps
        ]

    def back(self, tape: Tape, weights: Floats) -> Floats:
        """(inputs, points) dL/d(input), from dL/d(slot) (slots, points) of the slots that L reads, at order zero.

        `weights` is used up.
        """
        values = tape.values[0]
        for step, (left, right) in zip(reversed(self.program.steps), reversed(self._scatter), strict=True):
            end = step.start + len(step.left)
            w = weights[step.start : end]
            if step.kind == "mul":
                weights += left @ (w * values[step.right])
                weights += right @ (w * values[step.left])
            elif step.kind == "div":
                share = w / values[step.right]
                weights += left @ share
                weights -= right @ (share * values[step.start : end])
            elif step.kind == "neg":
                weights -= left @ w
            else:
                weights += left @ w
                weights += (right @ w) if step.kind == "add" else -(right @ w)
        return weights[: self.program.inputs]
