"""Trim: by how much the centre of gravity of the nominal airframe must be moved to explain the torque.

With the true torque of rotors and air about the true centre of gravity, gusts included, without the gyroscopic torque
and that of accelerated rotors, and force F and torque of the nominal rotors about the nominal centre, both at the
true rotor speeds:

    (1)  torque_true = torque_nominal - d x F,  d = (x, y, 0)
    (2)  x = (torque_true - torque_nominal)_y / F_z,  y = -(torque_true - torque_nominal)_x / F_z

F_z is the nominal thrust, which in a hover is the weight within the spread of the rotors. So the trim holds, beside
the offset of the centre, what rotors unlike the nominal ones and the wind do; a mixer wants it, an estimator of the
centre alone does not.
"""

import numpy as np
from tests.world.drawings import Drawing
from tests.world.plant import Plant
from tests.world.vectors import cross, rotation_matrix

WINDOW = 10  # records of 0.1 s that are averaged
LAST = 10.0  # s at the end of a flight that count


def nominal_loads(drawing: Drawing, speed):
    """Force and torque (3, N) of the nominal rotors about the nominal centre at speeds (R, N), body axes."""
    thrust = drawing.thrust_coefficient[:, None] * speed**2
    lever = drawing.position - drawing.com[:, None]
    torque = cross(lever, drawing.axis) - drawing.spin * drawing.torque_ratio * drawing.axis
    return drawing.axis @ thrust, torque @ thrust


def true_torque(plant: Plant, time: float):
    """Torque (3, N) of rotors and air about the true centre at the plant's state, body axes."""
    still = np.zeros_like(plant.speed)
    wrench = plant.wrench(time, plant.motion, plant.speed, still, rotation_matrix(plant.motion.wxyz))
    return wrench.torque - cross(plant.body.com, wrench.force)


def trim_of(plant: Plant, drawing: Drawing, time: float):
    """Trim (2, N) m at the plant's state, (2)."""
    force, torque = nominal_loads(drawing, plant.speed)
    more = true_torque(plant, time) - torque
    return np.stack([more[1], -more[0]]) / np.maximum(force[2], 1e-3)


def averaged(values, window: int = WINDOW):
    """Mean (T, ...) of each of the values (T, ...) with those before it, `window` in all or as many as there are."""
    total = np.cumsum(values, axis=0)
    count = np.minimum(np.arange(1, len(values) + 1), window)
    total[window:] = total[window:] - total[:-window]
    return total / count.reshape(-1, *(1,) * (np.ndim(values) - 1))


def trim_left(flight, used=None) -> float:
    """What is left of the trim, m: rms length over the last 10 s of the 1 s mean of trim minus `used`.

    `used` (T, 2) m is the offset from the nominal centre by which the mixer allocates, every 0.1 s; without it that
    of the loop's state "used".
    """
    used = flight.said["used"] if used is None else np.asarray(used)
    rest = averaged(flight.trim - used[:, :2])[flight.said_time > flight.said_time[-1] - LAST + 1e-6]
    return float(np.sqrt((rest**2).sum(axis=1).mean()))
