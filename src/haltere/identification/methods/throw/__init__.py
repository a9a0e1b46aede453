"""Rotors identified from a throw."""
