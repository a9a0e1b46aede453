"""Mass of what an arm holds, and where its weight acts, by recursive estimation from servo loads.

Readings of sliding joints are linear in features phi, y = phi . beta(x) (`haltere.estimation.payload.model`), so all
that a record says is kept, for each joint and kind of motion, in

    G = s s^T / n + e (sum w phi phi^T - s s^T / n),  s = sum w phi,  n = sum w,   b likewise                  (1)

with w = (period / correlation) / sigma^2: the means of a pose count fully, the changes within its sweep hardly (e =
`within`), because friction that ripples over the angle looks like them. The estimate is the most likely x under the
belief (x_0, P_0) of the servos' constants, by Gauss-Newton steps:

    (D^T G D + P_0^-1) dx = D^T (b - G beta) - P_0^-1 (x - x_0),   D = dbeta/dx                                  (2)

Both joints and both directions are weighted by what is known of their friction; what calibration left open and what may
have drifted since stands in P_0 and so in the deviation of the mass. With the C constants c and their part P_c of the
posterior covariance,

    strain = (c - c_0)^T C_0^-1 (c - c_0) / nu,   nu = C - tr(C_0^-1 P_c)                                      (3)

has the mean 1 if they changed as budgeted: nu is the number of directions in which the readings could move them, two or
so, whatever the number of readings. Above 1 all variances grow by it. `clear` forgets the readings at loading.
"""

from dataclasses import replace
from typing import Self

import numpy as np

from haltere.estimation.payload.model import (
    CLASSES,
    DIRECTION,
    DOWN,
    DRIVE,
    EXACT,
    PAYLOAD,
    REST_DOWN,
    REST_UP,
    UP,
    ArmBelief,
    coefficients,
    features,
)
from haltere.estimation.payload.record import ArmRecord
from haltere.estimation.payload.signals import ArmSignals, conditioned
from haltere.estimation.payload.state import PayloadBelief, PayloadEstimate, PayloadSettings
from haltere.foundation.numbers import Numbers

STEPS = 3
"""Of Gauss and Newton, at each update, from the values before."""


