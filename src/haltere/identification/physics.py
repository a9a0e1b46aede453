"""What flight stacks ask of a vehicle, from its named numbers; all in the body frame x forward, y left, z up.

With m, I and centre of mass c of the whole, and of a rotor place r, axis n, spin e, thrust coefficient k, torque
ratio q, moment of inertia J about its axis, its effectiveness per squared speed and per acceleration of the rotor is

    force   k n / m,   torque   I^-1 ((r - c) x k n - q k e n),   rate   -I^-1 J e n                       (1)

A curve from command d to thrust is brought to the one form that PX4, ArduPilot and INDIflight share,

    T(d) / T(1) = a d^2 + (1 - a) d                                                                       (2)

by least squares over 0..1; a curve of kind "quadratic" without idle speed has this form already.
"""

from collections.abc import Mapping

import numpy as np

from haltere.foundation.constants import GRAVITY
from haltere.foundation.numbers import Floats
from haltere.identification.described import SIX, XYZ

Numbers = Mapping[str, float]
_D = np.linspace(0.0, 1.0, 101)


def vector(numbers: Numbers, name: str) -> Floats:
    """(3,) by the names of its components."""
    return np.array([numbers[f"{name}.{axis}"] for axis in XYZ])


def lever(numbers: Numbers, name: str) -> Floats:
    """(3,) a place relative to the centre of mass, m."""
    at = vector(numbers, f"{name}.position")
    return at - vector(numbers, "com") if "com.x" in numbers else at


def inertia(numbers: Numbers) -> Floats:
    """(3, 3) kg m2."""
    xx, yy, zz, xy, xz, yz = (numbers[f"inertia.{n}"] for n in SIX)
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def axis(numbers: Numbers, rotor: str) -> Floats:
    """(3,) unit thrust axis; from the force it causes where no axis is named."""
    name = f"rotors.{rotor}.axis"
    n = vector(numbers, name) if f"{name}.x" in numbers else force(numbers, rotor)
    length = float(np.linalg.norm(n))
    return np.asarray(n / length) if length > 0.0 else np.full(3, np.nan)


def force(numbers: Numbers, rotor: str) -> Floats:
    """(3,) specific force per squared speed, m/s2/(rad/s)^2: equation (1), or what the log told (else nan)."""
    head = f"rotors.{rotor}.effectiveness"
    if f"{head}.fz" in numbers:
        return np.array([numbers.get(f"{head}.{n}", np.nan) for n in ("fx", "fy", "fz")])
    if f"rotors.{rotor}.axis.x" not in numbers:
        raise KeyError(f"{head}.fz")
    n = vector(numbers, f"rotors.{rotor}.axis")
    return numbers[f"rotors.{rotor}.thrust_coefficient"] / numbers["mass"] * n / np.linalg.norm(n)


def torque(numbers: Numbers, rotor: str) -> Floats:
    """(3,) angular acceleration per squared speed, rad/s2/(rad/s)^2; a component that nothing tells is nan."""
    head = f"rotors.{rotor}"
    if any(f"{head}.effectiveness.{n}" in numbers for n in "pqr"):
        return np.array([numbers.get(f"{head}.effectiveness.{n}", np.nan) for n in "pqr"])
    n = axis(numbers, rotor)
    k, spin = numbers[f"{head}.thrust_coefficient"], numbers[f"{head}.spin"]
    moment = np.cross(lever(numbers, head), k * n) - numbers[f"{head}.torque_ratio"] * k * spin * n
    return np.asarray(np.linalg.solve(inertia(numbers), moment), float)


def rate(numbers: Numbers, rotor: str) -> Floats:
    """(3,) angular acceleration per acceleration of the rotor; a component that nothing tells is nan."""
    head = f"rotors.{rotor}"
    if any(f"{head}.effectiveness.{n}_dot" in numbers for n in "pqr"):
        return np.array([numbers.get(f"{head}.effectiveness.{n}_dot", np.nan) for n in "pqr"])
    spun = numbers[f"{head}.spin_inertia"] * numbers[f"{head}.spin"] * axis(numbers, rotor)
    return -np.asarray(np.linalg.solve(inertia(numbers), spun), float)


def top(numbers: Numbers, rotor: str) -> float:
    """Largest squared speed, (rad/s)^2."""
    return numbers[f"rotors.{rotor}.max_speed"] ** 2


def share(numbers: Numbers, rotor: str, kind: str) -> float:
    """The constant a of equation (2)."""
    k, full = numbers[f"rotors.{rotor}.curve"], 1.0
    idle = numbers.get(f"rotors.{rotor}.idle_speed", 0.0) / numbers.get(f"rotors.{rotor}.max_speed", np.inf)
    part = k * _D + (1.0 - k) * np.sqrt(_D) if kind == "kappa" else np.sqrt(k * _D**2 + (1.0 - k) * _D)
    thrust = (idle + (full - idle) * part) ** 2
    bend = _D**2 - _D
    return float(np.clip((thrust - _D) @ bend / (bend @ bend), 0.0, 1.0))


def mean_share(rotors: tuple[str, ...], kinds: Mapping[str, str], numbers: Numbers) -> float:
    """The constant a of equation (2), in the mean of all rotors; `kinds` of their curves by name."""
    return float(np.mean([share(numbers, rotor, kinds.get(rotor, "quadratic")) for rotor in rotors]))


def hover_share(rotors: tuple[str, ...], kinds: Mapping[str, str], numbers: Numbers) -> float:
    """Weight over the largest thrust, both along the body's z; told only where the curve is, as stacks use both."""
    mean_share(rotors, kinds, numbers)
    return float(GRAVITY / sum(force(numbers, r)[2] * top(numbers, r) for r in rotors))


def frd(flu: Floats) -> Floats:
    """(3,) the same vector in axes x forward, y right, z down."""
    return np.asarray(flu * np.array([1.0, -1.0, -1.0]))
