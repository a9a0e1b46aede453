"""One chunk of nodes of the quadrotor in motion, linearised by the smoother's own compiled program."""

import jax
import numpy as np
from tests.unit.estimation.vehicle.quadrotor import nominal_vehicle, some_speeds, some_state

from haltere.estimation.vehicle.levels import first_levels
from haltere.estimation.vehicle.linearisation import Linear, Readings
from haltere.estimation.vehicle.marginal import CHUNK, programs
from haltere.estimation.vehicle.motion import NODE, RotorInputs, advance
from haltere.estimation.vehicle.parameters import vehicle_of


class ChunkOfNodes:
    """Nodes of the quadrotor in motion, one chunk of them, with readings that need not fit."""

    def __init__(self, seed=0):
        rng = np.random.default_rng(seed)
        self.nominal = nominal_vehicle()
        self.layout = self.nominal.layout
        self.log_levels = first_levels(self.nominal)
        self.z = 0.5 * rng.normal(size=self.layout.size)
        speeds = some_speeds(seed)
        rotors = np.stack([speeds.inputs(NODE * k, NODE) for k in range(CHUNK)])
        turn = np.linspace(0.0, 6.0, CHUNK)
        x = np.tile(some_state(seed), (CHUNK, 1))
        x[:, 3:6] += np.stack([np.sin(turn), np.cos(turn), 0.3 * np.sin(2.0 * turn)], axis=1)
        x[:, 10:13] += np.stack([np.cos(turn), np.sin(2.0 * turn), 0.2 * np.sin(turn)], axis=1)
        vehicle = vehicle_of(self.layout, self.nominal, self.z)
        step = jax.jit(jax.vmap(lambda x, inputs: advance(vehicle, x, RotorInputs(*inputs))))
        self.x, self.after = x, np.asarray(step(x, rotors))
        gyro, accel = rng.normal(size=(2, CHUNK, 3))
        later = rng.uniform(-0.01, 0.01, CHUNK)
        self.readings = Readings(rotors, 0.1 * rotors, gyro, accel, 0.1 * accel, later)

    def linearise(self, z, x=None):
        x = self.x if x is None else x
        F, G, c, H, D, r, rotor = programs(self.layout).linearise(
            self.nominal, z, x, self.after, self.readings
        )
        return Linear(F, G, c, H, D, np.concatenate([r, np.zeros((CHUNK, 6))], axis=1), rotor)
