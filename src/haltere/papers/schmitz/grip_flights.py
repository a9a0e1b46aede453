"""Gripping in flight with the payload chain on and off: how far the vehicle moves, and whether its reports are true.

The vehicle (`haltere.papers.schmitz.grip_plant`) hovers, grips a mass at `GRIP`, sweeps its joints to measure it and
goes on. With the chain on (`haltere.papers.schmitz.grip_chain`) the estimate goes to controller and allocation.
Beside the servos of `haltere.papers.schmitz.bench` every run draws how strong each rotor is, by how much that changes
under the load, and where at the gripper the weight acts; the chain knows none of it.
"""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from haltere.control.trim import Compensation
from haltere.estimation.cog.payload import THRUST_CHANGE
from haltere.estimation.payload.core import PayloadCore
from haltere.estimation.payload.fusion import vehicle_mass_properties
from haltere.foundation import HaltereError
from haltere.foundation.numbers import Numbers
from haltere.papers.schmitz.bench import Bench, arm_of_bench, draw_arms, payloads, sweep_motion
from haltere.papers.schmitz.grip_chain import EVERY, GripChain
from haltere.papers.schmitz.grip_plant import (
    TICK_RATE,
    GripPlant,
    GripRecord,
    compiled_flight,
    hover_state,
    join_records,
    nominal_controller,
    vehicle,
)
from haltere.papers.schmitz.series import calibrate_arms
from haltere.papers.tables import PaperRow

POSE = (45.0, 45.0)
MASS = 0.273
GRIP, SWEEP, SWEEP_TIME, END = 2.0, 2.4, 2.0, 8.0
"""s."""
SETTLED = 5.0
"""s: errors count from here."""
ROTORS, ROTOR = 0.02, 0.01
"""Deviation of the strength of all rotors together, and of each one."""


@dataclass(frozen=True, eq=False)
class GripCase:
    """N vehicles, what they will grip, and what was calibrated of them before."""

    bench: Bench
    plant: GripPlant
    chain: GripChain
    mass: float
    offset: Numbers
    """(N, 3) of the payload's centre of mass from the gripper, m."""

    @classmethod
    def draw(cls, bench: Bench, mass: float = MASS) -> "GripCase":
        """From the numbers of a bench and its source of others."""
        chain = GripChain(PayloadCore(calibrate_arms(bench)), POSE, GRIP)
        rng, runs = bench.rng, bench.runs
        rotors = len(vehicle().rotors)
        strength = ROTORS * rng.standard_normal((runs, 1)) + ROTOR * rng.standard_normal((runs, rotors))
        offset = chain.payload.settings.position_sigma * rng.standard_normal((runs, 3))
        loaded = THRUST_CHANGE * rng.standard_normal(runs)
        hung = payloads(mass, runs, offset)
        plant = GripPlant(bench.later, bench.bodies, hung, jnp.asarray(strength), jnp.asarray(loaded))
        return cls(bench, plant, chain, mass, offset)

    def truth(self, angle: Numbers) -> Numbers:
        """(N, 4) mass and centre of mass at joint angles (N, J), from the true numbers."""
        airframe, arm = vehicle(), self.chain.payload.arm
        own = np.asarray(arm_of_bench().bodies)[:, 0]
        scale = np.asarray(self.bench.bodies)[:, 1:, 0] / own[1:]
        size = arm.mean.shape[-1] + 5
        found = []
        for i in range(self.bench.runs):
            x = np.ones(size)
            x[:5] = [self.mass, *self.offset[i], 0.0]
            x[-1 - scale.shape[1] : -1] = scale[i]
            found.append(vehicle_mass_properties(airframe, arm, angle[i], x, np.zeros((size, size)))[0])
        return np.stack(found)


@dataclass(frozen=True, eq=False)
class GripFlights:
    """What N chains reported at the end of their flights.

    Attributes:
        position: (N, T, 3) of the vehicle, whose goal is the origin, m.
        mass: (N,) of the payload from the servos, kg.
        sigma: (N,).
        mass_properties: (N, 4) mass and centre of mass of the vehicle, fused.
        mass_properties_cov: (N, 4, 4).
        disagreement: by source, (N,): how far it is from the others, about 1 by chance.
        truth: (N, 4).
    """

    position: Numbers
    mass: Numbers
    sigma: Numbers
    mass_properties: Numbers
    mass_properties_cov: Numbers
    disagreement: dict[str, Numbers]
    truth: Numbers


