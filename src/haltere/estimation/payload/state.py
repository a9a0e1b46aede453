"""Settings, belief and estimate of the payload estimator; see `haltere.estimation.payload.core`."""

from dataclasses import dataclass, field

from haltere.estimation.payload.signals import SignalSettings
from haltere.foundation.numbers import Numbers


@dataclass(frozen=True)
class PayloadSettings:
    """How a payload is estimated."""

    position_sigma: float = 0.0003
    """m: standard deviation of the centre of mass from the gripper, before any reading."""
    heaviest: float = 1.0
    """kg: standard deviation of the mass before any reading."""
    own_inertia: float = 3e-4
    """kg m2: standard deviation of the payload's own inertia before any reading."""
    correlation: float = 0.06
    """s: readings closer together than this are one."""
    floor: float = 0.0015
    """Deviation of a filtered reading beside the encoder's steps, share of the stall torque."""
    within: float = 0.01
    """Weight of changes within a sweep beside its mean, e of equation (1) of `haltere.estimation.payload.core`."""
    law: float = 0.005
    """Share of the mean reading in a pose by which the friction law may be wrong there, however long it is read."""
    pose_change: float = 0.35
    """rad by which a joint must have moved for a new pose."""
    weak_lever: float = 0.25
    """N m/kg: lever times specific force below which a joint does not show the mass."""
    weak_load: float = 0.01
    """N m: expected torque below which the direction of power flow is not known."""
    freshness: float = 0.5
    """s after the last counted reading from which a value rests on earlier readings."""
    use_resting_joints: bool = True
    """Whether joints at rest count, poorly."""
    signals: SignalSettings = field(default_factory=SignalSettings)


BESIDE = PayloadSettings(position_sigma=0.035)
"""Where the weight may hang beside the gripper."""
WHILE_SHAKEN = PayloadSettings(use_resting_joints=False, signals=SignalSettings(shaken=float("inf")))
"""Where the joints sweep while the base shakes: measured all the same, not held."""
ROTATING_BASE = PayloadSettings(
    own_inertia=4e-4, within=0.1, pose_change=1.2, signals=SignalSettings(onset=0.0)
)
"""Where the base rotates to and fro while the joints sweep widely: it shows the own inertia, unlike any ripple."""


@dataclass(frozen=True, eq=False)
class PayloadBelief:
    """All that was read so far; leading axes are runs.

    Attributes:
        matrix: (..., J, 4, F, F) G of its equation (1) for poses that were left.
        vector: (..., J, 4, F) b.
        sums: (..., J, 4, F+2, F+2) of w z z^T with z = (phi, y, 1), in the present pose.
        pose: (..., J) rad; NaN before the first reading in it.
        poses: (...) poses that were left.
        count: (..., J, 4) readings, those closer together than their correlation counted as one.
        lever: (..., J) largest torque over mass seen, N m/kg.
        age: (...) s since the last counted reading.
        x: (..., X) most likely values.
        information: (..., X, X+1) information about x from elsewhere and the vector to it, see `with_mount_force`.
    """

    matrix: Numbers
    vector: Numbers
    sums: Numbers
    pose: Numbers
    poses: Numbers
    count: Numbers
    lever: Numbers
    age: Numbers
    x: Numbers
    information: Numbers


@dataclass(frozen=True, eq=False)
class PayloadEstimate:
    """What is held; leading axes are runs.

    Attributes:
        mass: (...) kg.
        sigma: (...) its standard deviation, kg.
        center_of_mass: (..., 3) in the frame of the link that holds it, m.
        center_cov: (..., 3, 3) m2.
        inertia: (...) own inertia, kg m2.
        inertia_sigma: (...).
        observable: (...) whether the readings tell the mass.
        place_observable: (...) whether they tell where the weight acts, across the joints' axes and gravity.
        inertia_observable: (...) whether the motion was such that they tell the own inertia.
        stale: (...) whether the value rests on earlier readings only.
        strain: (...) of its equation (3): about 1 if the servos changed as budgeted, more if they changed more, which
            widens all deviations.
    """

    mass: Numbers
    sigma: Numbers
    center_of_mass: Numbers
    center_cov: Numbers
    inertia: Numbers
    inertia_sigma: Numbers
    observable: Numbers
    position_observable: Numbers
    inertia_observable: Numbers
    stale: Numbers
    strain: Numbers
