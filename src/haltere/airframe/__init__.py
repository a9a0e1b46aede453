"""The description of a vehicle: reading, checking, writing, and a catalogue. No JAX here."""

from haltere.airframe.airframe import Airframe
from haltere.airframe.body import Body
from haltere.airframe.catalogue.entries import catalogue_names, catalogue_text, from_catalogue, resolve
from haltere.airframe.coefficients import Coefficients
from haltere.airframe.drag import Drag
from haltere.airframe.errors import AirframeError
from haltere.airframe.joint import Joint
from haltere.airframe.link import Link
from haltere.airframe.rotor import Curve, Inflow, Rotor
from haltere.airframe.sensors import Imu, PoseSensor, PositionSensor
from haltere.airframe.servo import Servo
from haltere.airframe.toml import load, loads
from haltere.airframe.wing import Frame, Wing
from haltere.airframe.writer import dumps, save

__all__ = [
    "Airframe",
    "AirframeError",
    "Body",
    "Coefficients",
    "Curve",
    "Drag",
    "Frame",
    "Imu",
    "Inflow",
    "Joint",
    "Link",
    "PoseSensor",
    "PositionSensor",
    "Rotor",
    "Servo",
    "Wing",
    "catalogue_names",
    "catalogue_text",
    "dumps",
    "from_catalogue",
    "load",
    "loads",
    "resolve",
    "save",
]
