"""The description of a vehicle: reading, checking, writing, and a catalogue. No JAX here."""

from haltere.airframe.airframe import Airframe, Body, Drag, Joint, Link, Servo
from haltere.airframe.catalogue.entries import catalogue_names, catalogue_text, from_catalogue, load_airframe
from haltere.airframe.errors import AirframeError
from haltere.airframe.rotor import Curve, Inflow, Rotor
from haltere.airframe.sensors import Imu, PoseSensor, PositionSensor
from haltere.airframe.toml import dumps, load, loads, save
from haltere.airframe.wing import Coefficients, Wing, WingFrame

__all__ = [
    "Airframe",
    "AirframeError",
    "Body",
    "Coefficients",
    "Curve",
    "Drag",
    "Imu",
    "Inflow",
    "Joint",
    "Link",
    "PoseSensor",
    "PositionSensor",
    "Rotor",
    "Servo",
    "Wing",
    "WingFrame",
    "catalogue_names",
    "catalogue_text",
    "dumps",
    "from_catalogue",
    "load",
    "load_airframe",
    "loads",
    "save",
]
