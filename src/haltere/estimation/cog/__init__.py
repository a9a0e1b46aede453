"""The centre of gravity from IMU and rotor speeds, in flight."""
