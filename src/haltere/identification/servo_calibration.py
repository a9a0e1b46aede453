"""Constants of an arm's servos from known weights.

The arm sweeps with nothing and with a few known weights at its gripper. Each record gives the sums of
`haltere.estimation.payload`, equation (1); with the payload known, all of them together are a least-squares problem in
the servos' constants, with the airframe file's numbers and their doubt as prior. Its covariance goes on into the mass.
The voltage at calibration defines voltage scale 1: what differs from the rated one is part of the losses found.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from haltere.estimation.payload import PayloadFilter, PayloadSettings
from haltere.estimation.payload_model import PAYLOAD, ArmBelief, coefficients
from haltere.estimation.payload_record import ArmRecord, Numbers, PayloadError

EXACT = 1e-9
"""Variance of the voltage scale at calibration."""
STEPS = 6


@dataclass(frozen=True, eq=False)
class ServoCalibration:
    """What known weights tell.

    Attributes:
        belief: constants with their covariance at the time of calibration; call its `drifted` before use.
        before: what was believed before.
        residual: (..., J) rms difference of the mean readings from the fit, N m.
    """

    belief: ArmBelief
    before: ArmBelief
    residual: Numbers


def calibrate(
    belief: ArmBelief,
    records: Sequence[ArmRecord],
    masses: Sequence[float],
    settings: PayloadSettings | None = None,
) -> ServoCalibration:
    """Servo constants from one record for each known mass (kg, 0 for the empty arm), at the gripper.

    Raises:
        PayloadError: no record, not one mass per record, or no joint ever slid.
    """
    if not records or len(records) != len(masses):
        msg = f"got {len(records)} records for {len(masses)} masses, expected one mass for each; add `mass`"
        raise PayloadError(msg)
    if min(masses) < 0.0:
        raise PayloadError(f"got a mass of {min(masses):g} kg, expected zero or more; give kg")
    filter_ = PayloadFilter(belief, replace(settings or PayloadSettings(), still=False))
    parts: list[tuple[Numbers, Numbers, float]] = []
    slid: Numbers | float = 0.0
    for record, mass in zip(records, masses, strict=True):
        signals = filter_.signals(record)
        begun = filter_.begin(record.angle.shape[:-2])
        begun.x[..., 0] = mass
        read = filter_.update(begun, signals, 0, record.samples)
        parts.append((*filter_.readings(read), mass))
        slid = slid + read.count.sum(axis=(-1, -2))
    if np.any(np.asarray(slid) == 0.0):
        raise PayloadError("no joint slid in these records; sweep each joint by 5 degrees or more to and fro")
    size = belief.mean.shape[-1]
    lead = records[0].angle.shape[:-2]
    prior_cov = np.broadcast_to(belief.cov, (*lead, size, size)).copy()
    prior_cov[..., -1, :], prior_cov[..., :, -1] = 0.0, 0.0
    prior_cov[..., -1, -1] = EXACT
    precision = np.linalg.inv(prior_cov)
    start = np.broadcast_to(belief.mean, (*lead, size))
    constants = start.copy()
    for _ in range(STEPS):
        H, gradient = precision.copy(), -np.einsum("...xy,...y->...x", precision, constants - start)
        for matrix, vector, mass in parts:
            x = np.concatenate([np.zeros((*lead, PAYLOAD)), constants], axis=-1)
            x[..., 0] = mass
            beta, slope = coefficients(belief, x)
            slope = slope[..., PAYLOAD:]
            turned = np.einsum("...jkfg,...jkgx->...jkfx", matrix, slope, optimize=True)
            H = H + np.einsum("...jkfx,...jkfy->...xy", slope, turned, optimize=True)
            miss = vector - np.einsum("...jkfg,...jkg->...jkf", matrix, beta)
            gradient = gradient + np.einsum("...jkfx,...jkf->...x", slope, miss)
        constants = constants + np.linalg.solve(H, gradient[..., None])[..., 0]
    residual = _residual(belief, parts, constants)
    return ServoCalibration(replace(belief, mean=constants, cov=np.linalg.inv(H)), belief, residual)


def _residual(
    belief: ArmBelief, parts: Sequence[tuple[Numbers, Numbers, float]], constants: Numbers
) -> Numbers:
    """(..., J) N m: rms over records and kinds of motion of the mean misfit.

    The feature `direction` is +-1, so its row of the sums holds the weights and the weighted errors.
    """
    found = []
    for matrix, vector, mass in parts:
        x = np.concatenate([np.zeros((*constants.shape[:-1], PAYLOAD)), constants], axis=-1)
        x[..., 0] = mass
        beta, _ = coefficients(belief, x)
        miss = (vector - np.einsum("...jkfg,...jkg->...jkf", matrix, beta))[..., -2]
        weight = matrix[..., -2, -2]
        found.append(np.where(weight > 0.0, miss / np.where(weight > 0.0, weight, 1.0), 0.0))
    return np.asarray(np.sqrt(np.mean(np.square(found), axis=(0, -1))))
