"""What a foreign file does not say and the user does."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ImportOptions:
    """Numbers for what a file leaves out.

    Attributes:
        mass: Of the whole vehicle, kg; PX4 parameters have none.
        inertia: (xx, yy, zz) about the centre of mass, kg m2; for the same reason.
        thrust_coefficient: Of every rotor, N/(rad/s)^2.
        torque_ratio: Of every rotor, m.
        max_speed: Of every rotor, rad/s.
        rotors: Words that mark the links which are rotors by their names.
    """

    mass: float | None = None
    inertia: tuple[float, float, float] | None = None
    thrust_coefficient: float | None = None
    torque_ratio: float | None = None
    max_speed: float | None = None
    rotors: tuple[str, ...] = ("rotor", "prop", "motor")
