"""The paper's compact forms and its four examples in plain NumPy, as printed and as corrected.

    G_T V' = ad_V^T G_T V + G_T A_grv + sum of wrenches                    [Hong2021] eqs. (58), (69), (78), (79)    (1)

With G = G_i^b, S = S_i^{b,b}, V the twist of the parent and r the joint's rate, the wrench that relative motion adds is

    X = (G ad_S V + ad_S^T G V + ad_V^T G S) r + ad_S^T G S r^2            [Hong2021] eq. (29), corrected            (2)

Numbers in brackets below are equations of [Hong2021]; nothing of `haltere.dynamics` is used.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from haltere.foundation.numbers import Floats
from haltere.papers.hong.equations import (
    CORRECTED,
    EquationChoices,
    HongFrame,
    child_frame,
    rotor_matrix,
    rotor_wrench,
    wing_wrench,
)
from haltere.papers.hong.screws import Ad, ad, inverse, seen_from
from haltere.papers.hong.vehicle import HongRotor, HongVehicle, HongWing

Coupling = Callable[[Floats, Floats, Floats, float], Floats]


# Rotors on the body ------------------------------------------------------------------------------------------------


def coupling_29(G: Floats, S: Floats, V: Floats, rate: float) -> Floats:
    """(29) as extracted: the term ad_V^T G S goes with the squared rate."""
    first = G @ ad(S) @ V + ad(S).T @ G @ V
    return first * rate + (ad(V).T @ G @ S + ad(S).T @ G @ S) * rate**2


def coupling_28(G: Floats, S: Floats, V: Floats, rate: float) -> Floats:
    """(28) as printed: ad of the child's twist where the parent's belongs, the rest right."""
    return coupling(G, S, V, rate) + ad(S).T @ G @ V * rate


def coupling_66(G: Floats, S: Floats, V: Floats, rate: float) -> Floats:
    """(66): what is left of (2) for a balanced, axisymmetric rotor."""
    return ad(V).T @ G @ S * rate


def coupling(G: Floats, S: Floats, V: Floats, rate: float) -> Floats:
    """(29) corrected: equation (2)."""
    first = G @ ad(S) @ V + ad(S).T @ G @ V + ad(V).T @ G @ S
    return first * rate + ad(S).T @ G @ S * rate**2


def solved(vehicle: HongVehicle, wrenches: Floats) -> Floats:
    """(6,) V' of equation (1)."""
    G, V = vehicle.total_inertia, vehicle.twist
    return np.linalg.solve(G, ad(V).T @ G @ V + wrenches) + vehicle.gravity_b


def fixed_tilt_58(vehicle: HongVehicle, wrench_of: Coupling = coupling) -> Floats:
    """(6,) V' by (58) to (60) with (61): all rotors on the body."""
    return solved(vehicle, thrusts_61(vehicle) + spin_ups(vehicle) + couplings(vehicle, wrench_of))


def thrusts_61(vehicle: HongVehicle) -> Floats:
    """(6,) sum of K_i S_i^{b,b} rate |rate|, by the remark after (61) that K-bar = K."""
    return sum((rotor_wrench(r, r.screw) for r in vehicle.rotors), np.zeros(6))


def spin_ups(vehicle: HongVehicle) -> Floats:
    """(6,) sum of -G_i^b S_i^{b,b} times the rotor's acceleration."""
    return sum((-r.inertia_p @ r.screw * r.acceleration for r in vehicle.rotors), np.zeros(6))


def couplings(vehicle: HongVehicle, wrench_of: Coupling = coupling) -> Floats:
    """(6,) sum of X_i^b."""
    return sum((wrench_of(r.inertia_p, r.screw, vehicle.twist, r.rate) for r in vehicle.rotors), np.zeros(6))


def simplified_62(vehicle: HongVehicle) -> Floats:
    """(6,) V' by (62), which leaves out all inertial coupling of the rotors."""
    return solved(vehicle, thrusts_61(vehicle))


def rotor_wrench_in_body_61(rotor: HongRotor) -> Floats:
    """(6,) K_i S_i^{b,b} rate^2: K-bar = K."""
    return rotor_matrix(rotor, rotor.handedness) @ rotor.screw * rotor.rate**2


def rotor_wrench_moved_61(rotor: HongRotor) -> Floats:
    """(6,) the same by K-bar = Ad^T K Ad written out."""
    return (
        seen_from(rotor_matrix(rotor, rotor.handedness), inverse(rotor.pose_in_parent))
        @ rotor.screw
        * rotor.rate**2
    )


