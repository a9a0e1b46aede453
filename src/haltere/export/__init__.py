"""A vehicle in the words of others: PX4, INDIflight, ArduPilot, URDF and MJCF."""

from haltere.export.certificate import Certificate
from haltere.export.fault import ExportError
from haltere.export.subject import Subject
from haltere.export.write import TARGETS, Target, render, save

__all__ = ["TARGETS", "Certificate", "ExportError", "Subject", "Target", "render", "save"]
