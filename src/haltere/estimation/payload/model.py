"""How servo readings depend on a payload and on the constants of the servos, and what is believed of the latter.

While joint j slides under a load torque t with direction s = +-1, its reading y (stall torque times reported share) is,
from `haltere.airframe.airframe`, linear in features phi with coefficients beta that depend on the unknown x:

    V y = g t + f c s + k T q' / w_0 + j J q'',   t = Y_n pi(m, c, i) + sum_l kappa_l Y_l pi_l                  (1)
    g = 1 + f a_up (lifting),  1 - f a_down (giving way);  at rest after either f = 1, and g is e closer to 1    (2)
    y = phi . beta(x),  phi = (Y_n, Y_l pi_l, s, T q' / w_0, J q''),  beta = (g pi, g kappa, f c, k, j) / V      (3)

pi(m, c, i) are the inertial parameters of a payload of mass m, centre of mass at the gripper plus c, and own inertia i,
in the frame of the link that holds it; kappa scales the links' own; J is the inertia of the servo's rotor and gears,
which the load does not carry. f is the friction of this motion over that of the calibration's: how much friction a
stroke shows depends on its length and speed, by laws that differ from servo to servo (presliding, Stribeck), but alike
lifting and giving way, so the mean of the two directions does not depend on it. x stacks (m, c, i), seven numbers for
each joint (a_up, a_down, c, k, e, j, f), kappa and V.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from haltere.airframe import Airframe
from haltere.dynamics.arm import Arm
from haltere.dynamics.servo import Servos, counts
from haltere.foundation.numbers import Numbers

UP, DOWN, REST_UP, REST_DOWN = range(4)
CLASSES = 4
PAYLOAD = 5
"""Entries of x that describe the payload: mass, centre of mass (3), own inertia."""
PER_JOINT = ("loss_up", "loss_down", "coulomb", "back_emf", "rest", "inertia", "sliding")
DRY, EDGE, SLIDING = (PER_JOINT.index(name) for name in ("coulomb", "rest", "sliding"))
LOSSES = np.asarray([0, 1, 0, 1])
"""Which loss counts in each kind of motion."""
DRIVE = np.asarray([PER_JOINT.index(name) for name in ("coulomb", "back_emf", "inertia")])
"""Which numbers of a joint stand in beta as they are, at its end."""
DIRECTION = -len(DRIVE)
"""Where the direction stands among the features."""


@dataclass(frozen=True)
class DriftBudget:
    """How much servo constants may have changed since they were calibrated: relative standard deviations."""

    friction: float = 0.03
    sliding: float = 0.0
    """Of the friction of another motion than that of the calibration, f, in both directions alike."""
    voltage: float = 0.01
    ripple: float = 0.005
    """What is left of the ripple over the angle after averaging over a sweep, relative to the losses."""
    air: float = 0.0
    """What the air does to the links in flight, over their weight."""


AIR = 0.1
"""Of `DriftBudget.air`: rotors of a multirotor of 2 kg blow on links of 60 g beside their wakes with 0.05 to 0.1 N."""
OTHER_MOTION = 0.05
"""Of `DriftBudget.sliding`: strokes of any length and speed, by servos of any friction law."""
OTHER_LOAD, OTHER_POSE, AIR_CHANGE = 0.05, 0.01, 0.7
"""Of friction, of the weight of links whose centre is not where the file says, and of what the air does."""
FRESH = DriftBudget(friction=0.01, voltage=0.003)
"""Where the servos were calibrated just before, on the same supply and at the same temperature."""


@dataclass(frozen=True)
class ServoUncertainty:
    """How well constants are known without calibration: relative standard deviations."""

    friction: float = 0.2 / np.sqrt(3.0)
    arm: float = 0.05 / np.sqrt(3.0)
    back_emf: float = 0.01
    inertia: float = 0.1
    least_loss: float = 0.01
    """Absolute: where the file gives little friction or none, it is not exactly so."""
    least_dry: float = 1e-4
    """Of the stall torque."""
    at_rest: float = 0.03
    """Absolute, of e in equation (2)."""
    at_rest_mean: float = 0.02
    """How far from the edge of the friction a joint stops, e in equation (2), by its momentum."""


EXACT = 1e-9
"""Variance of what defines a scale: the friction and the voltage of the calibration."""


@dataclass(frozen=True, eq=False)
class ArmBelief:
    """What is believed of an arm's servos and links: mean (..., C), covariance (..., C, C) of x without payload.

    Attributes:
        arm: the links.
        servos: nominal servos: stall torque, resolution, stiffness, lag.
        gripper: (3,) in the frame of the link that holds the payload, m.
        mean: (..., C).
        cov: (..., C, C).
    """

    arm: Arm
    servos: Servos
    gripper: Numbers
    mean: Numbers
    cov: Numbers

    @classmethod
    def from_airframe(
        cls, airframe: Airframe, known: ServoUncertainty | None = None, drift: DriftBudget | None = None
    ) -> Self:
        """Uncalibrated: the numbers of the file, with what may be wrong about them.

        The gripper is twice as far out as the centre of mass of the last link, as in
        `haltere.observability.manoeuvres.arm_poses`.
        """
        known, drift = known or ServoUncertainty(), drift or DriftBudget()
        arm, servos = Arm.from_airframe(airframe), Servos.from_airframe(airframe)
        joints = len(np.asarray(servos.loss_up))
        mean, sigma = [], []
        for j in range(joints):
            up, down, dry = (float(x[j]) for x in (servos.loss_up, servos.loss_down, servos.coulomb))
            least_dry = known.least_dry * float(servos.stall_torque[j])
            mean += [up, down, dry, 1.0, known.at_rest_mean, 1.0, 1.0]
            spread = np.hypot(known.friction, drift.ripple)
            sigma += [max(spread * loss, known.least_loss) for loss in (up, down)]
            sigma += [max(known.friction * dry, least_dry), known.back_emf, known.at_rest, known.inertia]
            sigma += [max(drift.sliding, np.sqrt(EXACT))]
        mean += [1.0] * joints + [1.0]
        sigma += [known.arm] * joints + [drift.voltage]
        gripper = 2.0 * np.asarray(arm.model.links.com)[arm.link]
        return cls(arm, servos, gripper, np.asarray(mean), np.diag(np.square(sigma)))

    @cached_property
    def joints(self) -> int:
        """J."""
        return len(np.asarray(self.servos.loss_up))

    @cached_property
    def own(self) -> Numbers:
        """(J, 10) inertial parameters of the moving links by the file."""
        return np.asarray(self.arm.bodies)[list(self.arm.model.topology.moving_links)]

    @cached_property
    def damping(self) -> Numbers:
        """(J,) stall torque over speed without load, N m/(rad/s)."""
        return np.asarray(self.servos.stall_torque / self.servos.no_load_speed)

    @property
    def names(self) -> tuple[str, ...]:
        """Name of each entry of the mean."""
        links = self.arm.model.topology.joint_names
        return (
            *(f"joints.{link}.{name}" for link in links for name in PER_JOINT),
            *(f"links.{link}.mass_scale" for link in links),
            "voltage_scale",
        )

    @property
    def steps(self) -> Numbers:
        """(J,) N m of one encoder step."""
        return counts(self.servos)

    def of_run(self, run: int) -> Self:
        """The belief of one arm out of many."""
        return replace(self, mean=self.mean[run], cov=self.cov[run])

    def in_other_pose(self, before: Self) -> Self:
        """What is still believed in another pose and with another load, by what was believed before a tare.

        Friction is that of another load, and where rotors blow on the arm, they blow otherwise on it there: by a share
        of what the tare found, the rms over the links, and of what was thought possible.
        """
        i = np.arange(before.mean.shape[-1] - 1 - self.joints, before.mean.shape[-1] - 1)
        possible = before.cov[..., i, i]
        joints = slice(-1 - self.joints, -1)
        blown = np.square(self.mean[..., joints] - before.mean[..., joints]).mean(axis=-1, keepdims=True)
        more = np.zeros(self.mean.shape)
        more[..., [len(PER_JOINT) * j + SLIDING for j in range(self.joints)]] = OTHER_LOAD**2
        more[..., joints] = OTHER_POSE**2 + AIR_CHANGE**2 * (blown + 0.5 * possible)
        return replace(self, cov=self.cov + more[..., None] * np.eye(more.shape[-1]))

    def drifted(self, drift: DriftBudget) -> Self:
        """What is still believed some time after calibration."""
        more = np.zeros(self.mean.shape)
        for j in range(self.joints):
            first = len(PER_JOINT) * j
            at = slice(first, first + 3)
            spread = np.asarray([np.hypot(drift.friction, drift.ripple)] * 2 + [drift.friction])
            more[..., at] = (spread * self.mean[..., at]) ** 2
            more[..., first + SLIDING] = drift.sliding**2
        more[..., -1 - self.joints : -1] = drift.air**2
        more[..., -1] = drift.voltage**2
        return replace(self, cov=self.cov + more[..., None] * np.eye(more.shape[-1]))


def features(
    belief: ArmBelief, rows: Numbers, direction: Numbers, speed: Numbers, acceleration: Numbers
) -> Numbers:
    """(..., J, F): phi of equation (3).

    Args:
        belief: the arm.
        rows: (..., J, L, 10) joint torque over the inertial parameters of body and links.
        direction: (..., J) +1, -1 or 0.
        speed: (..., J) rad/s.
        acceleration: (..., J) rad/s2.
    """
    arm = belief.arm
    own = (rows[..., list(arm.model.topology.moving_links), :] * belief.own).sum(axis=-1)
    drive = np.stack([direction, belief.damping * speed, belief.servos.inertia * acceleration], axis=-1)
    return np.concatenate([rows[..., arm.link, :], own, drive], axis=-1)


FIRST, SECOND = np.asarray([0, 0, 1, 0, 1, 2]), np.asarray([0, 1, 1, 2, 2, 2])
"""Rows and columns of an inertia matrix in the order of the last six inertial parameters."""
SAME = (FIRST == SECOND).astype(float)
IN_FIRST, IN_SECOND = (np.asarray(x[:, None] == np.arange(3), float) for x in (FIRST, SECOND))


def payload_parameters(gripper: Numbers, payload: Numbers) -> tuple[Numbers, Numbers]:
    """Pi (..., 10) of (m, c, i) = `payload` (..., 5), and its derivative (..., 10, 5)."""
    mass, spin = payload[..., :1], payload[..., 4:]
    r = gripper + payload[..., 1:4]
    shape = (r**2).sum(axis=-1, keepdims=True) * SAME - r[..., FIRST] * r[..., SECOND]
    pi = np.concatenate([mass, mass * r, mass * shape + spin * SAME], axis=-1)
    slope = np.zeros((*pi.shape, PAYLOAD))
    slope[..., 0, 0] = 1.0
    slope[..., 1:4, 0], slope[..., 4:, 0] = r, shape
    slope[..., 1:4, 1:4] = mass[..., None] * np.eye(3)
    bent = 2.0 * r[..., None, :] * SAME[:, None]
    bent = bent - IN_FIRST * r[..., SECOND, None] - IN_SECOND * r[..., FIRST, None]
    slope[..., 4:, 1:4] = mass[..., None] * bent
    slope[..., 4:, 4] = SAME
    return pi, slope


SIGN = np.asarray([1.0, -1.0, 1.0, -1.0])
"""Of the loss in g of equation (2), by kind of motion: UP, DOWN, REST_UP, REST_DOWN."""
NEARER = np.asarray([0.0, 0.0, -1.0, 1.0])
"""Of e in g."""
MOVING = np.asarray([1.0, 1.0, 0.0, 0.0])
"""Whether f counts."""


def coefficients(belief: ArmBelief, x: Numbers) -> tuple[Numbers, Numbers]:
    """Beta (..., J, 4, F) of equation (3) and its derivative (..., J, 4, F, X) at x (..., X)."""
    joints, size, each = belief.joints, x.shape[-1], len(PER_JOINT)
    pi, slope = payload_parameters(belief.gripper, x[..., :PAYLOAD])
    kappa, volt = x[..., -1 - joints : -1], x[..., -1, None, None, None]
    carried = np.concatenate([pi, kappa], axis=-1)
    count = carried.shape[-1]
    own = x[..., PAYLOAD : PAYLOAD + each * joints].reshape(*x.shape[:-1], joints, each)
    level = 1.0 + MOVING * (own[..., SLIDING, None] - 1.0)
    gain = 1.0 + level * SIGN * own[..., LOSSES] + NEARER * own[..., EDGE, None]
    beta = np.empty((*x.shape[:-1], joints, CLASSES, count + len(DRIVE)))
    beta[..., :count] = gain[..., None] * carried[..., None, None, :]
    beta[..., count:] = own[..., None, DRIVE]
    beta[..., DIRECTION] *= level
    beta /= volt
    derived = np.zeros((*beta.shape, size))
    derived[..., :10, :PAYLOAD] = gain[..., None, None] * slope[..., None, None, :, :]
    links = np.arange(joints)
    derived[..., 10 + links, size - 1 - joints + links] = gain[..., None]
    for j in range(joints):
        at = PAYLOAD + each * j
        for kind in range(CLASSES):
            lost = SIGN[kind] * own[..., j, None, LOSSES[kind]]
            derived[..., j, kind, :count, at + LOSSES[kind]] = (
                SIGN[kind] * level[..., j, None, kind] * carried
            )
            derived[..., j, kind, :count, at + EDGE] = NEARER[kind] * carried
            derived[..., j, kind, :count, at + SLIDING] = MOVING[kind] * lost * carried
        derived[..., j, :, count + np.arange(len(DRIVE)), at + DRIVE] = 1.0
        derived[..., j, :, DIRECTION, at + DRY] = level[..., j, :]
        derived[..., j, :, DIRECTION, at + SLIDING] = MOVING * own[..., j, None, DRY]
    derived /= volt[..., None]
    derived[..., -1] = -beta / volt
    return beta, derived
