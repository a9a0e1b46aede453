"""The truth of a flight in the frame that a result refers to, and the group of each parameter.

| frame | positions | axes, rotations, inertia |
|---|---|---|
| `airframe` | from the airframe's origin | body axes |
| `com` | from the centre of mass | body axes |
| `principal` | from the centre of mass | principal axes of the inertia |
| `imu` | from the centre of mass | axes of the IMU; inertia is left out |

Principal axes M are the eigenvectors of the inertia in the order and with the signs that are nearest to the body axes.
With R = R_BM (columns) and the centre of mass c

    r_M = R^T (r - c),   a_M = R^T a,   R_MS = R^T R_BS                                                    (1)

for positions r, axes a and mountings R_BS of sensors. The world states mountings as quaternions (`imu.rotation.w` ...),
results as rotation vectors.
"""

from collections.abc import Mapping
from itertools import permutations, product

import numpy as np
from scipy.spatial.transform import Rotation

Truth = float | tuple[float, float]
FRAMES = ("airframe", "com", "principal", "imu")
GROUPS = {
    "mass": "mass",
    "com": "centre of mass",
    "inertia": "inertia",
    "principal": "principal moment",
    "gravity": "gravity",
    "thrust_to_weight": "thrust to weight",
    "thrust_coefficient": "thrust coefficient",
    "torque_ratio": "torque ratio",
    "time_constant": "time constant",
    "delay": "delay",
    "max_speed": "motor curve",
    "idle_speed": "motor curve",
    "curve": "motor curve",
    "axis": "rotor axis",
    "spin_inertia": "rotor inertia",
}


def group_of(name: str) -> str:
    """The kind of a parameter, such as `rotor position` or `effectiveness p q`."""
    words = name.split(".")
    last = words[-1]
    if "/" in name:
        return "inertia ratio"
    if words[-2:-1] in (["effectiveness"], ["authority"]):
        rows = next((row for row in ("fx fy", "p q") if last in row.split()), last)
        return f"{words[-2]} {'of rotor acceleration' if last.endswith('_dot') else rows}"
    if words[0] == "inertia":
        return "moment of inertia" if last[0] == last[-1] else "product of inertia"
    if words[0] == "rotors":
        kind = words[2]
        return "rotor position" if kind == "position" else GROUPS.get(kind, kind)
    if words[0] in ("imu", "pose") and len(words) > 2:
        return f"{words[0]} {words[1]}"
    return GROUPS.get(words[0], words[0])


def principal_axes(inertia: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """R_BM (3, 3) nearest to the identity and the moments (3,) of an inertia (3, 3)."""
    moments, vectors = np.linalg.eigh(inertia)
    best, order = np.eye(3), (0, 1, 2)
    nearest = -np.inf
    for columns in permutations(range(3)):
        for signs in product((1.0, -1.0), repeat=3):
            R = vectors[:, columns] * np.array(signs)
            if np.linalg.det(R) > 0.0 and np.trace(R) > nearest:
                best, order, nearest = R, columns, float(np.trace(R))
    return best, moments[list(order)]


def in_frame(truth: Mapping[str, Truth], frame: str) -> dict[str, Truth]:
    """The truth, which is stated in body axes from the airframe's origin, in the frame of a result.

    Products of inertia vanish in the principal one and are left out.
    """
    if frame not in FRAMES:
        raise ValueError(f"frame is {frame!r}; expected {', '.join(FRAMES)}")
    com = _vector(truth, "com") if frame != "airframe" else np.zeros(3)
    result = {name: value for name, value in truth.items() if not name.endswith("rotation.w")}
    R = np.eye(3)
    if frame != "airframe":
        result = {name: value for name, value in result.items() if not name.startswith("com.")}
    if frame == "principal":
        R, moments = principal_axes(_inertia(truth))
        result |= {f"inertia.{axis}{axis}": float(x) for axis, x in zip("xyz", moments, strict=True)}
        for product_ in ("xy", "xz", "yz"):
            result.pop(f"inertia.{product_}", None)
    elif frame == "imu":
        R = _mounting(truth, "imu").as_matrix()
        result = {name: value for name, value in result.items() if not name.startswith("inertia.")}
    heads = {name.removesuffix(".x") for name in truth if name.endswith(".x")}
    for head in heads:
        kind = head.rpartition(".")[2]
        vector = _vector(truth, head)
        if kind == "position":
            vector = R.T @ (vector - com)
        elif kind == "axis":
            vector = R.T @ vector
        elif kind == "rotation":
            vector = (
                Rotation.from_matrix(R.T) * _mounting(truth, head.removesuffix(".rotation"))
            ).as_rotvec()
        else:
            continue
        result |= {f"{head}.{axis}": float(x) for axis, x in zip("xyz", vector, strict=True)}
    return result


def _vector(truth: Mapping[str, Truth], head: str) -> np.ndarray:
    return np.array([truth[f"{head}.{axis}"] for axis in "xyz"], dtype=float)


def _mounting(truth: Mapping[str, Truth], sensor: str) -> Rotation:
    return Rotation.from_quat([*_vector(truth, f"{sensor}.rotation"), truth[f"{sensor}.rotation.w"]])


def _inertia(truth: Mapping[str, Truth]) -> np.ndarray:
    xx, yy, zz, xy, xz, yz = (truth[f"inertia.{name}"] for name in ("xx", "yy", "zz", "xy", "xz", "yz"))
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], dtype=float)
