"""The vehicle as identified, in three dimensions: with the nominal one as a ghost, and how well each position is known.

Around the centre of mass, every rotor and the IMU stands the 95 % ellipsoid of its position (axes of the body,
deviations of the three coordinates). Positions are known to millimetres on vehicles of decimetres, so all ellipsoids
are enlarged by one round factor, which the caption gives.
"""

from collections.abc import Mapping

import numpy as np

from haltere.airframe import Airframe
from haltere.foundation.arrays import double_precision
from haltere.foundation.numbers import Floats
from haltere.identification.described import DescribedVehicle
from haltere.identification.result import Identification
from haltere.report.drawing import shapes
from haltere.report.drawing.scene import vehicle_figure
from haltere.report.drawing.shapes import Mesh
from haltere.report.drawing.vehicle import DrawingPart
from haltere.report.page import Picture

SURE = 1.96
FACTORS = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
VISIBLE = 0.13
"""Half axis that the largest ellipsoid has at most, as a fraction of the vehicle's size."""
VISIBLE_DIFFERENCE = 5e-4
"""Difference of positions (m) and axes from which a nominal vehicle is drawn beside."""
DOUBT = "#8e5ea2"
XYZ = ("x", "y", "z")


@double_precision()
def draw_identified(result: Identification, airframe: Airframe) -> Picture:
    """The vehicle in 3D, of a result with this airframe."""
    subject = DescribedVehicle.from_result(result) if airframe.rotors else None
    sigmas = _sigmas(result)
    numbers: Mapping[str, float] = {} if subject is None else subject.numbers
    size = _size(numbers)
    factor = _factor(sigmas, size)
    clouds = []
    for head, sigma in sigmas.items():
        place = "com" if head == "com" else f"{head}.position"
        if all(f"{place}.{x}" in numbers for x in XYZ):
            centre = np.array([numbers[f"{place}.{x}"] for x in XYZ])
            clouds.append(_ellipsoid(head, centre, SURE * factor * sigma))
    ghost = result.nominal if result.nominal is not None and _differ(airframe, result.nominal) else None
    words = "Blue rotors rotate counter-clockwise, orange ones clockwise, seen against the thrust arrow. "
    if clouds:
        times = "in true size" if factor == 1.0 else f"enlarged {factor:g} times"
        words += f"Purple clouds are where each position lies with 95 % certainty, {times}. "
    if ghost is not None:
        words += "The pale vehicle is the nominal one; what the log did not identify has the nominal value. "
    return Picture(
        "As identified",
        vehicle_figure(airframe, height=480, ghost=ghost, beside=clouds),
        words + "Drag to rotate.",
        wide=True,
        name="vehicle",
    )


def _differ(one: Airframe, other: Airframe) -> bool:
    """Whether two vehicles would be drawn differently."""
    if len(one.rotors) != len(other.rotors):
        return True
    places = [(a.position, b.position) for a, b in zip(one.rotors, other.rotors, strict=True)]
    axes = [(a.axis, b.axis) for a, b in zip(one.rotors, other.rotors, strict=True)]
    pairs = np.array([*places, *axes, (one.body.com, other.body.com)])
    return bool(np.max(np.abs(pairs[:, 0] - pairs[:, 1])) > VISIBLE_DIFFERENCE)


def _sigmas(result: Identification) -> dict[str, Floats]:
    """(3,) deviations of each position that the log shows, by the path of what sits there."""
    found: dict[str, Floats] = {}
    for p in result.parameters:
        parts = p.name.split(".")
        if parts[-1] not in XYZ or p.sigma is None or p.verdict in ("combination", "unobservable"):
            continue
        head = "com" if parts[0] == "com" else ".".join(parts[:-2])
        if parts[0] == "com" or parts[-2] == "position":
            found.setdefault(head, np.zeros(3))[XYZ.index(parts[-1])] = p.sigma
    return found


def _size(numbers: Mapping[str, float]) -> float:
    """Distance of the farthest part from the origin, m."""
    heads = [name.removesuffix(".x") for name in numbers if name.endswith(".position.x")]
    reach = [float(np.linalg.norm([numbers[f"{head}.{x}"] for x in XYZ])) for head in heads]
    return max(reach, default=0.0) or 0.2


def _factor(sigmas: dict[str, Floats], size: float) -> float:
    largest = max((float(np.max(s)) for s in sigmas.values()), default=0.0) * SURE
    fitting = [f for f in FACTORS if f * largest <= VISIBLE * size]
    return max(fitting, default=1.0) if largest > 0.0 else 1.0


def _ellipsoid(head: str, centre: Floats, half: Floats) -> DrawingPart:
    ball = shapes.ball((0.0, 0.0, 0.0), 1.0, rings=10, corners=20)
    flat = np.maximum(half, 0.05 * float(np.max(half)))
    mesh = Mesh(ball.vertices * flat + centre, ball.faces)
    return DrawingPart("doubt", f"{head.removeprefix('rotors.')}, 95 %", mesh, DOUBT, 0.3)
