"""How much a flight tells: Fisher information along a motion."""
