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
    comment_on,
    comments,
    describe_omissions,
    make_heading,
    require,
)
from haltere.exporters.sheet import SettingFormula, Sheet, gather
from haltere.foundation.numbers import Floats
from haltere.identification.described import (
    DescribedVehicle,
    Numbers,
    force_of,
    hover_thrust_fraction,
    lever_of,
    max_squared_speed,
    mean_curve_shape,
    to_frd,
    torque_of,
)

MOST_ROTORS = 12
MATRIX, IMU = "motor matrix", "IMU position"
DEMANDS = ("roll", "pitch", "yaw", "throttle")
FIXED = (("FRAME_CLASS", 15), ("SCR_ENABLE", 1))
"""The frame whose motor matrix a script sets, and scripting itself."""
RANK = 1e-6


def render(vehicle: DescribedVehicle, certificate: Certificate | None) -> Rendering:
    """Parameter file and, if the matrix is known, the script."""
    if len(vehicle.rotors) > MOST_ROTORS:
        raise ExportError(
            f"{vehicle.name}: has {len(vehicle.rotors)} rotors; ArduPilot knows up to {MOST_ROTORS}"
        )
    sheet = gather(vehicle, setting_formulas(vehicle))
    require(vehicle, sheet, "ardupilot")
    notes = tuple(describe_omissions(sheet.omissions))
    head = [*make_heading(vehicle, "ArduPilot settings", certificate), *notes]
    documents = [Document(".ardupilot.param", _parameters(vehicle, sheet, head))]
    if sheet.of(MATRIX):
        documents.append(Document(".ardupilot.lua", _script(vehicle, sheet, head)))
    return Rendering(tuple(documents), notes)


def setting_formulas(vehicle: DescribedVehicle) -> list[SettingFormula]:
    """All settings, whether known or not."""
    found = [
        SettingFormula(f"{demand}[{rotor}]", MATRIX, partial(_factor, vehicle.rotors, i, j), ratio=True)
        for j, rotor in enumerate(vehicle.rotors)
        for i, demand in enumerate(DEMANDS)
    ]
    found += [SettingFormula(f"INS_POS1_{x}", IMU, partial(_position, j)) for j, x in enumerate("XYZ")]
    curve = partial(mean_curve_shape, vehicle.rotors, vehicle.curves)
    hover = partial(hover_thrust_fraction, vehicle.rotors, vehicle.curves)
    return [
        *found,
        SettingFormula("MOT_THST_EXPO", "thrust curve", curve),
        SettingFormula("MOT_THST_HOVER", "hover thrust", hover, ratio=True),
    ]


def _parameters(vehicle: DescribedVehicle, sheet: Sheet, head: list[str]) -> str:
    text = comments(head)
    if sheet.of(MATRIX):
        text += [f"{name},{value}" for name, value in FIXED]
    for line in sheet.settings:
        if line.family != MATRIX:
            text += [*comment_on(vehicle, line.name, (line,)), f"{line.name},{line.value + 0.0:.6g}"]
    return "\n".join(text) + "\n"


def _script(vehicle: DescribedVehicle, sheet: Sheet, head: list[str]) -> str:
    factors = {line.name: line for line in sheet.of(MATRIX)}
    use = "put this file into APM/scripts; roll, pitch and yaw factor and testing order of each motor"
    text = comments([*head, use], "--")
    for j, rotor in enumerate(vehicle.rotors):
        lines = [factors[f"{demand}[{rotor}]"] for demand in DEMANDS]
        roll, pitch, yaw, throttle = (f"{line.value + 0.0:.5f}" for line in lines)
        text += [
            *comments([f"motor {j + 1} is {rotor}"], "--"),
            *comment_on(vehicle, rotor, lines, sign="--"),
            f"MotorsMatrix:add_motor_raw({j}, {roll}, {pitch}, {yaw}, {j + 1})",
            f"MotorsMatrix:set_throttle_factor({j}, {throttle})",
        ]
    count = len(vehicle.rotors)
    text += [f'assert(MotorsMatrix:init({count}), "motor matrix: expected {count} motors")']
    text += [f'motors:set_frame_string("haltere, {count} motors")']
    return "\n".join(text) + "\n"


def mixer(numbers: Numbers, rotors: tuple[str, ...]) -> Floats:
    """(4, N) factors of roll, pitch, yaw and throttle for each motor."""
    columns = []
    for rotor in rotors:
        top = max_squared_speed(numbers, rotor)
        moment = to_frd(torque_of(numbers, rotor)) * top
        columns.append([*moment, force_of(numbers, rotor)[2] * top])
    B = np.array(columns).T
    if not np.all(np.isfinite(B)):
        return np.full(B.shape, np.nan)
    size = np.max(np.abs(B), axis=1, keepdims=True)
    factors = np.linalg.pinv(B / np.where(size > 0.0, size, 1.0), rcond=RANK).T
    largest = np.max(np.abs(factors), axis=1, keepdims=True)
    return factors / np.where(largest > 0.0, largest, 1.0)


def _factor(rotors: tuple[str, ...], demand: int, motor: int, numbers: Numbers) -> float:
    return float(mixer(numbers, rotors)[demand, motor])


def _position(i: int, numbers: Numbers) -> float:
    return float(to_frd(lever_of(numbers, "imu"))[i])
