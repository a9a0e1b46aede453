"""What the rows of the study compare: Pinocchio's numbers, ours, and the forms of an equation.

A row compares blocks of numbers: relative error = largest |x - y| / |y| over its blocks, y being Pinocchio's. Most
rows compare the body's acceleration, with its angular and its linear part as two blocks.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from haltere.foundation import HaltereError
from haltere.foundation.numbers import Floats
from haltere.papers.hong import compact, equations
from haltere.papers.hong.cases import Details, Sample
from haltere.papers.hong.equations import EquationChoices
from haltere.papers.hong.screws import Ad, inverse, swap_halves
from haltere.papers.hong.vehicle import Child, HongRotor, HongVehicle, HongWing

Blocks = tuple[Floats, ...]
Form = Callable[[Sample], Blocks]


@dataclass(frozen=True)
class Measure:
    """What a row compares: Pinocchio's blocks and ours."""

    reference: Form
    ours: Form


def halves(*sixes: Floats) -> Blocks:
    """The first and the second halves of vectors (6,), each as one block."""
    rows = np.stack(sixes)
    return rows[:, :3].ravel(), rows[:, 3:].ravel()


def relative_error(blocks: Blocks, reference: Blocks) -> float:
    """Largest relative difference of the blocks."""
    pairs = zip(blocks, reference, strict=True)
    return max(float(np.linalg.norm(x - y) / np.linalg.norm(y)) for x, y in pairs)


# What is compared --------------------------------------------------------------------------------------------------


def _parts(name: str) -> Form:
    return lambda s: halves(*(swap_halves(getattr(part, name)) for part in s.parts.values()))


def _nodes(name: str) -> Form:
    return lambda s: halves(*(swap_halves(getattr(_details(s), name)[s.nodes[part]]) for part in s.parts))


def _details(s: Sample) -> Details:
    if s.ours.details is None:
        raise HaltereError(
            "got a case with wings for a row about joints, expected one without; choose another case"
        )
    return s.ours.details


def _torques(s: Sample) -> Blocks:
    return (np.concatenate([s.reference.joint_torques, s.reference.rotor_torques]),)


def _tilt_joints(s: Sample) -> list[str]:
    return [wing.name for wing in s.vehicle.wings]


ACCELERATION = Measure(
    lambda s: halves(swap_halves(s.reference.acceleration)),
    lambda s: halves(swap_halves(s.ours.acceleration)),
)
FORCE_OF_INERTIA = Measure(
    lambda s: halves(swap_halves(s.reference_inertia @ s.reference.acceleration)),
    lambda s: halves(swap_halves(_details(s).inertia @ s.ours.acceleration)),
)
SCREWS = Measure(_parts("screw"), _nodes("screws"))
CHILD_ACCELERATIONS = Measure(_parts("acceleration"), _nodes("accelerations"))
AIR = Measure(_parts("air"), _nodes("air"))
JOINTS = Measure(
    lambda s: (*_parts("twist")(s), *_parts("wrench")(s), *_torques(s)),
    lambda s: (*_nodes("twists")(s), *_nodes("through")(s), _details(s).torques),
)
TILT_JOINTS = Measure(
    lambda s: halves(*(swap_halves(s.parts[name].wrench) for name in _tilt_joints(s))),
    lambda s: halves(*(swap_halves(_details(s).through[s.nodes[name]]) for name in _tilt_joints(s))),
)


# Forms of equations that are not accelerations of the body ---------------------------------------------------------


def _chain(s: Sample) -> list[tuple[Child, HongWing | None]]:
    """Every moving wing and rotor, with the wing that carries it, in the order of `Sample.parts`; frames anywhere."""
    vehicle = s.anywhere
    found: dict[str, tuple[Child, HongWing | None]] = {wing.name: (wing, None) for wing in vehicle.wings}
    found |= {rotor.name: (rotor, None) for rotor in vehicle.rotors}
    found |= {rotor.name: (rotor, wing) for wing in vehicle.wings for rotor in wing.rotors}
    return [found[name] for name in s.parts]


def _parent_pose(parent: HongWing | None) -> Floats:
    """(4, 4) T_p^b."""
    return np.eye(4) if parent is None else parent.pose_in_parent


def child_screws(s: Sample, *, at_zero: bool) -> Blocks:
    """(27): the screw in the child's frame, brought back to the body frame."""
    found = []
    for child, parent in _chain(s):
        S = equations.child_screw_27(child) if at_zero else Ad(inverse(child.pose_in_parent)) @ child.screw
        found.append(Ad(_parent_pose(parent) @ child.pose_in_parent) @ S)
    return halves(*found)


