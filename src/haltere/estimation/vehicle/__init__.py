"""The vehicle filter: every parameter and sensor pose from IMU, rotor speeds and poses."""
