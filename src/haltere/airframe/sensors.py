"""Sensors: an inertial unit, a sensor of pose (motion capture, vision), a sensor of position (GNSS).

`sigma_*` is the deviation of one sample, `sigma_*_density` that of continuous white noise, `sigma_*_walk`
that of the random walk of the bias.
"""

from typing import Self

from pydantic import Field, model_validator

from haltere.airframe.errors import fault
from haltere.airframe.fields import AirframePart, Name, NonNegative, Positive, Rotation, Vector

_POSITION = "the origin of the sensor frame in the frame of its link, m"
_EXAMPLE = ["position = [0.019, -0.0093, 0.003]"]
_WXYZ = "the rotation of the sensor frame against its link, quaternion of unit length"


class Imu(AirframePart):
    """Accelerometer and gyroscope."""

    name: Name = Field("imu", description="a name of its own")
    link: Name = Field("body", description="the link that carries it")
    position: Vector = Field(description=_POSITION, examples=_EXAMPLE)
    wxyz: Rotation = Field((1.0, 0.0, 0.0, 0.0), description=_WXYZ)
    rate: Positive | None = Field(None, description="samples per second, Hz")
    sigma_accel: NonNegative | None = Field(None, description="noise of one sample of acceleration, m/s^2")
    sigma_accel_density: NonNegative | None = Field(None, description="noise density, m/s^2/sqrt(Hz)")
    sigma_accel_walk: NonNegative | None = Field(None, description="walk of the bias, m/s^2/sqrt(s)")
    sigma_gyro: NonNegative | None = Field(None, description="noise of one sample of angular velocity, rad/s")
    sigma_gyro_density: NonNegative | None = Field(None, description="noise density, rad/s/sqrt(Hz)")
    sigma_gyro_walk: NonNegative | None = Field(None, description="walk of the bias, rad/s/sqrt(s)")
    accel_range: Positive | None = Field(None, description="largest acceleration it can show, m/s^2")
    gyro_range: Positive | None = Field(None, description="largest angular velocity it can show, rad/s")

    @model_validator(mode="after")
    def _one_noise(self) -> Self:
        for name in ("sigma_accel", "sigma_gyro"):
            if getattr(self, name) is not None and getattr(self, f"{name}_density") is not None:
                raise fault(f"stands beside {name}_density; give one of the two", name)
        return self


class PoseSensor(AirframePart):
    """Position and attitude of its own frame in the world."""

    name: Name = Field("pose", description="a name of its own")
    link: Name = Field("body", description="the link that carries it")
    position: Vector = Field(description=_POSITION, examples=_EXAMPLE)
    wxyz: Rotation = Field((1.0, 0.0, 0.0, 0.0), description=_WXYZ)
    rate: Positive | None = Field(None, description="samples per second, Hz")
    sigma_position: NonNegative | None = Field(None, description="noise of one sample per axis, m")
    sigma_rotation: NonNegative | None = Field(None, description="noise of one sample per axis, rad")


class PositionSensor(AirframePart):
    """Position of its own origin in the world."""

    name: Name = Field("position", description="a name of its own")
    link: Name = Field("body", description="the link that carries it")
    position: Vector = Field(description=_POSITION, examples=_EXAMPLE)
    rate: Positive | None = Field(None, description="samples per second, Hz")
    sigma_position: NonNegative | None = Field(None, description="noise of one sample per axis, m")
