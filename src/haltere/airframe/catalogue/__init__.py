"""Vehicles that come with the package."""

from haltere.airframe.catalogue.entries import catalogue_names, catalogue_text, from_catalogue, load_airframe

__all__ = ["catalogue_names", "catalogue_text", "from_catalogue", "load_airframe"]
