"""Simulated identification by least squares over windows: many flights at once, each with noise of its own.

Motion is integrated by the classical Runge-Kutta method with rotor speeds held over each sample; every window has an
initial motion of its own, all windows of a flight share the parameters. Gauss-Newton from the truth: the question is
how far from it the least squares lie, not the way there.
"""

import numpy as np

from haltere.algebra.series import Reals, Tape
from haltere.observability.information.fisher import ERRORS, RATE, WINDOW
from haltere.observability.rank import system
from haltere.observability.rank.system import MOTION


def chart(q):
    """(B, 13, 12) moving state by its error, rotation on the right."""
    T = np.zeros((len(q), MOTION, ERRORS))
    T[:, range(6), range(6)] = 1.0
    T[:, range(10, 13), range(9, 12)] = 1.0
    w, x, y, z = q.T
    T[:, 6:10, 6:9] = 0.5 * np.stack([-x, -y, -z, w, -z, y, z, w, -x, -y, x, w], 1).reshape(-1, 4, 3)
    return T


class Flights:
    """Windows of the same flight in many copies."""

    def __init__(self, information, motion, inputs, runs):
        self.info = information
        self.windows, self.runs = len(motion) // WINDOW, runs
        self.starts = motion[: self.windows * WINDOW : WINDOW]
        self.inputs = inputs[: self.windows * WINDOW].reshape(self.windows, WINDOW, -1)
        self.sigma = np.asarray(information.noise.sigma)
        self.read = np.isfinite(self.sigma)

    def evaluate(self, x, constants, u):
        info, points = self.info, len(x)
        rest = np.concatenate([np.zeros(system.WRENCH), np.asarray(info.vehicle.spin, float)])
        tape = Tape(system.program(len(info.vehicle.spin)), Reals(), points, 0)
        tape.advance(0, np.concatenate([x.T, constants.T, np.repeat(rest[:, None], points, 1), u.T, u.T]))
        return tape

    def predicted(self, starts, constants, derivatives=True):
        """Outputs (T, B, 13) and their derivatives (T, B, 13, 12 + f), for B = runs x windows."""
        info, dt = self.info, 1.0 / RATE
        x, outputs, slopes = starts.copy(), [], []
        change = info.tangent @ info.free
        f = change.shape[1]
        P = np.concatenate([chart(x[:, 6:10]), np.zeros((len(x), MOTION, f))], axis=2)
        for k in range(WINDOW):
            u = np.tile(self.inputs[:, k], (len(x) // self.windows, 1))
            tape = self.evaluate(x, constants, u)
            both = tape.outputs(0).T
            outputs.append(both[:, MOTION:])
            k1 = both[:, :MOTION]
            if derivatives:
                J = tape.jacobian(0, range(26), MOTION + constants.shape[1])
                total = J[:, :, :MOTION] @ P
                total[:, :, ERRORS:] += J[:, :, MOTION:] @ change
                slopes.append(total[:, MOTION:])
                S = total[:, :MOTION]
                P = P + dt * S + 0.5 * dt**2 * J[:, :MOTION, :MOTION] @ S
            k2 = self.evaluate(x + 0.5 * dt * k1, constants, u).outputs(0)[:MOTION].T
            k3 = self.evaluate(x + 0.5 * dt * k2, constants, u).outputs(0)[:MOTION].T
            k4 = self.evaluate(x + dt * k3, constants, u).outputs(0)[:MOTION].T
            x = x + dt / 6.0 * (k1 + 2 * k2 + 2 * k3 + k4)
        return np.stack(outputs), np.stack(slopes) if derivatives else None

    def measured(self, rng):
        """(T, B, 13) noisy readings of the true flight."""
        starts = np.tile(self.starts, (self.runs, 1))
        truth, _ = self.predicted(
            self.starts, np.tile(self.info.constants, (self.windows, 1)), derivatives=False
        )
        truth = np.tile(truth, (1, self.runs, 1))
        sigma = np.where(self.read, self.sigma, 0.0)
        return starts, truth + sigma * rng.normal(size=truth.shape)

    def identify(self, rng, iterations=3):
        """(runs, f) estimated minus true changes of the parameters."""
        starts, readings = self.measured(rng)
        f = self.info.free.shape[1]
        estimate = np.zeros((self.runs, f))
        guess = starts.copy()
        weight = np.where(self.read, self.sigma, np.inf) ** -2.0
        for _ in range(iterations):
            constants = (
                self.info.constants
                + np.repeat(estimate, self.windows, 0) @ (self.info.tangent @ self.info.free).T
            )
            outputs, slopes = self.predicted(guess, constants)
            left = readings - outputs
            own = np.einsum("tbij,i,tbik->bjk", slopes, weight, slopes, optimize=True)
            right = np.einsum("tbij,i,tbi->bj", slopes, weight, left, optimize=True)
            xx = own[:, :ERRORS, :ERRORS]
            solved = np.linalg.solve(
                xx, np.concatenate([own[:, :ERRORS, ERRORS:], right[:, :ERRORS, None]], 2)
            )
            J = own[:, ERRORS:, ERRORS:] - own[:, ERRORS:, :ERRORS] @ solved[:, :, :-1]
            g = right[:, ERRORS:] - np.einsum("bij,bj->bi", own[:, ERRORS:, :ERRORS], solved[:, :, -1])
            J = J.reshape(self.runs, self.windows, f, f).sum(1)
            g = g.reshape(self.runs, self.windows, f).sum(1)
            step = np.linalg.solve(J, g[:, :, None])[:, :, 0]
            estimate = estimate + step
            moved = solved[:, :, -1] - np.einsum(
                "bij,bj->bi", solved[:, :, :-1], np.repeat(step, self.windows, 0)
            )
            guess = guess + np.einsum("bij,bj->bi", chart(guess[:, 6:10]), moved)
            guess[:, 6:10] /= np.linalg.norm(guess[:, 6:10], axis=1, keepdims=True)
        return estimate
