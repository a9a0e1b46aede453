"""A joint: how a link hangs on its parent."""

from typing import Self

from pydantic import Field, StrictBool, model_validator

from haltere.airframe.errors import fault
from haltere.airframe.fields import Direction, Interval, Vector
from haltere.airframe.part import Part
from haltere.airframe.servo import Servo


class Joint(Part):
    """A revolute joint about `axis` through `origin`, or a rigid connection where `fixed`."""

    origin: Vector = Field((0.0, 0.0, 0.0), description="origin of the link frame in the parent's frame, m")
    axis: Direction | None = Field(None, description="axis of rotation in the parent's axes")
    limits: Interval | None = Field(None, description="lower and upper angle, rad")
    fixed: StrictBool = Field(False, description="whether the link is held at angle zero")
    servo: Servo | None = Field(
        None, description="the servo that turns it", examples=["{ stall_torque = 2.5, ... }"]
    )

    @model_validator(mode="after")
    def _moves(self) -> Self:
        if self.axis is None and not self.fixed:
            raise fault("missing; give a vector such as axis = [0, 1, 0], or fixed = true", "axis")
        return self
