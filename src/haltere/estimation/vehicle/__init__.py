"""The whole vehicle from a stretch of flight with pose, IMU and rotor speeds: a batch estimate without states."""
