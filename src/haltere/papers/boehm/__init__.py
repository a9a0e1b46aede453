"""Böhm 2022: a filter for all parameters and sensor poses."""
