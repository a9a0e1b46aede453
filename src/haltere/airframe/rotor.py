"""A rotor: where it sits, where it pushes, how strong and how fast it is.

With speed w in the rotor's own direction, unit thrust axis n, air-relative velocity v of its centre split
into v_n = v.n and v_t = v - n v_n, e = +1 for spin "ccw", -1 for "cw" ([Hong2021] eqs. (41), (42), mended):

    thrust       (thrust_coefficient w|w| - axial |w| v_n) n                                              (1)
    hub force    -hub |w| v_t                                                                             (2)
    drag torque  -torque_ratio thrust_coefficient w|w| e n                                                (3)
    side moment  -moment |w| e v_t                                                                        (4)

From command d in 0..1 to steady speed, with w_0 = idle_speed or 0, w_1 = speed_limits[1], k = curve.value:

    w = w_0 + (w_1 - w_0) (k d + (1 - k) sqrt d)         kind "kappa"                                     (5)
    w = w_0 + (w_1 - w_0) sqrt(k d^2 + (1 - k) d)        kind "quadratic"                                 (6)
"""

from typing import Literal, Self

from pydantic import Field, model_validator

from haltere.airframe.errors import fault, format_value
from haltere.airframe.fields import (
    ZERO,
    AirframePart,
    Direction,
    Fraction,
    Inertia,
    Name,
    NonNegative,
    Number,
    Positive,
    Speeds,
    Vector,
    check_has_mass,
)


class Curve(AirframePart):
    """From command to steady speed, equations (5) and (6)."""

    kind: Literal["kappa", "quadratic"] = Field(description="its form", examples=['kind = "kappa"'])
    value: Fraction = Field(description="the share k of the first term, 0..1", examples=["value = 0.46"])


class Inflow(AirframePart):
    """What moving air does to the rotor, equations (1), (2) and (4)."""

    axial: NonNegative = Field(0.0, description="loss of thrust in axial flow, N/(rad/s)/(m/s)")
    hub: NonNegative = Field(0.0, description="force against flow across the axis, N/(rad/s)/(m/s)")
    moment: Number = Field(0.0, description="moment from flow across the axis, N m/(rad/s)/(m/s)")


class Rotor(AirframePart):
    """Its frame sits at `position`, with axes parallel to its link's at angle zero."""

    name: Name = Field(description="a name of its own", examples=['name = "front"'])
    link: Name = Field("body", description="the link that carries it")
    position: Vector = Field(
        description="its centre in the frame of its link, m", examples=["position = [0.17, 0, 0.01]"]
    )
    axis: Direction = Field(
        description="the direction of its thrust in the axes of its link", examples=["axis = [0, 0, 1]"]
    )
    spin: Literal["ccw", "cw"] = Field(
        description="its sense of rotation seen from where the thrust points to", examples=['spin = "ccw"']
    )
    thrust_coefficient: NonNegative = Field(
        description="the thrust over speed squared, N/(rad/s)^2", examples=["thrust_coefficient = 8.54858e-6"]
    )
    torque_ratio: NonNegative = Field(
        description="the drag torque over thrust, m", examples=["torque_ratio = 0.016"]
    )
    time_constant: Positive | None = Field(None, description="lag of the speed, s; leave it out for none")
    speed_limits: Speeds | None = Field(None, description="lowest and highest speed, rad/s")
    mass: NonNegative = Field(0.0, description="mass of what spins, kg")
    com: Vector = Field((0.0, 0.0, 0.0), description="centre of mass of what spins, in the rotor frame, m")
    inertia: Inertia = Field(ZERO, description="xx yy zz xy xz yz of what spins, about its com, kg m^2")
    curve: Curve | None = Field(
        None, description="from command to speed", examples=['{ kind = "kappa", value = 0.46 }']
    )
    idle_speed: NonNegative | None = Field(None, description="speed at command zero, rad/s")
    delay: NonNegative | None = Field(None, description="dead time from command to speed, s")
    inflow: Inflow | None = Field(None, description="the effect of moving air", examples=["{ hub = 8.1e-5 }"])

    @property
    def spin_sign(self) -> float:
        """e: +1 for a rotor that spins "ccw", -1 for "cw"."""
        return 1.0 if self.spin == "ccw" else -1.0

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        check_has_mass(self.mass, self.inertia)
        idle, limits = self.idle_speed, self.speed_limits
        if idle is not None and limits is not None and idle >= limits[1]:
            raise fault(
                f"got {format_value(idle)}; give less than the highest speed, {format_value(limits[1])}",
                "idle_speed",
            )
        return self
