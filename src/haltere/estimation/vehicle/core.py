"""`VehicleCore`: what `VehicleFilter` computes with: prior, smoothed start, filter and sample-by-sample steps.

A core is frozen; `dataclasses.replace` makes another with other settings. It takes frames, and states by block, as the
filter's steps do; for readings there is `haltere.estimation.vehicle.filter`. An update whose result would not be finite
leaves the belief as it was.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from threading import Thread
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from haltere.airframe import Airframe
from haltere.airframe.errors import closest
from haltere.estimation.core.consistency import Fit, fit_of
from haltere.estimation.core.space import Mean
from haltere.estimation.vehicle.alignment import first_attitude
from haltere.estimation.vehicle.coordinates import Axes, Effect, VehicleCoordinates
from haltere.estimation.vehicle.description import (
    Description,
    attitude_from_sensor,
    describe_vehicle,
    first_motion,
)
from haltere.estimation.vehicle.estimate import VehicleEstimate, prepare
from haltere.estimation.vehicle.frames import filled, frames_from_flight
from haltere.estimation.vehicle.prior import HandMeasurement, PriorError, VehiclePrior, guessed, prior_program
from haltere.estimation.vehicle.smoother import SmoothedTrajectory, blank, iterated
from haltere.estimation.vehicle.steps import (
    FilterHistory,
    Frames,
    Steps,
    VehicleBelief,
    VehicleNoise,
    filtered,
    imu_step,
    pose_update,
)
from haltere.flight import Flight
from haltere.foundation.arrays import Array, ArrayLike, double_precision, to_numpy

GATE = 40.0
"""Normalised innovation squared beyond which a pose is an outlier; one in two million good ones is."""
CHUNK = 50
"""Frames that are filtered in one call, so that flights of any length share what was compiled."""
SETTLED = 0.03
"""Sigmas: smoothing ends with the iteration that moves no number further."""


@dataclass(frozen=True)
class VehicleCore:
    """A vehicle, what is believed of it, and how noisy its sensors are."""

    description: Description
    noise: VehicleNoise
    sigma: Array
    """(19 + 7 N,) of the prior, physical numbers."""
    moving_sigma: Array
    """(18,) of the first state."""
    hand_measurements: tuple[HandMeasurement, ...] = ()
    readings: tuple[float, ...] = ()
    start: float = 2.0
    """Seconds smoothed at the beginning; zero for the plain filter."""
    iterations: int = 5
    """At most, of smoothing."""
    gate: float = GATE
    change: tuple[float, float, float] | None = None
    """How fast the vehicle may change in flight: mass 1/sqrt(s), centre of mass m/sqrt(s), inertia 1/sqrt(s)."""
    first_attitude: tuple[float, float, float, float] | None = None
    """q_WM at the beginning, wxyz, good to some degrees; where the outer sensor tells no attitude and this is not
    given, it comes from comparing positions and accelerations (`alignment`)."""
    covariance_root: Array | None = None
    """(19 + 7 N, k) of the prior: what is doubtful together, beside `sigma`; see `vehicle_payload`."""

    @classmethod
    @double_precision()
    def from_airframe(
        cls,
        airframe: Airframe,
        hand_measurements: Mapping[str, tuple[float, float]] | None = None,
        known: Mapping[str, float] | None = None,
        uncertainty: float = 1.0,
        speed_sigma: float = np.pi,
        axes: Axes = "sphere",
        effects: tuple[Effect, ...] = (),
        joint_angles: ArrayLike | None = None,
        **options: Any,
    ) -> "VehicleCore":
        """A filter that believes the airframe file to about 10 % (see `ten_percent`).

        Args:
            airframe: the vehicle; noise of its sensors as the file states it.
            hand_measurements: hand measurements by name: value and standard deviation.
            known: standard deviations of the prior by name, zero for what is known exactly.
            uncertainty: of everything else, in units of "10 %".
            speed_sigma: of rotor speeds about the reported ones, rad/s.
            axes: coordinates of the rotor axes.
            effects: what else acts and is estimated: "drag", "wind", "spin", "lag", "delay".
            joint_angles: (J,) rad at which the links are held, zero where not given.
            options: other fields.

        Raises:
            HaltereError: a name is unknown, a deviation is negative, or a sensor is missing.
        """
        description = describe_vehicle(airframe, axes, effects, joint_angles)
        coordinates = description.coordinates
        guess = guessed(coordinates.kind)(coordinates.numbers, description.physical, float(uncertainty))
        moving_sigma, sigma = guess[0], np.array(guess[1])
        for name, value in (known or {}).items():
            if name not in coordinates.names:
                raise PriorError(
                    f"'{name}' is not a parameter of this vehicle; {closest(name, coordinates.names)}"
                )
            if not value >= 0.0:
                raise PriorError(f"{name}: got a standard deviation of {value}; give zero or more")
            sigma[coordinates.names.index(name)] = value
        measured = tuple(
            HandMeasurement(name, sigma_) for name, (_, sigma_) in (hand_measurements or {}).items()
        )
        for hand in measured:
            hand.quantity(coordinates)
            if not hand.sigma > 0.0:
                raise PriorError(
                    f"{hand.name}: got a standard deviation of {hand.sigma}; give one above zero"
                )
        values = tuple(float(value) for value, _ in (hand_measurements or {}).values())
        noise = VehicleNoise.from_airframe(airframe, speed_sigma)
        return replace(cls(description, noise, jnp.asarray(sigma), moving_sigma, measured, values), **options)

    @property
    def coordinates(self) -> VehicleCoordinates:
        """The filter's coordinates."""
        return self.description.coordinates

    def first_state(self, frames: Frames) -> Mean:
        """The moving blocks at the first pose, from the first readings."""
        seen = np.flatnonzero(np.asarray(frames.pose_valid[:, 0]))
        if len(seen) == 0:
            raise PriorError("the flight has no valid pose; the filter cannot start without one")
        k = int(seen[0])
        if self.first_attitude is not None:
            wxyz = jnp.asarray(self.first_attitude)
        elif bool(frames.pose_valid[k, 3]):
            wxyz = self.principal_attitude(frames.wxyz[k])
        else:
            wxyz = self._aligned(jax.tree.map(lambda x: x[k:], frames))
        later, elapsed = k, 1.0
        if len(seen) > 1:
            later = int(seen[min(3, len(seen) - 1)])
            elapsed = max(float(np.sum(np.asarray(frames.steps.dt[k:later]))), 1e-9)
        moved = (np.asarray(frames.position[later]) - np.asarray(frames.position[k])) / elapsed
        return self.moving_state(
            frames.position[k], wxyz, moved, frames.steps.imu[k, 0, 3:], frames.steps.speeds[k, 0]
        )

    def moving_state(
        self, position: Array, wxyz: Array, velocity: ArrayLike, gyro: Array, speeds: Array
    ) -> Mean:
        """The moving blocks from one moment's readings; biases and wind are zero.

        Args:
            position: (3,) of the pose sensor, m, world axes.
            wxyz: (4,) q_WM, principal axes to world axes.
            velocity: (3,) of the pose sensor, m/s, world axes.
            gyro: (3,) rad/s, axes of the IMU.
            speeds: (N,) rad/s.
        """
        mounted = tuple(self.description.physical[name] for name in ("pose_position", "imu_rotation"))
        moving = {
            **first_motion(mounted, position, wxyz, velocity, gyro),
            "rotor_speed": jnp.asarray(speeds),
            **{name: jnp.asarray(np.zeros(3)) for name in ("accel_bias", "gyro_bias", "wind")},
        }
        return self.coordinates.moving.select(moving)

    def principal_attitude(self, wxyz: Array) -> Array:
        """(4,) q_WM of the vehicle whose pose sensor is at q_WS = `wxyz` (4,)."""
        found: Array = attitude_from_sensor(wxyz, self.description.physical["pose_rotation"])
        return found

    def _aligned(self, frames: Frames) -> Array:
        """q_WM at the beginning (4,) from positions and IMU."""
        steps, physical = frames.steps, self.description.physical
        dt = np.asarray(steps.dt)
        ends = np.cumsum(dt.reshape(-1)).reshape(dt.shape)
        real = (dt > 0.0) & np.asarray(steps.imu_valid)
        imu, seen = np.asarray(steps.imu)[real], np.asarray(frames.pose_valid[:, 0])
        begins = ends - dt
        q_WI = first_attitude(
            begins[real],
            imu[:, 3:],
            imu[:, :3],
            begins[seen, 0],
            np.asarray(frames.position)[seen],
            np.asarray(physical["gravity"]),
        )
        found: Array = attitude_from_sensor(q_WI, physical["imu_rotation"])
        return found

    @property
    def prior_sigma(self) -> np.ndarray:
        """(19 + 7 N,) of the physical numbers, before flight and hand measurements."""
        return np.asarray(jnp.sqrt(jnp.diagonal(self.prior({}).cov)))

    def prior(self, moving: Mean) -> VehiclePrior:
        """What is believed before the flight."""
        return VehiclePrior(
            moving, self.moving_sigma, self.description.physical, self.sigma, self.covariance_root
        )

    def begin(self, moving: Mean) -> VehicleBelief:
        """The belief before the first reading, hand measurements included."""
        _, P, mean = self._believed(moving, self._first(moving))
        return VehicleBelief(mean, P)

    def _first(self, moving: Mean) -> Mean:
        """The state whose constants are those of the prior."""
        guess = guessed(self.coordinates.kind)(self.coordinates.numbers, self.description.physical, 1.0)
        return {**moving, **guess[2]}

    def _believed(self, moving: Mean, state: Mean) -> tuple[Array, Array, Mean]:
        """Prior and hand measurements at a state: mean error, covariance, and the state moved by the error."""
        sigmas = np.asarray([hand.sigma for hand in self.hand_measurements], float)
        readings = np.asarray(self.readings, float)
        found: tuple[Array, Array, Mean] = prior_program(self.coordinates, self.hand_measurements)(
            self.coordinates.numbers, self.prior(moving), readings, sigmas, state
        )
        return found

    def pose(self, belief: VehicleBelief, position: Array, wxyz: Array | None = None) -> VehicleBelief:
        """The belief after a pose, or after a position if there is no `wxyz`."""
        valid = jnp.asarray([True] * 3 + [wxyz is not None] * 3)
        turn = jnp.eye(4)[0] if wxyz is None else jnp.asarray(wxyz)
        new = _online(self.coordinates)[0](
            self._changing, belief, jnp.asarray(position), turn, valid, self.gate
        )
        return _sound(new, belief)

    def step(
        self,
        belief: VehicleBelief,
        speeds: ArrayLike,
        imu: ArrayLike,
        dt: Any,
        rotor_accelerations: ArrayLike | None = None,
    ) -> VehicleBelief:
        """The belief after an IMU reading (6,) and the `dt` seconds that follow, with rotor speeds (N,) rad/s.

        `rotor_accelerations` (N,), rad/s2, are asked for by the effects "spin" and "delay"; not given it is zero.

        Raises:
            PriorError: dt is negative, or a rotor speed is missing or not finite.
        """
        if not isinstance(dt, jax.core.Tracer) and not dt >= 0.0:
            raise PriorError(f"got a step of {dt} s; stamps must not go backwards")
        given = speeds if isinstance(speeds, jax.core.Tracer) else np.asarray(speeds, float)
        if given.shape != (self.coordinates.count,) or not (
            isinstance(given, jax.core.Tracer) or np.isfinite(given).all()
        ):
            raise PriorError(
                f"got rotor speeds {given}; give {self.coordinates.count} finite numbers in rad/s"
            )
        rising = (
            jnp.zeros(given.shape)
            if rotor_accelerations is None
            else jnp.nan_to_num(jnp.asarray(rotor_accelerations))
        )
        step = Steps(jnp.asarray(dt, float), jnp.asarray(given), jnp.asarray(imu), jnp.asarray(True), rising)
        return _sound(_online(self.coordinates)[1](self._changing, belief, step), belief)

    def estimate(
        self, flight: Flight | Frames, early: float | None = None, **options: Any
    ) -> VehicleEstimate:
        """The estimate after a whole flight.

        Args:
            flight: the record, or frames of it.
            early: s since the first sample of the record; what was believed then is kept too.
            options: for `frames_from_flight`.
        """
        if isinstance(flight, Flight):
            framed = frames_from_flight(flight, self.coordinates.rotors, **options)
            mark = 0
            if early is not None:
                lead = (flight.start - framed.first) / 1e9
                mark = int(np.searchsorted(framed.time[1:], early + lead, side="right"))
            noise = self.noise._replace(rotor_acceleration=jnp.asarray(framed.rotor_acceleration_sigma))
            return replace(self, noise=noise)._estimate(framed.frames, framed.notes, mark)
        return self._estimate(flight)

    def _estimate(self, frames: Frames, notes: tuple[str, ...] = (), mark: int = 0) -> VehicleEstimate:
        """`estimate` for frames; what is believed after `mark` of them is kept too."""
        period = float(np.sum(np.asarray(frames.steps.dt))) / frames.position.shape[0]
        told = bool(np.any(np.asarray(frames.pose_valid[:, 3])))
        start, iterations = (self.start, self.iterations) if told else self.without_attitude
        head = min(round(start / period), frames.position.shape[0])
        beginning, rest = jax.tree.map(lambda x: x[:head], frames), jax.tree.map(lambda x: x[head:], frames)
        with self._preparing(beginning):
            moving = self.first_state(frames)
            belief = self.begin(moving)
            if head > 0:
                belief = self._smoothed(moving, belief, beginning, iterations)
        other = Thread(
            target=double_precision()(prepare),
            args=(self.coordinates, self.coordinates.constants(belief.mean)),
        )
        other.start()
        belief, trails, marked = self._filtered(belief, rest, self._changing, mark - head)
        other.join()
        nis = [(np.asarray(trail.pose_nis), np.asarray(trail.imu_nis)) for trail in trails]
        fit, rejected = self._fit(rest, nis, head * period)
        estimate = VehicleEstimate(
            self.coordinates, to_numpy(belief), self.prior_sigma, rejected, fit, notes, to_numpy(marked)
        )
        said = [str(fit)] if fit.mismatch else []
        if fit.mismatch and self.change is None:
            said.append(
                "which of mass and thrust coefficient changed is not identified unless `change` is given"
            )
        bodiless = estimate.impossible()
        said += [bodiless] if bodiless else []
        return replace(estimate, notes=(*notes, *said, *estimate.open()))

    @contextmanager
    def _preparing(self, frames: Frames) -> Iterator[None]:
        """Have the smoother for these frames compiled or loaded on another core meanwhile."""
        if frames.position.shape[0] == 0:
            yield
            return
        given = (self.coordinates.numbers, self.noise)
        whole = filled(frames, CHUNK)
        nominal, cov = blank(self.coordinates, whole.steps.dt.shape)
        prior = (jax.ShapeDtypeStruct(cov.shape[:1], cov.dtype), cov)
        refine = iterated(self.coordinates.kind)
        other = Thread(
            target=double_precision()(refine.prepare), args=(*given, prior, nominal, whole, self.gate)
        )
        other.start()
        try:
            yield
        finally:
            other.join()

    def _filtered(
        self, belief: VehicleBelief, frames: Frames, noise: VehicleNoise, mark: int = 0
    ) -> tuple[VehicleBelief, list[FilterHistory], VehicleBelief | None]:
        """The belief after all frames, what each piece of `CHUNK` frames left, and the belief after `mark` frames."""
        run, whole, count = filtered(self.coordinates.kind), filled(frames, CHUNK), frames.position.shape[0]
        trails, marked = [], None
        for first in range(0, count, CHUNK):
            last = first + CHUNK
            if first < mark < min(last, count):
                piece = filled(jax.tree.map(lambda x, f=first: x[f:mark], frames), CHUNK)
                marked = _sound(run(self.coordinates.numbers, noise, belief, piece, self.gate)[0], belief)
            piece = jax.tree.map(lambda x, f=first, e=last: x[f:e], whole)
            new, trail = run(self.coordinates.numbers, noise, belief, piece, self.gate)
            trails.append(trail)
            belief = _sound(new, belief)
            marked = belief if mark == min(last, count) else marked
        return belief, trails, marked

    def _smoothed(
        self, moving: Mean, belief: VehicleBelief, frames: Frames, iterations: int
    ) -> VehicleBelief:
        """The belief after frames that are smoothed, from the one before them: `smooth` in pieces."""
        coordinates = self.coordinates
        end, trails, _ = self._filtered(belief, frames, self.noise)
        trail = jax.tree.map(lambda *parts: np.concatenate(parts), *trails)
        nominal = SmoothedTrajectory(
            trail.moving, trail.noise, coordinates.moving.select(end.mean), coordinates.constants(end.mean)
        )
        whole, cov = filled(frames, CHUNK), end.cov
        for _ in range(iterations):
            m, P, _ = self._believed(moving, jax.tree.map(np.asarray, nominal).first)
            nominal, cov, moved = iterated(coordinates.kind)(
                coordinates.numbers, self.noise, (m, P), nominal, whole, self.gate
            )
            if float(moved) < SETTLED:
                break
        return VehicleBelief({**nominal.end, **nominal.constants}, cov)

    @property
    def without_attitude(self) -> tuple[float, int]:
        """Seconds smoothed and iterations where the outer sensor tells no attitude: it takes longer to find it."""
        return 2.5 * self.start, self.iterations + 3

    @property
    def _changing(self) -> VehicleNoise:
        return self.noise if self.change is None else self.noise._replace(change=jnp.asarray(self.change))

    def _fit(self, frames: Frames, nis: list[tuple[np.ndarray, np.ndarray]], begin: float) -> tuple[Fit, int]:
        """How the frames after the start fitted, and how many poses were rejected."""
        count = frames.position.shape[0]
        if count == 0:
            return Fit(1.0, 1.0, 0.0, None), 0
        dt = np.asarray(frames.steps.dt)
        numbers = np.sum(np.asarray(frames.pose_valid), axis=1)
        pose, imu = (np.concatenate(parts)[:count] for parts in zip(*nis, strict=True))
        time = begin + np.concatenate([[0.0], np.cumsum(dt.sum(axis=1))[:-1]])
        seen = np.asarray(frames.steps.imu_valid) & (dt > 0.0)
        fit = fit_of(time, pose, numbers, imu, seen, self.gate)
        return fit, int(np.sum((numbers > 0) & (pose > self.gate)))


def _sound(new: VehicleBelief, old: VehicleBelief) -> VehicleBelief:
    """The new belief if all of it is finite, else the old one."""
    leaves = jax.tree.leaves(new)
    if any(isinstance(x, jax.core.Tracer) for x in leaves):
        traced = jnp.all(jnp.stack([jnp.all(jnp.isfinite(x)) for x in leaves]))
        chosen: VehicleBelief = jax.tree.map(lambda a, b: jnp.where(traced, a, b), new, old)
        return chosen
    return new if all(bool(np.isfinite(np.asarray(x)).all()) for x in leaves) else old


@lru_cache(maxsize=8)
def _online(coordinates: VehicleCoordinates) -> tuple[Any, Any]:
    def pose(
        noise: VehicleNoise, belief: VehicleBelief, position: Array, wxyz: Array, valid: Array, gate: Any
    ) -> VehicleBelief:
        return pose_update(coordinates, noise, belief, position, wxyz, valid, gate)[0]

    def step(noise: VehicleNoise, belief: VehicleBelief, step: Steps) -> VehicleBelief:
        return imu_step(coordinates, noise, belief, step)[0]

    return jax.jit(pose), jax.jit(step)
