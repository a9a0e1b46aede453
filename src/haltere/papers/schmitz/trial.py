"""One arm in simulation: something unknown is gripped, and the estimate beside the truth."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from haltere.doctor.arm import payload_faults
from haltere.doctor.finding import Finding
from haltere.estimation.payload.core import PayloadCore
from haltere.estimation.payload.record import PayloadError
from haltere.estimation.payload.signals import ArmSignals
from haltere.estimation.payload.state import BESIDE, PayloadBelief, PayloadEstimate
from haltere.identification.payload.reading import estimate_to_dict
from haltere.papers.schmitz.bench import draw_arms
from haltere.papers.schmitz.runs import run_of
from haltere.papers.schmitz.series import (
    QUICK,
    WIDE,
    MassHistory,
    calibrate_arms,
    measure_record,
    nominal_arm,
    paper_masses,
    series_record,
)
from haltere.report.payload import PayloadPage, render_payload


@dataclass(frozen=True, eq=False)
class Trial:
    """What one simulated grip gave.

    Attributes:
        history: the estimates in the last pose.
        filter: the estimator, with the arm as calibrated.
        belief: all that was read.
        signals: regression rows of the reports in the last pose.
        findings: what is wrong with these reports.
        truth: `mass` and `center_of_mass`.
        paper: kg, the paper's estimator at the end.
    """

    history: MassHistory
    filter: PayloadCore
    belief: PayloadBelief
    signals: ArmSignals
    findings: tuple[Finding, ...]
    truth: dict[str, Any]
    paper: float

    @property
    def page(self) -> PayloadPage:
        """For its page."""
        x = self.filter.posterior(self.belief)[0]
        mass = np.where(self.estimate.observable, self.history.mass, np.nan)
        values = (self.history.time, mass, self.history.sigma, self.history.stale)
        return PayloadPage(
            self.filter, self.signals, x, *values, self.estimate, (), self.findings, self.truth
        )

    @property
    def estimate(self) -> PayloadEstimate:
        """At the end."""
        return self.history.last

    def to_dict(self) -> dict[str, Any]:
        """As plain data: the estimate at the end beside the truth."""
        return {
            **estimate_to_dict(self.estimate),
            "settled": float(self.history.settled),
            "paper_mass": self.paper,
            "findings": [finding.to_dict() for finding in self.findings],
            "events": [],
            "truth": self.truth,
            "notes": [],
        }

    def report(self, path: Path) -> Path:
        """Write its page as one HTML file."""
        return render_payload(self.page, "A simulated grip").write(path)


def simulate_grip(
    mass: float,
    poses: Sequence[Sequence[float]],
    offset: float = 0.0,
    seed: int = 0,
    *,
    motion: bool = True,
    calibration: bool = True,
    position_known: bool | None = None,
) -> Trial:
    """Grip a mass (kg) with the catalogue's arm, whose servos the seed draws, and measure it in each pose (deg).

    Args:
        mass: kg, at the gripper.
        poses: angles of both joints in degrees, one pose after the other.
        offset: m, of the centre of mass from the gripper, outwards along the last link.
        seed: of the servos, the drift and the noise.
        motion: whether the joints sweep to measure.
        calibration: whether the servos were calibrated with two known weights before.
        position_known: whether the weight hangs at the gripper; by default if there is one pose and no offset.
    """
    if not (0.0 <= mass <= 1.0):
        raise PayloadError(f"got a mass of {mass:g} kg, expected 0 to 1; the arm lifts 0.45 kg")
    if not abs(offset) <= 0.1:
        raise PayloadError(f"got an offset of {offset:g} m, expected at most 0.1; give m")
    if not poses or any(len(pose) != 2 or not all(abs(a) <= 150.0 for a in pose) for pose in poses):
        raise PayloadError(f"got the poses {list(poses)}, expected two angles within 150 degrees; try 45,45")
    at_gripper = (len(poses) == 1 and offset == 0.0) if position_known is None else position_known
    bench = draw_arms(1, seed)
    belief = calibrate_arms(bench).of_run(0) if calibration else nominal_arm()
    filter_ = PayloadCore(belief, None if at_gripper else BESIDE)
    shift = np.asarray([[0.0, 0.0, -offset]])
    sweep = (QUICK if at_gripper else WIDE) if motion else None
    read = filter_.begin()
    for pose in poses:
        record = run_of(series_record(bench, pose, mass, sweep, shift), 0)
        history, read = measure_record(filter_, record, before=read)
    checked = payload_faults(nominal_arm(), record if motion else replace(record, goal=None))
    truth = {"mass": mass, "center_of_mass": (filter_.arm.gripper + shift[0]).tolist()}
    paper = float(paper_masses(record)[1][-1])
    return Trial(history, filter_, read, filter_.signals(record), checked, truth, paper)
