"""What a flight without pose allows at best: least squares on the true signals with the sensors' noise known.

Each row of force is a regression of the accelerometer on the true squared speeds (and a bias across), each row of
torque one of the gyro on their integrals, those of rotor accelerations, the product of the rates, a slow torque that
walks (integrated white noise is what the method leaves to the air) and a bias:

    cov = (X^T S^-1 X)^-1                                                                                 (1)

with S of the white noise. Beside it stands the floor that the method states for what the laws leave out: 2 % of a row
of force, 3 % of the largest number of a row of torque.
"""

import numpy as np

FLOOR_FORCE, FLOOR_TORQUE = 0.02, 0.03


def row_bound(flown, airframe):
    """Name to the least deviation with the floors, of the rows of all rotors."""
    x, imu = flown.vehicle, airframe.imu[0]
    u, n = flown.speeds**2, len(x.k)
    force, torque, _ = x.rows
    dt = flown.time[1] - flown.time[0]
    found = {}
    across = np.column_stack([u, np.ones(len(u))])
    for c in "xyz":
        X = u if c == "z" else across
        sigma = imu.sigma_accel * np.sqrt(np.diag(np.linalg.pinv(X.T @ X)))[:n]
        floor = FLOOR_FORCE * (np.abs(force[2]) if c == "z" else np.max(np.abs(force[2])))
        found |= {
            f"rotors.{r}.effectiveness.f{c}": s for r, s in zip(x.names, np.hypot(sigma, floor), strict=True)
        }
    w = flown.rates
    for k, c in enumerate("pqr"):
        i, j = ((1, 2), (0, 2), (0, 1))[k]
        known = np.column_stack([u, flown.rises, w[:, i] * w[:, j], np.ones(len(u))])
        X = np.column_stack([np.cumsum(known, axis=0) * dt, np.ones(len(u))])
        size = np.sqrt(np.mean(X**2, axis=0)) + 1e-300
        cov = np.linalg.pinv((X / size).T @ (X / size), rcond=1e-12)
        sigma = (imu.sigma_gyro * np.sqrt(np.diag(cov)) / size)[:n]
        floor = FLOOR_TORQUE * np.max(np.abs(torque[k]))
        found |= {
            f"rotors.{r}.effectiveness.{c}": s for r, s in zip(x.names, np.hypot(sigma, floor), strict=True)
        }
    return found
