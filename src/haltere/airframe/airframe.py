"""The airframe: one vehicle as a tree of rigid links with rotors, wings and sensors."""

from collections.abc import Sequence
from typing import Any, Self, TypeVar

from pydantic import Field, field_validator, model_validator

from haltere.airframe.body import Body
from haltere.airframe.errors import AirframeError, closest
from haltere.airframe.fields import Title
from haltere.airframe.link import Link
from haltere.airframe.part import Part
from haltere.airframe.rotor import Rotor
from haltere.airframe.sensors import Imu, PoseSensor, PositionSensor
from haltere.airframe.tree import BODY, Named, check_carriers, check_names, check_parents, depth_first

_Entry = TypeVar("_Entry", bound=Named)


class Airframe(Part):
    """A vehicle, in its body frame: x forward, y left, z up, the origin where the file puts it."""

    name: Title = Field(description="the name of the vehicle", examples=['name = "hummingbird"'])
    description: str = Field("", description="what it is, in a sentence")
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
        return (value,) if isinstance(value, dict | Part) else value

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

    def link_order(self) -> tuple[int, ...]:
        """Indices of `links` so that parents come before children, each branch in one run."""
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
