"""The numbers of the vehicle filter as parameters of a result: values, deviations, verdicts, and their covariance."""

from collections.abc import Mapping

import numpy as np

from haltere.estimation.vehicle.estimate import EstimatedParameter, VehicleEstimate
from haltere.foundation.numbers import Floats
from haltere.foundation.verdict import LEARNT, NORMAL, Source, Verdict
from haltere.identification.methods.vehicle_method import VehicleSettings
from haltere.identification.parameters import Parameter
from haltere.identification.result import Covariance

SETTINGS = VehicleSettings()
UNITS = {
    "mass": "kg", "inertia": "kg m2", "gravity": "m/s2", "thrust_coefficient": "N/(rad/s)2", "torque_ratio": "m",
    "rotation": "rad", "axis": "rad", "spin_inertia": "kg m2", "position": "m", "time_constant": "s", "delay": "s",
}  # fmt: skip


def vehicle_parameters(
    estimate: VehicleEstimate,
    grown: float,
    misfit: bool,
    hand_measurements: Mapping[str, tuple[float, float]],
) -> list[Parameter]:
    """Every physical number, by name.

    Args:
        estimate: of the filter.
        grown: by which deviations grow.
        misfit: whether they also grow by a floor of the value, because the model does not fit.
        hand_measurements: value and sigma of what was measured otherwise.
    """
    found: list[Parameter] = []
    origin: Source
    before = dict(zip(estimate.coordinates.names, np.asarray(estimate.prior_sigma).tolist(), strict=True))

    def source(name: str, sigma: float) -> Source:
        if name in hand_measurements and sigma >= LEARNT * hand_measurements[name][1]:
            return "user"
        return "prior" if 0.0 < LEARNT * before[name] <= sigma else "data"

    tilts: dict[str, list[EstimatedParameter]] = {}
    for row in estimate.table():
        if ".axis." in row.name:
            tilts.setdefault(row.name.rsplit(".", 1)[0], []).append(row)
            continue
        sigma = grown * row.sigma
        if misfit:
            sigma = float(np.hypot(sigma, SETTINGS.misfit_floor * abs(row.value)))
        origin = source(row.name, row.sigma)
        found.append(_entry(row.name, row.value, sigma, row.verdict, row.partners, origin=origin))
    axes, covs = _axes(estimate)
    for axis, cov, (path, rows) in zip(axes, grown**2 * covs, tilts.items(), strict=True):
        spread = float(np.sqrt(np.trace(cov)))
        verdict = "identified" if all(r.verdict == "identified" for r in rows) else rows[0].verdict
        origin = "prior" if any(source(r.name, r.sigma) == "prior" for r in rows) else "data"
        for i, component in enumerate("xyz"):
            # To second order: along itself an axis does not change to first.
            across = float(np.sqrt(cov[i, i] + 0.5 * axis[i] ** 2 * np.sum(cov**2)))
            found.append(
                _entry(f"{path}.{component}", float(axis[i]), across, verdict, rows[0].partners, "1", origin)
            )
        found.append(_entry(f"{path}.angle_sigma", spread, spread, verdict, rows[0].partners, "rad", origin))
    return found


def _axes(estimate: VehicleEstimate) -> tuple[Floats, Floats]:
    """Thrust axes (N, 3) and the covariance of each (N, 3, 3)."""
    coordinates, (axes, slopes) = estimate.coordinates, estimate.thrust_axes()
    first = coordinates.physical.slices["rotor_tilt"].start
    covs = []
    for i in range(coordinates.count):
        own = slice(first + 2 * i, first + 2 * i + 2)
        covs.append(slopes[i, :, i] @ estimate.physical_cov[own, own] @ slopes[i, :, i].T)
    return axes, np.array(covs)


def vehicle_covariance(estimate: VehicleEstimate, parameters: list[Parameter], grown: float) -> Covariance:
    """Of all parameters: J P J^T, where J turns tilts into axes and leaves the rest; their sigmas on its diagonal."""
    coordinates, slopes = estimate.coordinates, estimate.thrust_axes()[1]
    block = coordinates.physical.slices["rotor_tilt"]
    own = dict(zip(coordinates.names, np.eye(len(coordinates.names)), strict=True))
    for i in range(coordinates.count):
        head = coordinates.names[block.start + 2 * i].rsplit(".", 1)[0]
        for k, component in enumerate("xyz"):
            own[f"{head}.{component}"] = np.zeros(len(coordinates.names))
            own[f"{head}.{component}"][block] = slopes[i, k].reshape(-1)
    told = [p for p in parameters if p.name in own]
    J = np.stack([own[p.name] for p in told])
    matrix = grown**2 * J @ estimate.physical_cov @ J.T
    sigma = np.array([p.sigma or 0.0 for p in told])
    matrix += np.diag(np.maximum(sigma**2 - np.diagonal(matrix), 0.0))
    return Covariance(tuple(p.name for p in told), matrix)


def _entry(
    name: str,
    value: float,
    sigma: float,
    verdict: Verdict,
    partners: tuple[str, ...],
    unit: str | None = None,
    origin: Source = "data",
) -> Parameter:
    kind = next((part for part in reversed(name.split(".")) if part in UNITS), "position")
    low, high = value - NORMAL * sigma, value + NORMAL * sigma
    positive = kind in ("mass", "inertia", "thrust_coefficient", "torque_ratio", "time_constant")
    livelier = "fly longer and livelier (haltere design)"
    fix = {
        "identified": livelier,
        "weak": livelier,
        "combination": "measure one of them by hand and give it with --known",
        "unobservable": "no such flight tells it: measure it by hand",
    }[verdict]
    if positive:
        low = max(low, 0.0)
    return Parameter(
        name, value, sigma, (low, high), unit or UNITS[kind], verdict, partners, fix, None, origin
    )