class PayloadCore:
    """The estimator of the module; it holds no state of its own."""

    def __init__(self, belief: ArmBelief, settings: PayloadSettings | None = None) -> None:
        """For an arm of which `belief` is known."""
        self.arm = belief
        self.settings = settings or PayloadSettings()
        stall = np.asarray(belief.servos.stall_torque)
        self.sigma = np.sqrt(belief.steps**2 / 12.0 + (self.settings.floor * stall) ** 2)
        self.start = np.zeros(PAYLOAD)
        s = self.settings
        self.constants_precision = np.linalg.inv(belief.cov)
        self.payload_cov = np.diag(
            np.square([s.heaviest, s.position_sigma, s.position_sigma, s.position_sigma, s.own_inertia])
        )

    def begin(self, runs: tuple[int, ...] = ()) -> PayloadBelief:
        """Nothing read, nothing held."""
        joints = self.arm.joints
        size = 10 + joints + len(DRIVE)
        mean = np.broadcast_to(self.arm.mean, (*runs, self.arm.mean.shape[-1]))
        x = np.concatenate([np.broadcast_to(self.start, (*runs, PAYLOAD)), mean], axis=-1)
        return PayloadBelief(
            np.zeros((*runs, joints, CLASSES, size, size)),
            np.zeros((*runs, joints, CLASSES, size)),
            np.zeros((*runs, joints, CLASSES, size + 2, size + 2)),
            np.full((*runs, joints), np.nan),
            np.zeros(runs),
            np.zeros((*runs, joints, CLASSES)),
            np.zeros((*runs, joints)),
            np.full(runs, np.inf),
            x,
            np.zeros((*runs, x.shape[-1], x.shape[-1] + 1)),
        )

    def clear(self, belief: PayloadBelief) -> PayloadBelief:
        """Forget the readings: something was gripped or released."""
        return self.begin(belief.age.shape)

    def tared(self, belief: PayloadBelief, mass: float) -> Self:
        """The estimator after readings with a mass, kg, of which is known that it hung: servos, links and air are."""
        known = belief.information.copy()
        known[..., 0, 0] += 1.0 / EXACT
        known[..., 0, -1] += mass / EXACT
        read = replace(belief, information=known)
        read = replace(read, x=self._solve(read, STEPS)[0])
        x, cov, _ = self.posterior(read)
        learnt = replace(self.arm, mean=x[..., PAYLOAD:], cov=cov[..., PAYLOAD:, PAYLOAD:])
        return type(self)(learnt.in_other_pose(self.arm), self.settings)

    def with_mount_force(
        self, belief: PayloadBelief, force: Numbers, specific_force: Numbers, sigma: float
    ) -> PayloadBelief:
        """Take in a force sensor at the arm's mount ([Schmitz] Section VI): it carries arm and payload together.

        Args:
            belief: what was read so far.
            force: (...) N along the specific force, between arm and vehicle.
            specific_force: (...) m/s2, its size.
            sigma: N, standard deviation of `force`.
        """
        size = belief.x.shape[-1]
        row = np.zeros((*belief.age.shape, size + 1))
        row[..., 0] = specific_force
        row[..., size - 1 - self.arm.joints : size - 1] = (
            np.asarray(specific_force)[..., None] * self.arm.own[:, 0]
        )
        row[..., -1] = force
        renewed = replace(
            belief, information=belief.information + row[..., :-1, None] * row[..., None, :] / sigma**2
        )
        return replace(renewed, x=self._solve(renewed, STEPS)[0])

    def signals(self, record: ArmRecord) -> ArmSignals:
        """Regression rows of a record."""
        return conditioned(self.arm.arm, self.arm.servos, record, self.settings.signals)

    def update(self, belief: PayloadBelief, signals: ArmSignals, first: int, last: int) -> PayloadBelief:
        """Take the reports `first` to `last` (excluded) in, and find the most likely values."""
        at = slice(first, last)
        rows, torque = signals.rows[..., at, :, :, :], signals.torque[..., at, :]
        slides, rests = signals.slides[..., at, :], signals.rests[..., at, :]
        calm = ~signals.shaken[..., at, None]
        way = np.where(slides != 0.0, slides, rests * self.settings.use_resting_joints)
        phi = features(self.arm, rows, way, signals.speed[..., at, :], signals.acceleration[..., at, :])
        expected = self._load(belief.x, phi)
        usable = calm & (way != 0.0) & (np.abs(expected) > self.settings.weak_load)
        lifts = way * np.sign(expected) > 0.0
        sliding = slides != 0.0
        kinds = np.where(sliding, np.where(lifts, UP, DOWN), np.where(lifts, REST_UP, REST_DOWN))
        chosen = usable[..., None] & (kinds[..., None] == np.arange(CLASSES))
        weight = chosen / (self.sigma[:, None] ** 2 * self.settings.correlation * signals.rate)
        belief = self._at_pose(belief, signals.angle[..., at, :].mean(axis=-2))
        lever = np.abs(phi[..., :10] @ np.concatenate([[1.0], self.arm.gripper, np.zeros(6)])).max(axis=-2)
        fresh = (usable & sliding).any(axis=(-1, -2))
        renewed = replace(
            belief,
            sums=belief.sums + _sums(weight, phi, torque),
            count=belief.count + chosen.sum(axis=-3) / (self.settings.correlation * signals.rate),
            lever=np.maximum(belief.lever, lever),
            age=np.where(fresh, 0.0, belief.age + (last - first) / signals.rate),
        )
        return replace(renewed, x=self._solve(renewed, STEPS)[0])

    def _at_pose(self, belief: PayloadBelief, angle: Numbers) -> PayloadBelief:
        """The belief with a pose that was left put away."""
        left = np.any(np.abs(angle - belief.pose) > self.settings.pose_change, axis=-1)
        fresh = np.isnan(belief.pose).any(axis=-1)
        pose = np.where((left | fresh)[..., None], angle, belief.pose)
        if not np.any(left):
            return replace(belief, pose=pose)
        matrix, vector = self._read(belief.sums)
        keep = left[..., None, None, None]
        return replace(
            belief,
            matrix=belief.matrix + np.where(keep[..., None], matrix, 0.0),
            vector=belief.vector + np.where(keep, vector, 0.0),
            sums=np.where(keep[..., None], 0.0, belief.sums),
            pose=pose,
            poses=belief.poses + left,
        )

    def readings(self, belief: PayloadBelief) -> tuple[Numbers, Numbers]:
        """G (..., J, 4, F, F) and b (..., J, 4, F) of equation (1) over all poses."""
        matrix, vector = self._read(belief.sums)
        return matrix + belief.matrix, vector + belief.vector

    def _read(self, sums: Numbers) -> tuple[Numbers, Numbers]:
        """Equation (1) from sums of w z z^T."""
        weight = np.maximum(sums[..., -1, -1], 1e-300)[..., None, None]
        mean = sums[..., :-2, -1:] * sums[..., None, -1, :-1] / weight
        # The mean of a pose does not become better than the friction law by waiting.
        unknown = self.settings.law * np.abs(sums[..., -2, -1]) / weight[..., 0, 0]
        share = (1.0 / (1.0 + weight[..., 0, 0] * unknown**2))[..., None, None]
        whole = share * mean + self.settings.within * (sums[..., :-2, :-1] - mean)
        # What joints tell at rest counts as one reading.
        single = 1.0 / self.sigma**2
        for kind in (REST_UP, REST_DOWN):
            whole[..., kind, :, :] *= (single / np.maximum(sums[..., kind, -1, -1], single))[..., None, None]
        return whole[..., :-1], whole[..., -1]

    def posterior(self, belief: PayloadBelief) -> tuple[Numbers, Numbers, Numbers]:
        """X (..., X), its covariance (..., X, X), and the strain (...), see `PayloadEstimate`."""
        x, information = self._solve(belief, 1)
        cov = np.linalg.inv(information)
        change = x[..., PAYLOAD:] - self.arm.mean
        moved = np.einsum("...i,...ij,...j->...", change, self.constants_precision, change)
        left = np.einsum("...ij,...ji->...", self.constants_precision, cov[..., PAYLOAD:, PAYLOAD:])
        strain = moved / np.maximum(change.shape[-1] - left, 1.0)
        return x, cov * np.maximum(strain, 1.0)[..., None, None], strain

    def estimate(self, belief: PayloadBelief) -> PayloadEstimate:
        """What is held."""
        x, cov, strain = self.posterior(belief)
        s, constants = self.settings, self.arm
        center = cov[..., 1:4, 1:4]
        # What a motion tells does not depend on how much the servos changed.
        told = cov / np.maximum(strain, 1.0)[..., None, None]
        # The direction in which a shift of the weight turns the last joint most, in the present pose.
        lever = belief.sums[..., -1, :, 1:4, -1].sum(axis=-2)
        lever = lever / np.maximum(np.linalg.norm(lever, axis=-1, keepdims=True), 1e-300)
        sharpest = np.sqrt(np.einsum("...i,...ij,...j->...", lever, told[..., 1:4, 1:4], lever))
        sigma = np.sqrt(cov[..., 0, 0])
        read = belief.count.sum(axis=(-1, -2)) > 0
        hung = belief.information[..., 0, 0] > 0
        return PayloadEstimate(
            mass=x[..., 0],
            sigma=sigma,
            center_of_mass=constants.gripper + x[..., 1:4],
            center_cov=center,
            inertia=x[..., 4],
            inertia_sigma=np.sqrt(cov[..., 4, 4]),
            observable=((read & (belief.lever.max(axis=-1) > s.weak_lever)) | hung)
            & (sigma < 0.3 * s.heaviest),
            position_observable=read & (sharpest > 0.0) & (sharpest < 0.5 * s.position_sigma),
            inertia_observable=read & (np.sqrt(told[..., 4, 4]) < 0.5 * s.own_inertia),
            stale=belief.age > s.freshness,
            strain=strain,
        )

    def expected(self, x: Numbers, signals: ArmSignals) -> Numbers:
        """(..., T, J) N m: what sliding joints read by the model with x (..., X); NaN where a joint does not slide."""
        way = signals.slides
        phi = features(self.arm, signals.rows, way, signals.speed, signals.acceleration)
        beta, _ = coefficients(self.arm, x)
        up, down = ((phi * beta[..., None, :, kind, :]).sum(axis=-1) for kind in (UP, DOWN))
        lifts = way * np.sign(self._load(x, phi)) > 0.0
        return np.where(way == 0.0, np.nan, np.where(lifts, up, down))

    def _load(self, x: Numbers, phi: Numbers) -> Numbers:
        """(..., T, J) torque that the joints carry with x (..., X), at least that of the arm alone."""
        mass = np.maximum(x[..., None, None, 0], 0.0)
        place = np.concatenate([[1.0], self.arm.gripper, np.zeros(6)])
        return np.asarray(mass * (phi[..., :10] @ place) + phi[..., 10:DIRECTION].sum(-1))

    def _solve(self, belief: PayloadBelief, steps: int) -> tuple[Numbers, Numbers]:
        """Equation (2): x (..., X) and the inverse of its covariance, after some steps."""
        constants = self.arm
        size = belief.x.shape[-1]
        lead = belief.age.shape
        precision = np.zeros((*lead, size, size))
        precision[..., :PAYLOAD, :PAYLOAD] = np.linalg.inv(self.payload_cov)
        precision[..., PAYLOAD:, PAYLOAD:] = self.constants_precision
        start = np.concatenate(
            [
                np.broadcast_to(self.start, (*lead, PAYLOAD)),
                np.broadcast_to(constants.mean, (*lead, size - PAYLOAD)),
            ],
            axis=-1,
        )
        matrix, vector = self.readings(belief)
        x, whole = belief.x, precision + belief.information[..., :-1]
        for _ in range(steps):
            beta, slope = coefficients(constants, x)
            turned = matrix @ slope
            H = (np.swapaxes(slope, -1, -2) @ turned).sum(axis=(-3, -4)) + whole
            miss = vector - (matrix @ beta[..., None])[..., 0]
            gradient = (np.swapaxes(slope, -1, -2) @ miss[..., None]).sum(axis=(-3, -4))
            gradient += belief.information[..., -1:] - belief.information[..., :-1] @ x[..., None]
            gradient -= precision @ (x - start)[..., None]
            x = x + np.linalg.solve(H, gradient)[..., 0]
        return x, H


def _sums(weight: Numbers, phi: Numbers, torque: Numbers) -> Numbers:
    """(..., J, 4, F+2, F+2): sums of w z z^T over T from (..., T, J, 4), (..., T, J, F) and (..., T, J)."""
    joint_first = np.moveaxis(phi, -2, -3)
    reading = np.moveaxis(torque, -1, -2)[..., None]
    z = np.concatenate([joint_first, reading, np.ones_like(reading)], axis=-1)
    weights = np.moveaxis(weight, -3, -1)
    kinds = range(weight.shape[-1])
    return np.stack([np.swapaxes(z * weights[..., k, :, None], -1, -2) @ z for k in kinds], axis=-3)
