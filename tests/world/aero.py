"""Forces of rotors and body in moving air.

A rotor with thrust k W^2 and torque q W^2 in still air, radius R, tip speed U = W R, moving through the air at v,
of which v_a along its axis a and v_p across; mu = |v_p| / U, l_c = v_a / U, C = T / (rho pi R^2 U^2):

    (1)  C = B (1 + 3/2 mu^2) - s (l_c + l_i)          blade elements, uniform inflow
    (2)  2 l_i sqrt(mu^2 + (l_c + l_i)^2) = C          momentum (Glauert)
    (3)  Q = C (l_c + l_i) + C_d (1 + 4.65 mu^2)       power of inflow and of the profile
    (4)  H = -rho pi R^3 c_h W v_p                     hub force
    (5)  M = -rho pi R^4 W (c_f a x v_p + s c_r v_p)   flapping moment, and rolling moment against the spin s

(1)-(3): Leishman, Principles of Helicopter Aerodynamics (2006), sections 2.14, 3.3, 5.4. B and C_d follow from k
and q at rest. s = 9 C_0 is solidity times lift slope over 4 (0.18 for a 5-inch propeller of three blades, 0.13 for
10 x 4.7 inch); with it the thrust at rest falls by 0.9 of itself per unit of the advance ratio, as Brandt and Selig
(AIAA 2011-1255) measured. (4): c_h = 1.5 C_0 gives 0.2 to 0.25 /s of mass-normalized drag at hover, as identified
in flight by Faessler, Franchi and Scaramuzza (IEEE RA-L 3, 2018). (5): form as in Mahony, Kumar and Corke (IEEE
Robot. Autom. Mag. 19, 2012).

Body drag is -1/2 rho C_d A_i |v| v_i per axis at a centre of pressure of its own. Ground effect: Cheeseman and
Bennett (ARC R&M 3021, 1955), T / (1 - (R_e / 4 z)^2), with R_e the radius of one disc of the area of all rotors.
Wash: in horizontal motion a rotor behind others meets a part of their induced velocity, and a lower coaxial rotor
leaves the wash of the upper one (Leishman, section 6.5, qualitatively).

The level's factor scales what moving air changes; zero leaves k W^2 and q W^2.
"""

import numpy as np
from tests.world.drawings import DENSITY
from tests.world.levels import Level
from tests.world.vectors import apply, cross, cross_matrix, dot, norm
from tests.world.vehicles import Vehicle

ROTORS_DRAG = 8.06428e-05  # N/(rad/s)/(m/s), hummingbird.xacro of RotorS
ROTORS_ROLLING = 1e-6  # N m/(rad/s)/(m/s)


