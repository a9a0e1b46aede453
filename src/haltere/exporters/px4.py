"""PX4: control allocation, IMU position, thrust curve and hover thrust as lines of `param set`.

PX4 computes with x forward, y right, z down about the centre of gravity, and with position P, axis A, thrust T = CT
u^2

    force = T A,   moment = T P x A - KM T A                                                              (1)

(`ActuatorEffectivenessRotors.cpp` of PX4-Autopilot), so KM is positive for ccw seen from where the thrust points to.
CT is the thrust at full command, N; PX4 uses ratios only, and takes 0 to 100: where the largest is not known or
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
    comment_on,
    comments,
    describe_omissions,
    make_heading,
    require,
)
from haltere.exporters.sheet import KnownSetting, SettingFormula, gather
from haltere.identification.described import (
    DescribedVehicle,
    Numbers,
    axis_of,
    force_of,
    hover_thrust_fraction,
    lever_of,
    mean_curve_shape,
    to_frd,
)

MOST_ROTORS = 12
USUAL_CT, LARGEST_CT = 6.5, 100.0
HOVER_RANGE = (0.1, 0.8)
GEOMETRY, AXES, STRENGTH, MOMENT = "rotor positions", "rotor axes", "thrust coefficients", "moment ratios"
UNITS = {GEOMETRY: "m", STRENGTH: "N", "IMU position": "m", MOMENT: "m"}


def render(vehicle: DescribedVehicle, certificate: Certificate | None) -> Rendering:
    """The parameter file."""
    if len(vehicle.rotors) > MOST_ROTORS:
        raise ExportError(f"{vehicle.name}: has {len(vehicle.rotors)} rotors; PX4 knows up to {MOST_ROTORS}")
    sheet = gather(vehicle, setting_formulas(vehicle))
    require(vehicle, sheet, "px4")
    notes = [*describe_omissions(sheet.omissions), *_warnings(sheet.of("hover thrust"))]
    head = make_heading(vehicle, "PX4 parameters", certificate)
    head += ["axes x forward, y right, z down; origin at the centre of gravity"]
    head += [f"rotor {i} is {name}" for i, name in enumerate(vehicle.rotors)]
    text = comments([*head, *notes])
    text += [f"param set CA_ROTOR_COUNT {len(vehicle.rotors)}"]
    for setting in sorted(sheet.settings, key=lambda setting: _rotor_of(setting.name)):
        text += comment_on(vehicle, setting.name, (setting,), UNITS.get(setting.family, ""))
        text += [f"param set {setting.name} {setting.value + 0.0:.6g}"]
    return Rendering((Document(".px4.params", "\n".join(text) + "\n"),), tuple(notes))


def setting_formulas(vehicle: DescribedVehicle) -> list[SettingFormula]:
    """All parameters, whether known or not."""
    found: list[SettingFormula] = []
    newtons = _in_newtons(vehicle)
    for i, rotor in enumerate(vehicle.rotors):
        for j, letter in enumerate("XYZ"):
            found += [
                SettingFormula(f"CA_ROTOR{i}_P{letter}", GEOMETRY, partial(_position, f"rotors.{rotor}", j))
            ]
        for j, letter in enumerate("XYZ"):
            found += [SettingFormula(f"CA_ROTOR{i}_A{letter}", AXES, partial(_axis, rotor, j))]
        found += [
            SettingFormula(f"CA_ROTOR{i}_CT", STRENGTH, partial(_strength, vehicle.rotors, newtons, rotor)),
            SettingFormula(f"CA_ROTOR{i}_KM", MOMENT, partial(_moment, rotor)),
        ]
    imu = [
        SettingFormula(f"EKF2_IMU_POS_{x}", "IMU position", partial(_position, "imu", j))
        for j, x in enumerate("XYZ")
    ]
    curve = partial(mean_curve_shape, vehicle.rotors, vehicle.curves)
    hover = partial(hover_thrust_fraction, vehicle.rotors, vehicle.curves)
    return [
        *found,
        *imu,
        SettingFormula("THR_MDL_FAC", "thrust curve", curve),
        SettingFormula("MPC_THR_HOVER", "hover thrust", hover, ratio=True),
    ]


def _rotor_of(name: str) -> int:
    """The rotor that a parameter belongs to; the others come after all rotors."""
    found = re.match(r"CA_ROTOR(\d+)_", name)
    return int(found[1]) if found else MOST_ROTORS


def _position(name: str, i: int, numbers: Numbers) -> float:
    return float(to_frd(lever_of(numbers, name))[i])


def _axis(rotor: str, i: int, numbers: Numbers) -> float:
    return float(to_frd(axis_of(numbers, rotor))[i])


def _moment(rotor: str, numbers: Numbers) -> float:
    return numbers[f"rotors.{rotor}.torque_ratio"] * numbers[f"rotors.{rotor}.spin"]


def _thrust(rotor: str, numbers: Numbers) -> float:
    """Thrust at full command over something common to all rotors; over squared speed if that is not known."""
    name = f"rotors.{rotor}.thrust_coefficient"
    push = (
        numbers[name] if name in numbers else float(np.linalg.norm(np.nan_to_num(force_of(numbers, rotor))))
    )
    return push * numbers.get(f"rotors.{rotor}.max_speed", 1.0) ** 2


def _in_newtons(vehicle: DescribedVehicle) -> bool:
    """Whether every rotor's largest thrust is known and one that PX4 takes."""
    names = [f"rotors.{r}.{n}" for r in vehicle.rotors for n in ("max_speed", "thrust_coefficient")]
    if any(name not in vehicle.numbers for name in names):
        return False
    return max(_thrust(r, vehicle.numbers) for r in vehicle.rotors) <= LARGEST_CT


def _strength(rotors: tuple[str, ...], newtons: bool, rotor: str, numbers: Numbers) -> float:
    thrust = _thrust(rotor, numbers)
    return thrust if newtons else USUAL_CT * thrust / float(np.mean([_thrust(r, numbers) for r in rotors]))


def _warnings(settings: tuple[KnownSetting, ...]) -> list[str]:
    low, high = HOVER_RANGE
    return [
        f"MPC_THR_HOVER {setting.value:.3g} is outside what PX4 takes, {low} to {high}"
        for setting in settings
        if not low <= setting.value <= high
    ]
