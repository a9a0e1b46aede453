"""Vehicles thrown: from the hand to hover."""
