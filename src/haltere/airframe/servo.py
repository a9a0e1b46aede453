"""A position servo on a joint: what its maker prints, and the friction of its gears.

With goal g and angle q, both in whole `resolution` steps, supply V in units of the rated voltage and the torque t that
the joint carries, positive along its axis:

    d = clip(stiffness (g - q) / stall_torque, +-1)                          duty, which is what it reports   (1)
    stall_torque (V d - q' / no_load_speed) = t + friction                   torque at the joint              (2)
    friction = +(loss_up   |t| + coulomb)   while it moves against t, power flowing to the load               (3)
    friction = -(loss_down |t| + coulomb)   while it moves with t, power flowing back                         (4)

Before it slides the gears give way by `presliding`; starting takes `static_excess` more than sliding; both losses
change by `ripple` over the angle. [Schmitz] gives stall torques and resolutions.
"""

from pydantic import Field

from haltere.airframe.fields import NonNegative, Positive, Share
from haltere.airframe.part import Part


class Servo(Part):
    """The servo that turns a joint, equations (1) to (4)."""

    stall_torque: Positive = Field(
        description="the torque at full duty and rated voltage, N m", examples=["stall_torque = 2.5"]
    )
    no_load_speed: Positive = Field(
        description="the speed at full duty without load, rad/s", examples=["no_load_speed = 5.76"]
    )
    resolution: Positive = Field(
        description="one step of its encoder, rad", examples=["resolution = 1.5339808e-3"]
    )
    stiffness: Positive = Field(
        description="the torque over the position error, N m/rad", examples=["stiffness = 6.4"]
    )
    loss_up: NonNegative = Field(0.0, description="share of the load lost while it lifts")
    loss_down: Share = Field(0.0, description="share of the load held by friction while it gives way")
    coulomb: NonNegative = Field(0.0, description="friction without load, N m")
    static_excess: NonNegative = Field(
        0.0, description="friction at the start over that of sliding, less one"
    )
    presliding: NonNegative = Field(
        0.0, description="angle by which the gears give way before they slide, rad"
    )
    ripple: NonNegative = Field(0.0, description="amplitude of the losses' change over the angle, relative")
    lag: NonNegative = Field(0.0, description="time constant of the reported load, s")
    inertia: NonNegative = Field(0.0, description="of rotor and gears, seen at the joint, kg m^2")
