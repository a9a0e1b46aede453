"""The wrench of the air on a wing, from static coefficients over angle of attack and sideslip.

With air-relative velocity v of the wing frame in its own axes, V = |v|, dynamic pressure q = rho V^2 / 2
([Hong2021] eqs. (50) to (57), corrected):

    alpha = atan2(-v_z, v_x),  beta = asin(-v_y / V)                                                  (1)
    kind "body":  W = q S (-C_A, C_Y, C_N; C_l b, C_m c, C_n b)                                       (2)
    kind "wind":  W = q S Q (-C_D, C_C, C_L; C_l b, C_m c, C_n b),  Q = Rot(y, alpha) Rot(z, -beta)   (3)

so that Q (V, 0, 0) = v: drag opposes the motion, lift and side force do no work. The wrench at V = 0 is zero. Between
the points of a table the coefficients are linear; beyond its ends they keep the last value.

The coefficients hold for small angular rates only. `reduced_rate` = |w| c / (2 V) says how slow; above the wing's
`reduced_rate_limit` the model leaves its range (`rate_warnings`).
"""

import jax.numpy as jnp
import numpy as np

from haltere.dynamics.model import Model, WingNumbers
from haltere.dynamics.state import Environment, State
from haltere.dynamics.tree import Nodes, kinematics, wrench_in_body
from haltere.foundation.arrays import Array, compiled
from haltere.lie import so3


def air_twist(nodes: Nodes, link: int, wing: WingNumbers, wind_B: Array) -> tuple[Array, Array]:
    """(3,) air-relative velocity (m/s) and (3,) angular velocity (rad/s) of the wing frame, in its own axes."""
    R, p = wing_frame(nodes, link, wing)
    twist = nodes.twists[link]
    return R.T @ (twist[:3] - wind_B + so3.hat(twist[3:]) @ p), R.T @ twist[3:]


def wing_frame(nodes: Nodes, link: int, wing: WingNumbers) -> tuple[Array, Array]:
    """(3, 3) R_BW and (3,) p_BW of the wing frame."""
    R = nodes.rotations[link]
    return R @ wing.rotation, nodes.positions[link] + R @ wing.position


def flow_angles(velocity: Array) -> tuple[Array, Array]:
    """Angle of attack and sideslip (rad) of equation (1); both zero without flow."""
    still = velocity @ velocity == 0.0
    x, y, z = (jnp.where(still, safe, velocity[i]) for i, safe in enumerate((1.0, 0.0, 0.0)))
    return jnp.arctan2(-z, x), jnp.arctan2(-y, jnp.sqrt(x * x + z * z))


def wing_coefficients(wing: WingNumbers, alpha: Array, beta: Array) -> Array:
    """(6,) coefficients at these angles (rad), by bilinear interpolation."""
    return wing.coefficients @ _shares(wing.beta, beta) @ _shares(wing.alpha, alpha)


def _shares(grid: Array, value: Array) -> Array:
    """(A,) weight of each point of an increasing grid at `value`: linear between two, all on the last beyond an end.

    Written without a search, so that every vehicle of a batch takes the same path through it.
    """
    ones = jnp.ones(1, grid.dtype)
    passed = jnp.clip((value - grid[:-1]) / (grid[1:] - grid[:-1]), 0.0, 1.0)
    return jnp.concatenate([ones, passed]) - jnp.concatenate([passed, 0.0 * ones])


def wing_wrench(wing: WingNumbers, kind: str, velocity: Array, density: Array, coefficients: Array) -> Array:
    """(6,) wrench in the wing frame (N, N m) at air-relative `velocity` (3,), by (2) or (3)."""
    signed = coefficients * jnp.stack([-jnp.ones_like(wing.span), *[jnp.ones_like(wing.span)] * 5])
    force, moment = signed[:3], signed[3:] * jnp.stack([wing.span, wing.chord, wing.span])
    if kind == "wind":
        alpha, beta = flow_angles(velocity)
        y, z = (np.eye(3, dtype=velocity.dtype)[i] for i in (1, 2))
        turn = so3.rodrigues(y, jnp.sin(alpha), jnp.cos(alpha)) @ so3.rodrigues(
            z, -jnp.sin(beta), jnp.cos(beta)
        )
        force, moment = turn @ force, turn @ moment
    pressure_area = 0.5 * density * wing.area * (velocity @ velocity)
    return pressure_area * jnp.concatenate([force, moment])


def coefficients_in_effect(model: Model, nodes: Nodes, wind_B: Array) -> tuple[Array, ...]:
    """The (6,) coefficients of each wing at its present flow angles."""
    pairs = zip(model.topology.wing_links, model.wings, strict=True)
    return tuple(
        wing_coefficients(w, *flow_angles(air_twist(nodes, link, w, wind_B)[0])) for link, w in pairs
    )


def wing_wrenches(
    model: Model, nodes: Nodes, wind_B: Array, density: Array, coefficients: tuple[Array, ...]
) -> list[tuple[int, Array]]:
    """Link number and (6,) wrench about the body origin, body axes, of each wing."""
    wrenches = []
    for link, kind, wing, six in zip(
        model.topology.wing_links, model.topology.wing_kinds, model.wings, coefficients, strict=True
    ):
        velocity, _ = air_twist(nodes, link, wing, wind_B)
        wrench = wing_wrench(wing, kind, velocity, density, six)
        wrenches.append((link, wrench_in_body(*wing_frame(nodes, link, wing), wrench)))
    return wrenches


@compiled
def _flows(model: Model, state: State, environment: Environment) -> list[tuple[Array, Array]]:
    nodes = kinematics(model, state)
    wind_B = state.R_WB.T @ jnp.asarray(environment.wind, model.dtype)
    wings = zip(model.topology.wing_links, model.wings, strict=True)
    return [air_twist(nodes, link, wing, wind_B) for link, wing in wings]


def rate_warnings(model: Model, state: State, environment: Environment) -> list[str]:
    """One sentence for each wing that rotates too fast in its flow for static coefficients."""
    sentences = []
    flows = _flows(model, state, environment)
    for link, wing, flow in zip(model.topology.wing_links, model.wings, flows, strict=True):
        speed, turning = (float(np.linalg.norm(part)) for part in flow)
        limit = float(wing.reduced_rate_limit)
        if turning * float(wing.chord) > 2.0 * speed * limit:
            reduced = turning * float(wing.chord) / (2.0 * speed) if speed > 0.0 else float("inf")
            sentences.append(
                f"wing of '{model.topology.link_names[link]}': reduced rate {reduced:.3g} is above {limit:.3g}, "
                "where static coefficients hold; expect unsteady forces, or set reduced_rate_limit"
            )
    return sentences
