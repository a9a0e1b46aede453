"""A vehicle in the words of others: PX4, INDIflight, ArduPilot, URDF and MJCF."""

from haltere.exporters.certificate import Certificate
from haltere.exporters.fault import ExportError
from haltere.exporters.targets import TARGETS, Target, render, save

__all__ = ["TARGETS", "Certificate", "ExportError", "Target", "render", "save"]
