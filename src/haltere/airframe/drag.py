"""Drag of a body or link.

With air-relative velocity v of the point `position` and angular velocity w, per axis i of the carrier:

    F_i = -(linear_i + quadratic_i |v|) v_i,   tau_i = -angular_i w_i                                     (1)

Both only ever take power out.
"""

from pydantic import Field

from haltere.airframe.fields import Loads, Vector
from haltere.airframe.part import Part


class Drag(Part):
    """Drag per axis of the body or link that carries it."""

    position: Vector = Field((0.0, 0.0, 0.0), description="the point where the drag acts, m")
    linear: Loads = Field((0.0, 0.0, 0.0), description="force per speed along each axis, N/(m/s)")
    quadratic: Loads = Field((0.0, 0.0, 0.0), description="force per speed squared along it, N/(m/s)^2")
    angular: Loads = Field((0.0, 0.0, 0.0), description="torque per angular speed about it, N m/(rad/s)")
