"""`haltere reproduce hong`: the equations of [Hong2021] as printed and our dynamics, both against Pinocchio.

The rows say which equation is read how, and on which vehicle. Each has the largest relative error over all random
draws of three things: `paper`, the equation as printed with everything else right; `corrected`, the same equation or
closed form corrected; `ours`, this package. `note` says which reading of the paper it is.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from haltere.foundation.arrays import double_precision
from haltere.papers.hong import compact, equations, forms
from haltere.papers.hong.cases import CASES, Sample, samples
from haltere.papers.hong.equations import EquationChoices
from haltere.papers.hong.forms import Form, Measure, of_body, of_body_anywhere, read, relative_error
from haltere.papers.tables import PaperRow, PaperTable, Progress, Reproduction, check_runs, silent


@dataclass(frozen=True)
class EquationRow:
    """One line of a table; `paper` and `corrected` are the two forms of the equation."""

    quantity: str
    case: str
    note: str
    measure: Measure
    paper: Form
    corrected: Form


def acceleration_row(
    quantity: str, case: str, note: str, paper: Form, corrected: Form = forms.CORRECTED_MODEL
) -> EquationRow:
    """A row that compares the body's acceleration."""
    return EquationRow(quantity, case, note, forms.ACCELERATION, paper, corrected)


WRONG = (
    acceleration_row(
        "eq. (28)",
        "quadrotor, unbalanced",
        "ad of the child's twist, as printed, counts a coupling twice; it is the parent's",
        of_body(lambda v: compact.fixed_tilt_58(v, compact.coupling_28)),
        of_body_anywhere(compact.fixed_tilt_58),
    ),
    acceleration_row(
        "eqs. (29), (30)",
        "quadrotor, unbalanced",
        "ad_V^T G S goes with the squared rate in the text (perhaps extraction); right: plus signs, the plain rate",
        of_body(lambda v: compact.fixed_tilt_58(v, compact.coupling_29)),
        of_body_anywhere(compact.fixed_tilt_58),
    ),
    acceleration_row(
        "eq. (42), negative speed",
        "quadrotor, both speeds",
        "the squared rate lets drag do positive work when a rotor turns backwards; right: rate times its magnitude",
        read(rotor_wrench=equations.rotor_wrench_42),
    ),
    acceleration_row(
        "eq. (42), n along the thrust",
        "quadrotor",
        "epsilon = sense about n fails if n is the thrust direction; right: n is the direction of rotation",
        read(rotor_wrench=equations.rotor_wrench_42_up),
    ),
    acceleration_row(
        "eq. (48)",
        "fixed-wing",
        "the wind passes through the pose of the coefficients' frame in the wing; right: through its pose in the world",
        read(air_twist=equations.air_twist_48),
    ),
    acceleration_row(
        "eq. (50), flow from behind",
        "fixed-wing, from behind",
        "the tangent alone takes flow from behind for flow from ahead; right: atan2(-v_z, v_x)",
        read(flow_angles=equations.flow_angles_50),
    ),
    acceleration_row(
        "eq. (52)",
        "tilt-wing",
        "+C_A pushes forward; with the usual axial coefficient, positive aft, the entry is -C_A",
        read(body_signs=(1.0, 1.0, 1.0)),
    ),
    acceleration_row(
        "eq. (53)",
        "fixed-wing",
        "both rotations turn the wrong way for the angles of (50): lift does work; right: Rot(y, alpha) Rot(z, -beta)",
        read(wind_axes=equations.wind_axes_53),
    ),
    acceleration_row(
        "eq. (65), two blades",
        "quadrotor, two blades",
        "rotors of either sense are turned by +theta about z; right: about epsilon z, as (76) has it",
        read(rotor_pose=equations.rotor_pose_65),
    ),
    acceleration_row(
        "eq. (66), two blades",
        "quadrotor, two blades",
        "holds for balanced axisymmetric rotors only; right: all terms of (29)",
        of_body(lambda v: compact.fixed_tilt_58(v, compact.coupling_66)),
        of_body_anywhere(compact.fixed_tilt_58),
    ),
    acceleration_row(
        "eqs. (69)-(74), two blades",
        "quadrotor, two blades",
        "slips mended, yet without I_rx = I_ry it fails at an instant; right: (58) with all terms of (29)",
        of_body(forms.QUADROTOR),
        of_body_anywhere(compact.fixed_tilt_58),
    ),
    acceleration_row(
        "eqs. (73), (74), I_bx not I_by",
        "quadrotor, oblong",
        "slips mended, yet both assume I_bx = I_by, which (67) does not; right: (58)",
        of_body(forms.QUADROTOR),
        of_body_anywhere(compact.fixed_tilt_58),
    ),
    EquationRow(
        "eq. (73), row 4",
        "quadrotor",
        "v_z' stands where v_x' belongs (perhaps the extraction); compared: G_T V'",
        forms.FORCE_OF_INERTIA,
        partial(forms.inertia_73, as_printed=True),
        partial(forms.inertia_73, as_printed=False),
    ),
    acceleration_row(
        "eq. (74), row 6",
        "quadrotor",
        "the last factor is w_z in print; right: w_x",
        of_body(forms.momentum_74),
        of_body(forms.QUADROTOR),
    ),
    EquationRow(
        "eq. (77), two blades",
        "tilt-rotor, two blades",
        "wrench through the tilt joints without the terms of a rotor that is not axisymmetric",
        forms.TILT_JOINTS,
        partial(forms.tilt_joint_wrenches, as_printed=True),
        partial(forms.tilt_joint_wrenches, as_printed=False),
    ),
    acceleration_row(
        "eq. (78), two blades",
        "tilt-rotor, two blades",
        "terms of the tilt rate and of a rotor that is not axisymmetric are missing",
        of_body(partial(compact.tilting_rotors_78, printed=True)),
        of_body_anywhere(partial(compact.tilting_rotors_78, printed=False)),
    ),
    acceleration_row(
        "Section 4.3, V_b = V_alpha",
        "fixed-wing",
        "the wing's twist is taken for the body's; right: V_alpha = Ad of T_b^alpha times V_b",
        read(air_twist=equations.air_twist_43),
    ),
    acceleration_row(
        "Algorithm 1, loop not solved",
        "tilt-wing",
        "lines 3, 10 and 15 need the body's acceleration, set to zero here; right: solve with G_T of the whole tree",
        of_body(equations.acceleration_without_loop),
    ),
)

