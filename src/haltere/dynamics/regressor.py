"""The equations of motion as a matrix times unknown parameters, and which of those can be separated.

    (missing wrench on the body, joint torques, rotor torques) = Y pi + rest                              (1)

pi holds the ten inertial parameters of every body, thrust and drag coefficient of every rotor and six coefficients
of every wing. The inverse dynamics is linear in them, so Y = `regressor` is its exact derivative; `rest` is what drag
and given wrenches add. Base parameters are the combinations that motion can reveal: Y stacked over random motions has
rank r, and with independent columns Y_1 and dependent ones Y_2 = Y_1 B,

    Y pi = Y_1 (pi_1 + B pi_2) = Y_1 `combinations`.                                                    (2)
"""

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg

from haltere.dynamics.inertia import PARAMETER_NAMES
from haltere.dynamics.loads import LinearParameters, linear_parameters, wind_in_body
from haltere.dynamics.model import Model
from haltere.dynamics.solve import solve_inverse
from haltere.dynamics.state import Environment, State
from haltere.dynamics.tree import kinematics
from haltere.foundation.arrays import Array, compiled

_FORCE_NAMES = {"body": ("CA", "CY", "CN"), "wind": ("CD", "CC", "CL")}


def regressor_names(model: Model) -> tuple[str, ...]:
    """Name of every column: bodies (body, links, rotors), then rotor coefficients, then wing coefficients."""
    topology = model.topology
    owners = ["body", *(f"links.{n}" for n in topology.link_names[1:])]
    rotors = [f"rotors.{n}" for n in topology.rotor_names]
    names = [f"{owner}.{name}" for owner in owners + rotors for name in PARAMETER_NAMES]
    names += [f"{rotor}.{name}" for rotor in rotors for name in ("thrust_coefficient", "drag_coefficient")]
    for link, kind in zip(topology.wing_links, topology.wing_kinds, strict=True):
        names += [f"{owners[link]}.wing.{name}" for name in (*_FORCE_NAMES[kind], "Cl", "Cm", "Cn")]
    return tuple(names)


@compiled
def compute_regressor(
    model: Model,
    state: State,
    acceleration: Array,
    joint_accelerations: Array,
    rotor_accelerations: Array,
    environment: Environment | None = None,
) -> Array:
    """(6+J+R, P): Y of equation (1) for a motion (6,), (J,), (R,); columns as in `regressor_names`."""
    environment = environment or Environment()
    nodes = kinematics(model, state)
    parameters = linear_parameters(model, nodes, wind_in_body(model, state, environment))
    motion = (acceleration, joint_accelerations, rotor_accelerations)

    def needed(p: LinearParameters) -> Array:
        return jnp.concatenate(solve_inverse(model, state, nodes, motion, environment, p))

    jacobian: LinearParameters = jax.jacfwd(needed)(parameters)
    rows = 6 + model.topology.joints + model.topology.rotors
    rotor_columns = jnp.stack([jacobian.thrust, jacobian.drag], axis=2)
    return jnp.concatenate(
        [jacobian.bodies.reshape(rows, -1), rotor_columns.reshape(rows, -1), *jacobian.wings], axis=1
    )


@dataclass(frozen=True)
class BaseParameters:
    """Which parameters motion can tell apart."""

    rank: int
    names: tuple[str, ...]
    """All P parameter names."""
    independent: tuple[int, ...]
    """Columns chosen as independent, r of P."""
    combinations: np.ndarray
    """(r, P): each row the combination of parameters that stands for an independent column, equation (2)."""
    gap: float
    """Smallest singular value that counts, over the largest that does not (columns scaled to unit length)."""


def base_parameters(
    model: Model, key: Array, samples: int = 100, environment: Environment | None = None
) -> BaseParameters:
    """The base parameters of a model, from its regressor over random motions of order one."""
    names = regressor_names(model)
    topology = model.topology
    sizes = (3, 4, 6, *[topology.joints] * 2, *[topology.rotors] * 2, 6, topology.joints, topology.rotors)
    draws = jax.random.normal(key, (samples, sum(sizes)), model.dtype)

    def one(draw: Array) -> Array:
        position, wxyz, *rest = jnp.split(draw, np.cumsum(sizes)[:-1])
        state = State(position, wxyz / jnp.linalg.norm(wxyz), *rest[:5])
        return compute_regressor(model, state, rest[5], rest[6], rest[7], environment)

    stacked = np.asarray(jax.jit(partial(jax.lax.map, one))(draws)).reshape(-1, len(names))
    lengths = np.linalg.norm(stacked, axis=0)
    scale = np.where(lengths > 0.0, lengths, 1.0)
    triangle, order = scipy.linalg.qr(stacked / scale, mode="r", pivoting=True)
    values = np.linalg.svd(triangle, compute_uv=False)
    rank = int(np.sum(values > values[0] * 1e-9))
    first, second = triangle[:rank, :rank], triangle[:rank, rank:]
    combinations = np.zeros((rank, len(names)))
    combinations[np.arange(rank), order[:rank]] = 1.0
    dependence = scipy.linalg.solve_triangular(first, second)
    combinations[:, order[rank:]] = dependence * scale[order[rank:]] / scale[order[:rank], None]
    beyond = values[rank] if rank < len(values) else 0.0
    gap = float(values[rank - 1] / max(beyond, np.finfo(float).tiny))
    return BaseParameters(rank, names, tuple(int(i) for i in order[:rank]), combinations, gap)
