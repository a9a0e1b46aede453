"""What methods with pose should say of a vehicle of `catalogue_flights`: body axes, positions from its origin."""

import numpy as np
from tests.recovery.catalogue_flights import G, Spread

BUILT = Spread(
    mass=0.01,
    inertia=0.1,
    k=0.05,
    ratio=0.08,
    arm=0.015,
    height=2e-3,
    tilt=8e-3,
    spin=0.04,
    sensor=3e-3,
    turned=0.02,
)
"""A vehicle built about as drawn."""


def body_truth(vehicle):
    """Name to true number of a vehicle, in body axes from the airframe's origin."""
    J = vehicle.inertia
    found = {"mass": vehicle.mass}
    found |= {f"com.{c}": x for c, x in zip("xyz", vehicle.com, strict=True)}
    found |= {
        f"inertia.{a}{b}": J["xyz".index(a), "xyz".index(b)] for a, b in ("xx", "yy", "zz", "xy", "xz", "yz")
    }
    found |= {f"gravity.{c}": x for c, x in zip("xyz", (0.0, 0.0, -G), strict=True)}
    for sensor, place, turned in (
        ("imu", vehicle.imu_place, vehicle.imu_turn), ("pose", vehicle.pose_place, vehicle.pose_turn),
    ):  # fmt: skip
        found |= {f"{sensor}.position.{c}": x for c, x in zip("xyz", place, strict=True)}
        found |= {f"{sensor}.rotation.{c}": x for c, x in zip("xyz", vector(turned), strict=True)}
    rows = [row for block in vehicle.rows for row in block]
    kinds = ("fx", "fy", "fz", "p", "q", "r", "p_dot", "q_dot", "r_dot")
    for i, name in enumerate(vehicle.names):
        head = f"rotors.{name}"
        found |= {f"{head}.{kind}.{c}": v[i, k] for kind, v in (("position", vehicle.place), ("axis", vehicle.axis))
                  for k, c in enumerate("xyz")}  # fmt: skip
        found |= {f"{head}.effectiveness.{kind}": row[i] for kind, row in zip(kinds, rows, strict=True)}
        found |= {f"{head}.thrust_coefficient": vehicle.k[i], f"{head}.torque_ratio": vehicle.ratio[i]}
        if vehicle.spin_inertia.any():
            found[f"{head}.spin_inertia"] = vehicle.spin_inertia[i]
    return found


def vector(R):
    """Rotation vector of a matrix."""
    axial = 0.5 * np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    sine, cosine = np.linalg.norm(axial), 0.5 * (np.trace(R) - 1)
    return axial if sine < 1e-9 else axial / sine * np.arctan2(sine, cosine)
