"""Hong 2021: exact dynamics of any multirotor."""
