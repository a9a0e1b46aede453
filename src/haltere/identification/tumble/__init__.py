"""What free falls tell: IMU position and inertia."""