RIGHT = (
    EquationRow(
        "eq. (26)",
        "tilt-rotor",
        "acceleration of links and rotors; ad of the child's own twist is right",
        forms.CHILD_ACCELERATIONS,
        forms.child_accelerations,
        forms.child_accelerations,
    ),
    EquationRow(
        "eqs. (27), (39)",
        "tilt-rotor",
        "T at angle zero serves at every angle, as turning leaves the screw as it is",
        forms.SCREWS,
        partial(forms.child_screws, at_zero=True),
        partial(forms.child_screws, at_zero=False),
    ),
    EquationRow(
        "eq. (33)",
        "tilt-rotor",
        "twists, wrenches and torques through all joints",
        forms.JOINTS,
        forms.joint_matrices,
        forms.joint_matrices,
    ),
    acceleration_row(
        "eqs. (58)-(60)",
        "quadrotor, unbalanced",
        "with (29) corrected, for rotors that are neither balanced nor axisymmetric",
        of_body_anywhere(compact.fixed_tilt_58),
    ),
    EquationRow(
        "eq. (61)",
        "quadrotor",
        "K-bar = K for any T: rotor wrenches about the body origin, rotor frames anywhere",
        forms.AIR,
        partial(forms.rotor_wrenches, form=compact.rotor_wrench_in_body_61),
        partial(forms.rotor_wrenches, form=compact.rotor_wrench_moved_61),
    ),
    acceleration_row(
        "eq. (62)",
        "quadrotor, massless rotors",
        "exact where rotors weigh nothing, which is what it assumes",
        of_body_anywhere(compact.simplified_62),
    ),
    acceleration_row(
        "eq. (70)", "quadrotor", "thrusts, for speeds that are not negative", of_body(forms.with_70)
    ),
    acceleration_row("eq. (71)", "quadrotor", "rotor acceleration", of_body(forms.with_71)),
    acceleration_row(
        "eq. (72)", "quadrotor", "gyroscopic wrench of axisymmetric rotors", of_body(forms.with_72)
    ),
    EquationRow(
        "eq. (77), axisymmetric rotors",
        "tilt-rotor",
        "wrench through the tilt joints",
        forms.TILT_JOINTS,
        partial(forms.tilt_joint_wrenches, as_printed=True),
        partial(forms.tilt_joint_wrenches, as_printed=False),
    ),
)

EXAMPLES = (
    acceleration_row(
        "4.1 standard quadrotor, (69)-(74)",
        "quadrotor",
        "row 6 of (74) as printed, row 4 of (73) read as v_x'",
        of_body(partial(compact.standard_quadrotor_69, printed=True)),
        of_body(forms.QUADROTOR),
    ),
    acceleration_row(
        "4.2 tilting rotors, (78)",
        "tilt-rotor",
        "terms of the tilt rate are missing",
        of_body(partial(compact.tilting_rotors_78, printed=True)),
        of_body(partial(compact.tilting_rotors_78, printed=False)),
    ),
    acceleration_row(
        "4.3 two fixed wings, (79), (80)",
        "fixed-wing",
        "wings have the body's twist as printed; (80), (71), (72) are right",
        of_body(partial(compact.fixed_wings_79, choices=EquationChoices(air_twist=equations.air_twist_43))),
        of_body(compact.fixed_wings_79),
    ),
    acceleration_row(
        "4.4 four tilting wings, (78)",
        "tilt-wing",
        "(78) with the wings' wrenches; terms of the tilt rate are missing",
        of_body(partial(compact.tilting_rotors_78, printed=True)),
        of_body(partial(compact.tilting_rotors_78, printed=False)),
    ),
)


BOUND = 1e-9

TABLES = (
    ("Equations that are wrong as printed, or hold under conditions", WRONG),
    ("Equations that are right although they look wrong", RIGHT),
    ("The four examples in closed form", EXAMPLES),
)


@double_precision()
def reproduce(runs: int, seed: int = 0, progress: Progress | None = None) -> Reproduction:
    """The tables of the study.

    Args:
        runs: random draws for each row.
        seed: same seed, same tables.
        progress: called with a sentence before each vehicle.

    Returns:
        Rows with `corrected` and `note` besides.
    """
    check_runs(runs, 1, 20)
    progress = progress or silent
    found: dict[str, list[Sample]] = {}
    for index, (name, case) in enumerate(CASES.items()):
        progress(f"{name}: {runs} draws with Pinocchio and haltere ({index + 1} of {len(CASES)})")
        found[name] = samples(case, runs, np.random.default_rng([seed, index]))
    tables = [PaperTable(name, [_compare(row, found[row.case]) for row in rows]) for name, rows in TABLES]
    return Reproduction(tables, runs, seed)


def _compare(row: EquationRow, draws: list[Sample]) -> PaperRow:
    def largest(form: Form) -> float:
        return max(relative_error(form(s), row.measure.reference(s)) for s in draws)

    more = {"corrected": largest(row.corrected), "note": f"{row.case}: {row.note}"}
    return PaperRow(row.quantity, "relative", largest(row.measure.ours), BOUND, largest(row.paper), more)
