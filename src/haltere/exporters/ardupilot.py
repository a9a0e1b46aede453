"""ArduPilot: a parameter file, and a script that sets the motor matrix of `FRAME_CLASS` 15.

A motor runs at thrust share throttle x throttle_factor + roll x roll_factor + pitch x pitch_factor + yaw x yaw_factor
(`AP_MotorsMatrix.cpp`; positive roll to the right, pitch nose up, yaw clockwise from above, so a ccw motor has a
positive yaw factor). With B (4, N) from thrust shares to the accelerations roll, pitch, yaw and up, the factors are
the columns of its pseudo-inverse, so that one demand does not disturb another; each is scaled to a largest entry of
1, and ArduPilot scales them again to its own range. `MOT_THST_EXPO` is a of T = a u^2 + (1 - a) u, `INS_POS1_*`
counts x forward, y right, z down from the centre of gravity.
"""

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
from haltere.exporters.sheet import Entry, Sheet, gather
from haltere.foundation.numbers import Floats
from haltere.identification import described as physics
from haltere.identification.described import Numbers, Subject

MOST_ROTORS = 12
MATRIX, IMU = "motor matrix", "IMU position"
DEMANDS = ("roll", "pitch", "yaw", "throttle")
FIXED = (("FRAME_CLASS", 15), ("SCR_ENABLE", 1))
"""The frame whose motor matrix a script sets, and scripting itself."""
RANK = 1e-6


def render(subject: Subject, certificate: Certificate | None) -> Rendering:
    """Parameter file and, if the matrix is known, the script."""
    if len(subject.rotors) > MOST_ROTORS:
        raise ExportError(
            f"{subject.name}: has {len(subject.rotors)} rotors; ArduPilot knows up to {MOST_ROTORS}"
        )
    sheet = gather(subject, entries(subject))
    require(subject, sheet, "ardupilot")
    notes = tuple(omitted(sheet.omissions))
    head = [*heading(subject, "ArduPilot settings", certificate), *notes]
    documents = [Document(".ardupilot.param", _parameters(subject, sheet, head))]
    if sheet.of(MATRIX):
        documents.append(Document(".ardupilot.lua", _script(subject, sheet, head)))
    return Rendering(tuple(documents), notes)


def entries(subject: Subject) -> list[Entry]:
    """All settings, whether known or not."""
    found = [
        Entry(f"{demand}[{rotor}]", MATRIX, partial(_factor, subject.rotors, i, j), ratio=True)
        for j, rotor in enumerate(subject.rotors)
        for i, demand in enumerate(DEMANDS)
    ]
    found += [Entry(f"INS_POS1_{x}", IMU, partial(_place, j)) for j, x in enumerate("XYZ")]
    curve = partial(physics.mean_share, subject.rotors, subject.curves)
    hover = partial(physics.hover_share, subject.rotors, subject.curves)
    return [
        *found,
        Entry("MOT_THST_EXPO", "thrust curve", curve),
        Entry("MOT_THST_HOVER", "hover thrust", hover, ratio=True),
    ]


def _parameters(subject: Subject, sheet: Sheet, head: list[str]) -> str:
    text = [f"# {line}" for line in head]
    if sheet.of(MATRIX):
        text += [f"{name},{value}" for name, value in FIXED]
    for line in sheet.lines:
        if line.family != MATRIX:
            text += [*remark(subject, line.name, (line,)), f"{line.name},{line.value + 0.0:.6g}"]
    return "\n".join(text) + "\n"


def _script(subject: Subject, sheet: Sheet, head: list[str]) -> str:
    factors = {line.name: line for line in sheet.of(MATRIX)}
    text = [f"-- {line}" for line in head]
    text += ["-- put this file into APM/scripts; roll, pitch and yaw factor and testing order of each motor"]
    for j, rotor in enumerate(subject.rotors):
        lines = [factors[f"{demand}[{rotor}]"] for demand in DEMANDS]
        roll, pitch, yaw, throttle = (f"{line.value + 0.0:.5f}" for line in lines)
        text += [
            f"-- motor {j + 1} is {rotor}",
            *remark(subject, rotor, lines, sign="--"),
            f"MotorsMatrix:add_motor_raw({j}, {roll}, {pitch}, {yaw}, {j + 1})",
            f"MotorsMatrix:set_throttle_factor({j}, {throttle})",
        ]
    count = len(subject.rotors)
    text += [f'assert(MotorsMatrix:init({count}), "motor matrix: expected {count} motors")']
    text += [f'motors:set_frame_string("haltere, {count} motors")']
    return "\n".join(text) + "\n"


def mixer(numbers: Numbers, rotors: tuple[str, ...]) -> Floats:
    """(4, N) factors of roll, pitch, yaw and throttle for each motor."""
    columns = []
    for rotor in rotors:
        top = physics.top(numbers, rotor)
        turn = physics.frd(physics.torque(numbers, rotor)) * top
        columns.append([*turn, physics.force(numbers, rotor)[2] * top])
    B = np.array(columns).T
    if not np.all(np.isfinite(B)):
        return np.full(B.shape, np.nan)
    size = np.max(np.abs(B), axis=1, keepdims=True)
    factors = np.linalg.pinv(B / np.where(size > 0.0, size, 1.0), rcond=RANK).T
    largest = np.max(np.abs(factors), axis=1, keepdims=True)
    return factors / np.where(largest > 0.0, largest, 1.0)


def _factor(rotors: tuple[str, ...], demand: int, motor: int, numbers: Numbers) -> float:
    return float(mixer(numbers, rotors)[demand, motor])


def _place(i: int, numbers: Numbers) -> float:
    return float(physics.frd(physics.lever(numbers, "imu"))[i])
