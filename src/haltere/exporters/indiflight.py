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
    heading,
    omitted,
    remark,
    require,
)
from haltere.exporters.sheet import Entry, Line, gather
from haltere.foundation.constants import GRAVITY
from haltere.identification import described as physics
from haltere.identification.described import Numbers, Subject

MOST_ROTORS = 8
LARGEST = 32767
RPM = 60.0 / (2.0 * math.pi)
SCALE_G1 = {"fx": 100.0, "fy": 100.0, "fz": 100.0, "roll": 10.0, "pitch": 10.0, "yaw": 10.0}
SCALE_G2 = 1e5
TURNS = ("roll", "pitch", "yaw")
NEEDED = ("indi_act_g1_fz", "indi_act_g1_roll", "indi_act_g1_pitch", "indi_act_g1_yaw", "indi_act_max_rpm")


def render(subject: Subject, certificate: Certificate | None) -> Rendering:
    """The settings file."""
    if len(subject.rotors) > MOST_ROTORS:
        raise ExportError(
            f"{subject.name}: has {len(subject.rotors)} rotors; INDIflight knows up to {MOST_ROTORS}"
        )
    sheet = gather(subject, entries(subject))
    require(subject, sheet, "indiflight", *NEEDED)
    notes = omitted(sheet.omissions)
    text = [f"# {line}" for line in heading(subject, "INDIflight actuators", certificate)]
    text += [
        "# axes x forward, y right, z down; one number for each motor, in this order: "
        + ", ".join(subject.rotors)
    ]
    text += [f"# {note}" for note in notes]
    text += [f"set indi_act_num = {len(subject.rotors)}"]
    for family in dict.fromkeys(line.family for line in sheet.lines):
        lines = sheet.of(family)
        text += remark(subject, family, lines)
        text += [f"set {family} = {','.join(_whole(subject, x) for x in lines)}"]
    return Rendering((Document(".indiflight.txt", "\n".join(text) + "\n"),), tuple(notes))


def entries(subject: Subject) -> list[Entry]:
    """All settings, whether known or not."""
    found: list[Entry] = []

    def add(family: str, compute: Callable[[str, Numbers], float], ratio: bool = False) -> None:
        found.extend(Entry(f"{family}[{r}]", family, partial(compute, r), ratio) for r in subject.rotors)

    add("indi_act_time_constant_ms", lambda r, n: 1e3 * n[f"rotors.{r}.time_constant"])
    add("indi_act_max_rpm", lambda r, n: RPM * n[f"rotors.{r}.max_speed"])
    add("indi_act_hover_rpm", partial(_hover_rpm, subject.rotors), ratio=True)
    add("indi_act_nonlinearity", lambda r, n: 100.0 * n[f"rotors.{r}.curve"])
    for i, name in enumerate(("fx", "fy", "fz")):
        add(f"indi_act_g1_{name}", partial(_force, i, SCALE_G1[name]), ratio=True)
    for i, name in enumerate(TURNS):
        add(f"indi_act_g1_{name}", partial(_torque, i, SCALE_G1[name]), ratio=True)
    for i, name in enumerate(TURNS):
        add(f"indi_act_g2_{name}", partial(_rate, i), ratio=True)
    return found


def _force(i: int, scale: float, rotor: str, numbers: Numbers) -> float:
    return float(scale * physics.frd(physics.force(numbers, rotor))[i] * physics.top(numbers, rotor))


def _torque(i: int, scale: float, rotor: str, numbers: Numbers) -> float:
    return float(scale * physics.frd(physics.torque(numbers, rotor))[i] * physics.top(numbers, rotor))


def _rate(i: int, rotor: str, numbers: Numbers) -> float:
    return float(SCALE_G2 * physics.frd(physics.rate(numbers, rotor))[i])


def _hover_rpm(rotors: tuple[str, ...], rotor: str, numbers: Numbers) -> float:
    """The same speed for all: what carries the weight."""
    numbers[f"rotors.{rotor}.max_speed"]
    lift = sum(physics.force(numbers, r)[2] for r in rotors)
    return float(RPM * np.sqrt(GRAVITY / lift)) if lift > 0.0 else math.nan


def _whole(subject: Subject, line: Line) -> str:
    value = round(line.value)
    largest = LARGEST if "_g1_" in line.family or "_g2_" in line.family else 10**6
    if abs(value) > largest:
        raise ExportError(
            f"{subject.name}: {line.name} would be {value}, INDIflight takes up to {largest}; check max_speed and units"
        )
    return str(value)
