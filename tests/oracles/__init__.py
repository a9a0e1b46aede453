"""Comparison of the dynamics with engines that share no code with it."""
