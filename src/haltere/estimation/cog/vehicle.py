"""What a centre-of-gravity filter knows of a vehicle: its numbers at given joint angles, its motors and one IMU."""

from dataclasses import dataclass, replace

import jax.numpy as jnp
import numpy as np

from haltere.airframe import Airframe, Imu
from haltere.dynamics import Compact, Model
from haltere.dynamics.motors import Motors
from haltere.dynamics.rigid import RigidVehicle, at_rest
from haltere.dynamics.sensors.noise import sample_sigma
from haltere.foundation import HaltereError
from haltere.foundation.arrays import Array, ArrayLike, pytree
from haltere.lie import so3
from haltere.trajectory import hover_point

SIGMA_ACCEL = 0.1
"""Noise of an accelerometer sample whose file names none, m/s2."""
SIGMA_GYRO = 0.005
"""The same for a gyroscope, rad/s."""


class CogError(HaltereError):
    """A filter that cannot be made for this vehicle."""


@pytree
@dataclass(frozen=True)
class CogNumbers:
    """A vehicle whose links are held, with its motors and one IMU."""

    vehicle: RigidVehicle
    spin: Array
    """(6, R) momentum per rotor speed about the body origin."""
    lag: Array
    """(R,) time constant of the motors, s."""
    top_speed: Array
    """(R,) rad/s."""
    imu_position: Array
    """(3,) p, body axes, m."""
    imu_rotation: Array
    """(3, 3) R_BI."""
    rotor_center: Array
    """(3,) mean position of the rotors, body axes, m."""
    sigma_gyro: Array
    """() of one sample, rad/s."""
    sigma_accel: Array
    """() of one sample, m/s2."""
    model: Model | None = None
    """The whole tree, kept where joints move."""

    @classmethod
    def from_airframe(
        cls, airframe: Airframe, joint_angles: ArrayLike | None = None, imu: Imu | None = None
    ) -> "CogNumbers":
        """The numbers of an airframe held at `joint_angles` (J,) rad, with its first IMU unless one is given."""
        if not airframe.rotors:
            raise CogError(
                f"{airframe.name}: it has no rotor, at least one is expected; add a [[rotors]] table"
            )
        sensor = imu or (airframe.imu[0] if airframe.imu else Imu(position=(0.0, 0.0, 0.0)))
        if sensor.link != "body":
            raise CogError(
                f"imu {sensor.name!r}: it sits on {sensor.link!r}, expected on the body; give an IMU of the body"
            )
        rate = sensor.rate or 200.0
        model, motors = Model.from_airframe(airframe), Motors.from_airframe(airframe)
        angles = None if joint_angles is None else jnp.asarray(joint_angles, float)
        held = np.zeros(model.topology.joints) if angles is None else np.asarray(angles)
        *_, positions, _ = at_rest(model, held)
        return cls(
            vehicle=RigidVehicle.from_airframe(airframe, angles),
            spin=Compact.from_model(model, angles).spin,
            lag=motors.time_constant,
            top_speed=motors.max_speed,
            imu_position=jnp.asarray(sensor.position, float),
            imu_rotation=so3.from_wxyz(jnp.asarray(sensor.wxyz, float)),
            rotor_center=jnp.asarray(positions[model.topology.links :]).mean(axis=0),
            sigma_gyro=jnp.asarray(
                sample_sigma(sensor.sigma_gyro, sensor.sigma_gyro_density, rate) or SIGMA_GYRO
            ),
            sigma_accel=jnp.asarray(
                sample_sigma(sensor.sigma_accel, sensor.sigma_accel_density, rate) or SIGMA_ACCEL
            ),
            model=model if model.topology.joints else None,
        )

    @property
    def rotors(self) -> int:
        """Number of rotors."""
        return int(self.lag.shape[0])

    def at_joint_angles(self, joint_angles: Array | None) -> "CogNumbers":
        """The numbers with the joints at other angles (J,) rad; the same where none move or none are given."""
        if self.model is None or joint_angles is None:
            return self
        compact = Compact.from_model(self.model, joint_angles)
        mass, com, inertia = compact.mass_properties
        vehicle = replace(self.vehicle, mass=mass, com=com, inertia=inertia, allocation=compact.allocation)
        return replace(self, vehicle=vehicle, spin=compact.spin)

    def hover_speeds(self) -> Array:
        """(R,) rotor speeds at hover, rad/s."""
        return jnp.sqrt(jnp.maximum(hover_point(self.vehicle).command, 0.0))
