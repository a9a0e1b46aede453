"""What a flight without pose allows at best: least squares on the true signals with the sensors' noise known.

The accelerometer is regressed on the true squared speeds u, a bias c across and the place r of the IMU, the gyro on the
integrals of u, of rotor accelerations a, of the product of the rates and of a steady torque, all in one, together with
the delay d of the telemetry:

    f = F (u - u' d) + X(w, w') r + c + N(0, s_f^2)
    w = int [T (u - u' d) + B (a - a' d) + Q ww + e] + b + N(0, s_w^2)
    cov = (A^T S^-1 A + P^-1)^-1,    P: r to 5 mm, d to 10 ms                                              (1)

linear about the truth, S white. Noise of the rotor speeds is left out, and so is the belief of the method that rotors
stand upright unless they are drawn otherwise: deviations of fx, fy, p_dot and q_dot may lie below. Beside (1) stands
the floor that the method states for what the laws leave out: 2 % of a number of the lift and of the largest lift
across, 3 % of the largest number of a row of torque, and 3 % of the largest answer to rotor accelerations.
"""

import numpy as np

FLOOR_FORCE, FLOOR_TORQUE = 0.02, 0.03
PLACE, DELAY = 5e-3, 0.01


def row_bound(flown, airframe):
    """Name to the least deviation with the floors, of the rows of all rotors and of the IMU's place."""
    x, imu = flown.vehicle, airframe.imu[0]
    n, T, dt = len(x.k), len(flown.time), flown.time[1] - flown.time[0]
    u, a, w, dw = flown.speeds**2, flown.rises, flown.rates, flown.turning
    force, torque, answer = x.rows
    size = 9 * n + 15
    A, G = np.zeros((T, 3, size)), np.zeros((T, 3, size))
    place, delay = slice(size - 4, size - 1), size - 1
    along = np.stack([np.cross(dw, e) + np.cross(w, np.cross(w, e)) for e in np.eye(3)], axis=2)
    A[:, :, place] = along
    rise_u, rise_a = 2 * flown.speeds * a, np.gradient(a, dt, axis=0)
    for k in range(3):
        A[:, k, k * n : (k + 1) * n] = u
        A[:, k, delay] = -rise_u @ force[k]
        if k < 2:
            A[:, k, 9 * n + k] = 1.0
        i, j = ((1, 2), (0, 2), (0, 1))[k]
        G[:, k, (3 + k) * n : (4 + k) * n] = np.cumsum(u, axis=0) * dt
        G[:, k, (6 + k) * n : (7 + k) * n] = np.cumsum(a, axis=0) * dt
        G[:, k, 9 * n + 2 + k] = np.cumsum(w[:, i] * w[:, j]) * dt
        G[:, k, 9 * n + 5 + k] = np.arange(T) * dt
        G[:, k, 9 * n + 8 + k] = 1.0
        G[:, k, delay] = -np.cumsum(rise_u @ torque[k] + rise_a @ answer[k]) * dt
    X = np.concatenate([A.reshape(-1, size) / imu.sigma_accel, G.reshape(-1, size) / imu.sigma_gyro])
    before = np.zeros(size)
    before[place], before[delay] = PLACE**-2, DELAY**-2
    scale = np.sqrt(np.sum(X**2, axis=0) + before)
    M = (X / scale).T @ (X / scale) + np.diag(before / scale**2)
    sigma = np.sqrt(np.diag(np.linalg.pinv(M, rcond=1e-13))) / scale
    found = {f"imu.position.{c}": s for c, s in zip("xyz", np.hypot(sigma[place], 5e-4), strict=True)}
    lift = np.abs(force[2])
    for k, c in enumerate("xyz"):
        floors = {
            f"f{c}": FLOOR_FORCE * (lift if c == "z" else np.full(n, lift.max())),
            "pqr"[k]: np.full(n, FLOOR_TORQUE * np.abs(torque[k]).max()),
            f"{'pqr'[k]}_dot": np.full(n, FLOOR_TORQUE * np.abs(answer).max()),
        }
        for row, (last, floor) in zip((k, 3 + k, 6 + k), floors.items(), strict=True):
            both = np.hypot(sigma[row * n : (row + 1) * n], floor)
            found |= {f"rotors.{r}.effectiveness.{last}": s for r, s in zip(x.names, both, strict=True)}
    return found
