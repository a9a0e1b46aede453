"""`VehicleFilter`: mass, inertia, rotors and sensors of a vehicle from pose, IMU and rotor speeds.

    vehicle = VehicleFilter("hummingbird", hand_measurements={"mass": (0.716, 1e-3)})
    vehicle.fit(flight).table()                                   # a whole flight

    belief = vehicle.begin(pose=pose, rotor_speeds=speeds, imu=imu)     # or sample by sample
    belief = vehicle.predict(belief, imu, speeds, dt)
    belief = vehicle.correct(belief, pose)
    vehicle.estimate(belief).table()

A filter keeps no state: a belief goes in, a new belief comes out. It computes with 64 bits, whatever JAX is set to; all
arrays that it returns are NumPy float64. What it computes with is `haltere.estimation.vehicle.core`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from os import PathLike
from typing import cast

import numpy as np

from haltere.airframe import Airframe
from haltere.airframe.catalogue.entries import load_airframe
from haltere.estimation.core.consistency import Fit
from haltere.estimation.core.readings import ImuReading, Pose, check_reading, join_imu, split_pose
from haltere.estimation.core.space import Mean
from haltere.estimation.vehicle.coordinates import Effect
from haltere.estimation.vehicle.core import VehicleCore
from haltere.estimation.vehicle.estimate import VehicleEstimate
from haltere.estimation.vehicle.prior import HandMeasurement, PriorError
from haltere.estimation.vehicle.steps import VehicleBelief
from haltere.flight import Flight
from haltere.foundation.arrays import ArrayLike, double_precision, to_float64, to_numpy
from haltere.lie import so3

HandMeasurements = Mapping[str, tuple[float, float]] | Iterable[HandMeasurement]
"""By name (value, sigma), or one object for each."""


class VehicleFilter:
    """Estimates all parameters of one vehicle in flight, from IMU, rotor speeds and pose.

    A belief is the mean and covariance of the filter at one instant; the methods take one and return the next.
    Readings, as they are logged by default (world axes ENU, body axes FLU):

    | reading | what it is |
    |---|---|
    | `pose` | `(position, wxyz)` of the pose sensor in the world: position (3,) in m, unit quaternion (4,) from sensor axes to world axes; or the position alone |
    | `imu` | `(accel, gyro)` in the IMU's axes: specific force (3,) in m/s2 (+9.81 along z at rest, z up), angular rate (3,) in rad/s |
    | `rotor_speeds` | (N,) rad/s, in the airframe's order of rotors |

    The airframe says where pose sensor and IMU sit, and how noisy they are.

        import numpy as np
        import haltere as ht

        vehicle = ht.VehicleFilter("hummingbird", hand_measurements={"mass": (0.716, 1e-3)})
        imu = ([0.0, 0.0, 9.81], [0.0, 0.0, 0.0])
        pose = ([0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 0.0])
        speeds = np.full(4, 453.2)
        belief = vehicle.begin(pose=pose, rotor_speeds=speeds, imu=imu)
        for _ in range(4):
            belief = vehicle.predict(belief, imu, speeds, dt=0.005)
        belief = vehicle.correct(belief, pose)
        print(vehicle.estimate(belief))
    """  # fmt: skip  # noqa: E501 - a row of a table is one line

    @double_precision()
    def __init__(
        self,
        airframe: Airframe | str | PathLike[str],
        *,
        hand_measurements: HandMeasurements | None = None,
        known: Mapping[str, float | tuple[float, float]] | None = None,
        uncertainty: float = 1.0,
        effects: Iterable[Effect] = (),
        joint_angles: ArrayLike | None = None,
    ) -> None:
        """A filter that believes the airframe to about 10 % before the first reading.

        Args:
            airframe: the vehicle, its file, or its name in the catalogue; it needs rotors, an IMU and a pose or
                position sensor, with their noise.
            hand_measurements: numbers measured by hand, `{name: (value, sigma)}` or `HandMeasurement` objects; they are
                weighed against what the airframe says.
            known: numbers that replace those of the airframe, by name of the parameter: a value that is exact, or
                (value, sigma). Positions count from the centre of mass along the principal axes.
            uncertainty: factor on the "10 %" of all other numbers (`haltere.estimation.vehicle.prior.ten_percent`).
            effects: what else acts and is estimated: "drag", "wind", "spin", "lag", "delay".
            joint_angles: (J,) rad at which the joints are held; zero where not given.

        Raises:
            HaltereError: a name is unknown, a standard deviation is negative, or a sensor is missing.
        """
        vehicle = load_airframe(airframe)
        given = {name: _value_and_sigma(name, number) for name, number in (known or {}).items()}
        core = VehicleCore.from_airframe(
            vehicle,
            _by_name(hand_measurements),
            {name: sigma for name, (_, sigma) in given.items()},
            uncertainty,
            effects=tuple(effects),
            joint_angles=joint_angles,
        )
        self.core = _with_values(core, {name: value for name, (value, _) in given.items()})

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters, in the order of `estimate(belief).table()`."""
        return self.core.coordinates.names

    @double_precision()
    def begin(
        self, *, pose: Pose, rotor_speeds: ArrayLike, imu: ImuReading, velocity: ArrayLike | None = None
    ) -> VehicleBelief:
        """The belief at the first readings, hand measurements included.

        Args:
            pose: (position, wxyz) of the pose sensor.
            rotor_speeds: (N,) rad/s.
            imu: (accel, gyro).
            velocity: (3,) m/s of the pose sensor, world axes; zero if not given.

        Raises:
            PriorError: the pose has no attitude, or a reading is not finite.
            ReadingError: a reading has the wrong shape.
        """
        (position, wxyz), reading = split_pose(pose), join_imu(imu)
        if wxyz is None:
            raise PriorError(
                "got a position without attitude; begin with (position, wxyz), or let fit(flight) find the attitude"
            )
        speeds = check_reading("rotor speeds", rotor_speeds, (self.core.coordinates.count,))
        moving = np.zeros(3) if velocity is None else check_reading("a velocity", velocity, (3,))
        for name, values in (
            ("position", position),
            ("wxyz", wxyz),
            ("gyro", reading[3:]),
            ("speeds", speeds),
        ):
            if isinstance(values, np.ndarray) and not np.isfinite(values).all():
                raise PriorError(
                    f"got {name} {values}; the filter begins at finite readings, give the next ones"
                )
        attitude = self.core.principal_attitude(wxyz)
        first = self.core.moving_state(position, attitude, moving, reading[3:], speeds)
        return to_numpy(self.core.begin(first))

    @double_precision()
    def predict(
        self,
        belief: VehicleBelief,
        imu: ImuReading,
        rotor_speeds: ArrayLike,
        dt: float,
        rotor_accelerations: ArrayLike | None = None,
    ) -> VehicleBelief:
        """The belief after an IMU reading and the `dt` seconds that follow it.

        Args:
            belief: at the moment of the reading.
            imu: (accel, gyro); a reading that is not finite is left out.
            rotor_speeds: (N,) rad/s, their mean over the `dt` seconds.
            dt: s until the next IMU reading.
            rotor_accelerations: (N,) rad/s2, used by the effects "spin" and "delay"; zero if not given.

        Raises:
            PriorError: dt is negative, or a rotor speed is missing or not finite.
        """
        speeds = check_reading("rotor speeds", rotor_speeds, (self.core.coordinates.count,))
        rotor_accelerations = None if rotor_accelerations is None else to_float64(rotor_accelerations)
        return to_numpy(self.core.step(belief, speeds, join_imu(imu), dt, rotor_accelerations))

    @double_precision()
    def correct(self, belief: VehicleBelief, pose: Pose) -> VehicleBelief:
        """The belief after a pose or a position; a reading that is not finite, or an outlier, changes nothing."""
        position, wxyz = split_pose(pose)
        return to_numpy(self.core.pose(belief, position, wxyz))

    @double_precision()
    def estimate(self, belief: VehicleBelief) -> VehicleEstimate:
        """The parameters according to a belief: `.table()` has name, value, sigma and verdict of each."""
        unknown = Fit(1.0, 1.0, 0.0, None)  # a belief does not remember how its readings fitted
        found = VehicleEstimate(
            self.core.coordinates, to_numpy(belief), self.core.prior_sigma, 0, unknown, ()
        )
        return replace(found, notes=tuple(found.open()))

    @double_precision()
    def fit(self, flight: Flight) -> VehicleEstimate:
        """The parameters from a whole flight; its beginning is smoothed, the rest filtered.

        Args:
            flight: with `imu.accel`, `imu.gyro`, `rotors.speed`, `pose.position` and, where the sensor measures it,
                `pose.wxyz`.

        Raises:
            HaltereError: a channel is missing or too short, or the first attitude cannot be found.
        """
        return self.core.estimate(flight)


