"""A vehicle at one instant in the terms of the paper: body, rotors, and wings with rotors of their own.

Frames may be put anywhere on their bodies, which the paper allows; here each child's frame stands at its centre of
mass, with its axes parallel to the parent's at angle zero, or at a random position. With handedness e = +-1 of
the propeller and unit thrust direction d, the rotor rotates about n = e d ([Hong2021] eqs. (38), (42)): e n = d.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.random import Generator

from haltere.airframe import Airframe, Link, Rotor
from haltere.foundation import HaltereError
from haltere.foundation.numbers import Floats
from haltere.papers.hong.pinocchio import Instant, coefficients_at, rotation, spin_axis, spin_sign, unit
from haltere.papers.hong.screws import (
    Ad,
    inverse,
    pose,
    rigid_inertia,
    rotation_about,
    screw_exponential,
    seen_from,
    swap_halves,
)


@dataclass(frozen=True, eq=False)
class Child:
    """A body on a revolute joint: S_c^{p,p} = screw, T_c^p(0) = home, G_c^c = inertia, and its joint's motion."""

    name: str
    screw: Floats
    home: Floats
    inertia: Floats
    angle: float
    rate: float
    acceleration: float

    @cached_property
    def pose_in_parent(self) -> Floats:
        """(4, 4) T_c^p at the present angle, [Hong2021] eq. (21)."""
        return screw_exponential(self.screw, self.angle) @ self.home

    @cached_property
    def inertia_p(self) -> Floats:
        """(6, 6) G_c^p, [Hong2021] eq. (60)."""
        return seen_from(self.inertia, inverse(self.pose_in_parent))


@dataclass(frozen=True, eq=False)
class HongRotor(Child):
    """With k_l = thrust_coefficient, k_d = torque_coefficient (N and N m per (rad/s)^2) and epsilon = handedness."""

    thrust_coefficient: float
    torque_coefficient: float
    handedness: float


@dataclass(frozen=True, eq=False)
class Surface:
    """T_{a'}^a = pose of the frame of the coefficients, and the coefficients over flow angles (rad)."""

    pose: Floats
    area: float
    span: float
    chord: float
    kind: str
    coefficients: Callable[[float, float], Floats]


@dataclass(frozen=True, eq=False)
class HongWing(Child):
    """A wing or tilt mechanism; a fixed wing has a zero screw."""

    rotors: tuple[HongRotor, ...]
    surface: Surface | None

    @cached_property
    def lump_p(self) -> Floats:
        """(6, 6) inertia of the wing with its rotors, seen from the body."""
        rotors = sum((rotor.inertia_p for rotor in self.rotors), np.zeros((6, 6)))
        return self.inertia_p + seen_from(rotors, inverse(self.pose_in_parent))


@dataclass(frozen=True, eq=False)
class HongVehicle:
    """Body inertia G_b^b, twist V_b^{b,0}, pose T_b^0, gravity A_grv^0 and wind V_a^{0,0}, and all children."""

    inertia: Floats
    twist: Floats
    pose: Floats
    gravity_0: Floats
    wind_0: Floats
    density: float
    rotors: tuple[HongRotor, ...]
    wings: tuple[HongWing, ...]

    @cached_property
    def gravity_b(self) -> Floats:
        """(6,) Ad_{T_0^b} A_grv^0, [Hong2021] eq. (35)."""
        return np.asarray(Ad(inverse(self.pose)) @ self.gravity_0, np.float64)

    @cached_property
    def total_inertia(self) -> Floats:
        """(6, 6) G_T^b, [Hong2021] eq. (59), over the whole tree."""
        total = self.inertia
        for child in (*(r.inertia_p for r in self.rotors), *(w.lump_p for w in self.wings)):
            total = total + child
        return total

    @classmethod
    def at_instant(
        cls, airframe: Airframe, instant: Instant, frames: Generator | None = None
    ) -> "HongVehicle":
        """The vehicle of an airframe; with `frames` each child's frame is put at random."""
        if (
            airframe.body.wing
            or airframe.body.drag
            or any(link.drag or link.parent != "body" for link in airframe.links)
        ):
            msg = (
                f"airframe {airframe.name!r} has drag, a wing on the body or a link on a link, which the paper's "
                "examples have not; give a body with rotors and wings"
            )
            raise HaltereError(msg)
        order = [airframe.links[i] for i in airframe.link_order()]
        moving = [link.name for link in order if not link.joint.fixed]
        joints = _by_name(moving, instant.joint_angles, instant.joint_rates, instant.joint_accelerations)
        names = [rotor.name for rotor in airframe.rotors]
        spins = _by_name(names, instant.rotor_angles, instant.rotor_rates, instant.rotor_accelerations)

        def rotors_on(link: str, frame: Floats) -> tuple[HongRotor, ...]:
            return tuple(_rotor(r, frame, spins[r.name], frames) for r in airframe.rotors if r.link == link)

        wings = []
        for link in order:
            frame = _frame(link.com, frames)
            motion = joints.get(link.name, (0.0, 0.0, 0.0))
            wings.append(_wing(link, frame, motion, rotors_on(link.name, frame)))
        body = airframe.body
        return cls(
            inertia=rigid_inertia(body.mass, np.array(body.com), _tensor(body.inertia)),
            twist=swap_halves(instant.twist),
            pose=pose(rotation(tuple(instant.wxyz)), instant.position),
            gravity_0=np.concatenate([np.zeros(3), instant.gravity]),
            wind_0=np.concatenate([np.zeros(3), instant.wind]),
            density=instant.air_density,
            rotors=rotors_on("body", np.eye(4)),
            wings=tuple(wings),
        )