class Air:
    """The air loads of a batch of vehicles; `model` is "blade" for (1)-(5) or "rotors" for the model of RotorS."""

    def __init__(self, vehicle: Vehicle, level: Level, model: str = "blade"):
        if model not in {"blade", "rotors"}:
            raise ValueError(f"no air model {model!r}; there are 'blade' and 'rotors'")
        self.vehicle = v = vehicle
        self.model = model
        self.factor = level.aero
        self.ground = level.ground_effect
        self.wash = level.rotor_wash
        self.lever_axis = cross(v.position, v.axis)
        self.spin_axis = v.spin * v.axis
        self.force_map = v.thrust_coefficient * v.axis
        self.torque_map = v.thrust_coefficient * self.lever_axis - v.torque_coefficient * self.spin_axis
        self.spin_map = v.spin_inertia * self.spin_axis
        disc = DENSITY * np.pi * v.radius**4
        self.static = v.thrust_coefficient / disc
        self.hover_inflow = np.sqrt(self.static / 2)
        self.slope = 9.0 * self.static
        self.pitch = self.static + self.slope * self.hover_inflow
        whole = v.torque_coefficient / (disc * v.radius)
        self.induced = np.minimum(self.hover_inflow * self.static, 0.85 * whole)
        self.profile = whole - self.induced
        self.induced_gain = self.induced / (self.static * self.hover_inflow * whole)
        self.profile_gain = self.profile / whole
        self._linear_maps()
        self.floor = 0.05 * v.max_speed
        self.disc_radius = np.sqrt((v.radius**2).sum(axis=0))
        self._pair()

    def _linear_maps(self):
        """(4) and (5) as matrices (3, 3, R, N) per speed on the hub's velocity; moments about the origin."""
        v = self.vehicle
        project = np.eye(3)[:, :, None, None] - v.axis[:, None] * v.axis[None, :]
        lever = cross_matrix(v.position)
        if self.model == "rotors":
            hub, rolling, flapping = ROTORS_DRAG, ROTORS_ROLLING, 0.0
        else:
            hub = self.factor * 1.5 * v.thrust_coefficient / v.radius
            rolling = self.factor * 0.25 * v.thrust_coefficient * v.spin
            flapping = self.factor * 0.30 * v.thrust_coefficient
        self.velocity_map = -lever  # rate x position
        self.project = project
        self.hub_map = -hub * project
        levered = sum(lever[:, k, None] * project[None, k] for k in range(3))
        self.moment_map = -hub * levered - rolling * project - flapping * cross_matrix(v.axis)

    def _pair(self):
        """Offsets of every rotor from every other, and which stand right below another."""
        v = self.vehicle
        self.offset = v.position[:, :, None] - v.position[:, None, :]  # [:, i, j] from j to i
        flat = np.sqrt(self.offset[0] ** 2 + self.offset[1] ** 2)
        self.distance = np.maximum(flat, 1e-6)
        self.below = (flat < v.radius[None]) & (self.offset[2] < -1e-3)
        beside = flat > v.radius[None]
        self.ahead = np.where(beside, 2 * v.radius[None] / self.distance, 0.0)

    def loads(self, speed, velocity, rate, height=None, attitude=None):
        """Force and torque about the origin (3, N), body axes.

        `speed` (R, N) rad/s; `velocity` (3, N) of the origin and `rate` (3, N), both relative to the air, body axes;
        `height` (N) m of the origin above the ground and `attitude` R_WB (3, 3, N) where the ground counts.
        """
        squared = speed * speed
        if self.model == "rotors":
            return self._rotors_loads(speed, squared, velocity, rate)
        if self.factor == 0.0 and self.ground == 0.0 and self.wash == 0.0:
            return (self.force_map * squared).sum(axis=1), (self.torque_map * squared).sum(axis=1)
        v = self.vehicle
        local = velocity[:, None] + apply(self.velocity_map, rate[:, None])
        axial = dot(local, v.axis)
        tip = np.maximum(speed, self.floor) * v.radius
        across_squared = dot(local, local) - axial * axial
        advance_squared = np.maximum(across_squared, 0.0) / (tip * tip)
        climb = axial / tip
        if self.wash:
            climb = climb + self.wash * self._wash(velocity, tip)
        coefficient, inflow = self._inflow(advance_squared, climb)
        thrust_gain = (1 - self.factor) + self.factor * coefficient / self.static
        power = coefficient * inflow * self.induced_gain + self.profile_gain * (1 + 4.65 * advance_squared)
        torque_gain = (1 - self.factor) + self.factor * power
        thrust = v.thrust_coefficient * squared * np.minimum(np.maximum(thrust_gain, 0.0), 2.5)
        if self.ground:
            thrust = thrust * self._ground_gain(height, attitude)
        torque = v.torque_coefficient * squared * np.minimum(np.maximum(torque_gain, 0.2), 3.0)
        blown = speed * local
        force = (thrust * v.axis + apply(self.hub_map, blown)).sum(axis=1)
        turning = thrust * self.lever_axis - torque * self.spin_axis + apply(self.moment_map, blown)
        total = turning.sum(axis=1)
        if self.factor:
            drag = self.body_drag(velocity, rate)
            force = force + drag
            total = total + cross(v.drag_center, drag)
        return force, total

    def body_drag(self, velocity, rate):
        """Drag of the body (3, N) N."""
        v = self.vehicle
        local = velocity + cross(rate, v.drag_center)
        return -0.5 * DENSITY * self.factor * v.drag_area * norm(local) * local

    def _inflow(self, advance_squared, climb):
        """Thrust coefficient and total inflow: (1) and (2) by two steps of Newton from a start near it."""
        lowest = -0.6 * self.hover_inflow  # below it momentum theory ends: vortex ring
        climb = np.maximum(climb, lowest)
        pitch = self.pitch * (1 + 1.5 * advance_squared)
        inflow = self.hover_inflow + 0.4 * climb
        for _ in range(2):  # in the total inflow
            root = np.sqrt(advance_squared + inflow * inflow)
            excess = 2 * (inflow - climb) * root - pitch + self.slope * inflow
            slope = 2 * root + 2 * (inflow - climb) * inflow / root + self.slope
            inflow = np.maximum(inflow - excess / slope, 0.2 * self.hover_inflow)
        return pitch - self.slope * inflow, inflow

    def _wash(self, velocity, tip):
        """Additional inflow ratio (R, N) from other rotors' wash, zero at hover."""
        induced = self.hover_inflow * tip
        flat = np.sqrt(velocity[0] ** 2 + velocity[1] ** 2) + 1e-9
        behind = -(self.offset[0] * velocity[0] + self.offset[1] * velocity[1]) / (self.distance * flat)
        swept = flat / (flat + induced)  # (R, N): how far the wash of a rotor is blown away
        met = 0.3 * np.maximum(behind, 0.0) * self.ahead * (swept * induced)[None]
        left = np.where(self.below, -0.5 * (swept * induced)[None], 0.0)
        return (met + left).sum(axis=1) / tip

    def _ground_gain(self, height, attitude):
        above = height + apply(attitude[:, :, None], self.vehicle.position)[2]
        ratio = self.ground * self.disc_radius / (4 * np.maximum(above, 0.6 * self.disc_radius))
        return 1 / (1 - ratio**2)

    def _rotors_loads(self, speed, squared, velocity, rate):
        """RotorS (Furrer et al. 2016): thrust k W^2, drag -W c_d v_p, rolling moment -W c_r v_p."""
        local = velocity[:, None] + apply(self.velocity_map, rate[:, None])
        blown = speed * local
        force = (self.force_map * squared + apply(self.hub_map, blown)).sum(axis=1)
        return force, (self.torque_map * squared + apply(self.moment_map, blown)).sum(axis=1)