def _by_name(hand_measurements: HandMeasurements | None) -> dict[str, tuple[float, float]]:
    """Value and standard deviation of each hand measurement."""
    if hand_measurements is None:
        return {}
    if isinstance(hand_measurements, Mapping):
        return dict(hand_measurements)
    found = {}
    for one in hand_measurements:
        if one.value is None:
            raise PriorError(f"hand measurement '{one.name}' has no value; give value= what was read")
        found[one.name] = (one.value, one.sigma)
    return found


def _value_and_sigma(name: str, number: float | tuple[float, float]) -> tuple[float, float]:
    value, sigma = number if isinstance(number, tuple | list) else (number, 0.0)
    if not np.isfinite(value):
        raise PriorError(f"known {name}: got {value}; give a finite number")
    return float(value), float(sigma)


def _with_values(core: VehicleCore, values: Mapping[str, float]) -> VehicleCore:
    """The core whose prior has these values; names were checked with their deviations."""
    space, physical = (
        core.coordinates.physical,
        {k: np.array(x) for k, x in core.description.physical.items()},
    )
    for name, value in values.items():
        row = core.coordinates.names.index(name)
        block = next(b for b in space.blocks if space.slices[b.name].start <= row < space.slices[b.name].stop)
        at = row - space.slices[block.name].start
        if block.kind == "rotation":
            vector = np.array(so3.log_wxyz(physical[block.name]))
            vector[at] = value
            physical[block.name] = np.asarray(so3.to_wxyz(so3.exp(vector)))
        else:
            physical[block.name].reshape(-1)[at] = value
    if not values:
        return core
    return replace(core, description=core.description._replace(physical=cast("Mean", physical)))
