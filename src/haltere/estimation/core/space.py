"""States on manifolds: a product of named blocks, each with its box-plus and box-minus.

A mean is a dictionary of arrays, an error one flat vector in the order of the blocks ([Hertzberg2013]):

    x + d = plus(x, d),   a - b = minus(a, b),   plus(b, minus(a, b)) = a                                  (1)

kind "vector"     any shape, d = a - b
kind "positive"   any shape, every entry above zero by construction, d = ln(a / b)
kind "rotation"   unit quaternion (4,) wxyz, perturbed on the right, d (3,) rad
kind "direction"  unit vector (3,), d (2,) rad in the tangent plane

After an update has moved the mean by d, the old error e and the new one e' obey e' = T(d) (e - d) to first order.
T = `transport` is the identity except for rotations, where it is the right Jacobian J_r(d), and directions.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from math import prod
from typing import Literal

import jax
import jax.numpy as jnp

from haltere.algebra import as_one_kernel, join_single, product, soa, split_single
from haltere.foundation import HaltereError
from haltere.foundation.arrays import Array, ArrayLike
from haltere.lie import s2, so3

Kind = Literal["vector", "positive", "rotation", "direction"]
Mean = dict[str, Array]
CURVED = {"rotation": ((4,), 3), "direction": ((3,), 2)}
"""Shape of the value and length of the error of the kinds that have one of their own."""


@dataclass(frozen=True)
class Block:
    """One named part of a state."""

    name: str
    kind: Kind = "vector"
    shape: tuple[int, ...] = (3,)
    """Of the value; rotations and directions have their own."""

    @property
    def size(self) -> int:
        """Length of the error."""
        return CURVED[self.kind][1] if self.kind in CURVED else prod(self.shape)

    def plus(self, value: Array, error: Array) -> Array:
        """The value moved by an error (size,)."""
        if self.kind == "rotation":
            return so3.box_plus_wxyz(value, error)
        if self.kind == "direction":
            return s2.box_plus(value, error)
        shaped = error.reshape(self.shape)
        return value * jnp.exp(shaped) if self.kind == "positive" else value + shaped

    def minus(self, a: ArrayLike, b: ArrayLike) -> Array:
        """The error (size,) that leads from b to a."""
        if self.kind == "rotation":
            return so3.box_minus_wxyz(a, b)
        if self.kind == "direction":
            return s2.box_minus(a, b)
        first, second = jnp.asarray(a), jnp.asarray(b)
        difference = jnp.log(first / second) if self.kind == "positive" else first - second
        return difference.reshape(self.size)


@dataclass(frozen=True)
class Space:
    """A product of blocks."""

    blocks: tuple[Block, ...]

    def __post_init__(self) -> None:
        """Names must differ."""
        names = [block.name for block in self.blocks]
        if len(set(names)) != len(names):
            raise HaltereError(f"the state has blocks {names}; give each a name of its own")

    @cached_property
    def dimension(self) -> int:
        """Length of the error vector."""
        return sum(block.size for block in self.blocks)

    @cached_property
    def slices(self) -> dict[str, slice]:
        """Where the error of each block stands."""
        slices, start = {}, 0
        for block in self.blocks:
            slices[block.name] = slice(start, start + block.size)
            start += block.size
        return slices

    def select(self, mean: Mapping[str, Array]) -> Mean:
        """The blocks of this space in a larger state."""
        return {block.name: mean[block.name] for block in self.blocks}

    def plus(self, mean: Mapping[str, Array], error: Array) -> Mean:
        """The state moved by an error (dimension,)."""
        return {b.name: b.plus(mean[b.name], error[self.slices[b.name]]) for b in self.blocks}

    def minus(self, a: Mapping[str, Array], b: Mapping[str, Array]) -> Array:
        """The error (dimension,) that leads from state b to state a."""
        return jnp.concatenate([block.minus(a[block.name], b[block.name]) for block in self.blocks])

    def transported(self, mean: Mapping[str, Array], error: Array, cov: Array) -> Array:
        """T(d) cov T(d)^T, the covariance about the mean moved by `error`."""
        curved = [block for block in self.blocks if block.kind in CURVED]

        def turned(values: Mean, error: Array, cov: Array) -> Array:
            for block in curved:
                place = self.slices[block.name]
                T = join_single(
                    soa(partial(_transport, block))(*split_single((values[block.name], error[place])))
                )
                cov = cov.at[place].set(product(T, cov[place]))
                cov = cov.at[:, place].set(product(cov[:, place], T.T))
            return cov

        new: Array = as_one_kernel(turned, {block.name: mean[block.name] for block in curved}, error, cov)
        return new

    def recentred(self, mean: Mapping[str, Array], offset: Array, cov: Array) -> Array:
        """The covariance of an error about the state mean + offset, as it weighs errors about `mean`.

        With x = mean + offset, |minus(mean + d, x)| weighed by `cov` is |d - offset| weighed by the result, to first
        order in d.
        """
        for block in self.blocks:
            if block.kind not in CURVED:
                continue
            place = self.slices[block.name]
            T = _recentre(block, mean[block.name], offset[place])
            cov = cov.at[place].set(T @ cov[place])
            cov = cov.at[:, place].set(cov[:, place] @ T.T)
        return cov


def _recentre(block: Block, value: Array, offset: Array) -> Array:
    """The inverse (size, size) of the derivative of minus(value + d, value + offset) by d."""
    if block.kind == "rotation":
        return so3.right_jacobian(-offset)
    there = block.plus(value, offset)
    slopes = jax.jacfwd(lambda d: block.minus(block.plus(value, d), there))(jnp.zeros(block.size))
    inverse: Array = jnp.linalg.inv(slopes)
    return inverse


def _transport(block: Block, value: Array, error: Array) -> Array:
    """T of one block (size, size)."""
    if block.kind == "rotation":
        return so3.right_jacobian(error)
    moved = block.plus(value, error)
    turned: Array = jax.jacfwd(lambda d: block.minus(block.plus(value, d), moved))(error)
    return turned
