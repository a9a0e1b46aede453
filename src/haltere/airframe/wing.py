"""A wing: its size, its frame, and its static coefficients over angle of attack and sideslip.

With dynamic pressure q, area S, span b, chord c, and air-relative velocity v of the wing frame, V = |v|:

    alpha = atan2(-v_z, v_x),   beta = asin(-v_y / V)                                                   (1)
    kind "body":  F = q S (-CA, CY, CN),     M = q S (Cl b, Cm c, Cn b),     both in the wing frame    (2)
    kind "wind":  F = q S Q (-CD, CC, CL),   M = q S Q (Cl b, Cm c, Cn b),   Q = Rot(y, alpha) Rot(z, -beta)

([Hong2021] eqs. (50) to (57), corrected.) In the wing frame, y left and z up, +Cm is nose-down.
"""

import math
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from haltere.airframe.errors import fault, format_value
from haltere.airframe.fields import AirframePart, Positive, Rotation, Vector, entries, number, row

FORCES = {"body": ("CA", "CY", "CN"), "wind": ("CD", "CC", "CL")}
MOMENTS = ("Cl", "Cm", "Cn")

_ROUNDING = 1e-6


def _angles(value: Any, largest: float, words: str) -> tuple[float, ...]:
    angles = row(entries(value))
    for i, angle in enumerate(angles):
        if abs(angle) > largest + _ROUNDING:
            raise fault(f"got {format_value(angle)}; give radians from {words}", i)
        if i and angle <= angles[i - 1]:
            raise fault(
                f"got {format_value(angle)} after {format_value(angles[i - 1])}; give increasing angles", i
            )
    if len(angles) < 2:
        raise fault(
            f"got {format_value(angles)}; give two angles or more, or leave it out for constant coefficients"
        )
    return angles


def _alpha(value: Any) -> tuple[float, ...] | None:
    return None if value is None else _angles(value, math.pi, "-pi to pi")


def _beta(value: Any) -> tuple[float, ...] | None:
    return None if value is None else _angles(value, math.pi / 2, "-pi/2 to pi/2")


def _entries_at(line: Any, index: int) -> list[Any]:
    if not isinstance(line, list | tuple):
        raise fault(f"got {format_value(line)} among rows; give a list over beta for each angle alpha", index)
    return list(line)


def _coefficient(value: Any) -> Any:
    plain = value.tolist() if hasattr(value, "tolist") else value
    if not isinstance(plain, list | tuple):
        return number(plain)
    if any(isinstance(item, list | tuple) for item in plain):
        return tuple(row(_entries_at(line, i), i) for i, line in enumerate(plain))
    return row(list(plain))


Angles = tuple[float, ...] | None
Coefficient = Annotated[
    float | tuple[float, ...] | tuple[tuple[float, ...], ...],
    BeforeValidator(_coefficient),
]


class Coefficients(AirframePart):
    """Static coefficients: each a constant, a list over `alpha` or a table `[alpha][beta]`; left out it is zero."""

    kind: Literal["body", "wind"] = Field(
        description="the axes of the coefficients", examples=['kind = "wind"']
    )
    alpha: Annotated[Angles, BeforeValidator(_alpha)] = Field(None, description="angles of attack, rad")
    beta: Annotated[Angles, BeforeValidator(_beta)] = Field(None, description="angles of sideslip, rad")
    CA: Coefficient = Field(0.0, description="axial force, aft positive (kind body)")
    CY: Coefficient = Field(0.0, description="side force along y (kind body)")
    CN: Coefficient = Field(0.0, description="normal force along z (kind body)")
    CD: Coefficient = Field(0.0, description="drag (kind wind)")
    CC: Coefficient = Field(0.0, description="cross-wind force (kind wind)")
    CL: Coefficient = Field(0.0, description="lift (kind wind)")
    Cl: Coefficient = Field(0.0, description="rolling moment over q S span")
    Cm: Coefficient = Field(0.0, description="pitching moment over q S chord, about +y")
    Cn: Coefficient = Field(0.0, description="yawing moment over q S span")

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.beta is not None and self.alpha is None:
            raise fault("beta needs alpha; give alpha = [...] too, as tables are [alpha][beta]", "alpha")
        for kind, names in FORCES.items():
            for name in names:
                if kind != self.kind and getattr(self, name) != 0:
                    mine = ", ".join(FORCES[self.kind])
                    raise fault(f"belongs to kind {kind!r}; for kind {self.kind!r} give {mine}", name)
        for name in (*FORCES[self.kind], *MOMENTS):
            self._check_shape(name)
        return self

    def _check_shape(self, name: str) -> None:
        value = getattr(self, name)
        if not isinstance(value, tuple):
            return
        if self.alpha is None:
            raise fault("got a list, but there is no alpha; give alpha = [...], or one number here", name)
        if len(value) != len(self.alpha):
            raise fault(f"got {len(value)} rows for {len(self.alpha)} angles alpha; give one for each", name)
        if not isinstance(value[0], tuple):
            return
        if self.beta is None:
            raise fault(
                "got a table, but there is no beta; give beta = [...], or a list over alpha here", name
            )
        for i, line in enumerate(value):
            if len(line) != len(self.beta):
                count = f"got {len(line)} entries for {len(self.beta)} angles beta"
                raise fault(f"{count}; give one for each", name, i)


class WingFrame(AirframePart):
    """Where a frame sits on its body or link, and how it is rotated against it."""

    position: Vector = Field((0.0, 0.0, 0.0), description="origin in the frame of the carrier, m")
    wxyz: Rotation = Field((1.0, 0.0, 0.0, 0.0), description="rotation against the carrier, unit quaternion")


class Wing(AirframePart):
    """A lifting surface; in its frame x points forward along the chord, y left along the span, z up."""

    area: Positive = Field(description="the planform area, m^2", examples=["area = 0.05"])
    span: Positive = Field(
        description="the span b, m, of rolling and yawing moments", examples=["span = 0.4"]
    )
    chord: Positive = Field(
        description="the mean chord c, m, of the pitching moment", examples=["chord = 0.12"]
    )
    frame: WingFrame = Field(WingFrame(), description="a table", examples=["{ position = [0, 0.1, 0] }"])
    coefficients: Coefficients = Field(
        description="a table of coefficients", examples=['{ kind = "wind", CL = 0.4, CD = 0.03 }']
    )
    reduced_rate_limit: Positive = Field(
        0.05, description="rate times chord over twice the airspeed, above which a warning is due"
    )
