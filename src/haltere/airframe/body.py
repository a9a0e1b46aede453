"""The body: the base link of the tree, whose frame is the frame of the whole vehicle."""

from typing import Self

from pydantic import Field, model_validator

from haltere.airframe.drag import Drag
from haltere.airframe.errors import fault, say
from haltere.airframe.fields import Positive, Vector
from haltere.airframe.inertia import Inertia, principal_moments
from haltere.airframe.part import Part
from haltere.airframe.wing import Wing

_FLAT = 1e-12


class Body(Part):
    """The rigid body that carries everything else; what spins or moves on it has its own mass beside it."""

    mass: Positive = Field(description="the mass in kg", examples=["mass = 0.716"])
    com: Vector = Field((0.0, 0.0, 0.0), description="centre of mass in the body frame, m")
    inertia: Inertia = Field(
        description="xx yy zz xy xz yz about the centre of mass in kg m^2",
        examples=["inertia = [7.5e-3, 7.5e-3, 1.3e-2, 0, 0, 0]"],
    )
    wing: Wing | None = Field(None, description="a table", examples=["[body.wing]"])
    drag: Drag | None = Field(None, description="a table", examples=["{ linear = [0.1, 0.1, 0.2] }"])

    @model_validator(mode="after")
    def _turns(self) -> Self:
        smallest, _, largest = principal_moments(self.inertia)
        if smallest <= _FLAT * largest:
            raise fault(f"got {say(self.inertia)}; give the body three moments above zero", "inertia")
        return self
