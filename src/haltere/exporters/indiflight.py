"""INDIflight: the actuator block `indi_act_*` of a profile, as lines of `set` for its command line.

Effectiveness is that of full command, in axes x forward, y right, z down (`indi.h`, `indi_init.c` of
tudelft/indiflight):

    indi_act_g1_f{x,y,z}             100 x  N/kg at full thrust
    indi_act_g1_{roll,pitch,yaw}      10 x  rad/s2 at full thrust
    indi_act_g2_{roll,pitch,yaw}     1e5 x  rad/s2 per rad/s2 of the rotor
    indi_act_nonlinearity            100 x  k of the motor curve; the firmware keeps it within 0.025..0.7

Its own learner writes k of the curve "kappa" there and the controller reads it as "quadratic": for equal k the two
differ by less than 0.03 of full speed. All are whole numbers of 16 bits; rpm are those of the rotor.
"""

import math
from collections.abc import Callable
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
from haltere.foundation.constants import GRAVITY
from haltere.identification.described import (
    DescribedVehicle,
    Numbers,
    force_of,
    max_squared_speed,
    rotor_acceleration_of,
    to_frd,
    torque_of,
)

MOST_ROTORS = 8
LARGEST = 32767
RPM = 60.0 / (2.0 * math.pi)
SCALE_G1 = {"fx": 100.0, "fy": 100.0, "fz": 100.0, "roll": 10.0, "pitch": 10.0, "yaw": 10.0}
SCALE_G2 = 1e5
AXES = ("roll", "pitch", "yaw")
NEEDED = ("indi_act_g1_fz", "indi_act_g1_roll", "indi_act_g1_pitch", "indi_act_g1_yaw", "indi_act_max_rpm")


def render(vehicle: DescribedVehicle, certificate: Certificate | None) -> Rendering:
    """The settings file."""
    if len(vehicle.rotors) > MOST_ROTORS:
        raise ExportError(
            f"{vehicle.name}: has {len(vehicle.rotors)} rotors; INDIflight knows up to {MOST_ROTORS}"
        )
    sheet = gather(vehicle, setting_formulas(vehicle))
    require(vehicle, sheet, "indiflight", *NEEDED)
    notes = describe_omissions(sheet.omissions)
    order = f"one number for each motor, in this order: {', '.join(vehicle.rotors)}"
    head = make_heading(vehicle, "INDIflight actuators", certificate)
    text = comments([*head, f"axes x forward, y right, z down; {order}", *notes])
    text += [f"set indi_act_num = {len(vehicle.rotors)}"]
    for family in dict.fromkeys(setting.family for setting in sheet.settings):
        lines = sheet.of(family)
        text += comment_on(vehicle, family, lines)
        text += [f"set {family} = {','.join(_to_integer(vehicle, x) for x in lines)}"]
    return Rendering((Document(".indiflight.txt", "\n".join(text) + "\n"),), tuple(notes))


def setting_formulas(vehicle: DescribedVehicle) -> list[SettingFormula]:
    """All settings, whether known or not."""
    found: list[SettingFormula] = []

    def add(family: str, compute: Callable[[str, Numbers], float], ratio: bool = False) -> None:
        found.extend(
            SettingFormula(f"{family}[{r}]", family, partial(compute, r), ratio) for r in vehicle.rotors
        )

    add("indi_act_time_constant_ms", lambda r, n: 1e3 * n[f"rotors.{r}.time_constant"])
    add("indi_act_max_rpm", lambda r, n: RPM * n[f"rotors.{r}.max_speed"])
    add("indi_act_hover_rpm", partial(_hover_rpm, vehicle.rotors), ratio=True)
    add("indi_act_nonlinearity", lambda r, n: 100.0 * n[f"rotors.{r}.curve"])
    for i, name in enumerate(("fx", "fy", "fz")):
        add(f"indi_act_g1_{name}", partial(_force, i, SCALE_G1[name]), ratio=True)
    for i, name in enumerate(AXES):
        add(f"indi_act_g1_{name}", partial(_torque, i, SCALE_G1[name]), ratio=True)
    for i, name in enumerate(AXES):
        add(f"indi_act_g2_{name}", partial(_rate, i), ratio=True)
    return found


def _force(i: int, scale: float, rotor: str, numbers: Numbers) -> float:
    return float(scale * to_frd(force_of(numbers, rotor))[i] * max_squared_speed(numbers, rotor))


def _torque(i: int, scale: float, rotor: str, numbers: Numbers) -> float:
    return float(scale * to_frd(torque_of(numbers, rotor))[i] * max_squared_speed(numbers, rotor))


def _rate(i: int, rotor: str, numbers: Numbers) -> float:
    return float(SCALE_G2 * to_frd(rotor_acceleration_of(numbers, rotor))[i])


def _hover_rpm(rotors: tuple[str, ...], rotor: str, numbers: Numbers) -> float:
    """The same speed for all: what carries the weight."""
    numbers[f"rotors.{rotor}.max_speed"]
    lift = sum(force_of(numbers, r)[2] for r in rotors)
    return float(RPM * np.sqrt(GRAVITY / lift)) if lift > 0.0 else math.nan


def _to_integer(vehicle: DescribedVehicle, setting: KnownSetting) -> str:
    value = round(setting.value)
    largest = LARGEST if "_g1_" in setting.family or "_g2_" in setting.family else 10**6
    if abs(value) > largest:
        raise ExportError(
            f"{vehicle.name}: {setting.name} would be {value}, INDIflight takes up to {largest}; "
            "check max_speed and units"
        )
    return str(value)
