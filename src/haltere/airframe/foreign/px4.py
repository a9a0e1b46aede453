"""PX4 parameters: where the rotors sit, where they point, how strong they are; mass and inertia have to be given.

Lines `param set NAME VALUE` (also `set-default`), QGroundControl's columns, or `NAME,VALUE`. Axes x forward, y right,
z down from the centre of gravity become x forward, y left, z up with the origin there.
"""

import math
import re
from pathlib import Path
from typing import Any

import numpy as np

from haltere.airframe.airframe import Airframe
from haltere.airframe.errors import AirframeError
from haltere.airframe.foreign.options import ImportOptions
from haltere.foundation.text import renamed_note, safe_names

MOST = 12
"""Rotors that PX4 knows."""
FLIP = np.array([1.0, -1.0, -1.0])
_PARAMETER = re.compile(r"^(?:param\s+set(?:-default)?\s+|\d+\s+\d+\s+)?([A-Z][A-Z0-9_]+)[\s,=]+([-+.\deE]+)")


def parameters_of(text: str) -> dict[str, float]:
    """All parameters of a file by name."""
    found = {}
    for line in text.splitlines():
        match = _PARAMETER.match(line.strip())
        if match:
            try:
                value = float(match[2])
            except ValueError:
                continue
            if math.isfinite(value):
                found[match[1]] = value
    return found


def read_px4(path: Path, text: str, options: ImportOptions, notes: list[str]) -> Airframe:
    """The vehicle of a parameter file."""
    table = parameters_of(text)
    count = int(table.get("CA_ROTOR_COUNT", 0))
    if not 1 <= count <= MOST:
        raise AirframeError(
            f"{path}: has no CA_ROTOR_COUNT from 1 to {MOST}; give PX4 parameters with control allocation"
        )
    wanted = [
        n
        for n, v in (
            ("--mass", options.mass),
            ("--inertia", options.inertia),
            ("--max-speed", options.max_speed),
        )
        if v is None
    ]
    if wanted:
        raise AirframeError(f"{path}: PX4 parameters do not tell everything; give {', '.join(wanted)}")
    assert options.mass is not None
    assert options.inertia is not None
    assert options.max_speed is not None
    notes.append("thrust coefficients are CT over the highest speed squared: right if CT is in newtons")
    rotors: list[dict[str, Any]] = []
    for i in range(count):

        def vector(kind: str, default: tuple[float, float, float], i: int = i) -> np.ndarray:
            return FLIP * [
                table.get(f"CA_ROTOR{i}_{kind}{x}", d) for x, d in zip("XYZ", default, strict=True)
            ]

        KM = table.get(f"CA_ROTOR{i}_KM", 0.05)
        rotors.append(
            {
                "name": f"m{i + 1}",
                "position": tuple(float(x) + 0.0 for x in vector("P", (0.0, 0.0, 0.0))),
                "axis": tuple(float(x) + 0.0 for x in vector("A", (0.0, 0.0, -1.0))),
                "spin": "ccw" if KM >= 0.0 else "cw",
                "thrust_coefficient": table.get(f"CA_ROTOR{i}_CT", 6.5) / options.max_speed**2,
                "torque_ratio": abs(KM),
                "speed_limits": (0.0, options.max_speed),
            }
        )
        share = table.get("THR_MDL_FAC")
        if share is not None:
            rotors[-1]["curve"] = {"kind": "quadratic", "value": min(max(share, 0.0), 1.0)}
    stem = path.name.split(".")[0]
    title = safe_names([stem])
    notes += renamed_note(title, "parts of the file")
    imu = tuple(float(x) + 0.0 for x in FLIP * [table.get(f"EKF2_IMU_POS_{x}", 0.0) for x in "XYZ"])
    data = {
        "name": title[stem],
        "body": {"mass": options.mass, "inertia": (*options.inertia, 0.0, 0.0, 0.0)},
        "rotors": rotors,
        "imu": {"position": imu},
    }
    try:
        return Airframe.model_validate(data)
    except ValueError as error:
        raise AirframeError(
            f"{path}: no airframe can be made of it: {str(error).splitlines()[-1].strip()}"
        ) from None
