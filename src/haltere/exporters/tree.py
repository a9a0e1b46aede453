"""What URDF and MJCF share: the tree of bodies as it is written, and what neither can express.

Frames of links and rotors are those of the airframe file, so positions are copied, not computed. A rotor with inertia
about its axis spins on a joint of its own; one without is a mark on its link.
"""

from collections.abc import Callable
from functools import partial

from haltere.airframe import Airframe, Body, Imu, Link, PoseSensor, PositionSensor, Rotor
from haltere.airframe.fields import Six, tensor
from haltere.exporters.document import ExportError, describe_omissions, require
from haltere.exporters.sheet import SettingFormula, Sheet, gather
from haltere.foundation.text import xml_comment
from haltere.identification.described import SIX, XYZ, DescribedVehicle, Numbers

BODY = "body"
SPINS = 1e-12
"""Moment of inertia about its axis from which a rotor spins as a body of its own, kg m2."""


def require_airframe(vehicle: DescribedVehicle, target: str) -> tuple[Airframe, Sheet]:
    """The airframe, with how well mass, centre of mass and inertia are known; refused if one is not.

    Raises:
        ExportError: the result has no whole airframe, or the log left mass, centre of mass or inertia open.
    """
    if vehicle.airframe is None:
        raise ExportError(
            f"{vehicle.name}: not enough is known for {target}: mass, com, inertia; the log identifies ratios only, "
            "so identify it again with `--airframe FILE` or `--known mass=VALUE`"
        )
    named = ("mass", *(f"com.{x}" for x in XYZ), *(f"inertia.{x}" for x in SIX))
    sheet = gather(vehicle, [SettingFormula(n, n.split(".", maxsplit=1)[0], _reader(n)) for n in named])
    require(vehicle, sheet, target, "mass", "com", "inertia")
    return vehicle.airframe, sheet


def _reader(name: str) -> Callable[[Numbers], float]:
    return partial(_read, name)


def _read(name: str, numbers: Numbers) -> float:
    return numbers[name]


def describe_deviations(airframe: Airframe, sheet: Sheet) -> list[str]:
    """Deviations of the whole vehicle's mass properties, and what the format leaves out."""
    known = [f"{setting.name} sigma {setting.sigma:.2g}" for setting in sheet.settings if setting.sigma]
    lines = ["whole vehicle: " + ", ".join(known)] if known else []
    lines += describe_omissions(sheet.omissions)
    carriers: tuple[Body | Link, ...] = (airframe.body, *airframe.links)
    if any(part.wing for part in carriers):
        lines.append("wings cannot be written in this format and are left out")
    if any(part.drag for part in carriers) or any(rotor.inflow for rotor in airframe.rotors):
        lines.append("drag and the effect of moving air are left out")
    return lines


def all_sensors(airframe: Airframe) -> tuple[Imu | PoseSensor | PositionSensor, ...]:
    """All sensors, in the order of the file's groups."""
    return (*airframe.imu, *airframe.pose, *airframe.position)


def is_spinning_body(rotor: Rotor) -> bool:
    """Whether a rotor is a body of its own."""
    n = rotor.axis
    J = tensor(rotor.inertia)
    return rotor.mass > 0.0 and float(sum(n[i] * J[i, j] * n[j] for i in range(3) for j in range(3))) > SPINS


def spin_axis(rotor: Rotor) -> tuple[float, float, float]:
    """The axis about which the rotor spins right-handed with positive rate."""
    e = rotor.spin_sign
    x, y, z = rotor.axis
    return e * x, e * y, e * z


def format_numbers(values: tuple[float, ...] | Six) -> str:
    """Numbers that read back as they are."""
    return " ".join(repr(float(value) + 0.0) for value in values)


def xml_comments(lines: list[str]) -> str:
    """Lines as XML comments."""
    return "".join(f"{xml_comment(line)}\n" for line in lines)
