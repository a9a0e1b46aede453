"""Screw algebra in the paper's notation: twists (angular, linear), wrenches (moment, force), in plain NumPy.

Ad_T = [[R, 0], [[p] R, R]] = Ad(T)                                            [Hong2021] eq. (14)       (1)
ad_V = [[[w], 0], [[v], [w]]] = ad(V)                                          [Hong2021] eq. (11)       (2)
G' = Ad_T^T G Ad_T = seen_from(G, T)                                           [Hong2021] eq. (17)       (3)
e^{[S] q} = screw_exponential(S, q), for a revolute screw S = (n, c x n)       [Hong2021] eq. (21)       (4)
"""

import numpy as np

from haltere.foundation.numbers import Floats


def skew(x: Floats) -> Floats:
    """(3, 3) cross-product matrix of x."""
    return np.array([[0.0, -x[2], x[1]], [x[2], 0.0, -x[0]], [-x[1], x[0], 0.0]])


def pose(R: Floats, p: Floats) -> Floats:
    """(4, 4) displacement with rotation R and position p."""
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = R, p
    return T


def inverse(T: Floats) -> Floats:
    """(4, 4) inverse displacement."""
    return pose(T[:3, :3].T, -T[:3, :3].T @ T[:3, 3])


def Ad(T: Floats) -> Floats:
    """(6, 6) of equation (1)."""
    R, X = T[:3, :3], np.zeros((6, 6))
    X[:3, :3], X[3:, :3], X[3:, 3:] = R, skew(T[:3, 3]) @ R, R
    return X


def ad(V: Floats) -> Floats:
    """(6, 6) of equation (2)."""
    X, w = np.zeros((6, 6)), skew(V[:3])
    X[:3, :3], X[3:, :3], X[3:, 3:] = w, skew(V[3:]), w
    return X


def seen_from(G: Floats, T: Floats) -> Floats:
    """(6, 6) of equation (3): inertia G given in {b}, seen in {a}, with T = T_a^b."""
    X = Ad(T)
    return X.T @ G @ X


def rotation_about(n: Floats, angle: float) -> Floats:
    """(3, 3) rotation by `angle` (rad) about the unit vector n."""
    cross = skew(n)
    return np.asarray(np.eye(3) + np.sin(angle) * cross + (1.0 - np.cos(angle)) * cross @ cross, np.float64)


def screw_exponential(S: Floats, angle: float) -> Floats:
    """(4, 4) of equation (4); the screw of a rigid connection is zero."""
    R = rotation_about(S[:3], angle)
    return pose(R, (np.eye(3) - R) @ skew(S[:3]) @ S[3:])


def rigid_inertia(mass: float, com: Floats, inertia: Floats) -> Floats:
    """(6, 6) generalized inertia of a body with inertia (3, 3) about its com, in the frame in which com is given."""
    lever = skew(com)
    return np.block([[inertia - mass * lever @ lever, mass * lever], [-mass * lever, mass * np.eye(3)]])


def swap_halves(six: Floats) -> Floats:
    """(6,) with its halves exchanged: between (angular, linear) and (linear, angular)."""
    return np.concatenate([six[3:], six[:3]])
