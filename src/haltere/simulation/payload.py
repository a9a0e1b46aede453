"""Payloads that are attached, dropped or swing on a cable, as changes of the vehicle in flight.

A rigid payload is added to the body: with inertial parameters pi (`haltere.dynamics.inertia`), which simply add up,

    pi_body(t) = pi_body + sum of pi_payload over what is attached at t                                    (1)

A swinging one hangs on a massless cable from a joint that moves freely about two axes: two links more, of which the
outer has the payload's mass while it is attached and 1e-9 of it otherwise, so that the equations stay defined. One
that is released takes its momentum with it; one that is attached moves with the vehicle already, without a blow.
"""

from dataclasses import dataclass, replace

import jax.numpy as jnp

from haltere.airframe import Airframe, Joint, Link
from haltere.dynamics.inertia import inertial_parameters, unpacked
from haltere.foundation.arrays import Array, ArrayLike
from haltere.simulation.closed_loop import Change
from haltere.simulation.plant import TiltServos, Vehicle

DROPPED_FRACTION = 1e-9
"""Share of the mass of a swinging payload that stays after it was dropped."""


@dataclass(frozen=True)
class Payload:
    """A point mass on the body; with `cable` > 0 it swings below `position`."""

    mass: ArrayLike
    """kg."""
    position: ArrayLike | tuple[float, float, float]
    """(3,) where it is fixed, body axes, m."""
    attach: ArrayLike = -jnp.inf
    """s; before time zero for one that is there from the beginning."""
    drop: ArrayLike = jnp.inf
    """s."""
    cable: float = 0.0
    """Length of the cable, m; 0 for a rigid connection."""
    damping: float = 0.0
    """Torque per rate of the cable's joints, N m/(rad/s)."""
    name: str = "payload"

    def attached(self, time: Array) -> Array:
        """() 1 while it is attached, else 0."""
        return jnp.where((time >= self.attach) & (time < self.drop), 1.0, 0.0)


def with_cables(airframe: Airframe, payloads: tuple[Payload, ...]) -> Airframe:
    """The airframe with two links more for each payload that swings: about the body's x, then y axis."""
    links = list(airframe.links)
    for load in payloads:
        if load.cable <= 0.0:
            continue
        x, y, z = (float(p) for p in jnp.asarray(load.position))
        links += [
            Link(name=f"{load.name}_roll", joint=Joint(origin=(x, y, z), axis=(1.0, 0.0, 0.0)), mass=0.0),
            Link(
                name=f"{load.name}_pitch",
                parent=f"{load.name}_roll",
                joint=Joint(axis=(0.0, 1.0, 0.0)),
                mass=float(jnp.asarray(load.mass)),
                com=(0.0, 0.0, -load.cable),
            ),
        ]
    return airframe.model_copy(update={"links": tuple(links)})


def with_free_cables(vehicle: Vehicle, payloads: tuple[Payload, ...]) -> Vehicle:
    """The vehicle of a `with_cables` airframe with the joints of the cables free."""
    damping = {f"{p.name}_{a}": p.damping for p in payloads if p.cable > 0.0 for a in ("roll", "pitch")}
    names = vehicle.model.topology.joint_names
    if not damping:
        return vehicle
    servos: TiltServos = replace(
        vehicle.servos,
        damping=jnp.asarray([damping.get(name, 0.0) for name in names]),
        passive=tuple(name in damping for name in names),
    )
    return replace(vehicle, servos=servos)


def payload_change(payloads: tuple[Payload, ...]) -> Change:
    """Equation (1) as a function of (vehicle, time), for `haltere.simulation.closed_loop`."""

    def change(vehicle: Vehicle, time: Array) -> Vehicle:
        model, links = vehicle.model, vehicle.model.links
        body = inertial_parameters(links.mass[0], links.com[0], links.inertia[0])
        masses = links.mass
        for load in payloads:
            here = load.attached(time)
            if load.cable > 0.0:
                link = model.topology.link_names.index(f"{load.name}_pitch")
                masses = masses.at[link].multiply(DROPPED_FRACTION + (1.0 - DROPPED_FRACTION) * here)
            else:
                mass, place = jnp.asarray(load.mass, float), jnp.asarray(load.position, float)
                body = body + here * inertial_parameters(mass, place, jnp.zeros((3, 3)))
        mass, com, inertia = unpacked(body)
        links = replace(
            links,
            mass=masses.at[0].set(mass),
            com=links.com.at[0].set(com),
            inertia=links.inertia.at[0].set(inertia),
        )
        return replace(vehicle, model=replace(model, links=links))

    return change
