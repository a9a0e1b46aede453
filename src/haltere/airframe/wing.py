"""A wing: its size, the frame in which its coefficients hold, and the coefficients."""

from pydantic import Field

from haltere.airframe.coefficients import Coefficients
from haltere.airframe.fields import Positive, Rotation, Vector
from haltere.airframe.part import Part


class Frame(Part):
    """Where a frame sits on its body or link, and how it is turned against it."""

    position: Vector = Field((0.0, 0.0, 0.0), description="origin in the frame of the carrier, m")
    wxyz: Rotation = Field((1.0, 0.0, 0.0, 0.0), description="rotation against the carrier, unit quaternion")


class Wing(Part):
    """A lifting surface; in its frame x points forward along the chord, y left along the span, z up."""

    area: Positive = Field(description="the planform area, m^2", examples=["area = 0.05"])
    span: Positive = Field(
        description="the span b, m, of rolling and yawing moments", examples=["span = 0.4"]
    )
    chord: Positive = Field(
        description="the mean chord c, m, of the pitching moment", examples=["chord = 0.12"]
    )
    frame: Frame = Field(Frame(), description="a table", examples=["{ position = [0, 0.1, 0] }"])
    coefficients: Coefficients = Field(
        description="a table of coefficients", examples=['{ kind = "wind", CL = 0.4, CD = 0.03 }']
    )
    reduced_rate_limit: Positive = Field(
        0.05, description="rate times chord over twice the airspeed, above which a warning is due"
    )
