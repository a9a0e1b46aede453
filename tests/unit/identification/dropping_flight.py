"""A hover in which a load drops, and what the mass and its centre are before and after, by the definition of both."""

from pathlib import Path

import numpy as np

import haltere as ht

DROP = 8.0
"""s."""
LOAD, POSITION = 0.04, np.array([0.12, -0.07, 0.0])
"""kg and m."""
SCENARIO = f"""
airframe = "hummingbird"
duration = 14.0
seed = 5

[trajectory]
kind = "hover"

[[payloads]]
mass = {LOAD}
position = {POSITION.tolist()}
drop = {DROP}
"""


def scenario_file(folder: Path) -> Path:
    """The scenario, written into a folder."""
    path = folder / "dropping.toml"
    path.write_text(SCENARIO, encoding="utf-8")
    return path


def mass_and_center(loaded: bool) -> tuple[float, np.ndarray]:
    """kg and m, body axes."""
    body = ht.load_airframe("hummingbird").body
    mass = body.mass + loaded * LOAD
    return mass, (body.mass * np.asarray(body.com) + loaded * LOAD * POSITION) / mass
