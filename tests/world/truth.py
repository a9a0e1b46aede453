"""What is true of a flight, by the names of the program's parameters.

Values are numbers, or (low, high) where two answers are right: the lag lies between spin-up and spin-down, the
delay between the dead time and what the log shows, dead time plus lateness and clock offset of the rotor telemetry.
What depends on the battery holds at the mean voltage of the flight. Positions are from the airframe's origin, in
body axes; effectiveness is that of still air.
"""

import numpy as np
from tests.world.drawings import Drawing
from tests.world.vectors import six_of
from tests.world.vehicles import Vehicle, effectiveness

COMPONENTS = ("xx", "yy", "zz", "xy", "xz", "yz")


def truth_of(vehicle: Vehicle, drawing: Drawing, duration: float, speed_late: float) -> dict:
    """Truth by name for a flight of `duration` s whose rotor telemetry shows up `speed_late` s late."""
    truth: dict = {"mass": float(vehicle.mass)}
    truth |= _vector("com", vehicle.com)
    truth |= {f"inertia.{k}": float(v) for k, v in zip(COMPONENTS, six_of(vehicle.inertia), strict=True)}
    force, angular, reaction = effectiveness(vehicle)
    voltage = 1 - float(vehicle.sag) * duration / 2
    late = sorted((float(vehicle.dead_time), float(vehicle.dead_time) + speed_late))
    for i, name in enumerate(drawing.rotor_names):
        rotor = f"rotors.{name}"
        truth[f"{rotor}.thrust_coefficient"] = float(vehicle.thrust_coefficient[i])
        truth[f"{rotor}.torque_ratio"] = float(vehicle.torque_coefficient[i] / vehicle.thrust_coefficient[i])
        truth[f"{rotor}.time_constant"] = (float(vehicle.lag_up[i]), float(vehicle.lag_down[i]))
        truth[f"{rotor}.delay"] = (late[0], late[1])
        truth[f"{rotor}.max_speed"] = float(vehicle.max_speed[i]) * voltage
        truth[f"{rotor}.idle_speed"] = float(vehicle.idle_speed[i])
        truth[f"{rotor}.curve"] = float(vehicle.curve[i])
        truth[f"{rotor}.spin_inertia"] = float(vehicle.spin_inertia[i])
        truth |= _vector(f"{rotor}.position", vehicle.position[:, i])
        truth |= _vector(f"{rotor}.axis", vehicle.axis[:, i])
        rows = dict(zip(("fx", "fy", "fz"), force[:, i], strict=True))
        rows |= dict(zip("pqr", angular[:, i], strict=True))
        rows |= dict(zip(("p_dot", "q_dot", "r_dot"), reaction[:, i], strict=True))
        truth |= {f"{rotor}.effectiveness.{row}": float(value) for row, value in rows.items()}
    thrust = (vehicle.thrust_coefficient * (vehicle.max_speed * voltage) ** 2 * vehicle.axis[2]).sum()
    truth["thrust_to_weight"] = float(thrust / (vehicle.mass * 9.80665))
    for sensor in ("imu", "pose"):
        truth |= _vector(f"{sensor}.position", getattr(vehicle, f"{sensor}_position"))
        wxyz = getattr(vehicle, f"{sensor}_wxyz")
        truth |= {f"{sensor}.rotation.{k}": float(v) for k, v in zip("wxyz", wxyz, strict=True)}
    return truth


def _vector(name: str, values) -> dict:
    return {f"{name}.{k}": float(np.asarray(v)) for k, v in zip("xyz", values, strict=True)}
