"""The paper's Section 3 in plain NumPy, each equation as printed and as corrected.

Nothing of `haltere.dynamics` is used: it is a study's copy of what the paper says, so that the comparison is honest.
`EquationChoices` holds one form of every equation in doubt; `CORRECTED` is right everywhere, and replacing one entry
gives the paper's form of that equation with everything else right. Twists are (angular, linear), wrenches (moment,
force).
With V' the body's acceleration:

    G_T V' = ad_V^T G_b V + G_b A_grv + sum of reactions at V' = 0        (Algorithm 1 with its loop solved)   (1)

Numbers in brackets below are equations of [Hong2021].
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from haltere.foundation.numbers import Floats
from haltere.papers.hong.screws import Ad, ad, inverse, rotation_about, screw_exponential, seen_from
from haltere.papers.hong.vehicle import Child, HongRotor, HongVehicle, HongWing, Surface

Y, Z = np.array([0.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0])


# Rotors ------------------------------------------------------------------------------------------------------------


def rotor_matrix(rotor: HongRotor, epsilon: float) -> Floats:
    """(6, 6) K_i below (42)."""
    lift = rotor.thrust_coefficient * epsilon
    return np.kron(np.array([[-rotor.torque_coefficient, lift], [lift, 0.0]]), np.eye(3))


def rotor_wrench_42(rotor: HongRotor, S: Floats) -> Floats:
    """(42) as printed: K_i S_i rate^2."""
    return rotor_matrix(rotor, rotor.handedness) @ S * rotor.rate**2


def rotor_wrench_42_up(rotor: HongRotor, S: Floats) -> Floats:
    """(42) with n along the thrust of every rotor and epsilon = -1 for those that rotate clockwise about it."""
    return rotor_matrix(rotor, rotor.handedness) @ (S * rotor.handedness) * rotor.rate**2


def rotor_wrench(rotor: HongRotor, S: Floats) -> Floats:
    """(42) corrected: rate |rate|, with epsilon the handedness of the propeller and n its direction of rotation."""
    return rotor_matrix(rotor, rotor.handedness) @ S * rotor.rate * abs(rotor.rate)


def rotor_pose_65(rotor: HongRotor) -> Floats:
    """T_i^p by (65): every rotor rotated the same way about the thrust direction, whatever its sense."""
    return screw_exponential(rotor.screw * rotor.handedness, rotor.angle) @ rotor.home


def rotor_pose(rotor: HongRotor) -> Floats:
    """T_i^p by (76), which (65) should repeat."""
    return rotor.pose_in_parent


# Wings -------------------------------------------------------------------------------------------------------------


def flow_angles_50(v: Floats) -> tuple[float, float]:
    """(50) as printed: the tangent alone cannot distinguish flow from behind."""
    return float(np.arctan(-v[2] / v[0])), float(np.arcsin(-v[1] / np.linalg.norm(v)))


def flow_angles(v: Floats) -> tuple[float, float]:
    """(50) corrected."""
    return float(np.arctan2(-v[2], v[0])), float(np.arcsin(-v[1] / np.linalg.norm(v)))


def wind_axes_53(alpha: float, beta: float) -> Floats:
    """(53) as printed."""
    return rotation_about(Y, -alpha) @ rotation_about(Z, beta)


def wind_axes(alpha: float, beta: float) -> Floats:
    """(53) corrected: takes (V, 0, 0) to the flow that has the angles of (50), as the text after (55) wants."""
    return rotation_about(Y, alpha) @ rotation_about(Z, -beta)


def air_twist_48(vehicle: HongVehicle, twist: Floats, T: Floats, surface: Surface) -> Floats:
    """(48) as printed: the world's wind through Ad of T_a^{a'}, that is, without the vehicle's attitude."""
    return np.asarray(Ad(inverse(surface.pose)) @ (twist - vehicle.wind_0), np.float64)


