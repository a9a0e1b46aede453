"""Trajectories from a table of plain numbers, as a scenario file holds them.

    kind = "circle", radius = 2.0, period = 8.0, ease = 2.0

`kind` names the constructor, the other entries are its arguments; `ease` (s, from rest to rest) and `hold`
(wxyz at yaw zero, an attitude to keep) go with every kind but "throw". A Lissajous figure without `cycles`
draws them from the key.
"""

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any

import jax.numpy as jnp
import numpy as np

from haltere.foundation.arrays import Array
from haltere.trajectory.harmonic import circle, lissajous, multisine, periodic, random_lissajous
from haltere.trajectory.manoeuvres import ThrowRelease, chirp, hover, step, throw
from haltere.trajectory.pace import Holding, paced
from haltere.trajectory.reference import Trajectory, TrajectoryError
from haltere.trajectory.spline import minimum_snap

Shape = tuple[int | None, ...]

_MEAN: dict[str, Shape] = {"centre": (3,), "yaw": (), "duration": ()}
KINDS: dict[str, tuple[Callable[..., Any], dict[str, Shape]]] = {
    "hover": (hover, {"position": (3,), "yaw": (), "duration": ()}),
    "step": (
        step,
        {"offset": (3,), "yaw_offset": (), "time": (), "duration": (), "position": (3,), "yaw": ()},
    ),
    "lissajous": (lissajous, {"cycles": (4,), "amplitude": (4,), **_MEAN}),
    "circle": (circle, {"radius": (), "period": (), "yaw_along_path": (), **_MEAN}),
    "chirp": (chirp, {"amplitude": (4,), "band_hz": (2,), **_MEAN}),
    "multisine": (multisine, {"amplitude": (4,), "band_hz": (2,), "sines": (), **_MEAN}),
    "periodic": (
        periodic,
        {"sines": (None, 4), "cosines": (None, 4), "period": (), **_MEAN},
    ),
    "waypoints": (
        minimum_snap,
        {"waypoints": (None, 3), "yaw": (None,), "times": (None,), "speed": (), "acceleration": ()},
    ),
    "throw": (throw, {"position": (3,), "velocity": (3,), "spin": (3,), "wxyz": (4,), "duration": ()}),
}
"""Constructor and shapes of the arguments of each kind."""

_REQUIRED = {
    "chirp": "amplitude",
    "multisine": "amplitude",
    "periodic": "sines",
    "waypoints": "waypoints",
}
_WITH_ALL: dict[str, Shape] = {"ease": (), "hold": (4,)}
_EXAMPLES = {(): "1.0", (2,): "[0.1, 1.0]", (3,): "[0, 0, 1.5]", (4,): "[1, 1, 1, 1]", (None,): "[0, 1]"}


def trajectory_from_table(table: Mapping[str, Any], key: Array | None = None) -> Trajectory | ThrowRelease:
    """The trajectory that a table describes; `key` draws what a Lissajous figure leaves open.

    Raises:
        TrajectoryError: an unknown kind or field, a value of the wrong form, or a missing one.
    """
    kind = table.get("kind")
    if kind not in KINDS:
        got = "no kind" if kind is None else f"{kind!r}"
        raise TrajectoryError(f"trajectory: got {got}; {_closest(str(kind), list(KINDS))}")
    make, fields = KINDS[kind]
    allowed = fields if kind == "throw" else {**fields, **_WITH_ALL}
    values: dict[str, Any] = {}
    for name, value in table.items():
        if name == "kind":
            continue
        if name not in allowed:
            raise TrajectoryError(
                f"trajectory {kind}: unknown field {name!r}; {_closest(name, list(allowed))}"
            )
        values[name] = _value(kind, name, value, allowed[name])
    needed = _REQUIRED.get(kind)
    if needed is not None and needed not in values:
        example = _EXAMPLES.get(fields[needed], "[[0, 0, 1], [2, 0, 1]]")
        raise TrajectoryError(
            f"trajectory {kind}: {needed} is missing; give for example {needed} = {example}"
        )
    if kind == "periodic":
        sines, cosines = len(values["sines"]), len(values.get("cosines", values["sines"]))
        if not sines or sines != cosines:
            got = f"{sines} sines and {cosines} cosines"
            raise TrajectoryError(f"trajectory periodic: got {got}; give as many of both, at least one")
    ease, hold = values.pop("ease", None), values.pop("hold", None)
    if kind == "lissajous" and "cycles" not in values:
        if key is None:
            msg = "trajectory lissajous: cycles is missing; give cycles = [3, 4, 5, 6] or a seed to draw them"
            raise TrajectoryError(msg)
        made: Trajectory | ThrowRelease = random_lissajous(key, **values)
    else:
        made = make(**values)
    if isinstance(made, ThrowRelease):
        return made
    if hold is not None:
        made = Holding(made, jnp.asarray(hold) / np.linalg.norm(hold))
    return made if ease is None else paced(made, 1.0, ease)


def _value(kind: str, name: str, value: Any, shape: Shape) -> Any:
    """A field as the number, flag or array that its constructor takes."""
    where = f"trajectory {kind}: {name}"
    example = _EXAMPLES.get(shape, "[[0, 0, 1], [2, 0, 1]]")
    if name == "yaw_along_path":
        if not isinstance(value, bool):
            raise TrajectoryError(f"{where}: got {value!r}; give true or false")
        return value
    try:
        array = np.asarray(value, float)
    except (TypeError, ValueError):
        array = np.asarray(np.nan)
    if isinstance(value, bool | str) or not np.all(np.isfinite(array)):
        raise TrajectoryError(f"{where}: got {value!r}; give finite numbers such as {example}")
    fits = len(shape) == array.ndim and all(w in {None, n} for w, n in zip(shape, array.shape, strict=True))
    empty = shape[:1] == (None,) and array.shape == (0,)  # the constructors tell how many they need
    if not fits and not empty and not (name == "yaw" and array.ndim == 0):
        raise TrajectoryError(f"{where}: got {value!r}; give {example}")
    if array.ndim == 0 and name in {"duration", "period", "speed", "acceleration", "sines"}:
        if array == 0.0 or (name != "period" and array < 0.0):
            raise TrajectoryError(f"{where}: got {float(array):g}; give a number above zero")
    elif name == "ease" and array < 0.0:
        raise TrajectoryError(f"{where}: got {float(array):g}; give zero or more seconds")
    elif name in {"hold", "wxyz"} and not np.any(array):
        raise TrajectoryError(f"{where}: got {value!r}, which is no attitude; give [1, 0, 0, 0]")
    if name == "sines" and array.ndim == 0:
        return int(array)
    if name == "band_hz":
        return tuple(float(edge) for edge in array)
    return float(array) if array.ndim == 0 else array


def _closest(word: str, known: list[str]) -> str:
    near = get_close_matches(word.lower(), known, n=1, cutoff=0.6)
    return f"did you mean {near[0]!r}?" if near else f"known are {', '.join(known)}"
