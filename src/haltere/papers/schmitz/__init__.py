"""Schmitz: a payload from servo loads."""
