"""Blaha 2024: thrown, and hovering with unknown motors."""
