"""All ways in which a vehicle can hang still in the air: problem (6) of [Blaha2024] solved as it stands, offline.

    min u^T W u   with  |F u| = g,  T u = 0,  low <= u <= high                                             (1)

It is not convex: the force may point anywhere on a sphere. For one direction d it is, with F u = g d instead of
|F u| = g: a small quadratic program. So (1) is the smallest value of that program over the sphere; local minima are
found from many starting directions, each by sequential quadratic programming, and distinguished by direction. The
answer is the best of them, `attitudes` are all. A vehicle without any cannot hover. It is the reference for the quick
`haltere.estimation.throw.thrust_axis`, which leaves the bounds out.
"""

from dataclasses import dataclass

import numpy as np
from scipy import linalg, optimize

from haltere.foundation import HaltereError
from haltere.foundation.constants import STANDARD_GRAVITY
from haltere.foundation.numbers import Floats

MIN_SEPARATION = np.deg2rad(3.0)
"""Two hover axes closer than this are one."""
TOLERANCE = 1e-6


@dataclass(frozen=True)
class Hover:
    """One hover attitude: `axis` (3,) of the force, `u` (m,) squared speeds, `cost` u^T W u."""

    axis: Floats
    u: Floats
    cost: float


@dataclass(frozen=True)
class Hovers:
    """What a vehicle can do.

    Attributes:
        attitudes: local minima of (1), cheapest first; empty if it cannot hover.
        freedom: number of independent directions of force without torque: 1 for a plain quadrotor, 3 if fully actuated.
        verdict: one sentence.
    """

    attitudes: tuple[Hover, ...]
    freedom: int
    verdict: str

    @property
    def best(self) -> Hover:
        """The cheapest one."""
        if not self.attitudes:
            raise HaltereError(f"this vehicle cannot hover: {self.verdict}; do not fly it")
        return self.attitudes[0]


def hovers(
    F: Floats,
    T: Floats,
    low: Floats | float = 0.0,
    high: Floats | float = np.inf,
    weights: Floats | None = None,
    gravity: float = STANDARD_GRAVITY,
    starts: int = 12,
    seed: int = 0,
) -> Hovers:
    """Every hover attitude, from `starts` random directions; the other arguments are those of `thrust_axis`."""
    force, torque = np.asarray(F, np.float64), np.asarray(T, np.float64)
    rotors = force.shape[1]
    scale = gravity / max(float(np.max(np.abs(force))), 1e-300)
    least, most = (np.broadcast_to(np.asarray(x, np.float64), rotors) / scale for x in (low, high))
    W = np.ones(rotors) if weights is None else np.asarray(weights, np.float64)
    N = linalg.null_space(torque / max(float(np.max(np.abs(torque))), 1e-300), rcond=1e-9)
    if N.shape[1] != rotors - 3:
        return Hovers((), 0, "its rotors give no torque about all three axes")
    B = force @ N * scale / gravity
    values, vectors = np.linalg.eigh(B @ B.T)
    freedom = int(np.sum(values > 1e-9 * values[-1]))
    rng = np.random.default_rng(seed)
    directions = [s * vectors[:, k] for k in (2, 1, 0)[:freedom] for s in (1.0, -1.0)]
    directions += list(rng.normal(size=(starts, 3))) if freedom > 1 else []
    found: list[Hover] = []
    for direction in directions:
        eta = _solved(B, N, W, least, most, direction)
        if eta is None:
            continue
        axis, u = B @ eta, N @ eta * scale
        new = Hover(axis / np.linalg.norm(axis), u, float(u @ (W * u)))
        near = [
            i
            for i, old in enumerate(found)
            if np.arccos(np.clip(old.axis @ new.axis, -1, 1)) < MIN_SEPARATION
        ]
        if not near:
            found.append(new)
        elif new.cost < found[near[0]].cost:
            found[near[0]] = new
    found.sort(key=lambda hover: hover.cost)
    if not found:
        return Hovers((), freedom, "no squared speeds inside the bounds carry its weight without a torque")
    if len(found) > 1 and found[1].cost < 1.02 * found[0].cost:
        return Hovers(tuple(found), freedom, f"{len(found)} hover attitudes, the best two equally good")
    many = "one hover attitude" if len(found) == 1 else f"{len(found)} hover attitudes, one the best"
    return Hovers(tuple(found), freedom, many if freedom == 1 else f"{many}; force in {freedom} directions")


def _solved(B: Floats, N: Floats, W: Floats, low: Floats, high: Floats, direction: Floats) -> Floats | None:
    """A local minimum of (1) in the null space, in units in which gravity is 1, or None."""
    begin = np.linalg.lstsq(B, direction / np.linalg.norm(direction), rcond=None)[0]
    force = np.linalg.norm(B @ begin)
    begin = begin / force if force > 1e-9 else begin
    finite = [(N[np.isfinite(low)], low[np.isfinite(low)]), (-N[np.isfinite(high)], -high[np.isfinite(high)])]
    G, h = np.concatenate([a for a, _ in finite]), np.concatenate([b for _, b in finite])
    H = N.T @ (W[:, None] * N)
    size = float(begin @ H @ begin) or 1.0
    answer = optimize.minimize(
        lambda x: x @ H @ x / size,
        begin,
        jac=lambda x: 2.0 * H @ x / size,
        method="SLSQP",
        constraints=[
            {"type": "eq", "fun": lambda x: np.sum((B @ x) ** 2) - 1.0, "jac": lambda x: 2.0 * B.T @ (B @ x)},
            {"type": "ineq", "fun": lambda x: G @ x - h, "jac": lambda _: G},
        ],
        options={"maxiter": 200, "ftol": 1e-12},
    )
    x = np.asarray(answer.x, np.float64)
    reach = max(float(np.max(np.abs(N @ x))), 1e-9)
    kept = len(h) == 0 or float(np.min(G @ x - h)) > -TOLERANCE * reach
    return x if kept and abs(float(np.sum((B @ x) ** 2)) - 1.0) < TOLERANCE else None
