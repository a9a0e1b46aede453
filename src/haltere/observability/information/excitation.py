"""Excitation: which motion a parameter shows in, how much of it a flight has, and what to say where it is too little.

With the rates w of a flight about the principal axes and its squared rotor speeds u, root mean squares over time:

    roll, pitch, yaw acceleration rms(dw_i/dt),   rotation rms(|w|),   change of thrust rms(sum u / mean - 1)   (1)
"""

import numpy as np

from haltere.foundation.numbers import Numbers
from haltere.foundation.verdict import NORMAL, Limit

UNITS = {
    "roll acceleration": "rad/s2",
    "pitch acceleration": "rad/s2",
    "yaw acceleration": "rad/s2",
    "turning": "rad/s",
    "change of thrust": "of the mean",
}
"""Every kind of excitation, and what it is counted in."""
_ROUNDING = 1e-12
_ROLL, _PITCH, _YAW, _TURNING, _THRUST = UNITS
_OF_VEHICLE = {"mass": _THRUST, "inertia.xx": _ROLL, "inertia.yy": _PITCH, "inertia.zz": _YAW}
_ROTOR = {
    "position.x": _PITCH,
    "position.y": _ROLL,
    "torque_ratio": _YAW,
    "thrust_coefficient": _THRUST,
    "axis": _THRUST,
}


def excitation_kind(name: str) -> str:
    """The kind of motion, of `UNITS`, that a parameter shows in."""
    parts = name.split(".")
    if parts[0] != "rotors":
        return _OF_VEHICLE.get(name, _TURNING)
    return _ROTOR.get(".".join(parts[2:]), _ROTOR.get(parts[2], _TURNING))


def measure_excitation(rates: Numbers, inputs: Numbers, step: float) -> dict[str, float]:
    """Equation (1) for rates (T, 3), rad/s in principal axes, and squared rotor speeds (T, N), `step` s apart."""
    turning = np.gradient(rates, step, axis=0)
    thrust = np.sum(inputs, axis=1)
    mean = float(np.mean(thrust)) or 1.0
    sizes = (
        *_rms(turning),
        float(np.sqrt(np.mean(np.sum(rates**2, axis=1)))),
        *_rms(thrust[:, None] / mean - 1.0),
    )
    return dict(zip(UNITS, sizes, strict=True))


def _rms(x: Numbers) -> list[float]:
    size = np.sqrt(np.mean(x**2, axis=0))
    rms: list[float] = np.where(size > _ROUNDING, size, 0.0).tolist()
    return rms


def describe_missing(name: str, sigma: float | None, limit: Limit, measured: dict[str, float]) -> str | None:
    """The sentence about a parameter that stays weak, or None: its excitation was too small, and how small it was.

    Args:
        name: of the parameter.
        sigma: its deviation; None where the flight says nothing about it.
        limit: how wide its interval may be.
        measured: from `measure_excitation`.
    """
    if sigma is not None and limit.allows(NORMAL * sigma):
        return None
    kind = excitation_kind(name)
    how = "nothing is learnt" if sigma is None else f"sigma {100.0 * sigma / limit.scale:.0f} %"
    return f"{kind} too small for {name}: {how} at {measured[kind]:.2g} {UNITS[kind]} rms"
