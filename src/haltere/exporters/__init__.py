"""A vehicle as configuration of PX4, INDIflight and ArduPilot, or as a model in URDF and MJCF."""

from haltere.exporters.document import Certificate, ExportError
from haltere.exporters.targets import TARGETS, render, save

__all__ = ["TARGETS", "Certificate", "ExportError", "render", "save"]
