"""Vehicles drawn in three dimensions."""