# 4.1 Standard quadrotor --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Quadrotor:
    """The symbols of Section 4.1; rates and accelerations (4,) in the order of the paper."""

    d: float
    m_r: float
    m_T: float
    I_Tx: float
    I_Tz: float
    I_rz: float
    k_l: float
    k_d: float
    rates: Floats
    accelerations: Floats

    @classmethod
    def of(cls, vehicle: HongVehicle) -> "Quadrotor":
        """Read the symbols off a vehicle whose rotor frames stand at their centres of mass."""
        first, body = vehicle.rotors[0], np.diag(vehicle.inertia)
        rotor = np.diag(first.inertia)
        total = body + 4.0 * rotor
        return cls(
            d=float(np.linalg.norm(first.home[:3, 3])),
            m_r=rotor[5],
            m_T=total[5],
            I_Tx=total[0],
            I_Tz=total[2],
            I_rz=rotor[2],
            k_l=first.thrust_coefficient,
            k_d=first.torque_coefficient,
            rates=np.array([r.rate for r in vehicle.rotors]),
            accelerations=np.array([r.acceleration for r in vehicle.rotors]),
        )


def thrust_70(q: Quadrotor) -> Floats:
    """(6,) K rate^2 by (70)."""
    a, b, c, e = q.rates**2
    roll, pitch = q.d * q.k_l * (e - b), q.d * q.k_l * (a - c)
    return np.array([roll, pitch, q.k_d * (a - b + c - e), 0.0, 0.0, q.k_l * (a + b + c + e)])


def spin_up_71(q: Quadrotor) -> Floats:
    """(6,) Y^b by (71)."""
    a, b, c, e = q.accelerations
    return np.array([0.0, 0.0, q.I_rz * (a - b + c - e), 0.0, 0.0, 0.0])


def gyroscopic_72(q: Quadrotor, V: Floats) -> Floats:
    """(6,) X^b by (72)."""
    a, b, c, e = q.rates
    spin = q.I_rz * (a - b + c - e)
    return np.array([V[1] * spin, -V[0] * spin, 0.0, 0.0, 0.0, 0.0])


def inertial_73(q: Quadrotor, A: Floats, *, printed: bool) -> Floats:
    """(6,) G_T V' by (73); its fourth row has v_z' in print and v_x' corrected."""
    arm = q.m_r * q.d**2
    x = A[5] if printed else A[3]
    across = 2.0 * arm + q.I_Tx
    turning = [A[0] * across, A[1] * across, A[2] * (4.0 * arm + q.I_Tz)]
    return np.array([*turning, q.m_T * x, q.m_T * A[4], q.m_T * A[5]])


def momentum_74(q: Quadrotor, V: Floats, *, printed: bool) -> Floats:
    """(6,) ad_V^T G_T V by (74); its sixth row ends in w_z in print and in w_x corrected."""
    wx, wy, wz, vx, vy, vz = V
    last = wz if printed else wx
    gap = 2.0 * q.m_r * q.d**2 - q.I_Tx + q.I_Tz
    force = [vy * wz - vz * wy, vz * wx - vx * wz, vx * wy - vy * last]
    return np.array([-wy * wz * gap, wx * wz * gap, 0.0, *(q.m_T * f for f in force)])


def standard_quadrotor_69(vehicle: HongVehicle, *, printed: bool) -> Floats:
    """(6,) V' of Section 4.1 by (69) to (74), with the fourth row of (73) read as v_x'."""
    q, V = Quadrotor.of(vehicle), vehicle.twist
    wrench = thrust_70(q) + spin_up_71(q) + gyroscopic_72(q, V) + momentum_74(q, V, printed=printed)
    diagonal = inertial_73(q, np.ones(6), printed=False)
    return wrench / diagonal + vehicle.gravity_b


# 4.2 Tilting rotors, 4.4 tilting wings -----------------------------------------------------------------------------


