"""Table I of [Fresk2017]: thirty seconds of excitation, then an offline fit of the numbers that stay.

With Omega in units of top speed, following the command with lag tau, n_i the thrust directions, l_i the positions and
e_i the senses of rotation (+1 for ccw), all known, the IMU in the centre and gyroscopic terms left out as in the paper:

    f = (A_F / m) sum n_i Omega_i^2                                                                        (1)
    w_j(t + D) - w_j(t) = (A_F / I_j) int a_j dt + (B_F / I_j) int b_j dt,
    a = sum l_i x n_i Omega_i^2,   b = -sum e_i n_i Omega_i^2                                              (2)

Both are linear in the numbers for a given tau. (2) in integral form needs no derivative of the gyroscope. tau is where
the weighted residuals of both together are least. On the Neo tilt and sense of rotation alternate together, so b_j =
kappa_j a_j (exactly about yaw, nearly about roll and pitch): no flight can tell A_F / I_j from B_F / I_j, only

    E_j = A_F / I_j + kappa_j B_F / I_j                                                                    (3)

is fitted. That is why Table I could converge to an A_F / I_zz that no rigid body has: its E_zz is what counts.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar

from haltere.airframe import from_catalogue
from haltere.flight import Flight
from haltere.scenarios.scenario_flight import simulate
from haltere.simulation.scenario import scenario_from_text

PAPER = {
    "A_F/m": 4.5,
    "A_F/Ixx": 81.0,
    "A_F/Iyy": 78.0,
    "A_F/Izz": 7.8,
    "B_F/Ixx": 8.5,
    "B_F/Iyy": 8.5,
    "B_F/Izz": 3.9,
    "tau": 0.045,
}
"""Table I as printed; m/s2, rad/s2 per metre of arm, rad/s2, s."""
WINDOW = 11
"""Samples of D in equation (2)."""
EXCITATION = """
airframe = "neo"
duration = 30.0
[trajectory]
kind = "multisine"
amplitude = [0.15, 0.15, 0.12, 0.12]
band_hz = [0.2, 1.6]
[noise]
rotor_rate = 220.0
[timing]
control_rate = 220.0
step_rate = 1100.0
truth_rate = 20.0
"""


@dataclass(frozen=True)
class TableOne:
    """The numbers of Table I with their deviations."""

    value: dict[str, float]
    sigma: dict[str, float]


def excitation(seed: int = 0) -> Flight:
    """A flight of 30 s that moves the Neo about all its axes."""
    return simulate(scenario_from_text(EXCITATION), seed=seed)


def true_table() -> dict[str, float]:
    """What the catalogue's Neo has; it cannot have the A_F/Izz that the paper prints."""
    neo = from_catalogue("neo")
    rotor = neo.rotors[0]
    top = (rotor.speed_limits or (0.0, 1.0))[1]
    force = rotor.thrust_coefficient * top**2
    xx, yy, zz = neo.body.inertia[:3]
    drag = force * rotor.torque_ratio
    found = {"A_F/m": force / neo.body.mass, "tau": float(rotor.time_constant or 0.0)}
    for name, moment in (("xx", xx), ("yy", yy), ("zz", zz)):
        found |= {f"A_F/I{name}": force / moment, f"B_F/I{name}": drag / moment}
    return found


def patterns() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(R, 3) n, (R, 3) of a and (R, 3) of b of equation (2), for each rotor at full speed."""
    rotors = from_catalogue("neo").rotors
    n = np.array([r.axis for r in rotors])
    place = np.array([r.position for r in rotors])
    turn = np.array([r.spin_sign for r in rotors])
    return n, np.cross(place, n), -turn[:, None] * n


def effective(table: dict[str, float]) -> dict[str, float]:
    """What a flight can tell of a Table I: A_F/m, E of equation (3), tau."""
    _, a, b = patterns()
    kappa = np.sum(a * b, axis=0) / np.sum(a * a, axis=0)
    turning = {
        f"E_{name}": table[f"A_F/I{name}"] + float(kappa[j]) * table[f"B_F/I{name}"]
        for j, name in enumerate(("xx", "yy", "zz"))
    }
    return {"A_F/m": table["A_F/m"], **turning, "tau": table["tau"]}


def fit_table_one(flight: Flight) -> TableOne:
    """What a flight of the Neo with `imu.accel`, `imu.gyro` and `rotors.command` tells of Table I, see `effective`."""
    n, arms, _ = patterns()
    time = flight["imu.gyro"].seconds()
    gyro, accel = flight["imu.gyro"].values, flight["imu.accel"].values
    given = flight["rotors.command"]
    places = np.searchsorted(given.seconds(), time + 1e-9, side="right") - 1
    command = given.values[np.maximum(places, 0)]
    dt = np.diff(time, append=2.0 * time[-1] - time[-2])

    def solved(tau: float) -> tuple[float, np.ndarray, np.ndarray]:
        speed = np.empty_like(command)
        speed[0] = command[0]
        for k in range(1, len(command)):
            keep = np.exp(-dt[k - 1] / tau)
            speed[k] = command[k - 1] + keep * (speed[k - 1] - command[k - 1])
        square = speed**2
        columns: list[tuple[np.ndarray, np.ndarray]] = [((square @ n).reshape(-1, 1), accel.reshape(-1))]
        turning = square @ arms
        steps = 0.5 * (turning[1:] + turning[:-1]) * dt[:-1, None]
        grown = np.concatenate([np.zeros((1, 3)), np.cumsum(steps, axis=0)])
        for j in range(3):
            change = (grown[WINDOW:, j] - grown[:-WINDOW, j])[::WINDOW]
            columns.append((change[:, None], (gyro[WINDOW:, j] - gyro[:-WINDOW, j])[::WINDOW]))
        values, sigmas, misfit = [], [], 0.0
        for table, right in columns:
            found = np.linalg.lstsq(table, right, rcond=None)[0]
            left = right - table @ found
            variance = left @ left / (len(right) - table.shape[1])
            values += list(found)
            sigmas += list(np.sqrt(variance * np.diagonal(np.linalg.inv(table.T @ table))))
            misfit += len(right) * np.log(variance)
        return misfit, np.array(values), np.array(sigmas)

    best = minimize_scalar(lambda tau: solved(tau)[0], bounds=(0.01, 0.15), method="bounded")
    tau, h = float(best.x), 1e-3
    _, values, sigmas = solved(tau)
    bend = (solved(tau + h)[0] - 2.0 * solved(tau)[0] + solved(tau - h)[0]) / h**2
    names = ("A_F/m", "E_xx", "E_yy", "E_zz")
    value = {**dict(zip(names, map(float, values), strict=True)), "tau": tau}
    sigma = {
        **dict(zip(names, map(float, sigmas), strict=True)),
        "tau": float(np.sqrt(2.0 / max(bend, 1e-9))),
    }
    return TableOne(value, sigma)
