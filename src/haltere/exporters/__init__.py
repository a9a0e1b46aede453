"""A vehicle in the words of others: PX4, INDIflight, ArduPilot, URDF and MJCF."""

from haltere.exporters.document import Certificate, ExportError
from haltere.exporters.targets import TARGETS, render, save

__all__ = ["TARGETS", "Certificate", "ExportError", "render", "save"]
