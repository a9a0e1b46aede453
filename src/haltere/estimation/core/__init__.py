"""What every filter here stands on: manifolds, Kalman updates, consistency, least squares."""
