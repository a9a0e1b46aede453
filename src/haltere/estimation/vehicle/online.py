"""`OnlineVehicle`: the numbers of a vehicle while it flies, from IMU, rotor speeds and poses as they come.

The first seconds of flight are smoothed (`haltere.estimation.vehicle.smoother`), which gives noise levels, coordinates
and the last state; from there on `haltere.estimation.vehicle.causal` filters, 0.1 s behind the newest reading at most.
Where readings and belief no longer fit the states begin again from recent readings, and what is known of the vehicle
stays; a filter that is lost again and again begins anew.
"""

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from dataclasses import replace
from os import PathLike
from typing import Any

import jax
import numpy as np

from haltere.airframe import Airframe
from haltere.airframe.catalogue.entries import load_airframe
from haltere.airframe.equipment import equip
from haltere.estimation.core.readings import Reading
from haltere.estimation.vehicle.causal import (
    BLOCK,
    CausalBelief,
    SmoothedStretch,
    begin_again,
    block_of,
    block_program,
    has_lost,
    is_finite,
    smooth_stretch,
)
from haltere.estimation.vehicle.excitation import Excitation
from haltere.estimation.vehicle.hand_measurements import Known, measured_vehicle
from haltere.estimation.vehicle.levels import gust_factor
from haltere.estimation.vehicle.motion import NODE, STATE
from haltere.estimation.vehicle.nodes import FlightNodes
from haltere.estimation.vehicle.numbers import numbers_at, physical_numbers
from haltere.estimation.vehicle.online_estimate import (
    OnlineEstimate,
    OnlineEvent,
    parameters_of,
)
from haltere.estimation.vehicle.recent import LOW_PASS_REACH, RECENT, RotorShrinkage, recent_nodes
from haltere.estimation.vehicle.stream import (
    PoseSample,
    SensorBuffer,
    SensorSample,
    SkipLog,
    samples_in,
    samples_of,
)
from haltere.flight import Flight
from haltere.foundation.arrays import double_precision
from haltere.foundation.constants import STANDARD_GRAVITY
from haltere.foundation.numbers import Floats, one_blas_thread

SMOOTHED = (5.0, 10.0, 20.0)
"""s of flight after which all of it is smoothed: before filtering, and again."""
LONGEST_WAIT = 0.08
"""s after which a node is filtered with what has come of it."""
SMOOTHED_FACTOR = 1.1
"""On the deviations of the coordinates right after smoothing."""
FILTERED_FACTOR = 1.3
"""Where the filter, which linearises once, has run for half as long as was smoothed, or longer."""
LOST = 25
"""Nodes in a row that do not fit from which on the filter is lost: 0.5 s."""
BEHIND = 1.0
"""s without readings of any kind after which the states begin again."""
FRESH = 20
"""Nodes of recent readings that the states begin again from."""
MOST_LOSSES = 3
"""Within `LOSSES_WITHIN` s, beyond which all begins anew."""
LOSSES_WITHIN = 10.0
RETRY = 1.0
"""s until a stretch that could not be smoothed is tried again."""
FLYING = 0.5
"""Thrust over weight from which on the vehicle flies."""
LANDED = 0.3
"""Thrust over weight below which it does not, for `LANDED_FOR` s."""
LANDED_FOR = 0.2
SHRINKAGE_PERIOD = 1.0
"""s for which the noise of rotor speeds is taken as it was."""
SHRINKAGE_SPAN = 5.0
"""s of readings that tell it."""
LISTED = 100
"""Events that are listed."""


