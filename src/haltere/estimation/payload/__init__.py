"""A payload on an arm from the loads of its servos."""
