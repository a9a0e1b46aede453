"""Deviations of a linear fit from leaving out one stretch of the throw after the other.

Each time the fit is solved anew from the normal equations M_b, v_b of the other stretches, from no start:

    x_-b = (M - M_b)^-1 (v - v_b),   cov = (B - 1) / B sum_b (x_-b - mean) (x_-b - mean)^T                   (1)

Stretches are as long as it takes to tell the same of the numbers (sums of leverages): rotors are excited for a
fraction of a second, then the vehicle hovers. What changes slowly, such as the air, differs from stretch to stretch
and counts, which the scatter of neighbouring samples does not tell.
"""

import numpy as np

from haltere.foundation.numbers import Floats

STRETCHES = 40
"""So many that none holds all that a rotor was excited for."""


def stretch_covariance(rows: Floats, right: Floats, prior: Floats) -> Floats:
    """(k, k) covariance of the solution of weighted rows (N, c, k) = right (N, c), samples in order of time.

    Args:
        rows: (N, c, k), c equations for each sample.
        right: (N, c).
        prior: (k,) information about the numbers that all stretches share, zero for none.
    """
    k = rows.shape[2]
    scale = np.maximum(np.sqrt(np.mean(rows**2, axis=(0, 1))), 1e-12)
    A = rows / scale
    flat = A.reshape(-1, k)
    known = np.linalg.pinv(flat.T @ flat + np.diag(prior / scale**2) + 1e-9 * len(A) * np.eye(k))
    told = np.cumsum(np.einsum("nck,kj,ncj->n", A, known, A))
    ends = np.searchsorted(told, told[-1] * np.arange(1, STRETCHES) / STRETCHES)
    normal, products = [], []
    for part in np.split(np.arange(len(A)), np.unique(ends)):
        flat = A[part].reshape(-1, k)
        normal.append(flat.T @ flat)
        products.append(flat.T @ right[part].reshape(-1))
    M = np.sum(normal, axis=0) + np.diag(prior / scale**2) + 1e-9 * len(A) * np.eye(k)
    v = np.sum(products, axis=0)
    without = np.stack([np.linalg.solve(M - m, v - p) for m, p in zip(normal, products, strict=True)])
    apart = without - without.mean(axis=0)
    cov = (len(without) - 1) / len(without) * apart.T @ apart
    return np.asarray(cov / np.outer(scale, scale))
