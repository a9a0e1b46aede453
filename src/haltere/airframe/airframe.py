"""The airframe: one vehicle as a tree of rigid links with rotors, wings and sensors.

`Body` is the base link, whose frame is the frame of the whole vehicle. Every `Link` hangs on its parent by a `Joint`,
which a `Servo` may move; body and links may have `Drag`. The links form a tree: each name occurs once, every parent
exists, no parents form a circle, and `depth_first` orders the links from the root.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Protocol, Self, TypeVar

from pydantic import Field, StrictBool, field_validator, model_validator

from haltere.airframe.errors import AirframeError, closest, fault, format_value
from haltere.airframe.fields import (
    ZERO,
    AirframePart,
    Direction,
    Fraction,
    Inertia,
    Interval,
    Loads,
    Name,
    NonNegative,
    Positive,
    Text,
    Vector,
    check_has_mass,
    principal_moments,
)
from haltere.airframe.rotor import Rotor
from haltere.airframe.sensors import Imu, PoseSensor, PositionSensor
from haltere.airframe.wing import Wing


class Drag(AirframePart):
    """Drag per axis of the body or link that carries it.

    With air-relative velocity v of the point `position` and angular velocity w, per axis i of the carrier:

        F_i = -(linear_i + quadratic_i |v|) v_i,   tau_i = -angular_i w_i                                 (1)

    Both only ever take power out.
    """

    position: Vector = Field((0.0, 0.0, 0.0), description="the point where the drag acts, m")
    linear: Loads = Field((0.0, 0.0, 0.0), description="force per speed along each axis, N/(m/s)")
    quadratic: Loads = Field((0.0, 0.0, 0.0), description="force per speed squared along it, N/(m/s)^2")
    angular: Loads = Field((0.0, 0.0, 0.0), description="torque per angular speed about it, N m/(rad/s)")


_FLAT = 1e-12


class Body(AirframePart):
    """The base link, which carries everything else; what spins or moves on it has its own mass beside it."""

    mass: Positive = Field(description="the mass in kg", examples=["mass = 0.716"])
    com: Vector = Field((0.0, 0.0, 0.0), description="centre of mass in the body frame, m")
    inertia: Inertia = Field(
        description="xx yy zz xy xz yz about the centre of mass in kg m^2",
        examples=["inertia = [7.5e-3, 7.5e-3, 1.3e-2, 0, 0, 0]"],
    )
    wing: Wing | None = Field(None, description="a table", examples=["[body.wing]"])
    drag: Drag | None = Field(None, description="a table", examples=["{ linear = [0.1, 0.1, 0.2] }"])

    @model_validator(mode="after")
    def _has_three_moments(self) -> Self:
        smallest, _, largest = principal_moments(self.inertia)
        if smallest <= _FLAT * largest:
            raise fault(
                f"got {format_value(self.inertia)}; give the body three moments above zero", "inertia"
            )
        return self


class Servo(AirframePart):
    """A position servo on a joint: what its maker prints, and the friction of its gears.

    With goal g and angle q, both in whole `resolution` steps, supply V in units of the rated voltage and the torque t
    that the joint carries, positive along its axis:

        d = clip(stiffness (g - q) / stall_torque, +-1)                          duty, which is what it reports   (2)
        stall_torque (V d - q' / no_load_speed) = t + friction                   torque at the joint              (3)
        friction = +(loss_up   |t| + coulomb)   while it moves against t, power flowing to the load               (4)
        friction = -(loss_down |t| + coulomb)   while it moves with t, power flowing back                         (5)

    Before it slides the gears give way by `presliding`; starting takes `static_excess` more than sliding; both losses
    change by `ripple` over the angle. [Schmitz] gives stall torques and resolutions.
    """

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
    loss_down: Fraction = Field(0.0, description="share of the load held by friction while it gives way")
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


class Joint(AirframePart):
    """How a link hangs on its parent: a revolute joint about `axis` through `origin`, or rigidly where `fixed`."""

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


class Link(AirframePart):
    """A rigid body on a joint, such as a tilt mechanism, a wing or a segment of an arm.

    Its frame sits at the joint's origin, with axes parallel to the parent's at angle zero.
    """

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


BODY = "body"


class Named(Protocol):
    """Anything with a name."""

    @property
    def name(self) -> str:
        """The name."""


class Mounted(Named, Protocol):
    """Anything that sits on a link."""

    @property
    def link(self) -> str:
        """Name of the link that carries it."""


def check_names(groups: Iterable[tuple[str, Sequence[Named]]], reserved: Iterable[str], words: str) -> None:
    """Refuse a name that occurs twice in `groups` or is `reserved`."""
    first = dict.fromkeys(reserved, "the body itself")
    for key, entries in groups:
        for i, entry in enumerate(entries):
            if entry.name in first:
                text = f"{entry.name!r} is taken by {first[entry.name]}; give each {words} a name of its own"
                raise fault(text, key, i, "name")
            first[entry.name] = f"{key}[{i}]"


def check_carriers(groups: Iterable[tuple[str, Sequence[Mounted]]], links: Sequence[Link]) -> None:
    """Refuse what sits on a link that is not there."""
    known = [BODY, *(link.name for link in links)]
    for key, entries in groups:
        for i, entry in enumerate(entries):
            if entry.link not in known:
                text = f"got {entry.link!r}, which is no link; {closest(entry.link, known)}"
                raise fault(text, key, i, "link")


def check_parents(links: Sequence[Link]) -> None:
    """Refuse a parent that is not there, and parents in a circle."""
    known = [BODY, *(link.name for link in links)]
    parents = {link.name: link.parent for link in links}
    for i, link in enumerate(links):
        if link.parent not in known:
            text = f"got {link.parent!r}, which is no link; {closest(link.parent, known)}"
            raise fault(text, "links", i, "parent")
    for i, link in enumerate(links):
        path = [link.name]
        while parents.get(path[-1], BODY) != BODY:
            path.append(parents[path[-1]])
            if path[-1] in path[:-1]:
                circle = path[path.index(path[-1]) :]
                text = f"the parents {' -> '.join(circle)} form a circle; give one of them the parent 'body'"
                raise fault(text, "links", i, "parent")


def depth_first(links: Sequence[Link]) -> tuple[int, ...]:
    """Indices of `links`, parents before children, each branch in one run, else in the given order."""
    children: dict[str, list[int]] = {}
    for i, link in enumerate(links):
        children.setdefault(link.parent, []).append(i)
    order: list[int] = []
    waiting = children.get(BODY, [])[::-1]
    while waiting:
        order.append(waiting.pop())
        waiting += children.get(links[order[-1]].name, [])[::-1]
    return tuple(order)


_Entry = TypeVar("_Entry", bound=Named)


class Airframe(AirframePart):
    """The description of a vehicle in body axes: x forward, y left, z up; the file chooses the origin."""

    name: Name = Field(description="the name of the vehicle", examples=['name = "hummingbird"'])
    description: Text = Field("", description="what it is, in a sentence")
    body: Body = Field(
        description="the base link",
        examples=["[body] with mass = 0.7 and inertia = [7e-3, 7e-3, 1.2e-2, 0, 0, 0]"],
    )
    links: tuple[Link, ...] = Field((), description="a list of tables", examples=["[[links]]"])
    rotors: tuple[Rotor, ...] = Field((), description="a list of tables", examples=["[[rotors]]"])
    imu: tuple[Imu, ...] = Field((), description="a table or a list of tables", examples=["[imu]"])
    pose: tuple[PoseSensor, ...] = Field((), description="a table or a list of tables", examples=["[pose]"])
    position: tuple[PositionSensor, ...] = Field(
        (), description="a table or a list of tables", examples=["[position]"]
    )

    @field_validator("imu", "pose", "position", mode="before")
    @classmethod
    def _one_or_many(cls, value: Any) -> Any:
        return (value,) if isinstance(value, dict | AirframePart) else value

    @model_validator(mode="after")
    def _is_a_tree(self) -> Self:
        rotors, sensors = ("rotors", self.rotors), self._sensor_groups()
        check_names((("links", self.links), rotors), (BODY,), "link and rotor")
        check_names(sensors, (), "sensor")
        check_parents(self.links)
        check_carriers((rotors, *sensors), self.links)
        return self

    def _sensor_groups(self) -> tuple[tuple[str, Sequence[Any]], ...]:
        return ("imu", self.imu), ("pose", self.pose), ("position", self.position)

    @property
    def total_mass(self) -> float:
        """Mass of body, links and rotors together, kg."""
        return sum(
            [self.body.mass, *(link.mass for link in self.links), *(rotor.mass for rotor in self.rotors)]
        )

    def summary(self) -> dict[str, Any]:
        """The vehicle in a few words: total mass in kg, and the names of its rotors, links and sensors."""
        return {
            "name": self.name,
            "description": self.description,
            "mass": self.total_mass,
            "rotors": [rotor.name for rotor in self.rotors],
            "links": [link.name for link in self.links],
            "sensors": [sensor.name for _, group in self._sensor_groups() for sensor in group],
        }

    def link_order(self) -> tuple[int, ...]:
        """Indices of `links`, ordered so that parents come before children and each branch is contiguous."""
        return depth_first(self.links)

    def link(self, name: str) -> Link:
        """The link of this name."""
        return self._find(self.links, name, "link")

    def rotor(self, name: str) -> Rotor:
        """The rotor of this name."""
        return self._find(self.rotors, name, "rotor")

    def _find(self, entries: Sequence[_Entry], name: str, kind: str) -> _Entry:
        for entry in entries:
            if entry.name == name:
                return entry
        known = closest(name, [entry.name for entry in entries])
        raise AirframeError(f"airframe {self.name!r}: no {kind} is called {name!r}; {known}")
