"""What hangs on an arm, from a log: faults, grips and releases, and the payload at the end."""

from dataclasses import dataclass, replace

from haltere.airframe import Airframe
from haltere.doctor.arm import payload_faults
from haltere.doctor.finding import Finding
from haltere.estimation.payload.events import Watched, watched
from haltere.estimation.payload.filter import PayloadFilter
from haltere.estimation.payload.model import ArmBelief
from haltere.estimation.payload.signals import ArmSignals
from haltere.estimation.payload.state import BESIDE, TURNED, PayloadEstimate, PayloadSettings
from haltere.flight import Flight
from haltere.identification.payload.log import ArmLog, Effort, arm_log


@dataclass(frozen=True, eq=False)
class PayloadReading:
    """What a log says.

    Attributes:
        log: the servos' reports on one clock.
        filter: the estimator with what it was told of the arm.
        signals: regression rows of the reports.
        course: what was held when.
        findings: what is wrong with the reports.
    """

    log: ArmLog
    filter: PayloadFilter
    signals: ArmSignals
    course: Watched
    findings: tuple[Finding, ...]

    @property
    def estimate(self) -> PayloadEstimate:
        """At the end."""
        return self.filter.estimate(self.course.belief)

    @property
    def trusted(self) -> bool:
        """Whether no fault spoils the numbers; an arm that hangs straight down makes them unobservable, not wrong."""
        return all(finding.kind == "arm-straight-down" for finding in self.findings)


def read_payload(
    flight: Flight,
    airframe: Airframe,
    belief: ArmBelief,
    *,
    beside: bool = False,
    turned: bool = False,
    effort: Effort = "torque",
) -> PayloadReading:
    """Read what an arm held in a flight.

    Args:
        flight: with the channels of `haltere.identification.payload.log`.
        airframe: the vehicle with its arm.
        belief: what is known of its servos by now.
        beside: whether the weight may hang beside the gripper.
        turned: whether the base turned to and fro while the joints swept, so that the own inertia can be told.
        effort: what `joints.effort` is.
    """
    log = arm_log(flight, airframe, effort)
    settings = TURNED if turned else PayloadSettings()
    filter_ = PayloadFilter(belief, replace(settings, place=BESIDE.place) if beside else settings)
    signals = filter_.signals(log.record)
    course = watched(filter_, log.record, signals)
    return PayloadReading(log, filter_, signals, course, payload_faults(belief, log.record))
