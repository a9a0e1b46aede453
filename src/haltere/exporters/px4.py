"""PX4: control allocation, IMU place, thrust curve and hover thrust as lines of `param set`.

PX4 computes with x forward, y right, z down about the centre of gravity, and with position P, axis A, thrust T = CT
u^2

    force = T A,   moment = T P x A - KM T A                                                              (1)

(`ActuatorEffectivenessRotors.cpp` of PX4-Autopilot), so KM is positive for ccw seen from where the thrust points to.
CT is the thrust at full command, N; PX4 uses ratios only, and takes 0 to 100: where the largest is not told or
beyond, the rotors' mean is PX4's default 6.5. `THR_MDL_FAC` is a of T = a u^2 + (1 - a) u, and with it
`MPC_THR_HOVER` is weight over largest thrust.
"""

import re
from functools import partial

import numpy as np

from haltere.exporters.document import (
    Certificate,
    Document,
    ExportError,
    Rendering,
    heading,
    omitted,
    remark,
    require,
)
from haltere.exporters.sheet import Entry, Line, gather
from haltere.identification import described as physics
from haltere.identification.described import Numbers, Subject

MOST_ROTORS = 12
USUAL_CT, LARGEST_CT = 6.5, 100.0
HOVER_RANGE = (0.1, 0.8)
GEOMETRY, AXES, STRENGTH, MOMENT = "rotor positions", "rotor axes", "thrust coefficients", "moment ratios"
UNITS = {GEOMETRY: "m", STRENGTH: "N", "IMU position": "m", MOMENT: "m"}


def render(subject: Subject, certificate: Certificate | None) -> Rendering:
    """The parameter file."""
    if len(subject.rotors) > MOST_ROTORS:
        raise ExportError(f"{subject.name}: has {len(subject.rotors)} rotors; PX4 knows up to {MOST_ROTORS}")
    sheet = gather(subject, entries(subject))
    require(subject, sheet, "px4")
    notes = [*omitted(sheet.omissions), *_warnings(sheet.of("hover thrust"))]
    text = [f"# {line}" for line in heading(subject, "PX4 parameters", certificate)]
    text += ["# axes x forward, y right, z down; origin at the centre of gravity"]
    text += [f"# rotor {i} is {name}" for i, name in enumerate(subject.rotors)]
    text += [f"# {note}" for note in notes]
    text += [f"param set CA_ROTOR_COUNT {len(subject.rotors)}"]
    for line in sorted(sheet.lines, key=lambda line: _rotor_of(line.name)):
        text += remark(subject, line.name, (line,), UNITS.get(line.family, ""))
        text += [f"param set {line.name} {line.value + 0.0:.6g}"]
    return Rendering((Document(".px4.params", "\n".join(text) + "\n"),), tuple(notes))


def entries(subject: Subject) -> list[Entry]:
    """All parameters, whether known or not."""
    found: list[Entry] = []
    newtons = _in_newtons(subject)
    for i, rotor in enumerate(subject.rotors):
        for j, letter in enumerate("XYZ"):
            found += [Entry(f"CA_ROTOR{i}_P{letter}", GEOMETRY, partial(_place, f"rotors.{rotor}", j))]
        for j, letter in enumerate("XYZ"):
            found += [Entry(f"CA_ROTOR{i}_A{letter}", AXES, partial(_axis, rotor, j))]
        found += [
            Entry(f"CA_ROTOR{i}_CT", STRENGTH, partial(_strength, subject.rotors, newtons, rotor)),
            Entry(f"CA_ROTOR{i}_KM", MOMENT, partial(_moment, rotor)),
        ]
    imu = [Entry(f"EKF2_IMU_POS_{x}", "IMU position", partial(_place, "imu", j)) for j, x in enumerate("XYZ")]
    curve = partial(physics.mean_share, subject.rotors, subject.curves)
    hover = partial(physics.hover_share, subject.rotors, subject.curves)
    return [
        *found,
        *imu,
        Entry("THR_MDL_FAC", "thrust curve", curve),
        Entry("MPC_THR_HOVER", "hover thrust", hover, ratio=True),
    ]


def _rotor_of(name: str) -> int:
    """The rotor that a parameter belongs to; the others come after all rotors."""
    found = re.match(r"CA_ROTOR(\d+)_", name)
    return int(found[1]) if found else MOST_ROTORS


def _place(name: str, i: int, numbers: Numbers) -> float:
    return float(physics.frd(physics.lever(numbers, name))[i])


def _axis(rotor: str, i: int, numbers: Numbers) -> float:
    return float(physics.frd(physics.axis(numbers, rotor))[i])


def _moment(rotor: str, numbers: Numbers) -> float:
    return numbers[f"rotors.{rotor}.torque_ratio"] * numbers[f"rotors.{rotor}.spin"]


def _pull(rotor: str, numbers: Numbers) -> float:
    """Thrust at full command over something common to all rotors; over squared speed if that is not told."""
    name = f"rotors.{rotor}.thrust_coefficient"
    push = (
        numbers[name]
        if name in numbers
        else float(np.linalg.norm(np.nan_to_num(physics.force(numbers, rotor))))
    )
    return push * numbers.get(f"rotors.{rotor}.max_speed", 1.0) ** 2


def _in_newtons(subject: Subject) -> bool:
    """Whether every rotor's largest thrust is told and one that PX4 takes."""
    names = [f"rotors.{r}.{n}" for r in subject.rotors for n in ("max_speed", "thrust_coefficient")]
    if any(name not in subject.numbers for name in names):
        return False
    return max(_pull(r, subject.numbers) for r in subject.rotors) <= LARGEST_CT


def _strength(rotors: tuple[str, ...], newtons: bool, rotor: str, numbers: Numbers) -> float:
    pull = _pull(rotor, numbers)
    return pull if newtons else USUAL_CT * pull / float(np.mean([_pull(r, numbers) for r in rotors]))


def _warnings(lines: tuple[Line, ...]) -> list[str]:
    low, high = HOVER_RANGE
    return [
        f"MPC_THR_HOVER {line.value:.3g} is outside what PX4 takes, {low} to {high}"
        for line in lines
        if not low <= line.value <= high
    ]
