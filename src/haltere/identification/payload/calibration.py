"""Constants of an arm's servos from known weights.

The arm sweeps with nothing and with a few known weights at its gripper. Each record gives the sums of
`haltere.estimation.payload.core`, equation (1); with the payload known, all of them together are a least-squares
problem in the servos' constants, with the airframe file's numbers and their doubt as prior. Its covariance goes on
into the mass. Voltage and friction of the calibration's motion define their scales, 1: what differs from the rated
voltage is part of the losses found.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from haltere.estimation.payload.core import PayloadCore
from haltere.estimation.payload.model import (
    DIRECTION,
    EXACT,
    PAYLOAD,
    PER_JOINT,
    SLIDING,
    ArmBelief,
    coefficients,
)
from haltere.estimation.payload.record import ArmRecord, PayloadError
from haltere.estimation.payload.state import PayloadSettings
from haltere.foundation.arrays import double_precision
from haltere.foundation.files import check_free, write_text
from haltere.foundation.numbers import Numbers
from haltere.foundation.verdict import LEARNT, NORMAL, Verdict, judge, limits
from haltere.identification.parameters import Parameter

STEPS = 6
FORMAT = "haltere-servos-2"


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


@double_precision()
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
    filter_ = PayloadCore(belief, replace(settings or PayloadSettings(), use_resting_joints=False))
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
    for i in (*(len(PER_JOINT) * j + SLIDING for j in range(belief.joints)), size - 1):
        prior_cov[..., i, :], prior_cov[..., :, i] = 0.0, 0.0
        prior_cov[..., i, i] = EXACT
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
        miss = (vector - np.einsum("...jkfg,...jkg->...jkf", matrix, beta))[..., DIRECTION]
        weight = matrix[..., DIRECTION, DIRECTION]
        found.append(np.where(weight > 0.0, miss / np.where(weight > 0.0, weight, 1.0), 0.0))
    return np.asarray(np.sqrt(np.mean(np.square(found), axis=(0, -1))))


def to_dict(belief: ArmBelief, vehicle: str) -> dict[str, Any]:
    """A calibration (of one arm) as plain data."""
    return {
        "format": FORMAT,
        "vehicle": vehicle,
        "names": list(belief.names),
        "mean": belief.mean.tolist(),
        "cov": belief.cov.tolist(),
    }


def from_dict(data: Any, belief: ArmBelief, source: str = "calibration") -> ArmBelief:
    """The belief with the constants of `to_dict`; a `PayloadError` says why it does not fit."""
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise PayloadError(
            f"{source}: is no servo calibration; give a file of `haltere calibrate servo --out`"
        )
    if data.get("names") != list(belief.names):
        raise PayloadError(
            f"{source}: is of an arm with other joints ({data.get('vehicle')!r}); calibrate this one"
        )
    size = belief.mean.shape[-1]
    try:
        mean, cov = np.asarray(data["mean"], float).reshape(size), np.asarray(data["cov"], float)
        np.linalg.cholesky(cov.reshape(size, size))
        whole = bool(np.isfinite(mean).all() and np.isfinite(cov).all())
    except (KeyError, TypeError, ValueError, np.linalg.LinAlgError):
        whole = False
    if not whole:
        raise PayloadError(f"{source}: its mean or covariance is incomplete or impossible; calibrate again")
    return replace(belief, mean=mean, cov=cov)


def list_parameters(calibration: ServoCalibration) -> list[Parameter]:
    """The constants of one arm with deviations and verdicts, without those that a calibration does not show."""
    before = np.sqrt(np.diag(calibration.before.cov))
    sigma = np.sqrt(np.diag(calibration.belief.cov))
    rows = []
    for i, name in enumerate(calibration.belief.names):
        last = name.rsplit(".", 1)[-1]
        if last in {"voltage_scale", "rest", "sliding"}:
            continue
        value, told = float(calibration.belief.mean[i]), bool(sigma[i] < LEARNT * before[i])
        half = NORMAL * float(sigma[i])
        interval = (value - half, value + half)
        limit = limits({name: value})[name]
        verdict: Verdict = judge(half, limit) if told else "unobservable"
        unit = "N m" if last == "coulomb" else "1"
        fix = "" if told else "heavier weights, or wider and faster sweeps; the airframe file's value is kept"
        rows.append(
            Parameter(name, value, float(sigma[i]), interval, unit, verdict, fix=fix, scale=limit.scale)
        )
    return rows


def save_calibration(
    path: str | PathLike[str], belief: ArmBelief, vehicle: str, overwrite: bool = False
) -> Path:
    """Write a calibration as JSON; an existing file stays unless `overwrite`."""
    file = Path(path)
    check_free(file, overwrite, PayloadError)
    write_text(file, json.dumps(to_dict(belief, vehicle), indent=1), PayloadError)
    return file


def load_calibration(path: str | PathLike[str], belief: ArmBelief) -> ArmBelief:
    """The belief with the constants in a file of `save_calibration`."""
    file = Path(path)
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise PayloadError(f"{file}: cannot be read ({error.strerror}); check the name") from None
    except ValueError:
        raise PayloadError(f"{file}: is no JSON; give a file of `haltere calibrate servo --out`") from None
    return from_dict(data, belief, str(file))
