"""Adapters, one for each estimator: here, and only here, the world and the program are joined."""
