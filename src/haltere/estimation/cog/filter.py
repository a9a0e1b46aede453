"""`CogFilter`: the centre of gravity in flight, from gyroscope, accelerometer, rotor speeds and commands.

    cog = CogFilter("neo")
    belief = cog.begin()
    belief = cog.predict(belief, rotor_speeds, commands, dt)
    belief = cog.correct(belief, imu)
    cog.estimate(belief).com

A filter keeps no state: a belief goes in, a new belief comes out. It computes with 64 bits, whatever JAX is set to; all
arrays that it returns are NumPy. Inside `jax.jit`, `scan` or `vmap` use `haltere.estimation.cog.core`, a pytree.
"""

from dataclasses import replace
from os import PathLike
from typing import Any

import jax
import numpy as np

from haltere.airframe import Airframe
from haltere.airframe.catalogue.entries import load_airframe
from haltere.dynamics.motors import Motors
from haltere.estimation.cog.belief import CogBelief, CogEstimate, CogPrediction, CogReading
from haltere.estimation.cog.core import CogCore
from haltere.estimation.cog.settings import CogSettings
from haltere.estimation.cog.vehicle import CogError
from haltere.estimation.core.readings import ImuReading, check_reading, join_imu
from haltere.foundation.arrays import Array, ArrayLike, compiled, double_precision, to_numpy


class CogFilter:
    """Estimates the centre of gravity of one vehicle in flight, from IMU and rotor speeds or motor commands.

    | reading | what it is |
    |---|---|
    | `rotor_speeds` | (N,) measured, rad/s, in the airframe's order of rotors; NaN or None where not measured |
    | `commands` | (N,) motor commands in force until now, 0 to 1; NaN or None where not known |
    | `imu` | `(accel, gyro)` in the IMU's axes: specific force (3,) in m/s2, angular rate (3,) in rad/s |
    | `joint_angles` | (J,) rad, where joints move and are measured |

    Missing or implausible readings are left out; `belief.counts` counts them by
    `haltere.estimation.cog.settings.Reason`.

        import numpy as np
        import haltere as ht

        cog = ht.CogFilter("hummingbird")
        belief = cog.begin()
        for _ in range(10):
            belief = cog.predict(belief, np.full(4, 453.2), None, dt=0.005)
            belief = cog.correct(belief, ([0.0, 0.0, 9.81], [0.0, 0.0, 0.0]))
        said = cog.estimate(belief)
        print(said.trim, said.com, said.sigma, said.mass)
    """

    @double_precision()
    def __init__(
        self,
        airframe: Airframe | str | PathLike[str],
        *,
        settings: CogSettings | None = None,
        joint_angles: ArrayLike | None = None,
    ) -> None:
        """A filter that begins at the centre of mass of the airframe.

        Args:
            airframe: the vehicle, its file, or its name in the catalogue.
            settings: the constants of the filter; `period` is not used, because each prediction has its own `dt`.
            joint_angles: (J,) rad at the beginning, of a vehicle whose joints are measured; zero where not given.
        """
        vehicle = load_airframe(airframe)
        self.core = CogCore.from_airframe(vehicle, settings, joint_angles)
        self._motors = Motors.from_airframe(vehicle)

    @double_precision()
    def begin(self, rotor_speeds: ArrayLike | None = None) -> CogBelief:
        """The belief before the first reading, at rotor speeds (N,) rad/s; those of hover if not given."""
        speeds = None if rotor_speeds is None else self._rotors("rotor speeds", rotor_speeds)
        return to_numpy(self.core.begin(speeds))

    @double_precision()
    def predict(
        self,
        belief: CogBelief,
        rotor_speeds: ArrayLike | None,
        commands: ArrayLike | None,
        dt: float,
        joint_angles: ArrayLike | None = None,
    ) -> CogBelief:
        """The belief `dt` seconds later, before the IMU reading of that moment.

        Args:
            belief: after the last reading.
            rotor_speeds: (N,) measured at that moment, rad/s.
            commands: (N,) in force until then, 0 to 1.
            dt: s since the last prediction.
            joint_angles: (J,) measured at that moment, rad.

        Raises:
            CogError: dt is not above zero.
            ReadingError: a reading has the wrong shape.
        """
        step: Any = dt
        if not isinstance(step, jax.core.Tracer) and not step > 0.0:
            raise CogError(f"got a step of {dt} s; give the seconds since the last prediction, above zero")
        if belief.prediction is not None:
            belief = self.correct(belief, np.full(6, np.nan))
        speeds, given = self._rotors("rotor speeds", rotor_speeds), self._rotors("commands", commands)
        joints = self.core.numbers.model.topology.joints if self.core.numbers.model else 0
        angles = None if joint_angles is None else check_reading("joint angles", joint_angles, (joints,))
        return replace(belief, prediction=CogPrediction(speeds, given, angles, step))

    @double_precision()
    def correct(self, belief: CogBelief, imu: ImuReading) -> CogBelief:
        """The belief after the IMU reading of the moment that was predicted.

        Raises:
            CogError: the belief does not come from `predict`.
        """
        prediction = belief.prediction
        if prediction is None:
            raise CogError(
                "a correction follows a prediction; call predict first, with rotor speeds or commands"
            )
        before = replace(belief, prediction=None)
        return to_numpy(_tick(self.core, self._motors, before, prediction, join_imu(imu)))

    @double_precision()
    def mark(self, belief: CogBelief) -> CogBelief:
        """The belief at the moment of a grip or drop that the vehicle knows of; `change` counts from here."""
        return to_numpy(_mark(self.core, replace(belief, prediction=None)))

    @double_precision()
    def estimate(self, belief: CogBelief) -> CogEstimate:
        """The trim that balances the vehicle now, its centre of mass, the change since the last mark or event, mass."""
        return to_numpy(_estimate(self.core, replace(belief, prediction=None)))

    def _rotors(self, what: str, values: ArrayLike | None) -> Array:
        count = self.core.numbers.rotors
        found: Array = check_reading(what, np.full(count, np.nan) if values is None else values, (count,))
        return found


@compiled
def _tick(
    core: CogCore, motors: Motors, belief: CogBelief, prediction: CogPrediction, imu: Array
) -> CogBelief:
    targets = motors.target(prediction.targets)
    reading = CogReading(imu[3:], imu[:3], prediction.speeds, targets, prediction.joint_angles)
    return core.tick(belief, reading, prediction.dt)


@compiled
def _mark(core: CogCore, belief: CogBelief) -> CogBelief:
    return core.mark(belief)


@compiled
def _estimate(core: CogCore, belief: CogBelief) -> CogEstimate:
    return core.estimate(belief)
