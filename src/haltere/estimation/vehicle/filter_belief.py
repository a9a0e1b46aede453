"""What `VehicleFilter` believes at one time: states, coordinates, and readings of which the next nodes are made."""

from dataclasses import dataclass, replace

import jax
import numpy as np

from haltere.estimation.vehicle.causal import CausalBelief, block_of, block_program, is_finite
from haltere.estimation.vehicle.motion import NODE
from haltere.estimation.vehicle.nodes import FlightNodes
from haltere.estimation.vehicle.online import LONGEST_WAIT, SHRINKAGE_PERIOD, SHRINKAGE_SPAN
from haltere.estimation.vehicle.parameters import NominalVehicle
from haltere.estimation.vehicle.recent import LOW_PASS_REACH, RECENT, RotorShrinkage, recent_nodes
from haltere.foundation import HaltereError
from haltere.foundation.numbers import Floats

SLOTS = 4
"""Poses that count between two nodes, at most: those of 200 Hz."""
FEWEST = 8
"""Readings of IMU and rotor speeds from which on nodes are made."""


@dataclass(frozen=True)
class RecentSamples:
    """The last samples of one sensor: stamps (T,) s and values (T, m), in order."""

    time: Floats
    values: Floats

    @property
    def newest(self) -> float:
        """Stamp of the last one, s; minus infinity if there is none."""
        return float(self.time[-1]) if len(self.time) else -np.inf

    def add(self, time: float, values: Floats, *, replaces: bool) -> "RecentSamples":
        """With one more; it stands for one with the same stamp if it `replaces` that."""
        kept = len(self.time) - (replaces and self.newest == time)
        return RecentSamples(np.append(self.time[:kept], time), np.vstack([self.values[:kept], values]))

    def since(self, first: float, at_least: int = 0) -> "RecentSamples":
        """Those from `first` on, s, and `at_least` as many if there are."""
        begin = min(int(np.searchsorted(self.time, first)), max(len(self.time) - at_least, 0))
        return RecentSamples(self.time[begin:], self.values[begin:])


@dataclass(frozen=True)
class FilterBelief:
    """What is believed of states and vehicle at one time; times are s since `begin`.

    Attributes:
        time: of the readings that come next.
        node: of the node before whose reading `causal` stands.
        causal: belief of states and coordinates.
        nominal: the vehicle and the prior that the coordinates count from.
        log_levels: (19,) logarithms of the noise levels.
        sigma_factor: on the deviations of the coordinates.
        imu: gyro and accelerometer (T, 6).
        rotors: speeds (T, N), rad/s.
        poses: positions with unit quaternions (M, 7); NaN where there was no attitude.
        shrinkage: of the rotor speeds, found at `shrunk_at`.
    """

    time: float
    node: float
    causal: CausalBelief
    nominal: NominalVehicle
    log_levels: Floats
    sigma_factor: float
    imu: RecentSamples
    rotors: RecentSamples
    poses: RecentSamples
    shrinkage: RotorShrinkage | None = None
    shrunk_at: float = -np.inf

    @property
    def delays(self) -> tuple[float, float, float]:
        """Of poses, rotor speeds and accelerometer, s."""
        return self.nominal.delays(np.asarray(self.causal.z))

    @property
    def is_ready(self) -> bool:
        """Whether all of the next node has come, or it has waited long enough."""
        if min(len(self.imu.time), len(self.rotors.time)) < FEWEST:
            return False
        pose, rotor, accel = self.delays
        complete = min(
            self.imu.newest - LOW_PASS_REACH - max(accel, 0.0),
            self.rotors.newest - LOW_PASS_REACH - NODE - rotor,
            self.poses.newest - 0.5 * NODE - pose,
        )
        return self.node <= max(complete, self.time - LONGEST_WAIT)

    def shrunk(self) -> "FilterBelief":
        """With the shrinkage of rotor speeds for the next node, which is found anew from time to time."""
        if self.shrinkage is not None and abs(self.node - self.shrunk_at) <= SHRINKAGE_PERIOD:
            return self
        time, values = self.rotors.time, self.rotors.values
        past = (time > self.node - SHRINKAGE_SPAN) & (time < self.node + RECENT)
        past[:FEWEST] |= past.sum() < FEWEST
        return replace(
            self, shrinkage=RotorShrinkage.from_recent(time[past], values[past]), shrunk_at=self.node
        )

    def next_node(self) -> FlightNodes:
        """The node before whose reading the belief stands; the shrinkage has been found."""
        assert self.shrinkage is not None
        first = self.node - 3.0 * RECENT
        imu, rotors, poses = (
            samples.since(first, least)
            for samples, least in ((self.imu, FEWEST), (self.rotors, FEWEST), (self.poses, 0))
        )
        time: Floats = np.array([self.node])
        return recent_nodes(
            time, (imu.time, imu.values), (rotors.time, rotors.values), (poses.time, poses.values), self.time,
            self.shrinkage,
        )  # fmt: skip

    def trimmed(self) -> "FilterBelief":
        """Without readings that are no longer needed."""
        first = self.node - 4.0 * RECENT
        return replace(
            self,
            imu=self.imu.since(first, FEWEST),
            rotors=self.rotors.since(self.node - SHRINKAGE_SPAN, FEWEST),
            poses=self.poses.since(first),
        )


def filter_ready(belief: FilterBelief) -> FilterBelief:
    """The belief after all nodes of which all has come, filtered one by one.

    Raises:
        HaltereError: the numbers are no longer finite.
    """
    while belief.is_ready:
        belief = belief.shrunk()
        block = jax.tree.map(lambda part: part[:1], block_of(belief.next_node(), belief.delays, SLOTS))
        program = block_program(belief.nominal.layout)
        causal, _ = program(belief.nominal, belief.log_levels, belief.causal, block)
        causal = CausalBelief(*(np.asarray(part) for part in causal))  # type: ignore[arg-type]
        if not is_finite(causal):
            raise HaltereError(
                "the filter gave numbers that are not finite; begin again, or use OnlineVehicle, which does that itself"
            )
        belief = replace(belief, node=belief.node + NODE, causal=causal).trimmed()
    return belief
