"""From an airframe file to what the filter estimates: seen from the centre of mass, on the principal axes.

With the whole vehicle's mass m, centre of mass c and inertia J about it (body axes, rotors locked), R_BM holds the
principal axes in body axes, ordered and signed to be as close to the body's own as possible:

    r_M = R_BM^T (r_B - c),   alpha_M = R_BM^T alpha_B,   q_MS = q_BM^* q_BS                               (1)
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from haltere.airframe import Airframe
from haltere.airframe.fields import principal_axes, tensor
from haltere.dynamics import Model
from haltere.dynamics.rigid import at_rest
from haltere.estimation.core.space import Mean
from haltere.estimation.vehicle.coordinates import Axes, Effect, VehicleCoordinates
from haltere.foundation import HaltereError
from haltere.foundation.arrays import Array, ArrayLike
from haltere.foundation.constants import GRAVITY
from haltere.foundation.programs import CachedProgram
from haltere.lie import so3

DEFAULT_LAG = 0.03
"""Of a motor whose file names none, s."""


class Description(NamedTuple):
    """A vehicle ready for the filter."""

    coordinates: VehicleCoordinates
    physical: Mean
    """Its constants in physical numbers."""
    R_BM: np.ndarray
    """(3, 3) principal axes in body axes."""
    com: np.ndarray
    """(3,) centre of mass in the body frame, m."""


def _mounted(R_ML: Array, wxyz: Array) -> Array:
    return jax.vmap(lambda R, q: so3.multiply_wxyz(so3.to_wxyz(R), q))(R_ML, wxyz)


_turned = CachedProgram(_mounted, None, 0, fast_compile=True)
"""(m, 4) q_MS of equation (1) from the axes (m, 3, 3) of links and q_LS (m, 4)."""


def describe_vehicle(
    airframe: Airframe,
    axes: Axes = "sphere",
    effects: tuple[Effect, ...] = (),
    joint_angles: ArrayLike | None = None,
) -> Description:
    """The description of an airframe whose links, if any, are held at `joint_angles` (J,) rad, zero where not given.

    Raises:
        HaltereError: no rotors, no IMU, or neither pose nor position sensor.
    """
    sensors: list[Any] = [*airframe.pose, *airframe.position]
    if not airframe.rotors or not airframe.imu or not sensors:
        missing = (
            "rotors" if not airframe.rotors else "an IMU" if not airframe.imu else "a pose or position sensor"
        )
        raise HaltereError(
            f"{airframe.name}: the vehicle filter needs {missing}; add it to the airframe file"
        )
    model = Model.from_airframe(airframe)
    angles = np.zeros(model.topology.joints) if joint_angles is None else np.asarray(joint_angles, float)
    mass, com, inertia, places, turns = (np.asarray(x) for x in at_rest(model, angles))
    R_BM, moments = principal_axes(inertia)
    rotors, names = model.rotors, model.topology.link_names
    position = (places[len(names) :] - com) @ R_BM
    axis = np.einsum("rij,rj->ri", turns[len(names) :], np.asarray(rotors.axis)) @ R_BM

    def placed(sensor: Any) -> Any:
        link = names.index(sensor.link)
        return jnp.asarray((places[link] + turns[link] @ np.asarray(sensor.position) - com) @ R_BM)

    outer, imu = sensors[0], airframe.imu[0]
    facing = np.asarray([getattr(outer, "wxyz", (1.0, 0.0, 0.0, 0.0)), imu.wxyz], float)
    carriers = np.stack([R_BM.T @ turns[names.index(sensor.link)] for sensor in (outer, imu)])
    turned = np.asarray(_turned(carriers, facing))
    coordinates = VehicleCoordinates(
        model.topology.rotor_names,
        tuple(float(s) for s in np.asarray(rotors.spin)),
        tuple((float(a[0]), float(a[1]), float(a[2])) for a in axis),
        axes,
        effects,
    )
    inclination = np.arctan2(np.hypot(axis[:, 0], axis[:, 1]), axis[:, 2])
    azimuth = np.where(inclination > 1e-9, np.arctan2(axis[:, 1], axis[:, 0]), 0.0)
    spherical = np.stack([inclination, azimuth], axis=1)
    physical = {
        "pose_position": placed(outer),
        "pose_rotation": jnp.asarray(turned[0]),
        "imu_position": placed(imu),
        "imu_rotation": jnp.asarray(turned[1]),
        "mass": jnp.asarray([mass]),
        "inertia": jnp.asarray(moments),
        "gravity": jnp.asarray([0.0, 0.0, -GRAVITY]),
        "rotor_position": jnp.asarray(position),
        "rotor_tilt": jnp.asarray(spherical if axes == "spherical" else np.zeros((len(axis), 2))),
        "thrust_coefficient": rotors.thrust_coefficient,
        "torque_ratio": jnp.asarray(
            np.asarray(rotors.drag_coefficient) / np.asarray(rotors.thrust_coefficient)
        ),
    }
    return Description(
        coordinates, coordinates.physical.select({**physical, **_effects(airframe, R_BM)}), R_BM, com
    )


def _effects(airframe: Airframe, R_BM: np.ndarray) -> Mean:
    """What the file says of the effects; of the body's drag only what acts along principal axes."""
    rotors, drag = airframe.rotors, airframe.body.drag
    inflows = [r.inflow for r in rotors]
    flow = [np.mean([getattr(i, name) if i else 0.0 for i in inflows]) for name in ("axial", "hub")]
    squared = R_BM.T**2
    turned = [squared @ np.asarray(x) for x in ((drag.linear, drag.quadratic) if drag else np.zeros((2, 3)))]
    lags = [r.time_constant for r in rotors if r.time_constant]
    inertia = [np.asarray(r.axis) @ tensor(r.inertia) @ np.asarray(r.axis) for r in rotors]
    return {
        "drag": jnp.asarray(np.concatenate([flow, *turned])),
        "spin_inertia": jnp.asarray(inertia),
        "time_constant": jnp.asarray([np.mean(lags) if lags else DEFAULT_LAG]),
        "delay": jnp.asarray(np.zeros(1)),
    }


@jax.jit
def attitude_from_sensor(q_WS: Array, q_MS: Array) -> Array:
    """(4,) q_WM of a vehicle whose sensor, mounted at q_MS, is at q_WS."""
    return so3.multiply_wxyz(q_WS, so3.conjugate_wxyz(q_MS))


def _motion(
    mounted: tuple[Array, Array], position: Array, wxyz: Array, velocity_W: Array, gyro: Array
) -> Mean:
    """Position, velocity, attitude and rates of the centre of mass.

    Args:
        mounted: lever (3,) of the outer sensor, m, and q_MI (4,).
        position: (3,) of the outer sensor, m, world.
        wxyz: (4,) q_WM.
        velocity_W: (3,) of the outer sensor, m/s, world.
        gyro: (3,) rad/s, axes of the IMU.
    """
    lever, q_MI = mounted
    R, rates = so3.from_wxyz(wxyz), so3.from_wxyz(q_MI) @ gyro
    velocity = R.T @ velocity_W - jnp.cross(rates, lever)
    return {"position": position - R @ lever, "velocity": velocity, "attitude": wxyz, "rates": rates}


first_motion = CachedProgram(
    _motion, None, dict.fromkeys(("position", "velocity", "attitude", "rates"), 0), fast_compile=True
)
"""`_motion`, compiled."""
