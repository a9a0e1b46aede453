"""Relatives of the Hummingbird for the self-calibrating filter: tilted rotors as in [Boehm2022] Fig. 6, more rotors."""

import math

from haltere.airframe import Airframe, from_catalogue


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
