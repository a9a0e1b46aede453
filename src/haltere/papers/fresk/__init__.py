"""Fresk 2017: the centre of gravity estimated and compensated."""