def air_twist_43(vehicle: HongVehicle, twist: Floats, T: Floats, surface: Surface) -> Floats:
    """Section 4.3 as printed: the wing has the body's twist."""
    return air_twist(vehicle, vehicle.twist, vehicle.pose, surface)


def air_twist(vehicle: HongVehicle, twist: Floats, T: Floats, surface: Surface) -> Floats:
    """(48) corrected: T_0^{a'}, here with T = T_a^0 of the wing."""
    to_surface = inverse(surface.pose)
    return np.asarray(Ad(to_surface) @ twist - Ad(to_surface @ inverse(T)) @ vehicle.wind_0, np.float64)


@dataclass(frozen=True)
class EquationChoices:
    """Which form of each doubtful equation is used."""

    rotor_wrench: Callable[[HongRotor, Floats], Floats] = rotor_wrench
    rotor_pose: Callable[[HongRotor], Floats] = rotor_pose
    flow_angles: Callable[[Floats], tuple[float, float]] = flow_angles
    wind_axes: Callable[[float, float], Floats] = wind_axes
    air_twist: Callable[[HongVehicle, Floats, Floats, Surface], Floats] = air_twist
    body_signs: tuple[float, float, float] = (-1.0, 1.0, 1.0)
    """Signs of (C_A, C_Y, C_N) in (52)."""


CORRECTED = EquationChoices()


def wing_wrench(
    vehicle: HongVehicle, wing: HongWing, twist: Floats, T: Floats, choices: EquationChoices = CORRECTED
) -> Floats:
    """(6,) W_aer^{a,a} by (46) to (57), for a wing with twist V_a^{a,0} and pose T_a^0."""
    surface = wing.surface
    if surface is None:
        return np.zeros(6)
    v = choices.air_twist(vehicle, twist, T, surface)[3:]
    speed = float(np.linalg.norm(v))
    if speed == 0.0:
        return np.zeros(6)
    alpha, beta = choices.flow_angles(v)
    six = surface.coefficients(alpha, beta)
    moment = six[3:] * np.array([surface.span, surface.chord, surface.span])
    if surface.kind == "wind":
        R = choices.wind_axes(alpha, beta)
        moment, force = R @ moment, R @ (six[:3] * np.array([-1.0, 1.0, 1.0]))
    else:
        force = six[:3] * np.array(choices.body_signs)
    load = 0.5 * vehicle.density * surface.area * speed**2
    return Ad(inverse(surface.pose)).T @ (load * np.concatenate([moment, force]))


# Parent and child --------------------------------------------------------------------------------------------------


def child_screw_27(child: Child) -> Floats:
    """(6,) S_c^{c,p} by (27) and (39), with T at angle zero."""
    return Ad(inverse(child.home)) @ child.screw


def child_twist_22(child: Child, T: Floats, parent: Floats) -> Floats:
    """(6,) V_c^{c,0}, with T = T_c^p."""
    return Ad(inverse(T)) @ (parent + child.screw * child.rate)


def child_acceleration_26(child: Child, T: Floats, twist: Floats, parent: Floats) -> Floats:
    """(6,) derivative of V_c^{c,0} = twist, from that of the parent's."""
    S = child_screw_27(child)
    return ad(twist) @ S * child.rate + Ad(inverse(T)) @ parent + S * child.acceleration


def joint_matrix_33(child: Child) -> Floats:
    """(13, 13) J_c^p: from (V_p, W_c^{c,c}, rate) to (W_c^{p,p}, V_c, torque)."""
    X, S = Ad(inverse(child.pose_in_parent)), child.screw[:, None]
    six, one = np.zeros((6, 6)), np.zeros((6, 1))
    return np.block([[six, -X.T, one], [X, six, X @ S], [one.T, S.T @ X.T, np.zeros((1, 1))]])


# Algorithm 1 -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class HongFrame:
    """A parent's twist, its derivative, and its pose T_p^0."""

    twist: Floats
    acceleration: Floats
    pose: Floats


