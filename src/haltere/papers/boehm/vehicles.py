"""Relatives of the Hummingbird for the self-calibrating filter: rotors tilted as in [Boehm2022] Fig. 6, more, in air.

The numbers that the paper leaves out are those of RotorS.
"""

import math

from haltere.airframe import Airframe, from_catalogue
from haltere.airframe.drag import Drag
from haltere.airframe.rotor import Inflow

HUB = 8.06428e-5
"""N/(rad/s)/(m/s), RotorS hummingbird.xacro: `rotor_drag_coefficient`."""
SPIN_INERTIA = 3.0e-5
"""kg m2, about its axis: a bar of 9 g and 0.2 m, as RotorS hummingbird.xacro has it."""


def tilted(degrees: float = 20.0) -> Airframe:
    """The Hummingbird with every thrust axis leaning outwards along its arm."""
    airframe, rotors = from_catalogue("hummingbird"), []
    lean, up = math.sin(math.radians(degrees)), math.cos(math.radians(degrees))
    for rotor in airframe.rotors:
        x, y, _ = rotor.position
        arm = math.hypot(x, y)
        rotors.append(rotor.model_copy(update={"axis": (lean * x / arm, lean * y / arm, up)}))
    return airframe.model_copy(update={"name": f"hummingbird-tilted-{degrees:g}", "rotors": tuple(rotors)})


def ring(count: int) -> Airframe:
    """The Hummingbird with its rotors replaced by a ring of `count` equal ones."""
    airframe = from_catalogue("hummingbird")
    first, rotors = airframe.rotors[0], []
    for i in range(count):
        angle = 2.0 * math.pi * i / count
        place = (0.17 * math.cos(angle), 0.17 * math.sin(angle), 0.011)
        spin = "cw" if i % 2 == 0 else "ccw"
        rotors.append(first.model_copy(update={"name": f"r{i}", "position": place, "spin": spin}))
    return airframe.model_copy(update={"name": f"hummingbird-ring-{count}", "rotors": tuple(rotors)})


def dragged() -> Airframe:
    """The Hummingbird with hub forces at its rotors and the drag of a body of 0.01 m2 (0.02 m2 from above)."""
    airframe = from_catalogue("hummingbird")
    rotors = tuple(rotor.model_copy(update={"inflow": Inflow(hub=HUB)}) for rotor in airframe.rotors)
    body = airframe.body.model_copy(update={"drag": Drag(quadratic=(6e-3, 6e-3, 12e-3))})
    return airframe.model_copy(update={"name": "hummingbird-dragged", "rotors": rotors, "body": body})


def spinning() -> Airframe:
    """The Hummingbird whose rotors have the inertia that they have in RotorS; the vehicle as a whole stays the same."""
    airframe = from_catalogue("hummingbird")
    turning = {"mass": 1e-9, "inertia": (0.5 * SPIN_INERTIA, 0.5 * SPIN_INERTIA, SPIN_INERTIA, 0.0, 0.0, 0.0)}
    rotors = tuple(rotor.model_copy(update=turning) for rotor in airframe.rotors)
    xx, yy, zz, *rest = airframe.body.inertia
    half = 0.5 * SPIN_INERTIA * len(rotors)
    body = airframe.body.model_copy(update={"inertia": (xx - half, yy - half, zz - 2.0 * half, *rest)})
    return airframe.model_copy(update={"name": "hummingbird-spinning", "rotors": rotors, "body": body})