def tilting_rotors_78(vehicle: HongVehicle, *, printed: bool) -> Floats:
    """(6,) V' of Sections 4.2 and 4.4 by (78), with the wings' air wrenches; corrected with the missing terms."""
    V, total = vehicle.twist, np.zeros(6)
    body = HongFrame(V, np.zeros(6), vehicle.pose)
    for wing in vehicle.wings:
        T, S, rate = wing.pose_in_parent, wing.screw, wing.rate
        total = total - wing.lump_p @ S * wing.acceleration + ad(V).T @ wing.lump_p @ S * rate
        at = child_frame(wing, T, body)
        total = total + Ad(inverse(T)).T @ wing_wrench(vehicle, wing, at.twist, at.pose)
        if not printed:
            total = total + (wing.lump_p @ ad(S) @ V + ad(S).T @ wing.lump_p @ V) * rate
            total = total + ad(S).T @ wing.lump_p @ S * rate**2
        for rotor in wing.rotors:
            total = total + _tilted_rotor(rotor, T, S, rate, V, printed)
    return solved(vehicle, total)


def _tilted_rotor(rotor: HongRotor, T: Floats, S_a: Floats, rate: float, V: Floats, printed: bool) -> Floats:
    """(6,) the terms of one rotor in (78), with T = T_a^b and S_a the tilt screw."""
    S, G = Ad(T) @ rotor.screw, seen_from(rotor.inertia_p, inverse(T))
    spin = G @ S * rotor.rate
    wrench = rotor_wrench(rotor, S) - G @ S * rotor.acceleration + ad(V).T @ spin + ad(S_a).T @ spin * rate
    if printed:
        return wrench
    V_a = V + S_a * rate
    return wrench + (G @ ad(S) @ V_a + ad(S).T @ G @ V_a) * rotor.rate + ad(S).T @ G @ S * rotor.rate**2


def tilt_joint_wrench_77(vehicle: HongVehicle, wing: HongWing, at: HongFrame, *, printed: bool) -> Floats:
    """(6,) W_b^{a,a} by (77); corrected with the terms of a rotor that is not axisymmetric."""
    V, G = at.twist, sum((r.inertia_p for r in wing.rotors), wing.inertia)
    free = Ad(inverse(at.pose)) @ vehicle.gravity_0
    wrench = G @ (at.acceleration - free) - ad(V).T @ G @ V
    wrench_of = coupling_66 if printed else coupling
    for r in wing.rotors:
        wrench = wrench - rotor_wrench(r, r.screw) + r.inertia_p @ r.screw * r.acceleration
        wrench = wrench - wrench_of(r.inertia_p, r.screw, V, r.rate)
    return np.asarray(wrench, np.float64)


# 4.3 Two fixed wings -----------------------------------------------------------------------------------------------


def thrust_80(vehicle: HongVehicle) -> Floats:
    """(6,) K rate^2 by (80), with d and h read off the first rotor's position (-d, h, w)."""
    rotors = [(wing, rotor) for wing in vehicle.wings for rotor in wing.rotors]
    wing, first = rotors[0]
    x, h = (wing.pose_in_parent @ first.home)[:2, 3]
    a, b, c, e = np.array([rotor.rate for _, rotor in rotors]) ** 2
    roll, pitch = (
        h * first.thrust_coefficient * (a - b - c + e),
        -x * first.thrust_coefficient * (a + b - c - e),
    )
    yaw, thrust = first.torque_coefficient * (a - b + c - e), first.thrust_coefficient * (a + b + c + e)
    return np.array([roll, pitch, yaw, 0.0, 0.0, thrust])


def fixed_wings_79(vehicle: HongVehicle, choices: EquationChoices = CORRECTED) -> Floats:
    """(6,) V' of Section 4.3 by (79), (80), (71), (72), with the wings' twists as the reading has them."""
    V, total = vehicle.twist, thrust_80(vehicle)
    rotors = [rotor for wing in vehicle.wings for rotor in wing.rotors]
    I_rz = rotors[0].inertia[2, 2]
    alternating = np.array([1.0, -1.0, 1.0, -1.0])
    spin = I_rz * float(alternating @ [r.rate for r in rotors])
    total = total + np.array([V[1] * spin, -V[0] * spin, 0.0, 0.0, 0.0, 0.0])
    total[2] += I_rz * float(alternating @ [r.acceleration for r in rotors])
    body = HongFrame(V, np.zeros(6), vehicle.pose)
    for wing in vehicle.wings:
        at = child_frame(wing, wing.pose_in_parent, body)
        total = total + Ad(inverse(wing.pose_in_parent)).T @ wing_wrench(
            vehicle, wing, at.twist, at.pose, choices
        )
    return solved(vehicle, total)