def child_accelerations(s: Sample) -> Blocks:
    """(26) from the body outwards, each brought to the body frame."""
    body = equations.HongFrame(s.anywhere.twist, swap_halves(s.reference.acceleration), s.anywhere.pose)
    found = []
    for child, parent in _chain(s):
        carrier = body if parent is None else equations.child_frame(parent, parent.pose_in_parent, body)
        T = _parent_pose(parent) @ child.pose_in_parent
        found.append(Ad(T) @ equations.child_frame(child, child.pose_in_parent, carrier).acceleration)
    return halves(*found)


def joint_matrices(s: Sample) -> Blocks:
    """(33): twists, wrenches and torques of all children, from Pinocchio's parents' twists and joint wrenches."""
    twists, wrenches, torques = [], [], []
    for child, parent in _chain(s):
        T = _parent_pose(parent)
        V_p = s.anywhere.twist if parent is None else swap_halves(s.parts[parent.name].twist)
        W_c = Ad(T @ child.pose_in_parent).T @ swap_halves(s.parts[child.name].wrench)
        J = equations.joint_matrix_33(child)
        out = J @ np.concatenate([Ad(inverse(T)) @ V_p, W_c, [child.rate]])
        wrenches.append(-Ad(inverse(T)).T @ out[:6])
        twists.append(Ad(T @ child.pose_in_parent) @ out[6:12])
        torques.append(out[12])
    return (*halves(*twists), *halves(*wrenches), np.array(torques))


def rotor_wrenches(s: Sample, form: Callable[[HongRotor], Floats]) -> Blocks:
    """(61): wrenches of the air on all rotors, about the body origin."""
    return halves(*(form(rotor) for rotor in s.anywhere.rotors))


def inertia_73(s: Sample, *, as_printed: bool) -> Blocks:
    """(73): G_T V', from Pinocchio's acceleration."""
    q = compact.Quadrotor.of(s.vehicle)
    return halves(compact.inertial_73(q, swap_halves(s.reference.acceleration), printed=as_printed))


def tilt_joint_wrenches(s: Sample, *, as_printed: bool) -> Blocks:
    """(77): wrenches through all tilt joints about the body origin, from Pinocchio's acceleration."""
    vehicle = s.vehicle
    body = equations.HongFrame(vehicle.twist, swap_halves(s.reference.acceleration), vehicle.pose)
    found = []
    for wing in vehicle.wings:
        at = equations.child_frame(wing, wing.pose_in_parent, body)
        W = compact.tilt_joint_wrench_77(vehicle, wing, at, printed=as_printed)
        found.append(Ad(inverse(wing.pose_in_parent)).T @ W)
    return halves(*found)


# Forms that are accelerations of the body --------------------------------------------------------------------------


def of_body(form: Callable[[HongVehicle], Floats]) -> Form:
    """A form that takes the vehicle with its frames at centres of mass."""
    return lambda s: halves(form(s.vehicle))


def of_body_anywhere(form: Callable[[HongVehicle], Floats]) -> Form:
    """A form that takes the vehicle with its frames anywhere."""
    return lambda s: halves(form(s.anywhere))


def read(**choice: object) -> Form:
    """The whole model with one equation as printed."""
    choices = EquationChoices(**choice)  # type: ignore[arg-type]
    return of_body(lambda vehicle: equations.acceleration(vehicle, choices))


CORRECTED_MODEL = of_body_anywhere(equations.acceleration)
QUADROTOR = partial(compact.standard_quadrotor_69, printed=False)


def with_70(vehicle: HongVehicle) -> Floats:
    """(58) with its thrusts by (70)."""
    q = compact.Quadrotor.of(vehicle)
    return compact.solved(
        vehicle, compact.thrust_70(q) + compact.spin_ups(vehicle) + compact.couplings(vehicle)
    )


def with_71(vehicle: HongVehicle) -> Floats:
    """(58) with its rotor accelerations by (71)."""
    q = compact.Quadrotor.of(vehicle)
    return compact.solved(
        vehicle, compact.thrusts_61(vehicle) + compact.spin_up_71(q) + compact.couplings(vehicle)
    )


def with_72(vehicle: HongVehicle) -> Floats:
    """(58) with its coupling by (72)."""
    X = compact.gyroscopic_72(compact.Quadrotor.of(vehicle), vehicle.twist)
    return compact.solved(vehicle, compact.thrusts_61(vehicle) + compact.spin_ups(vehicle) + X)


def momentum_74(vehicle: HongVehicle) -> Floats:
    """The whole model with ad_V^T G_T V replaced by (74) as printed."""
    q, V, G = compact.Quadrotor.of(vehicle), vehicle.twist, vehicle.total_inertia
    wrenches = compact.thrusts_61(vehicle) + compact.spin_ups(vehicle) + compact.couplings(vehicle)
    return np.linalg.solve(G, compact.momentum_74(q, V, printed=True) + wrenches) + vehicle.gravity_b
