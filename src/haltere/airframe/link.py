"""A link: a rigid body on a joint, such as a tilt mechanism, a wing or a segment of an arm."""

from typing import Self

from pydantic import Field, model_validator

from haltere.airframe.drag import Drag
from haltere.airframe.fields import Name, NonNegative, Vector
from haltere.airframe.inertia import ZERO, Inertia, check_has_mass
from haltere.airframe.joint import Joint
from haltere.airframe.part import Part
from haltere.airframe.wing import Wing


class Link(Part):
    """Its frame sits at the joint's origin, with axes parallel to the parent's at angle zero."""

    name: Name = Field(description="a name of its own", examples=['name = "left_wing"'])
    parent: Name = Field("body", description="the link that carries it")
    joint: Joint = Field(
        description="the joint to the parent", examples=["joint = { origin = [0, 0.3, 0], axis = [0, 1, 0] }"]
    )
    mass: NonNegative = Field(description="the mass in kg", examples=["mass = 0.1"])
    com: Vector = Field((0.0, 0.0, 0.0), description="centre of mass in the link frame, m")
    inertia: Inertia = Field(ZERO, description="xx yy zz xy xz yz about its own centre of mass in kg m^2")
    wing: Wing | None = Field(None, description="a table", examples=["[links.wing]"])
    drag: Drag | None = Field(None, description="a table", examples=["{ linear = [0.1, 0.1, 0.2] }"])

    @model_validator(mode="after")
    def _has_mass(self) -> Self:
        check_has_mass(self.mass, self.inertia)
        return self