class OnlineVehicle:
    """Estimates the numbers of a vehicle in flight; owns buffer, clock and restart.

    It takes each `Reading` when it comes, with whatever sensors it has:

        import haltere as ht

        online = ht.OnlineVehicle("hummingbird", known={"mass": (0.716, 0.002)})
        online.step(ht.Reading(0.000, imu=([0.0, 0.0, 9.81], [0.0, 0.0, 0.0]), rotor_speeds=[453.2] * 4))
        online.step(ht.Reading(0.002, pose=([0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 0.0])))
        print(online.estimate()["mass"])
    """

    @double_precision()
    def __init__(
        self,
        airframe: Airframe | str | PathLike[str],
        *,
        known: Known | None = None,
        joint_angles: Floats | None = None,
        longest_wait: float = LONGEST_WAIT,
        smoothed_after: Sequence[float] = SMOOTHED,
        executor: Executor | None = None,
    ) -> None:
        """An estimate that begins at the airframe's numbers.

        Args:
            airframe: the vehicle, its file, or its name in the catalogue.
            known: numbers measured by hand: value, or value and sigma, by name.
            joint_angles: (J,) rad at which the joints are held; zero if not given.
            longest_wait: s that readings of one moment are waited for; more if poses come later than that.
            smoothed_after: s of flight after which all of it is smoothed: the first time before filtering begins.
            executor: where that is done, e.g. a `ThreadPoolExecutor(1)`; None does it within `step`.

        Raises:
            HaltereError: a name of `known` is none of the vehicle's numbers.
        """
        vehicle = load_airframe(airframe)
        self.rotor_names = tuple(rotor.name for rotor in vehicle.rotors)
        self.nominal, self._measured = measured_vehicle(vehicle, known, joint_angles)
        imu = equip(vehicle, ("imu",))[0].imu[0]
        self._buffer = SensorBuffer(
            len(self.rotor_names),
            smoothed_after[-1] + 3.0,
            (imu.gyro_range or np.inf, imu.accel_range or np.inf),
        )
        self.events: deque[OnlineEvent] = deque(maxlen=LISTED)
        """What happened: smoothed, lost, begun again, landed; the last ones."""
        self.longest_wait = longest_wait
        slices = self.nominal.layout.slices
        self._delay_index = [slices[f"{name}_delay"].start for name in ("pose", "rotor", "accel")]
        self._delay_prior = (
            np.asarray(self.nominal.mean)[self._delay_index],
            np.asarray(self.nominal.sigma)[self._delay_index],
        )
        self._belief: CausalBelief | None = None
        self._excitation: Excitation | None = None
        self._program: Callable[..., Any] | None = None
        self._on_device = self._prior = self.nominal
        self._smoothed_after = tuple(smoothed_after)
        self._smoothed = 0
        self._smooth_due = -np.inf
        self._fits_since = -np.inf
        self._executor = executor
        self._job: Future[SmoothedStretch | str] | None = None
        self._job_clock = (0, -np.inf)
        self._shrinkage: RotorShrinkage | None = None
        self._shrunk_at = np.nan
        self._log_levels: Floats = np.zeros(0)
        self._slots = 1
        self._next = np.nan
        self._due = -np.inf
        self._filtered, self._smoothed_length = 0.0, 1.0
        self._has_states = False
        self._is_flying = False
        self._low_since = np.nan
        self._lost_nodes = 0
        self._losses: deque[float] = deque(maxlen=MOST_LOSSES)
        self._clock = 0

    @property
    def skipped(self) -> SkipLog:
        """Readings that were not used: `counts` by reason, the last ones by iteration."""
        return self._buffer.skipped

    def step(self, reading: Reading | SensorSample) -> None:
        """Take a reading; what cannot be used of it is skipped with its reason.

        Raises:
            ReadingError: it has another type or shape.
        """
        for sample in samples_in(reading):
            self._add(sample)

    def _add(self, reading: SensorSample) -> None:
        """Take one sample."""
        buffer = self._buffer
        if not buffer.add(reading):
            return
        if buffer.restarts != self._clock:
            self._clock = buffer.restarts
            self._has_states = False
            self._due = self._smooth_due = self._fits_since = -np.inf
            self._note("the clock of the readings was set anew: the states begin again")
        if isinstance(reading, PoseSample) and self._is_late(buffer.poses.newest):
            buffer.skip_late(float(reading.time))
            return
        if buffer.newest >= self._due:
            self._update()

    @double_precision()
    def estimate(self) -> OnlineEstimate:
        """The numbers as of now; before the first seconds were smoothed, those of the prior."""
        self._filter(flush=True)
        belief, n = self._belief, self.nominal.layout.size
        if belief is None:
            numbers = numbers_at(self.nominal, np.zeros(n), np.eye(n), self.rotor_names)
        else:
            cov = self._sigma_factor() ** 2 * np.linalg.inv(np.asarray(belief.precision))
            numbers = numbers_at(self.nominal, np.asarray(belief.z), cov, self.rotor_names)
            if self._excitation is not None:
                doubt = np.diag(self._excitation.sigma(numbers) ** 2)
                numbers = replace(numbers, cov=np.asarray(numbers.cov + doubt))
        rows = parameters_of(numbers, self._measured, is_prior=belief is None)
        used = self._next - NODE
        origin = self._buffer.origin or 0.0
        return OnlineEstimate(used + origin, self._buffer.newest - used, numbers, rows, tuple(self.events))

    def _sigma_factor(self) -> float:
        """On the deviations: the more, the longer the filter has run since what was smoothed, and in strong gusts."""
        alone = min(1.0, 2.0 * self._filtered / self._smoothed_length)
        return gust_factor(self._log_levels) * (SMOOTHED_FACTOR + (FILTERED_FACTOR - SMOOTHED_FACTOR) * alone)

    def _note(self, text: str) -> None:
        self.events.append(OnlineEvent(self._buffer.newest + (self._buffer.origin or 0.0), text))

    @double_precision()
    def _update(self) -> None:
        """What is due: the beginning, or the next block."""
        newest = self._buffer.newest
        if not self._flies():
            self._due = newest + NODE
            return
        self._due = newest + NODE
        if self._smoothed < len(self._smoothed_after) and newest >= self._smooth_due:
            self._smooth()
        if self._belief is not None:
            if not self._has_states:
                self._resume()
            self._filter(flush=False)

    def _flies(self) -> bool:
        """Whether the rotors carry the vehicle; readings on the ground are dropped."""
        rotors = self._buffer.rotors
        if not rotors.size:
            return False
        thrust = float(np.sum(np.asarray(self.nominal.thrust) * rotors.values[-1] ** 2))
        weight = float(self.nominal.mass) * STANDARD_GRAVITY
        if thrust >= LANDED * weight:
            self._low_since = np.nan
        elif np.isnan(self._low_since):
            self._low_since = rotors.newest
        if not self._is_flying and thrust > FLYING * weight:
            self._is_flying = True
            self._buffer.clear()
        elif self._is_flying and rotors.newest - self._low_since > LANDED_FOR:
            self._is_flying = self._has_states = False
            self._note("the rotors carry less than a third of the weight: the vehicle does not fly")
        return self._is_flying

    def _smooth(self) -> None:
        """Smooth all of the flight so far when it is long enough; take what a job in the background has found."""
        if self._job is None:
            buffer, seconds = self._buffer, self._smoothed_after[self._smoothed]
            series = (buffer.imu, buffer.rotors, buffer.poses)
            begin = max(self._fits_since, *(s.oldest for s in series))
            if min(s.newest for s in series) - begin < seconds:
                return
            arguments = (buffer.to_flight(begin, self.rotor_names), self._prior, self.rotor_names)
            self._job_clock = (self._clock, self._fits_since)
            if self._executor is None:
                self._take(smooth_stretch(*arguments))
            else:
                self._job = self._executor.submit(smooth_stretch, *arguments)
        elif self._job.done():
            result = self._job.result()
            self._job = None
            self._take(result)

    def _take(self, result: SmoothedStretch | str) -> None:
        """Go on from a smoothed stretch; its states count only if nothing has happened to the stream since."""
        if isinstance(result, str):
            self._smooth_due = self._buffer.newest + RETRY
            self._note(result)
            return
        self.nominal, self._log_levels = result.flight.nominal, result.flight.log_levels
        self._belief, self._slots, self._program = result.belief, result.slots, None
        self._excitation = Excitation.of(result.flight, physical_numbers(result.flight, self.rotor_names))
        self._has_states = self._job_clock == (self._clock, self._fits_since)
        self._next = result.time
        self._lost_nodes = 0
        self._smoothed += 1
        self._filtered, self._smoothed_length = 0.0, NODE * len(result.flight.time)
        self._note(f"smoothed {self._smoothed_length:.1f} s in {result.flight.iterations} iterations")

    def _is_late(self, time: float) -> bool:
        """Whether the node of a pose has been filtered already."""
        return self._has_states and time - self._delays()[0] < self._next - 0.5 * NODE

    def _delays(self) -> tuple[float, float, float]:
        """Of poses, rotor speeds and accelerometer, s."""
        assert self._belief is not None
        at = self._delay_index
        pose, rotor, accel = self._delay_prior[0] + self._delay_prior[1] * np.asarray(self._belief.z)[at]
        return float(pose), float(rotor), float(accel)

    def _ready(self) -> int:
        """Nodes of which all has come, or that have waited long enough."""
        buffer, (pose, rotor, accel) = self._buffer, self._delays()
        complete = min(
            buffer.imu.newest - LOW_PASS_REACH - max(accel, 0.0),
            buffer.rotors.newest - LOW_PASS_REACH - NODE - rotor,
            buffer.poses.newest - 0.5 * NODE - pose,
        )
        last = max(complete, buffer.newest - self.longest_wait)
        return int(np.floor((last - self._next) / NODE)) + 1

    def _filter(self, *, flush: bool) -> None:
        """Filter all blocks that are ready, with `flush` also one that is shorter."""
        while self._has_states:
            ready = self._ready()
            if ready < (1 if flush else BLOCK):
                self._due = self._buffer.newest + max(BLOCK - ready - 0.5, 0.5) * NODE
                break
            if self._has_gap():
                self._lose(f"there were no readings for {BEHIND:g} s")
                break
            self._filter_nodes(min(ready, BLOCK))

    def _has_gap(self) -> bool:
        """Whether nothing was read for long from the next node on."""
        buffer = self._buffer
        for series in (buffer.imu, buffer.rotors, buffer.poses):
            after = int(np.searchsorted(series.time, self._next))
            if after < series.size and series.time[after] < self._next + BEHIND:
                return False
        return True

    @one_blas_thread()
    def _filter_nodes(self, count: int) -> None:
        """The next nodes."""
        assert self._belief is not None
        nodes = self._nodes(np.asarray(self._next + NODE * np.arange(count), np.float64))
        block = block_of(nodes, self._delays(), self._slots)
        arguments = (self._on_device, self._log_levels, self._belief, block)
        if self._program is None:
            self._on_device = jax.device_put(self.nominal)
            arguments = (self._on_device, *arguments[1:])
            self._program = block_program(self.nominal.layout).bound(*arguments)
        belief, weights = self._program(*arguments)
        belief = CausalBelief(*(np.asarray(part) for part in belief))  # type: ignore[arg-type]
        self._next += NODE * count
        self._filtered += NODE * count
        if not is_finite(belief):
            self._lose("the filter gave numbers that are not finite")
            return
        self._belief = belief
        if self._excitation is not None and nodes.imu_valid.all():
            x = np.asarray(belief.x)
            noise = float(np.exp(self._log_levels[0]))
            self._excitation = self._excitation.after(nodes.gyro, noise, x[19:22] + x[22:25])
        for is_lost, read in zip(
            has_lost(np.asarray(weights)), np.isfinite(np.asarray(weights)).any(axis=1), strict=True
        ):
            if read:
                self._lost_nodes = self._lost_nodes + 1 if is_lost else 0
        if self._lost_nodes >= LOST:
            self._lose(f"the readings did not fit for {LOST * NODE:g} s")

    def _nodes(self, time: Floats) -> FlightNodes:
        """Nodes at these times, s."""
        first, buffer = float(time[0]) - 3.0 * RECENT, self._buffer
        if self._shrinkage is None or abs(time[0] - self._shrunk_at) > SHRINKAGE_PERIOD:
            rows = int(np.searchsorted(buffer.rotors.time, time[-1] + RECENT))
            past = buffer.rotors.time[:rows] > time[0] - SHRINKAGE_SPAN
            self._shrinkage = RotorShrinkage.from_recent(
                buffer.rotors.time[:rows][past], buffer.rotors.values[:rows][past]
            )
            self._shrunk_at = float(time[0])
        return recent_nodes(
            time, buffer.imu.since(first, 8), buffer.rotors.since(first, 8), buffer.poses.since(first, 0),
            buffer.newest, self._shrinkage,
        )  # fmt: skip

    def _lose(self, reason: str) -> None:
        """Begin again after `reason`: with new states, or anew if that did not help."""
        newest = self._buffer.newest
        self._has_states = False
        self._lost_nodes = 0
        self._fits_since = newest
        often = len(self._losses) == MOST_LOSSES and newest - self._losses[0] < LOSSES_WITHIN
        self._losses.append(newest)
        if often:
            self._belief, self.nominal = None, self._prior
            self._smoothed = 0
            self._losses.clear()
            self._buffer.clear()
            self._note(f"lost again: {reason}; all begins anew with the next {self._smoothed_after[0]:g} s")
        else:
            self._note(f"lost: {reason}; the states begin again from recent readings")

    def _resume(self) -> None:
        """New states from the last readings, if there are enough."""
        buffer = self._buffer
        end = min(series.newest for series in (buffer.imu, buffer.rotors, buffer.poses)) - LOW_PASS_REACH
        time = np.asarray(end - NODE * np.arange(FRESH)[::-1], np.float64)
        begin = max(series.oldest for series in (buffer.imu, buffer.rotors, buffer.poses))
        if begin > time[0] or buffer.newest - end > 0.5 * FRESH * NODE:
            return
        nodes = self._nodes(time)
        if not (nodes.imu_valid & nodes.rotor_valid).all() or len(nodes.pose_time) < FRESH // 2:
            return
        assert self._belief is not None
        first = FRESH // 4
        x: Any = nodes.first_guess(self.nominal)[first]
        biases = np.asarray(self._belief.x)[STATE - 6 :]
        x[STATE - 6 :] = np.where(np.isfinite(biases), biases, 0.0)
        self._belief = begin_again(self._belief, self.nominal, self._log_levels, x)
        self._next = float(time[first])
        self._has_states = True
        self._note("the states have begun again")


def replay(
    flight: Flight,
    airframe: Airframe | str | PathLike[str],
    *,
    known: Known | None = None,
    smoothed_after: Sequence[float] = SMOOTHED,
) -> OnlineVehicle:
    """The estimate after all readings of a flight, taken one by one in the order of their stamps.

    Args:
        flight: with `imu.gyro`, `imu.accel`, `rotors.speed`, `pose.position` and `pose.wxyz`.
        airframe: the vehicle, its file, or its name in the catalogue.
        known: numbers measured by hand.
        smoothed_after: s of flight after which all of it is smoothed.
    """
    online = OnlineVehicle(airframe, known=known, smoothed_after=smoothed_after)
    for reading in samples_of(flight, online.rotor_names):
        online.step(reading)
    return online
