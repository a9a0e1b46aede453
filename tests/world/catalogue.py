"""Vehicles of the package's catalogue, read as data: their files and, joints held at zero, their drawings.

`read_drawing` merges links and rotors into one rigid body. What the files lack is chosen here: rotors without an
inertia of their own turn with J = 9e-5 kg m2 (D / 10 inch)^4, the size of the table in `drawings` (6e-6 at 5 inch,
9e-5 at 10 inch); it is part of the body's inertia already. Files without a curve have speeds in proportion to the
command, files without an IMU get one at the origin. Radius of the propellers and drag areas follow from thrust
coefficient and arm as for every file (`read_drawing`).
"""

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
from tests.world.drawings import INCH, Drawing, read_drawing
from tests.world.vectors import cross

FOLDER = Path(__file__).resolve().parents[2] / "src" / "haltere" / "airframe" / "catalogue"
VEHICLES = ("hummingbird", "neo", "octorotor", "coaxial", "hong-tilt-rotor", "x500")
IMU = "\n[imu]\nposition = [0.0, 0.0, 0.0]\nwxyz = [1.0, 0.0, 0.0, 0.0]\n"


@cache
def catalogue_text(name: str) -> str:
    """The airframe file of a vehicle, with an IMU."""
    if name not in VEHICLES:
        raise ValueError(f"no vehicle {name!r}; there are {VEHICLES}")
    text = (FOLDER / f"{name}.toml").read_text(encoding="utf-8")
    return text if "\n[imu]" in text else text + IMU


@cache
def catalogue_drawing(name: str) -> Drawing:
    """The drawing of a vehicle, with rotors that have inertia."""
    drawing = read_drawing(catalogue_text(name))
    chosen = 9e-5 * (2 * drawing.radius / (10 * INCH)) ** 4
    return replace(drawing, spin_inertia=np.where(drawing.spin_inertia > 0, drawing.spin_inertia, chosen))


def allocation(drawing: Drawing, com):
    """Rows (4, R): force along the body's z axis and torque (m) about `com` (3,) per thrust of each rotor."""
    lever = drawing.position - np.asarray(com)[:, None]
    torque = cross(lever, drawing.axis) - drawing.spin * drawing.torque_ratio * drawing.axis
    return np.concatenate([drawing.axis[2:3], torque])


def hover_shares(drawing: Drawing):
    """Share (R,) of each rotor in the thrust of a hover by the drawing, of the smallest sum of squares."""
    thrust = np.linalg.pinv(allocation(drawing, drawing.com))[:, 0]
    return thrust / thrust.sum()


def center_sigma(drawing: Drawing, spread: float = 0.04, placement: float = 0.002):
    """Deviation (2,) m that rotors unlike the drawing leave in x and y of a centre of gravity found from torque.

    `spread` is the relative deviation of each thrust, `placement` (m) that of each rotor's position. With the thrust
    shares p and positions r about the nominal centre: sqrt(sum((spread p r)^2) + sum((placement p)^2)).
    """
    shares = hover_shares(drawing)
    lever = (drawing.position - drawing.com[:, None])[:2]
    return np.sqrt(((spread * shares * lever) ** 2).sum(axis=1) + ((placement * shares) ** 2).sum())
