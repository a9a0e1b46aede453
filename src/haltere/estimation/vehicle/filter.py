"""`VehicleFilter`: mass properties, rotors and sensors of a vehicle from IMU, rotor speeds and poses, without state.

    vehicle = VehicleFilter("hummingbird", known={"mass": (0.716, 1e-3)})
    belief = vehicle.begin(pose=pose, rotor_speeds=speeds, imu=imu)     # sample by sample
    belief = vehicle.predict(belief, imu, speeds, dt)
    belief = vehicle.correct(belief, pose)
    vehicle.estimate(belief)["mass"]

    vehicle.fit(flight)["mass"]                                         # a whole flight, smoothed

A belief goes in, a new belief comes out; one that was kept says the same as before. It is the belief of
`haltere.estimation.vehicle.causal` before the next node, and the last readings, of which the next nodes are made as
soon as all of them has come. All arrays are NumPy float64.
"""

from copy import copy
from dataclasses import replace
from os import PathLike

import numpy as np

from haltere.airframe import Airframe
from haltere.airframe.catalogue.entries import load_airframe
from haltere.estimation.core.readings import (
    ImuReading,
    Pose,
    ReadingError,
    check_reading,
    join_imu,
    split_pose,
)
from haltere.estimation.vehicle.causal import (
    CausalBelief,
    begin_again,
    smooth_stretch,
)
from haltere.estimation.vehicle.filter_belief import FilterBelief, RecentSamples, filter_ready
from haltere.estimation.vehicle.hand_measurements import Known, measured_vehicle
from haltere.estimation.vehicle.levels import first_levels
from haltere.estimation.vehicle.motion import ERROR, NODE, STATE
from haltere.estimation.vehicle.nodes import FlightNodes
from haltere.estimation.vehicle.numbers import Numbers, numbers_at, physical_numbers
from haltere.estimation.vehicle.online import FILTERED_FACTOR, SMOOTHED_FACTOR
from haltere.estimation.vehicle.online_estimate import OnlineEstimate, parameters_of
from haltere.estimation.vehicle.parameters import VehicleModel
from haltere.estimation.vehicle.payload import with_payload
from haltere.estimation.vehicle.smoother import smooth
from haltere.estimation.vehicle.stream import SensorBuffer, samples_of
from haltere.flight import Flight
from haltere.flight.rotations import conjugate, matrix_from_wxyz, multiply
from haltere.foundation import HaltereError
from haltere.foundation.arrays import ArrayLike, double_precision
from haltere.foundation.memory import bound_programs
from haltere.foundation.numbers import Floats

PRIOR_FACTOR = 2.0
"""On the deviations of the coordinates where the filter began at their prior: it linearises once, at numbers that are
still off."""


