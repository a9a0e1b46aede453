"""What the sensors of a moving vehicle read, and with which noise."""
