"""Laws of force and torque fitted to a flight."""
