"""The coordinates of the system: the numbers that its equations contain, and the error state on their manifold.

[Boehm2022] eqs. (1)-(6) with the rotor axis as a unit vector. The equations contain 40 + 8N numbers z:

    z = (r, v, q, w | r_MP, q_MP, r_MI, q_MI, b_a, b_w | m, i, g | r_R (N, 3), n_R (N, 3), k_f (N,), k_m (N,))     (1)

of which each quaternion and each axis has one constraint. An error state of 37 + 7N entries lists the directions that
are left, in the order of (6); `states` counts 40 + 7N as the paper does, four numbers for each quaternion.
"""

from dataclasses import dataclass
from functools import cached_property

XYZ = ("x", "y", "z")
MOMENTS = ("xx", "yy", "zz")
#: Numbers of the moving state, of which the first 13 of z consist.
MOTION = 13
#: Numbers of z and entries of the error state that do not belong to rotors.
BASE, ERRORS = 40, 37
#: Places in z of the three quaternions: attitude, pose sensor, IMU.
QUATERNIONS = (6, 16, 23)

_FIRST = (
    ("state.position", XYZ, 0), ("state.velocity", XYZ, 3), ("state.attitude", XYZ, None), ("state.rate", XYZ, 10),
    ("pose.position", XYZ, 13), ("pose.rotation", XYZ, None), ("imu.position", XYZ, 20), ("imu.rotation", XYZ, None),
    ("imu.accel_bias", XYZ, 27), ("imu.gyro_bias", XYZ, 30), ("mass", ("",), 33), ("inertia", MOMENTS, 34),
    ("gravity", XYZ, 37),
)  # fmt: skip


@dataclass(frozen=True)
class Coordinates:
    """Where everything stands for a vehicle with the given rotors.

    Attributes:
        rotors: their names.
        sensor: `pose` or `position`: what the exteroceptive sensor P is called.
    """

    rotors: tuple[str, ...]
    sensor: str = "pose"

    @property
    def numbers(self) -> int:
        """How many numbers the equations contain: 40 + 8N."""
        return BASE + 8 * len(self.rotors)

    @property
    def states(self) -> int:
        """The paper's count, 40 + 7N."""
        return BASE + 7 * len(self.rotors)

    @property
    def errors(self) -> int:
        """Entries of the error state, 37 + 7N."""
        return ERRORS + 7 * len(self.rotors)

    def rotor_number(self, rotor: int, part: str) -> int:
        """Place in z of a rotor's first number of `position`, `axis`, `thrust_coefficient` or `torque_ratio`."""
        n = len(self.rotors)
        offset, width = {
            "position": (0, 3), "axis": (3 * n, 3), "thrust_coefficient": (6 * n, 1), "torque_ratio": (7 * n, 1),
        }[part]  # fmt: skip
        return BASE + offset + width * rotor

    def rotor_error(self, rotor: int, part: str) -> int:
        """Place in the error state of a rotor's first entry of `part`."""
        offset = {"position": 0, "axis": 3, "thrust_coefficient": 5, "torque_ratio": 6}[part]
        return ERRORS + 7 * rotor + offset

    @cached_property
    def entries(self) -> tuple[str, ...]:
        """The name of each entry of the error state; the two of an axis end in `.1` and `.2`."""
        names = [f"{self._named(group)}.{part}".rstrip(".") for group, parts, _ in _FIRST for part in parts]
        for rotor in self.rotors:
            names += [f"rotors.{rotor}.position.{axis}" for axis in XYZ]
            names += [f"rotors.{rotor}.axis.{i}" for i in (1, 2)]
            names += [f"rotors.{rotor}.thrust_coefficient", f"rotors.{rotor}.torque_ratio"]
        return tuple(names)

    def _named(self, group: str) -> str:
        return group.replace("pose.", f"{self.sensor}.", 1) if group.startswith("pose.") else group

    @cached_property
    def place(self) -> dict[str, int]:
        """The place of each entry of the error state by its name."""
        return {name: i for i, name in enumerate(self.entries)}

    @cached_property
    def straight(self) -> tuple[tuple[int, int], ...]:
        """Pairs (place in z, place in the error state) of all that is neither rotation nor axis."""
        pairs, error = [], 0
        for _, parts, number in _FIRST:
            if number is not None:
                pairs += [(number + i, error + i) for i in range(len(parts))]
            error += len(parts)
        for i in range(len(self.rotors)):
            for part, width in (("position", 3), ("thrust_coefficient", 1), ("torque_ratio", 1)):
                z, e = self.rotor_number(i, part), self.rotor_error(i, part)
                pairs += [(z + k, e + k) for k in range(width)]
        return tuple(pairs)

    @cached_property
    def rotations(self) -> tuple[tuple[int, int], ...]:
        """Pairs (place in z, place in the error state) of the three quaternions."""
        return tuple(zip(QUATERNIONS, (6, 15, 21), strict=True))

    def number_units(self, mass: float, length: float, time: float, square: float) -> list[float]:
        """The unit of each number of z that follows from units of mass, length, time and squared rotor speed."""
        speed, acceleration = length / time, length / time**2
        n = len(self.rotors)
        force = mass * acceleration
        return [
            *[length] * 3, *[speed] * 3, *[1.0] * 4, *[1.0 / time] * 3,
            *[length] * 3, *[1.0] * 4, *[length] * 3, *[1.0] * 4, *[acceleration] * 3, *[1.0 / time] * 3,
            mass, *[mass * length**2] * 3, *[acceleration] * 3,
            *[length] * (3 * n), *[1.0] * (3 * n), *[force / square] * n, *[length] * n,
        ]  # fmt: skip

    def error_units(self, mass: float, length: float, time: float, square: float) -> list[float]:
        """The unit of each entry of the error state; angles count in radians."""
        numbers = self.number_units(mass, length, time, square)
        units = [1.0] * self.errors
        for number, error in self.straight:
            units[error] = numbers[number]
        return units