class VehicleFilter:
    """Estimates the numbers of a vehicle in flight, sample by sample; a belief goes in, a new belief comes out.

    Readings, as they are logged by default (world axes ENU, body axes FLU):

    | reading | what it is |
    |---|---|
    | `pose` | `(position, wxyz)` of the pose sensor in the world: position (3,) in m, unit quaternion (4,) from sensor axes to world axes; or the position alone |
    | `imu` | `(accel, gyro)` in the IMU's axes: specific force (3,) in m/s2 (+9.81 along z at rest, z up), angular rate (3,) in rad/s |
    | `rotor_speeds` | (N,) rad/s, in the airframe's order of rotors |

    A reading that is not finite is left out.

        import haltere as ht

        vehicle = ht.VehicleFilter("hummingbird", known={"mass": (0.716, 1e-3)})
        imu = ([0.0, 0.0, 9.81], [0.0, 0.0, 0.0])
        pose = ([0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 0.0])
        speeds = [453.2] * 4
        belief = vehicle.begin(pose=pose, rotor_speeds=speeds, imu=imu)
        for _ in range(40):
            belief = vehicle.predict(belief, imu, speeds, dt=0.005)
            belief = vehicle.correct(belief, pose)
        print(vehicle.estimate(belief)["mass"])
    """  # fmt: skip  # noqa: E501 - a row of a table is one line

    @double_precision()
    def __init__(
        self,
        airframe: Airframe | str | PathLike[str],
        *,
        known: Known | None = None,
        joint_angles: ArrayLike | None = None,
        model: VehicleModel = "full",
    ) -> None:
        """A filter that begins at the airframe's numbers.

        Args:
            airframe: the vehicle, its file, or its name in the catalogue.
            known: numbers measured by hand: value, or value and sigma, by name.
            joint_angles: (J,) rad at which the joints are held; zero if not given.
            model: all that is estimated, or "paper" for the smaller state vector of [Boehm2022].

        Raises:
            HaltereError: a name of `known` is none of the vehicle's numbers.
        """
        vehicle = load_airframe(airframe)
        self.rotor_names = tuple(rotor.name for rotor in vehicle.rotors)
        angles = None if joint_angles is None else np.asarray(joint_angles, np.float64)
        self.nominal, self._measured = measured_vehicle(vehicle, known, angles, model)

    def with_payload(self, payload: ArrayLike, cov: ArrayLike) -> "VehicleFilter":
        """The filter of the vehicle with a payload: arguments as in `haltere.estimation.vehicle.payload`."""
        loaded = copy(self)
        loaded.nominal = with_payload(self.nominal, payload, cov)
        return loaded

    @double_precision()
    def begin(
        self,
        *,
        pose: Pose,
        rotor_speeds: ArrayLike,
        imu: ImuReading,
        velocity: ArrayLike | None = None,
        start: Flight | None = None,
    ) -> FilterBelief:
        """The belief at the first readings: coordinates at their prior, or as the smoothed start of the flight says.

        Args:
            pose: (position, wxyz) of the pose sensor.
            rotor_speeds: (N,) rad/s.
            imu: (accel, gyro).
            velocity: (3,) m/s of the pose sensor, world axes; zero if not given.
            start: the flight until now, 4 s or more, whose last IMU sample is `imu`; states then come from it, too.

        Raises:
            ReadingError: a reading has the wrong shape or is not finite, or the pose has no attitude.
            HaltereError: the start cannot be smoothed.
        """
        (position, wxyz), reading = split_pose(pose), join_imu(imu)
        if wxyz is None:
            raise ReadingError("got a position without attitude; begin with (position, wxyz)")
        speeds = check_reading("rotor speeds", rotor_speeds, (len(self.rotor_names),))
        moving = np.zeros(3) if velocity is None else check_reading("a velocity", velocity, (3,))
        names = ("position", "wxyz", "imu", "rotor speeds", "velocity")
        for name, values in zip(names, (position, wxyz, reading, speeds, moving), strict=True):
            if not np.isfinite(values).all() or (name == "wxyz" and not np.any(values)):
                raise ReadingError(
                    f"got {name} {values}; the filter begins at finite readings, give the next ones"
                )
        if start is not None:
            return self._after_start(start)
        wxyz = wxyz / np.linalg.norm(wxyz)
        x = self._first_state(position, wxyz, moving, reading[3:], speeds)
        levels, n = first_levels(self.nominal), self.nominal.layout.size
        prior = CausalBelief(x, np.zeros((ERROR, n)), np.eye(ERROR), np.zeros(n), np.eye(n))  # type: ignore[arg-type]
        return FilterBelief(
            time=0.0,
            node=0.0,
            causal=begin_again(prior, self.nominal, levels, x),
            nominal=self.nominal,
            log_levels=levels,
            sigma_factor=PRIOR_FACTOR,
            imu=RecentSamples(np.zeros(1), _gyro_first(reading)[None]),
            rotors=RecentSamples(np.zeros(1), speeds[None]),
            poses=RecentSamples(np.zeros(1), np.concatenate([position, wxyz])[None]),
        )

    def _after_start(self, flight: Flight) -> FilterBelief:
        """The belief at the last IMU sample of a flight, which is smoothed."""
        bound_programs()
        found = smooth_stretch(flight, self.nominal, self.rotor_names)
        if isinstance(found, str):
            raise HaltereError(f"{found}; begin without start, or with a longer one")
        buffer = SensorBuffer(len(self.rotor_names), np.inf)
        for sample in samples_of(flight, self.rotor_names):
            buffer.add(sample)
        imu, rotors, poses = (
            RecentSamples(series.time + (buffer.origin or 0.0), series.values.copy())
            for series in (buffer.imu, buffer.rotors, buffer.poses)
        )
        belief = FilterBelief(
            time=imu.newest,
            node=found.time - flight.start * 1e-9,
            causal=found.belief,
            nominal=found.flight.nominal,
            log_levels=found.flight.log_levels,
            sigma_factor=FILTERED_FACTOR,
            imu=imu,
            rotors=rotors,
            poses=poses,
        )
        return belief.trimmed()

    def _first_state(
        self, position: Floats, wxyz: Floats, velocity: Floats, gyro: Floats, speeds: Floats
    ) -> Floats:
        """(31,) from the first pose and rate, as the nominal vehicle has its sensors."""
        nominal = self.nominal
        q = multiply(wxyz[None], conjugate(np.asarray(nominal.pose_wxyz))[None])[0]
        R = matrix_from_wxyz(q)
        arm = np.asarray(nominal.pose_position) - np.asarray(nominal.com)
        rate = matrix_from_wxyz(np.asarray(nominal.imu_wxyz)) @ gyro
        spin = (speeds * np.asarray(nominal.spin * nominal.spin_inertia)) @ np.asarray(nominal.axis)
        momentum_rate = rate + np.linalg.solve(np.asarray(nominal.inertia), spin)
        x = np.zeros(STATE)
        x[:13] = np.concatenate([position - R @ arm, velocity - R @ np.cross(rate, arm), q, momentum_rate])
        return x

    @double_precision()
    def predict(
        self, belief: FilterBelief, imu: ImuReading, rotor_speeds: ArrayLike, dt: float
    ) -> FilterBelief:
        """The belief `dt` seconds after a reading of IMU and rotor speeds.

        Args:
            belief: at the moment of the reading.
            imu: (accel, gyro).
            rotor_speeds: (N,) rad/s.
            dt: s until the next reading.

        Raises:
            ReadingError: a reading has the wrong shape, or dt is negative or not finite.
        """
        reading = _gyro_first(join_imu(imu))
        speeds = check_reading("rotor speeds", rotor_speeds, (len(self.rotor_names),))
        if not (np.isfinite(dt) and dt >= 0.0):
            raise ReadingError(f"got dt {dt}; give the seconds until the next reading, zero or more")
        now = belief.time
        if np.isfinite(reading).all():
            belief = replace(belief, imu=belief.imu.add(now, reading, replaces=True))
        if np.isfinite(speeds).all():
            belief = replace(belief, rotors=belief.rotors.add(now, speeds, replaces=True))
        return filter_ready(replace(belief, time=now + float(dt)))

    def correct(self, belief: FilterBelief, pose: Pose) -> FilterBelief:
        """The belief with a pose or a position that was taken at its time.

        Raises:
            ReadingError: it has the wrong shape.
        """
        position, wxyz = split_pose(pose)
        has_attitude = wxyz is not None
        wxyz = wxyz if has_attitude else np.full(4, np.nan)
        length = np.linalg.norm(wxyz)
        if not np.isfinite(position).all() or (has_attitude and not 0.5 < length < 2.0):
            return belief
        values = np.concatenate([position, wxyz / length])
        return replace(belief, poses=belief.poses.add(belief.time, values, replaces=False))

    @double_precision()
    def estimate(self, belief: FilterBelief) -> OnlineEstimate:
        """The numbers according to a belief; print it, or take one by name: `estimate["mass"]`."""
        last = filter_ready(belief)
        cov = last.sigma_factor**2 * np.linalg.inv(np.asarray(last.causal.precision))
        numbers = numbers_at(last.nominal, np.asarray(last.causal.z), cov, self.rotor_names)
        used = last.node - NODE
        return self._estimate(numbers, used, belief.time - used, is_prior=last.node <= 0.0)

    @double_precision()
    def fit(self, flight: Flight) -> OnlineEstimate:
        """The numbers from a whole flight, which is smoothed.

        Args:
            flight: with `imu.accel`, `imu.gyro`, `rotors.speed`, `pose.position` and `pose.wxyz`.

        Raises:
            HaltereError: a channel is missing or too short.
        """
        bound_programs()
        nodes = FlightNodes.from_flight(flight, self.rotor_names)
        found = smooth(nodes, self.nominal)
        numbers = physical_numbers(found, self.rotor_names, SMOOTHED_FACTOR**2 * found.cov)
        return self._estimate(numbers, float(nodes.time[-1]), 0.0, is_prior=False)

    def _estimate(self, numbers: Numbers, time: float, behind: float, *, is_prior: bool) -> OnlineEstimate:
        rows = parameters_of(numbers, self._measured, is_prior=is_prior)
        return OnlineEstimate(time, behind, numbers, rows, ())


def _gyro_first(imu: Floats) -> Floats:
    """(6,) gyro and accelerometer from accelerometer and gyro."""
    return np.concatenate([imu[3:], imu[:3]])
