"""The posterior Cramer-Rao bound of a flight with pose, in NumPy from the true motion: no code of the package is in it.

Unknown are the motion at the start, both biases and all constants of a rigid vehicle, in principal axes M at its centre
of mass; known before is what `prior` says, and a mass from a scale. Every 5 ms rotors turn at the reported speeds with
an error of `SPEED_SIGMA`, which the IMU feels in that instant; poses come at 50 Hz. Derivatives are differences along
the true trajectory, the covariance goes through update and step in units of its prior deviations ([Tichavsky1998]).
"""

import numpy as np
from tests.recovery.catalogue_flights import DEGREE, EVERY, POSE_EVERY, SPEED_SIGMA, STEP, G, turn

FIRST = np.repeat([0.05, 0.2, 3 * DEGREE, 0.1, 0.1, 0.01], 3)
"""Of position, velocity, attitude, rates, biases of accelerometer and gyro."""


class Constants:
    """The constants of a vehicle in principal axes as one vector of changes, its names, and its prior deviations."""

    def __init__(self, vehicle, file):
        self.R, self.moments = vehicle.principal
        R, n = self.R, len(vehicle.k)
        self.vehicle, self.count = vehicle, n
        self.place = (vehicle.place - vehicle.com) @ R
        self.axis = vehicle.axis @ R
        across = np.array([np.linalg.svd(a[None])[2][1:] for a in self.axis])
        self.across = across  # (N, 2, 3) two directions across each axis
        self.imu = (vehicle.imu_place - vehicle.com) @ R, R.T @ vehicle.imu_turn
        self.pose = (vehicle.pose_place - vehicle.com) @ R, R.T @ vehicle.pose_turn
        self.spins = bool(np.any(file.spin_inertia > 0))
        drawn = (file.place - file.com) @ R
        arm = 0.1 * np.max(np.abs(drawn))
        reach = np.maximum(0.1 * np.abs((file.pose_place - file.com) @ R), 5e-3)
        sigma = {
            "pose.position": reach, "pose.rotation": np.full(3, 3 * DEGREE), "imu.position": np.full(3, 5e-3),
            "imu.rotation": np.full(3, 3 * DEGREE), "mass": [0.1 * file.mass], "inertia": 0.1 * file.principal[1],
            "gravity": [0.3, 0.3, 0.98], "place": np.tile([arm, arm, 5e-3], n), "tilt": np.full(2 * n, 3 * DEGREE),
            "k": 0.1 * file.k, "ratio": 0.1 * file.ratio,
        }  # fmt: skip
        if self.spins:
            sigma["spin"] = 0.2 * file.spin_inertia
        self.sigma = np.concatenate([np.asarray(x, float) for x in sigma.values()])
        self.slices, at = {}, 0
        for name, x in sigma.items():
            self.slices[name] = slice(at, at + len(x))
            at += len(x)

    def names(self):
        """Of the constants as `identify` calls them; tilts are not numbers of the result."""
        rotors = self.vehicle.names
        found = [
            f"{s}.{part}.{c}" for s in ("pose", "imu") for part in ("position", "rotation") for c in "xyz"
        ]
        found += ["mass", *(f"inertia.{c}{c}" for c in "xyz"), *(f"gravity.{c}" for c in "xyz")]
        found += [f"rotors.{r}.position.{c}" for r in rotors for c in "xyz"]
        found += [f"rotors.{r}.tilt.{i}" for r in rotors for i in range(2)]
        found += [f"rotors.{r}.{what}" for what in ("thrust_coefficient", "torque_ratio") for r in rotors]
        found += [f"rotors.{r}.spin_inertia" for r in rotors] if self.spins else []
        assert len(found) == len(self.sigma)
        return found

    def truth(self):
        """Name to true number, rotations as rotation vectors, axes by component."""
        x = self.vehicle
        values = [
            self.pose[0],
            vector(self.pose[1]),
            self.imu[0],
            vector(self.imu[1]),
            [x.mass],
            self.moments,
        ]
        values += [[0.0, 0.0, -G], self.place.reshape(-1), np.zeros(2 * self.count), x.k, x.ratio]
        values += [x.spin_inertia] if self.spins else []
        found = dict(zip(self.names(), np.concatenate([np.asarray(v, float) for v in values]), strict=True))
        found = {name: value for name, value in found.items() if ".tilt." not in name}
        for r, axis in zip(x.names, self.axis, strict=True):
            found |= {f"rotors.{r}.axis.{c}": a for c, a in zip("xyz", axis, strict=True)}
        return found

    def changed(self, d):
        """Mass, inertia (3,), places, axes, k, ratio, spin inertia after a change d of the constants."""
        part = {name: d[where] for name, where in self.slices.items()}
        x, n = self.vehicle, self.count
        tilt = part["tilt"].reshape(n, 2)
        axis = self.axis + np.einsum("nij,ni->nj", self.across, tilt)
        axis = axis / np.linalg.norm(axis, axis=1, keepdims=True)
        spin = x.spin_inertia + part.get("spin", np.zeros(n))
        place = self.place + part["place"].reshape(n, 3)
        return (
            x.mass + part["mass"][0],
            self.moments + part["inertia"],
            place,
            axis,
            x.k + part["k"],
            x.ratio + part["ratio"],
            spin,
        )

    def pushed(self, d, w, u, rise):
        """(T, 3) specific force and (T, 3) angular acceleration for rates w (T, 3), speeds u and their rise (T, N)."""
        mass, J, place, axis, k, ratio, own = self.changed(d)
        s = self.vehicle.spin
        force = k[:, None] * axis
        torque = np.cross(place, force) - (s * ratio)[:, None] * force
        spun = (s * own)[:, None] * axis
        push = (u * u) @ torque - rise @ spun - np.cross(w, w * J + u @ spun)
        return (u * u) @ force / mass, push / J


