"""The vehicle as a filter sees it: the state of [Boehm2022] eq. (6) in coordinates whose null directions are axes.

At the centre of mass M, on the principal axes, with mass m, moments of inertia I = diag(Ix, Iy, Iz) and, for rotor i,
position r, thrust axis alpha, thrust coefficient k_f, torque ratio k_m and spin s:

    mu = ln m,  a1 = ln(Ix/Iz),  a2 = ln(Iy/Iz),  a3 = ln(Iz/m)                                           (1)
    b = (k_f/m) alpha                       specific force per squared speed = `force`                   (2)
    t = k_f I^-1 (r x alpha - s k_m alpha)  angular acceleration per squared speed = `torque`            (3)
    rho = r_z m/Iz                          how far the rotor slides along its axis = `slide`            (4)

Motion and sensors depend on a1, a2, b and t alone. So the scale of (m, I, k_f), that of (I, r, k_m) and the slide of
every rotor along its axis, which no flight shows, are the coordinates mu, a3 and rho, and carry exactly no
information. Back, with sigma = e^a3, E = diag(e^a1, e^a2, 1), g = E t / |b|:

    k_f = m |b|,  alpha = b/|b|,  k_m = -sigma s (alpha . g),  r = sigma (alpha x g + c alpha),
    c = (rho - (alpha x g)_z) / alpha_z                                                                  (5)

The drag torque in (3) acts against the rotor's own spin, as in `haltere.dynamics`. With `axes` = "spherical" the block
`force` holds (|b| sin psi, theta, |b| cos psi), the angles of [Boehm2022] eq. (4); at psi = 0 they see one tilt only.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np

from haltere.estimation.core.space import Block, Mean, Space
from haltere.foundation.arrays import Array, compiled
from haltere.lie import s2

Axes = Literal["sphere", "spherical"]
Effect = Literal["drag", "wind", "spin", "lag", "delay"]
"""See `vehicle_effects`."""
DYNAMIC = ("position", "velocity", "attitude", "rates")
"""The blocks that a step moves; with the effect "lag" also `rotor_speed`."""


@dataclass(frozen=True)
class VehicleCoordinates:
    """From the numbers people use to the filter's coordinates and back, for one kind of vehicle.

    `physical` is the space of the former: positions of the sensors, mass, inertia, gravity, and of each rotor its
    position, tilt (2,), thrust coefficient and torque ratio. The tilt counts from the rotor's nominal `axis` along the
    sphere, or with "spherical" it is inclination and azimuth.
    """

    rotors: tuple[str, ...]
    spins: tuple[float, ...]
    axis: tuple[tuple[float, float, float], ...]
    """Nominal thrust axes, principal axes."""
    axes: Axes = "sphere"
    effects: tuple[Effect, ...] = ()

    @property
    def count(self) -> int:
        """Number of rotors."""
        return len(self.rotors)

    @property
    def kind(self) -> "VehicleCoordinates":
        """The coordinates without names and numbers: what it has in common with all vehicles of as many rotors."""
        still = ((0.0, 0.0, 0.0),) * self.count
        return VehicleCoordinates(
            tuple(str(i) for i in range(self.count)), (0.0,) * self.count, still, self.axes, self.effects
        )

    @property
    def numbers(self) -> tuple[np.ndarray, np.ndarray]:
        """Spins (N,) and nominal axes (N, 3), for `of_numbers`."""
        return np.asarray(self.spins, float), np.asarray(self.axis, float)

    def of_numbers(self, numbers: tuple[Array, Array]) -> "VehicleCoordinates":
        """The coordinates of this kind with other `numbers`; where they are traced, one program serves all vehicles."""
        return replace(self, spins=numbers[0], axis=numbers[1])  # type: ignore[arg-type]

    @cached_property
    def space(self) -> Space:
        """The filter's state: 37 + 7 N errors for N rotors, more with effects."""
        return Space((*self._moving_blocks, *self._constant_blocks))

    @cached_property
    def dynamic(self) -> Space:
        """The part that a step moves, which stands first: 12 errors, N more with the effect "lag"."""
        return Space(self._dynamic_blocks)

    @cached_property
    def moving(self) -> Space:
        """The part that changes in flight: what a step moves, and what walks."""
        return Space(self._moving_blocks)

    @property
    def walking(self) -> int:
        """Number of errors that walk: the biases, and the wind if it is an effect."""
        return self.moving.dimension - self.dynamic.dimension

    @property
    def _dynamic_blocks(self) -> tuple[Block, ...]:
        blocks = tuple(Block(name, "rotation" if name == "attitude" else "vector") for name in DYNAMIC)
        return (*blocks, Block("rotor_speed", shape=(self.count,))) if "lag" in self.effects else blocks

    @property
    def _moving_blocks(self) -> tuple[Block, ...]:
        wind = (Block("wind"),) if "wind" in self.effects else ()
        return (*self._dynamic_blocks, Block("accel_bias"), Block("gyro_bias"), *wind)

    @cached_property
    def constant(self) -> Space:
        """The part that does not."""
        return Space(self._constant_blocks)

    @property
    def _constant_blocks(self) -> tuple[Block, ...]:
        return (
            *_sensors(),
            Block("log_mass", shape=(1,)),
            Block("shape", shape=(2,)),
            Block("log_scale", shape=(1,)),
            Block("gravity"),
            Block("torque", shape=(self.count, 3)),
            Block("force", shape=(self.count, 3)),
            Block("slide", shape=(self.count,)),
            *self._effect_blocks("drag", "spin", "log_time_constant", "delay"),
        )

    def _effect_blocks(self, *names: str) -> tuple[Block, ...]:
        """The constant blocks that the effects drag, spin, lag and delay add, under these names."""
        sizes = {"drag": 8, "spin": self.count, "lag": 1, "delay": 1}
        named = zip(sizes.items(), names, strict=True)
        return tuple(Block(name, shape=(size,)) for (e, size), name in named if e in self.effects)

    @cached_property
    def physical(self) -> Space:
        """The same constants in the numbers people use; 19 + 7 N errors."""
        return Space(
            (
                *_sensors(),
                Block("mass", shape=(1,)),
                Block("inertia"),
                Block("gravity"),
                Block("rotor_position", shape=(self.count, 3)),
                Block("rotor_tilt", shape=(self.count, 2)),
                Block("thrust_coefficient", shape=(self.count,)),
                Block("torque_ratio", shape=(self.count,)),
                *self._effect_blocks("drag", "spin_inertia", "time_constant", "delay"),
            )
        )

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The name of each error of `physical`, as in files and reports."""
        tilt = ("tilt_x", "tilt_y") if self.axes == "sphere" else ("inclination", "azimuth")
        sensors = [
            f"{s}.{part}.{c}" for s in ("pose", "imu") for part in ("position", "rotation") for c in "xyz"
        ]
        inertia = [f"inertia.{c}{c}" for c in "xyz"]
        rotors = [f"rotors.{r}.position.{c}" for r in self.rotors for c in "xyz"]
        rotors += [f"rotors.{r}.axis.{c}" for r in self.rotors for c in tilt]
        rotors += [
            f"rotors.{r}.{what}" for what in ("thrust_coefficient", "torque_ratio") for r in self.rotors
        ]
        effects = {
            "drag": [
                "axial",
                "hub",
                *(f"drag.{kind}.{c}" for kind in ("linear", "quadratic") for c in "xyz"),
            ],
            "spin": [f"rotors.{r}.spin_inertia" for r in self.rotors],
            "lag": ["time_constant"],
            "delay": ["delay"],
        }
        more = [name for effect, names in effects.items() if effect in self.effects for name in names]
        return (*sensors, "mass", *inertia, *(f"gravity.{c}" for c in "xyz"), *rotors, *more)

    def thrust_axes(self, tilt: Array) -> Array:
        """(N, 3) alpha from the tilts (N, 2)."""
        if self.axes == "sphere":
            return _on_spheres(jnp.asarray(self.axis), tilt)
        sine = jnp.sin(tilt[:, 0])
        return jnp.stack(
            [sine * jnp.cos(tilt[:, 1]), sine * jnp.sin(tilt[:, 1]), jnp.cos(tilt[:, 0])], axis=1
        )

    def to_coordinates(self, p: Mean) -> Mean:
        """Equations (1) to (4): the constant blocks of the state from physical numbers."""
        mass, inertia, k_f, tilt = p["mass"][0], p["inertia"], p["thrust_coefficient"], p["rotor_tilt"]
        alpha = self.thrust_axes(tilt)
        drag = (jnp.asarray(self.spins) * p["torque_ratio"])[:, None] * alpha
        beta = k_f / mass
        force = beta[:, None] * alpha
        if self.axes == "spherical":
            force = jnp.stack([beta * jnp.sin(tilt[:, 0]), tilt[:, 1], beta * jnp.cos(tilt[:, 0])], axis=1)
        return {
            **self._effects_from(p),
            **{name: p[name] for name in SENSORS},
            "log_mass": jnp.log(mass)[None],
            "shape": jnp.log(inertia[:2] / inertia[2]),
            "log_scale": jnp.log(inertia[2] / mass)[None],
            "gravity": p["gravity"],
            "torque": k_f[:, None] * (jnp.cross(p["rotor_position"], alpha) - drag) / inertia,
            "force": force,
            "slide": p["rotor_position"][:, 2] * mass / inertia[2],
        }

    def _effects_from(self, p: Mean) -> Mean:
        """The blocks of the effects: what acts per unit of mass or of inertia, and the logarithm of a time."""
        found: Mean = {}
        if "drag" in self.effects:
            found["drag"] = p["drag"] / p["mass"]
        if "spin" in self.effects:
            found["spin"] = p["spin_inertia"] / p["inertia"][2]
        if "lag" in self.effects:
            found["log_time_constant"] = jnp.log(p["time_constant"])
        if "delay" in self.effects:
            found["delay"] = p["delay"]
        return found

    def _effects_to(self, c: Mean, mass: Array, Iz: Array) -> Mean:
        """The reverse of `_effects_from`."""
        found: Mean = {}
        if "drag" in self.effects:
            found["drag"] = c["drag"] * mass
        if "spin" in self.effects:
            found["spin_inertia"] = c["spin"] * Iz
        if "lag" in self.effects:
            found["time_constant"] = jnp.exp(c["log_time_constant"])
        if "delay" in self.effects:
            found["delay"] = c["delay"]
        return found

    def to_physical(self, c: Mean) -> Mean:
        """Equation (5): what the constant blocks of a state say in physical numbers."""
        mass, sigma = jnp.exp(c["log_mass"]), jnp.exp(c["log_scale"])
        ratios = jnp.concatenate([jnp.exp(c["shape"]), jnp.ones(1)])
        b = self.specific_force(c["force"])
        beta = jnp.sqrt(jnp.sum(b * b, axis=1))
        alpha = b / beta[:, None]
        g = ratios * c["torque"] / beta[:, None]
        across = jnp.cross(alpha, g)
        along = (c["slide"] - across[:, 2]) / alpha[:, 2]
        if self.axes == "sphere":
            tilt = jax.vmap(s2.box_minus)(alpha, jnp.asarray(self.axis))
        else:
            tilt = jnp.stack([jnp.arctan2(c["force"][:, 0], c["force"][:, 2]), c["force"][:, 1]], axis=1)
        return {
            **self._effects_to(c, mass, mass * sigma),
            **{name: c[name] for name in SENSORS},
            "mass": mass,
            "inertia": mass * sigma * ratios,
            "gravity": c["gravity"],
            "rotor_position": sigma * (across + along[:, None] * alpha),
            "rotor_tilt": tilt,
            "thrust_coefficient": mass * beta,
            "torque_ratio": -sigma * jnp.asarray(self.spins) * jnp.sum(alpha * g, axis=1),
        }

    def jacobian(self, physical: Mean) -> Array:
        """(19 + 7 N, 19 + 7 N) derivative of the coordinates' error by that of the physical numbers.

        The sensors stand first in both and are the same.
        """
        own = Space(tuple(block for block in self.physical.blocks if block.name not in SENSORS))
        there = Space(tuple(block for block in self.constant.blocks if block.name not in SENSORS))
        here = self.to_coordinates(physical)

        def moved(error: Array) -> Array:
            return there.minus(self.to_coordinates({**physical, **own.plus(physical, error)}), here)

        slopes: Array = jax.jacfwd(moved)(jnp.zeros(own.dimension))
        same = jnp.eye(self.physical.dimension - own.dimension)
        whole: Array = jax.scipy.linalg.block_diag(same, slopes)
        return whole

    def specific_force(self, force: Array) -> Array:
        """(N, 3) b of equation (2) from the block `force`."""
        if self.axes == "sphere":
            return force
        across, azimuth, along = force[:, 0], force[:, 1], force[:, 2]
        return jnp.stack([across * jnp.cos(azimuth), across * jnp.sin(azimuth), along], axis=1)

    def constants(self, mean: Mean) -> Mean:
        """The constant blocks of a whole state."""
        return self.constant.select(mean)


_on_spheres = compiled(jax.vmap(s2.box_plus))
SENSORS = ("pose_position", "pose_rotation", "imu_position", "imu_rotation")


def _sensors() -> tuple[Block, ...]:
    return tuple(Block(name, "rotation" if name.endswith("rotation") else "vector") for name in SENSORS)
