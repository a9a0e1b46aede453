"""What Gazebo's motor plugins say of rotors, in SDF files and in URDF's gazebo blocks.

`motorConstant` is N/(rad/s)^2, `momentConstant` the torque ratio in m, `turningDirection` ccw or cw seen from above,
`maxRotVelocity` rad/s and `timeConstantUp` s.
"""

from collections.abc import Sequence

from haltere.airframe.foreign import xml as markup
from haltere.airframe.foreign.given import Given
from haltere.airframe.foreign.tree import Piece, Propeller


def propellers_of(root: markup.Element, pieces: Sequence[Piece], given: Given) -> dict[str, Propeller]:
    """By link: those that a plugin names, else those whose names say rotor."""
    found: dict[str, Propeller] = {}
    for plugin in root.iter("plugin"):
        link = plugin.findtext("linkName")
        if link is None or plugin.find("motorConstant") is None:
            continue
        turning = (plugin.findtext("turningDirection") or "").strip()
        found[link.strip().split("::")[-1]] = Propeller(
            thrust_coefficient=markup.number(plugin.findtext("motorConstant"), 0.0),
            torque_ratio=markup.number(plugin.findtext("momentConstant"), 0.0),
            spin=turning if turning in ("ccw", "cw") else None,
            time_constant=markup.number(plugin.findtext("timeConstantUp"), 0.0) or None,
            max_speed=markup.number(plugin.findtext("maxRotVelocity"), 0.0) or None,
        )
    names = {piece.name for piece in pieces}
    if found:
        return {name: propeller for name, propeller in found.items() if name in names}
    carriers = {piece.parent for piece in pieces}
    return {
        p.name: Propeller()
        for p in pieces
        if p.name not in carriers and any(word in p.name.lower() for word in given.rotors)
    }