def vector(R):
    """Rotation vector of a matrix."""
    axial = 0.5 * np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    sine, cosine = np.linalg.norm(axial), 0.5 * (np.trace(R) - 1)
    return axial if sine < 1e-9 else axial / sine * np.arctan2(sine, cosine)


def hats(v):
    """(T, 3, 3) cross-product matrices of (T, 3)."""
    out = np.zeros((len(v), 3, 3))
    out[:, 0, 1], out[:, 0, 2], out[:, 1, 2] = -v[:, 2], v[:, 1], -v[:, 0]
    return out - out.transpose(0, 2, 1)


def bound(flown, airframe, file, mass_sigma):
    """Name to bound of the deviation, of the constants and of the components of the axes.

    Args:
        flown: the true flight.
        airframe: whose sensors' noise counts.
        file: the vehicle of the airframe, about which the prior stands.
        mass_sigma: kg, of the scale.
    """
    c = Constants(flown.vehicle, file)
    n, m, T = c.count, len(c.sigma), len(flown.time)
    R, w = flown.attitude @ c.R, flown.rates @ c.R
    u, rise = flown.speeds, flown.rises
    size, small, still = 18 + m, 1e-4, np.zeros(m)
    f, a = c.pushed(still, w, u, rise)

    # Derivatives of force and angular acceleration by rates, constants and speeds.
    by_rates = np.zeros((T, 3, 3))
    for i in range(3):
        e = 1e-4 * np.eye(3)[i]
        by_rates[:, :, i] = (c.pushed(still, w + e, u, rise)[1] - c.pushed(still, w - e, u, rise)[1]) / 2e-4
    by_constants = np.zeros((2, T, 3, m))
    for i in range(m):
        e = small * c.sigma[i] * np.eye(m)[i]
        pair = zip(c.pushed(e, w, u, rise), c.pushed(-e, w, u, rise), strict=True)
        for j, (high, low) in enumerate(pair):
            by_constants[j, :, :, i] = (high - low) / (2 * small)
    by_speeds = np.zeros((2, T, 3, n))
    for i in range(n):
        e = np.eye(n)[i]
        pair = zip(c.pushed(still, w, u + e, rise), c.pushed(still, w, u - e, rise), strict=True)
        for j, (high, low) in enumerate(pair):
            by_speeds[j, :, :, i] = 0.5 * (high - low)

    # x' = A x + B constants + C speeds, in units of prior deviations.
    unit = np.concatenate([FIRST, c.sigma])
    A = np.zeros((T, 12, 12 + m + n))
    A[:, 0:3, 3:6] = np.eye(3)
    A[:, 3:6, 6:9] = -R @ hats(f)
    A[:, 3:6, 12 : 12 + m] = R @ by_constants[0]
    A[:, 3:6, 12 + c.slices["gravity"].start : 12 + c.slices["gravity"].stop] += c.sigma[
        c.slices["gravity"]
    ] * np.eye(3)
    A[:, 3:6, 12 + m :] = R @ by_speeds[0]
    A[:, 6:9, 6:9] = -hats(w)
    A[:, 6:9, 9:12] = np.eye(3)
    A[:, 9:12, 9:12] = by_rates
    A[:, 9:12, 12 : 12 + m] = by_constants[1]
    A[:, 9:12, 12 + m :] = by_speeds[1]
    A[:, :, :12] *= FIRST[:12]
    A /= FIRST[:12, None]
    dt = STEP * EVERY
    Phi = dt * A + 0.5 * dt**2 * A[:, :, :12] @ A + dt**3 / 6 * A[:, :, :12] @ A[:, :, :12] @ A
    Phi[:, range(12), range(12)] += 1.0

    # What the IMU reads: place r and turn R_MI.
    r, R_MI = c.imu
    felt = f + np.cross(a, r) + np.cross(w, np.cross(w, r))
    lever = -hats(np.tile(r, (1, 1)))[0]  # a x r = lever a
    H = np.zeros((T, 6, size + n))
    spun = hats(w) @ lever - hats(np.cross(w, r)) + lever @ by_rates
    H[:, :3, 9:12] = spun * FIRST[9:12]
    H[:, :3, 12:15] = R_MI * FIRST[12:15]
    H[:, :3, 18:size] = by_constants[0] + lever @ by_constants[1]
    H[:, :3, size:] = by_speeds[0] + lever @ by_speeds[1]
    place, angle = (18 + c.slices[f"imu.{x}"].start for x in ("position", "rotation"))
    H[:, :3, place : place + 3] += (hats(a) + hats(w) @ hats(w)) * c.sigma[place - 18]
    H[:, 3:, 9:12] = np.eye(3) * FIRST[9:12]
    H[:, 3:, 15:18] = R_MI * FIRST[15:18]
    H = R_MI.T @ H.reshape(T, 2, 3, -1)
    H[:, 0, :, angle : angle + 3] += hats(felt @ R_MI) * c.sigma[angle - 18]
    H[:, 1, :, angle : angle + 3] += hats(w @ R_MI) * c.sigma[angle - 18]
    H = H.reshape(T, 6, -1)
    imu, pose = airframe.imu[0], airframe.pose[0]
    H /= np.repeat([imu.sigma_accel, imu.sigma_gyro], 3)[:, None]
    H[:, :, size:] *= SPEED_SIGMA
    Phi[:, :, 12 + m :] *= SPEED_SIGMA

    # What the pose sensor reads.
    p, R_MP = c.pose
    Q = np.zeros((T, 6, size))
    Q[:, :3, :3] = np.eye(3) * FIRST[:3]
    Q[:, :3, 6:9] = -R @ hats(p[None])[0] * FIRST[6:9]
    where, how = (18 + c.slices[f"pose.{x}"].start for x in ("position", "rotation"))
    Q[:, :3, where : where + 3] = R * c.sigma[where - 18 : where - 15]
    Q[:, 3:, 6:9] = R_MP.T * FIRST[6:9]
    Q[:, 3:, how : how + 3] = np.eye(3) * c.sigma[how - 18]
    Q /= np.repeat([pose.sigma_position, pose.sigma_rotation], 3)[:, None]

    P = np.eye(size)
    weighed = 18 + c.slices["mass"].start
    P[weighed, weighed] = 1 / (1 + (unit[weighed] / mass_sigma) ** 2)
    moving = np.r_[0:12]
    driven = np.r_[0:12, 18 : size + n]
    wide = np.zeros((size + n, size + n))
    for k in range(T):
        if k % (POSE_EVERY // EVERY) == 0:
            P = updated(P, Q[k])
        wide[:] = 0.0
        wide[:size, :size] = P
        wide[range(size, size + n), range(size, size + n)] = 1.0
        wide = updated(wide, H[k])
        rows = Phi[k] @ wide[driven]
        new = wide[:size, :size].copy()
        new[moving] = rows[:, :size]
        new[:, moving] = rows[:, :size].T
        new[:12, :12] = rows[:, driven] @ Phi[k].T
        P = new
    return named(c, P[18:, 18:] * np.outer(c.sigma, c.sigma))


def updated(P, H):
    """The covariance after readings of unit noise."""
    PH = P @ H.T
    S = H @ PH + np.eye(len(H))
    P = P - PH @ np.linalg.solve(S, PH.T)
    return 0.5 * (P + P.T)


def named(c, cov):
    """Deviations by name, from the covariance of the constants."""
    sigma = dict(zip(c.names(), np.sqrt(np.diag(cov)), strict=True))
    found = {name: s for name, s in sigma.items() if ".tilt." not in name}
    for kind in ("pose", "imu"):  # rotation vectors change by the inverse of the right Jacobian
        where = c.slices[f"{kind}.rotation"]
        v = vector(getattr(c, kind)[1])
        J = np.stack(
            [(vector(turn(v) @ turn(e)) - vector(turn(v) @ turn(-e))) / 2e-5 for e in 1e-5 * np.eye(3)],
            axis=1,
        )
        turned = np.sqrt(np.diag(J @ cov[where, where] @ J.T))
        found |= {f"{kind}.rotation.{x}": s for x, s in zip("xyz", turned, strict=True)}
    for i, r in enumerate(c.vehicle.names):
        at = c.slices["tilt"].start + 2 * i
        tilt = c.across[i].T @ cov[at : at + 2, at : at + 2] @ c.across[i]
        found |= {
            f"rotors.{r}.axis.{x}": np.sqrt(max(v, 0.0)) for x, v in zip("xyz", np.diag(tilt), strict=True)
        }
    return found
