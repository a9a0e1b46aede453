"""State files (JSON): a vehicle's state, its drive, the world around it, and outside wrenches on its links.

Every field may be left out; the vehicle then rests, level, at the world's origin, in still air, its joints
and rotors without acceleration:

    position                           [x, y, z]      m, world
    wxyz                               [w, x, y, z]   attitude of the body in the world
    linear_velocity, angular_velocity  [x, y, z]      m/s and rad/s, body axes
    joints, rotors                     by name: angle, rate, acceleration or torque; rad, s, N m
    gravity                            [x, y, z]      m/s2, world; or one number, straight down
    wind                               [x, y, z]      m/s, world
    air_density                        kg/m3
    wrenches                           by link: [fx, fy, fz, tx, ty, tz] or {"force": [...], "torque": [...]},
                                       N and N m, link axes, at the link's origin
"""

import difflib
import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

from haltere.dynamics.model import Model
from haltere.dynamics.state import Drive, Environment, State
from haltere.foundation import HaltereError
from haltere.foundation.arrays import Array

FIELDS = (
    "position",
    "wxyz",
    "linear_velocity",
    "angular_velocity",
    "joints",
    "rotors",
    "gravity",
    "wind",
    "air_density",
    "wrenches",
)
JOINT_FIELDS = ("angle", "rate", "acceleration", "torque")
NORM_TOLERANCE = 1e-6
"""Quaternions closer than this to unit length are rounded numbers and are scaled; others are mistakes."""


class StateFileError(HaltereError):
    """A state file cannot be read, or does not fit the vehicle."""


