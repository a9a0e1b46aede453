"""Reading XML as URDF, SDF and MJCF write it: numbers, rotations, inertia, and rotors of Gazebo's motor plugins."""

from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from haltere.airframe.errors import AirframeError
from haltere.airframe.foreign.options import ImportOptions
from haltere.airframe.foreign.tree import Piece, Propeller
from haltere.foundation.numbers import Floats

Element = ElementTree.Element
LARGEST = 20_000_000
"""Bytes; a longer description of a vehicle is none."""


def root_of(path: Path) -> Element:
    """The outermost element; entities of other files are not read."""
    try:
        text = path.read_bytes()
    except OSError as error:
        raise AirframeError(f"{path}: cannot be read ({error.strerror})") from None
    if len(text) > LARGEST or b"<!ENTITY" in text:
        raise AirframeError(f"{path}: too large, or with entities of its own; give a plain description")
    try:
        return ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise AirframeError(
            f"{path}: is no XML ({error}); expand macros such as xacro or ERB first"
        ) from None


def numbers(text: str | None, count: int, default: tuple[float, ...]) -> Floats:
    """`count` numbers, or the default where there is no text."""
    if text is None or not text.strip():
        return np.asarray(default, float)
    try:
        found = np.array([float(word) for word in text.split()])
    except ValueError:
        raise AirframeError(f"got {text.strip()!r}; {count} numbers are expected") from None
    if len(found) != count or not np.all(np.isfinite(found)):
        raise AirframeError(f"got {text.strip()!r}; {count} finite numbers are expected")
    return found


def number(text: str | None, default: float) -> float:
    """One number, or the default."""
    return float(numbers(text, 1, (default,))[0])


def axis_of(element: Element | None) -> Floats:
    """(3,) unit axis of a joint; x where none is named, as URDF has it."""
    text = None if element is None else element.get("xyz") or element.findtext("xyz")
    found = numbers(text, 3, (1.0, 0.0, 0.0))
    length = float(np.linalg.norm(found))
    if length == 0.0:
        raise AirframeError("a joint's axis is (0, 0, 0); give a direction")
    return np.asarray(found / length)


def propellers_of(root: Element, pieces: Sequence[Piece], options: ImportOptions) -> dict[str, Propeller]:
    """Propellers by link: those that a motor plugin names, else those whose names say rotor.

    Gazebo's motor plugins stand in SDF files and in URDF's gazebo blocks: `motorConstant` is N/(rad/s)^2,
    `momentConstant` the torque ratio in m, `turningDirection` ccw or cw seen from above, `maxRotVelocity` rad/s and
    `timeConstantUp` s.
    """
    found: dict[str, Propeller] = {}
    for plugin in root.iter("plugin"):
        link = plugin.findtext("linkName")
        if link is None or plugin.find("motorConstant") is None:
            continue
        turning = (plugin.findtext("turningDirection") or "").strip()
        found[link.strip().split("::")[-1]] = Propeller(
            thrust_coefficient=number(plugin.findtext("motorConstant"), 0.0),
            torque_ratio=number(plugin.findtext("momentConstant"), 0.0),
            spin=turning if turning in ("ccw", "cw") else None,
            time_constant=number(plugin.findtext("timeConstantUp"), 0.0) or None,
            max_speed=number(plugin.findtext("maxRotVelocity"), 0.0) or None,
        )
    names = {piece.name for piece in pieces}
    if found:
        return {name: propeller for name, propeller in found.items() if name in names}
    carriers = {piece.parent for piece in pieces}
    return {
        p.name: Propeller()
        for p in pieces
        if p.name not in carriers and any(word in p.name.lower() for word in options.rotors)
    }
