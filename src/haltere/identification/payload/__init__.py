"""Servo readings of a log, and the constants of servos."""