def read_state(path: str | Path, model: Model) -> tuple[State, Drive, Environment, Array]:
    """The content of a state file for the vehicle `model`; see `parse_state`."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        msg = f"state file {str(path)!r} cannot be read ({reason}); give the path of a JSON file"
        raise StateFileError(msg) from error
    return parse_state(text, model, str(path))


def parse_state(text: str, model: Model, source: str = "<text>") -> tuple[State, Drive, Environment, Array]:
    """State, drive, environment and outside wrenches from the text of a state file.

    Args:
        text: JSON.
        model: the vehicle, whose names the file uses.
        source: how errors call the file.

    Returns:
        State, drive, environment, and the wrenches (L, 6), force first, link axes, at the links' origins.
    """
    return _Reader(source, model).read(text)


class _Reader:
    """Makes arrays of the entries of one file; every complaint names the file and the field."""

    def __init__(self, source: str, model: Model) -> None:
        self.source = source
        self.model = model

    def read(self, text: str) -> tuple[State, Drive, Environment, Array]:
        entries = self.mapping(self.json(text), "the file")
        self.known("", entries, FIELDS, "field")
        topology, dtype = self.model.topology, self.model.dtype
        joints, joint_given = self.movers(entries, "joints", topology.joint_names)
        rotors, rotor_given = self.movers(entries, "rotors", topology.rotor_names)
        self.can_be_driven(rotor_given)
        twist = (*self.vector(entries, "linear_velocity"), *self.vector(entries, "angular_velocity"))
        state = State(
            position=jnp.asarray(self.vector(entries, "position"), dtype),
            wxyz=jnp.asarray(self.quaternion(entries), dtype),
            twist=jnp.asarray(twist, dtype),
            joint_angles=jnp.asarray(joints[0], dtype),
            joint_rates=jnp.asarray(joints[1], dtype),
            rotor_angles=jnp.asarray(rotors[0], dtype),
            rotor_rates=jnp.asarray(rotors[1], dtype),
        )
        drive = Drive(jnp.asarray(joints[2], dtype), jnp.asarray(rotors[2], dtype), joint_given, rotor_given)
        environment = Environment(
            gravity=jnp.asarray(self.gravity(entries), dtype),
            wind=jnp.asarray(self.vector(entries, "wind"), dtype),
            air_density=jnp.asarray(self.not_negative(entries, "air_density", 1.225), dtype),
        )
        return state, drive, environment, jnp.asarray(self.wrenches(entries), dtype)

    def fault(self, field: str, complaint: str) -> StateFileError:
        return StateFileError(f"{self.source}: {field + ': ' if field else ''}{complaint}")

    def json(self, text: str) -> Any:
        def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
            found = dict(pairs)
            if len(found) < len(pairs):
                names = [name for name, _ in pairs]
                twice = next(name for name in names if names.count(name) > 1)
                raise self.fault("", f"{twice!r} stands twice in one object; keep one of them")
            return found

        try:
            return json.loads(text, object_pairs_hook=once)
        except json.JSONDecodeError as error:
            where = f"line {error.lineno}, column {error.colno}"
            raise self.fault(
                "", f"not JSON at {where} ({error.msg}); see the documented state file"
            ) from error
        except RecursionError as error:
            raise self.fault("", "nested too deeply; expected at most three levels") from error

    def mapping(self, value: Any, field: str) -> Mapping[str, Any]:
        if not isinstance(value, Mapping):
            raise self.fault(field, f"got {_short(value)}, expected a JSON object {{...}}")
        return value

    def known(self, prefix: str, names_there: Iterable[str], names: tuple[str, ...], kind: str) -> None:
        for name in names_there:
            if name in names:
                continue
            close = difflib.get_close_matches(name, names, n=1)
            remedy = f"did you mean {close[0]!r}?" if close else _choice(names, kind)
            raise self.fault(prefix, f"unknown {kind} {name!r}; {remedy}")

    def number(self, value: Any, field: str) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.fault(field, f"got {_short(value)}, expected a number")
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise self.fault(field, f"got {number}, expected a finite number")
        return number

    def numbers(self, value: Any, field: str, length: int) -> tuple[float, ...]:
        if not isinstance(value, list):
            raise self.fault(field, f"got {_short(value)}, expected a list of {length} numbers")
        if len(value) != length:
            raise self.fault(field, f"got {len(value)} entries, expected {length}")
        return tuple(self.number(entry, f"{field}[{i}]") for i, entry in enumerate(value))

    def vector(self, entries: Mapping[str, Any], field: str) -> tuple[float, ...]:
        return self.numbers(entries[field], field, 3) if field in entries else (0.0, 0.0, 0.0)

    def not_negative(self, entries: Mapping[str, Any], field: str, default: float) -> float:
        value = self.number(entries.get(field, default), field)
        if value < 0.0:
            raise self.fault(field, f"got {value}, expected a number that is not negative")
        return value

    def gravity(self, entries: Mapping[str, Any]) -> tuple[float, ...]:
        value = entries.get("gravity", 9.81)
        if isinstance(value, list):
            return self.numbers(value, "gravity", 3)
        down = self.number(value, "gravity")
        if down < 0.0:
            remedy = "a number means straight down and is positive; or give a vector such as [0, 0, -9.81]"
            raise self.fault("gravity", f"got {down}; {remedy}")
        return (0.0, 0.0, -down)

    def quaternion(self, entries: Mapping[str, Any]) -> tuple[float, ...]:
        if "wxyz" not in entries:
            return (1.0, 0.0, 0.0, 0.0)
        wxyz = self.numbers(entries["wxyz"], "wxyz", 4)
        norm = math.hypot(*wxyz)
        if abs(norm - 1.0) > NORM_TOLERANCE:
            unit = [round(part / norm, 9) for part in wxyz] if norm > 0.0 else [1, 0, 0, 0]
            raise self.fault("wxyz", f"length {norm:.6g}, expected 1; give for example {unit}")
        return tuple(part / norm for part in wxyz)

    def movers(
        self, entries: Mapping[str, Any], field: str, names: tuple[str, ...]
    ) -> tuple[np.ndarray[Any, np.dtype[np.float64]], tuple[bool, ...]]:
        """Angles, rates and drives (3, n) in the model's order, and which of the drives are torques."""
        values = np.zeros((3, len(names)))
        by_torque = [False] * len(names)
        parts = self.mapping(entries.get(field, {}), field)
        if field == "joints":
            for name in parts:
                if name in self.model.topology.link_names and name not in names:
                    raise self.fault(
                        field, f"link {name!r} has no joint that moves; {_choice(names, 'joint')}"
                    )
        self.known(field, parts, names, field[:-1])
        for name, part in parts.items():
            where = f"{field}.{name}"
            self.known(where, self.mapping(part, where), JOINT_FIELDS, "field")
            if "torque" in part and "acceleration" in part:
                raise self.fault(where, "got torque and acceleration; give one, the other is computed")
            drive = "torque" if "torque" in part else "acceleration"
            column = names.index(name)
            by_torque[column] = drive == "torque"
            for row, key in enumerate(("angle", "rate", drive)):
                values[row, column] = self.number(part.get(key, 0.0), f"{where}.{key}")
        return values, tuple(by_torque)

    def can_be_driven(self, by_torque: tuple[bool, ...]) -> None:
        """Refuse a torque on a rotor without inertia about its axis: its acceleration would be infinite."""
        rotors = self.model.rotors
        axis, com, inertia, mass = (
            np.asarray(part) for part in (rotors.axis, rotors.com, rotors.inertia, rotors.mass)
        )
        about_axis = np.einsum("ri,rij,rj->r", axis, inertia, axis)
        about_axis += mass * np.sum(np.cross(axis, com) ** 2, axis=-1)
        for name, driven_by_torque, inertia_about_axis in zip(
            self.model.topology.rotor_names, by_torque, about_axis, strict=True
        ):
            if driven_by_torque and inertia_about_axis <= 0.0:
                remedy = "give an acceleration, or mass and inertia of the rotor in the airframe"
                raise self.fault(f"rotors.{name}", f"got a torque, but the rotor has no inertia; {remedy}")

    def wrenches(self, entries: Mapping[str, Any]) -> np.ndarray[Any, np.dtype[np.float64]]:
        links = self.model.topology.link_names
        values = np.zeros((len(links), 6))
        parts = self.mapping(entries.get("wrenches", {}), "wrenches")
        self.known("wrenches", parts, links, "link")
        for name, part in parts.items():
            where = f"wrenches.{name}"
            if isinstance(part, Mapping):
                self.known(where, part, ("force", "torque"), "field")
                halves = {key: self.numbers(value, f"{where}.{key}", 3) for key, value in part.items()}
                wrench = (*halves.get("force", (0.0,) * 3), *halves.get("torque", (0.0,) * 3))
            else:
                wrench = self.numbers(part, where, 6)
            values[links.index(name)] = wrench
        return values


def _choice(names: tuple[str, ...], kind: str) -> str:
    return f"known are {', '.join(names)}" if names else f"this vehicle has no {kind}s"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else text[:37] + "..."