def _timeline() -> tuple[Numbers, Numbers]:
    """Goals (T, J) in rad and share (T,) of the payload that hangs, at every tick."""
    time = np.arange(round(END * TICK_RATE)) / TICK_RATE
    goals = np.deg2rad(POSE) + sweep_motion(time, SWEEP, end=SWEEP + SWEEP_TIME)
    return goals, np.clip((time - GRIP) / 0.3, 0.0, 1.0)


def flights_off(case: GripCase) -> Numbers:
    """(N, T, 3) m: where the vehicles go if their controllers know nothing of the payload."""
    goals, held = _timeline()
    runs = case.bench.runs
    controller = nominal_controller(POSE)
    used = _wide(Compensation.of(controller), runs)
    carry = hover_state(controller, goals[0], runs)
    places = []
    for first in range(0, len(held), EVERY):
        at = slice(first, first + EVERY)
        carry, out = compiled_flight()(case.plant, used, carry, jnp.asarray(goals[at]), jnp.asarray(held[at]))
        places.append(np.asarray(out.position))
    return np.concatenate(places, axis=1)


def flights_on(case: GripCase) -> GripFlights:
    """The same flights with the chain."""
    goals, held = _timeline()
    runs, chain = case.bench.runs, case.chain
    carry = hover_state(chain.controller, goals[0], runs)
    belief = chain.begin(np.tile(goals[0], (runs, 1)))
    kept: list[GripRecord] = []
    for first in range(0, len(held), EVERY):
        at = slice(first, first + EVERY)
        carry, out = compiled_flight()(
            case.plant, belief.used, carry, jnp.asarray(goals[at]), jnp.asarray(held[at])
        )
        kept.append(jax.tree.map(np.asarray, out).noisy(case.bench.rng))
        belief = chain.step(belief, join_records(kept), goals[: first + EVERY])
    record, found = join_records(kept), chain.payload.estimate(belief.payload)
    whole = [one for one in belief.mass_properties if one is not None]
    if len(whole) < runs:
        raise HaltereError(
            f"{runs - len(whole)} of {runs} flights ended before the payload was seen; fly longer"
        )
    return GripFlights(
        record.position,
        found.mass,
        found.sigma,
        np.stack([one.value for one in whole]),
        np.stack([one.cov for one in whole]),
        {name: np.asarray([one.disagreement[name] for one in whole]) for name in whole[0].disagreement},
        case.truth(record.true_angle[:, -1]),
    )


def _wide(tree: Any, runs: int) -> Any:
    return jax.tree.map(lambda x: jnp.broadcast_to(x, (runs, *jnp.shape(x))), tree)


def flight_rows(runs: int, seed: int) -> list[PaperRow]:
    """The chain on against off, and whether what it reports is true."""
    case = GripCase.draw(draw_arms(runs, seed))
    off, on = flights_off(case), flights_on(case)
    late = slice(round(SETTLED * TICK_RATE), None)

    def far(position: Numbers) -> float:
        return float(np.linalg.norm(position[:, late], axis=-1).mean())

    def farthest(position: Numbers) -> float:
        return float(np.linalg.norm(position, axis=-1).max(axis=1).mean())

    apart = np.abs(on.mass_properties - on.truth) / np.sqrt(np.diagonal(on.mass_properties_cov, 0, -2, -1))
    outside = (apart > 1.96).mean(axis=0)
    payload = np.mean(np.abs(on.mass - case.mass) > 1.96 * on.sigma)
    values = [
        ("position error, chain off", "m", far(off), None),
        ("position error, chain on", "m", far(on.position), None),
        ("on over off", "1", far(on.position) / far(off), 0.2),
        ("largest position error, chain off", "m", farthest(off), None),
        ("largest position error, chain on", "m", farthest(on.position), None),
        ("mean error of the mass", "1", np.mean(np.abs(on.mass - case.mass)) / case.mass, None),
        ("hover thrust from the others, mean (1 is chance)", "1", on.disagreement["thrust"].mean(), 4.0),
        ("CoG filter from the others, mean (1 is chance)", "1", on.disagreement["centre"].mean(), 4.0),
        ("payload mass outside its 95 % interval", "1", payload, 0.1),
        ("vehicle mass outside its 95 % interval", "1", outside[0], 0.1),
        ("centre of mass x outside its 95 % interval", "1", outside[1], 0.1),
        ("centre of mass y outside its 95 % interval", "1", outside[2], 0.1),
        ("centre of mass z outside its 95 % interval", "1", outside[3], 0.1),
    ]
    return [PaperRow(*value) for value in values]