Motion = tuple[float, float, float]


def _by_name(names: list[str], *columns: Floats) -> dict[str, Motion]:
    rows = zip(*columns, strict=True)
    return {name: (float(a), float(b), float(c)) for name, (a, b, c) in zip(names, rows, strict=True)}


def _tensor(six: tuple[float, ...]) -> Floats:
    xx, yy, zz, xy, xz, yz = six
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def _frame(com: tuple[float, ...], frames: Generator | None) -> Floats:
    """(4, 4) the paper's frame of a child in the file's frame of it."""
    if frames is None:
        return pose(np.eye(3), np.array(com))
    axis = frames.normal(size=3)
    turn = rotation_about(axis / np.linalg.norm(axis), float(frames.uniform(0.0, np.pi)))
    return pose(turn, np.array(com) + frames.uniform(-0.1, 0.1, 3))


def _home(
    parent_frame: Floats, origin: tuple[float, ...], axis: Floats, frame: Floats
) -> tuple[Floats, Floats]:
    """(6,) S_c^{p,p} and (4, 4) T_c^p(0)."""
    to_parent = inverse(parent_frame) @ pose(np.eye(3), np.array(origin))
    return Ad(to_parent) @ np.concatenate([axis, np.zeros(3)]), to_parent @ frame


def _rotor(entry: Rotor, parent_frame: Floats, motion: Motion, frames: Generator | None) -> HongRotor:
    frame = _frame(entry.com, frames)
    screw, home = _home(parent_frame, entry.position, spin_axis(entry), frame)
    inertia = seen_from(rigid_inertia(entry.mass, np.array(entry.com), _tensor(entry.inertia)), frame)
    lift = entry.thrust_coefficient
    return HongRotor(
        entry.name,
        screw,
        home,
        inertia,
        *motion,
        thrust_coefficient=lift,
        torque_coefficient=lift * entry.torque_ratio,
        handedness=spin_sign(entry),
    )


def _wing(link: Link, frame: Floats, motion: Motion, rotors: tuple[HongRotor, ...]) -> HongWing:
    axis = np.zeros(3) if link.joint.fixed or link.joint.axis is None else unit(link.joint.axis)
    screw, home = _home(np.eye(4), link.joint.origin, axis, frame)
    inertia = seen_from(rigid_inertia(link.mass, np.array(link.com), _tensor(link.inertia)), frame)
    surface = None
    if link.wing is not None:
        wing, entries = link.wing, link.wing.coefficients
        at = inverse(frame) @ pose(rotation(wing.frame.wxyz), np.array(wing.frame.position))
        surface = Surface(
            at, wing.area, wing.span, wing.chord, entries.kind, lambda a, b: coefficients_at(entries, a, b)
        )
    return HongWing(link.name, screw, home, inertia, *motion, rotors=rotors, surface=surface)