def needed_25(G: Floats, at: HongFrame, gravity: Floats) -> Floats:
    """(6,) wrench a body needs beside gravity A_grv^0 (6,), (25) with (35)."""
    free = Ad(inverse(at.pose)) @ gravity
    return np.asarray(G @ (at.acceleration - free) - ad(at.twist).T @ G @ at.twist, np.float64)


def child_frame(child: Child, T: Floats, parent: HongFrame) -> HongFrame:
    """The child's motion, with T = T_c^p."""
    twist = child_twist_22(child, T, parent.twist)
    return HongFrame(twist, child_acceleration_26(child, T, twist, parent.acceleration), parent.pose @ T)


def rotor_reaction_40(
    vehicle: HongVehicle, rotor: HongRotor, parent: HongFrame, choices: EquationChoices
) -> Floats:
    """(6,) wrench of a rotor on its parent: (40) or (44), carried over by (24)."""
    T = choices.rotor_pose(rotor)
    at = child_frame(rotor, T, parent)
    wrench = needed_25(rotor.inertia, at, vehicle.gravity_0) - choices.rotor_wrench(
        rotor, child_screw_27(rotor)
    )
    return -Ad(inverse(T)).T @ wrench


def wing_needed_45(vehicle: HongVehicle, wing: HongWing, at: HongFrame, choices: EquationChoices) -> Floats:
    """(6,) W_b^{a,a}: what a wing and its rotors get through the wing's joint."""
    wrench = needed_25(wing.inertia, at, vehicle.gravity_0) - wing_wrench(
        vehicle, wing, at.twist, at.pose, choices
    )
    return wrench - sum((rotor_reaction_40(vehicle, r, at, choices) for r in wing.rotors), np.zeros(6))


def reactions(vehicle: HongVehicle, acceleration: Floats, choices: EquationChoices = CORRECTED) -> Floats:
    """(6,) all reactions on the body, lines 1 to 18, when its own acceleration is `acceleration`."""
    body = HongFrame(vehicle.twist, acceleration, vehicle.pose)
    total = sum((rotor_reaction_40(vehicle, r, body, choices) for r in vehicle.rotors), np.zeros(6))
    for wing in vehicle.wings:
        at = child_frame(wing, wing.pose_in_parent, body)
        total = total - Ad(inverse(wing.pose_in_parent)).T @ wing_needed_45(vehicle, wing, at, choices)
    return total


def total_inertia(vehicle: HongVehicle, choices: EquationChoices = CORRECTED) -> Floats:
    """(6, 6) G_T^b over the whole tree, with the rotors where the choices put them."""
    total = vehicle.inertia
    for rotor in vehicle.rotors:
        total = total + seen_from(rotor.inertia, inverse(choices.rotor_pose(rotor)))
    for wing in vehicle.wings:
        lump = wing.inertia
        for rotor in wing.rotors:
            lump = lump + seen_from(rotor.inertia, inverse(choices.rotor_pose(rotor)))
        total = total + seen_from(lump, inverse(wing.pose_in_parent))
    return total


def acceleration(vehicle: HongVehicle, choices: EquationChoices = CORRECTED) -> Floats:
    """(6,) the body's acceleration by equation (1)."""
    rest = HongFrame(vehicle.twist, np.zeros(6), vehicle.pose)
    right = reactions(vehicle, np.zeros(6), choices) - needed_25(vehicle.inertia, rest, vehicle.gravity_0)
    return np.asarray(np.linalg.solve(total_inertia(vehicle, choices), right), np.float64)


def acceleration_without_loop(vehicle: HongVehicle) -> Floats:
    """(6,) Algorithm 1 read literally: lines 3, 10 and 15 without the body's acceleration, then (34)."""
    rest = HongFrame(vehicle.twist, np.zeros(6), vehicle.pose)
    right = reactions(vehicle, np.zeros(6)) - needed_25(vehicle.inertia, rest, vehicle.gravity_0)
    return np.asarray(np.linalg.solve(vehicle.inertia, right), np.float64)
