"""The search for a manoeuvre: a bounded periodic trajectory with the most information about chosen parameters.

With the parameters' covariance C of a flight (`haltere.observability.information.fisher`) and the size s_j of each
parameter, the coefficients of the trajectory minimise

    A:  log sqrt(sum_j C_jj / s_j^2)        D:  log det(C) / (2 n)                                          (1)

plus a penalty where a limit is exceeded, by a quasi-Newton method with exact gradients: back through the information,
through the derivatives of the equations of motion, and through flatness. At the end the amplitudes are reduced until
every limit is kept at every sample.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import jax
import jax.numpy as jnp
import numpy as np
from scipy.optimize import minimize

from haltere.foundation.arrays import Array
from haltere.foundation.numbers import Numbers
from haltere.observability.information.excitation import measure_excitation
from haltere.observability.information.fisher import RATE, Information
from haltere.observability.manoeuvres.flat_flight import FlatFlight, Pilot, sample_trajectory
from haltere.observability.rank.rational_vehicle import ObservabilityError
from haltere.observability.rank.system import MOTION, OUTPUTS
from haltere.trajectory import Harmonic, Trajectory, periodic

CRITERIA = ("a", "d")
_SLACK, _PENALTY, _BISECTIONS = 0.97, 300.0, 30
_MOST_USED = 0.99
"""Share of the limits at the samples, so that they are kept between them too."""


@dataclass(frozen=True)
class Manoeuvre:
    """What to fly, and what to expect of it.

    Attributes:
        coefficients: (2, K, 4) sines and cosines of `haltere.trajectory.periodic`.
        trajectory: the same as a trajectory.
        sigma: predicted deviation by parameter, SI, for the whole flight; None where nothing is learnt.
        use: largest share of a limit that it takes.
        value: the criterion.
        excitation: see `haltere.observability.information.excitation`.
    """

    coefficients: Numbers
    trajectory: Harmonic
    sigma: dict[str, float | None]
    use: float
    value: float
    excitation: dict[str, float]


@dataclass(frozen=True)
class Designer:
    """The search for a manoeuvre.

    Attributes:
        information: vehicle, sensors and knowledge.
        pilot: flatness and limits.
        names: the parameters that matter.
        seconds: length of the flight; it repeats the period.
        period: s.
        harmonics: K.
        criterion: `a` or `d`.
    """

    information: Information
    pilot: Pilot
    names: tuple[str, ...]
    seconds: float = 30.0
    period: float = 10.0
    harmonics: int = 12
    criterion: str = "a"

    def __post_init__(self) -> None:
        if self.criterion not in CRITERIA:
            raise ObservabilityError(f"criterion {self.criterion!r} is not known; choose a or d")
        if not (np.isfinite(self.seconds) and self.seconds > 0.0):
            raise ObservabilityError(f"got a flight of {self.seconds:g} s, expected more than zero; try 30")
        if not self.names:
            raise ObservabilityError("no parameter to design for; name one, such as inertia.zz")

    @cached_property
    def rows(self) -> Numbers:
        """(n, f) gradients of the parameters, each over its size."""
        rows = []
        for name in self.names:
            row = self.information.row(name)
            if not np.any(np.abs(row) > 1e-9 * self.information.size(name)):
                raise ObservabilityError(f"parameter {name!r} is known already; design for another one")
            rows.append(row / self.information.size(name))
        return np.stack(rows)

    @cached_property
    def _fly(self) -> Callable[[Array], FlatFlight]:
        return jax.jit(self._nominal)

    def _nominal(self, coefficients: Array) -> FlatFlight:
        path = periodic(coefficients[0], coefficients[1], self.period, self.pilot.limits.centre)
        return self.pilot.fly(sample_trajectory(path, self.period))

    @cached_property
    def _back(self) -> Callable[[Array, FlatFlight], Array]:
        def back(coefficients: Array, weights: FlatFlight) -> Array:
            gradient: Array = jax.vjp(self._nominal, coefficients)[1](weights)[0]
            return gradient

        return jax.jit(back)

    @cached_property
    def _criterion(self) -> Callable[[Array, Array], tuple[Array, tuple[Array, Array]]]:
        reduced, flights = self.information.reduced, self.seconds / self.period
        return jax.jit(jax.value_and_grad(lambda J, wxyz: self._score(flights * reduced(J, wxyz)), (0, 1)))

    def _score(self, matrix: Array) -> Array:
        """Equation (1) from an information (f, f)."""
        rows = jnp.asarray(self.rows)
        scale = jnp.sqrt(jnp.diagonal(matrix) + 1e-9)
        even = matrix / scale[:, None] / scale[None, :] + 1e-12 * jnp.eye(len(scale))
        covariance = (rows / scale) @ jnp.linalg.solve(even, (rows / scale).T)
        by_sum: Array = 0.5 * jnp.log(jnp.trace(covariance))
        by_volume: Array = 0.5 * jnp.linalg.slogdet(covariance)[1] / len(rows)
        return by_sum if self.criterion == "a" else by_volume

    def value_and_gradient(self, coefficients: Numbers) -> tuple[float, Numbers, float]:
        """The criterion of equation (1) without penalty, its gradient, and the largest share of a limit."""
        nominal = self._fly(jnp.asarray(coefficients))
        value, weights = self._value(nominal)
        gradient = self._back(jnp.asarray(coefficients), weights)
        return value, np.asarray(gradient), float(jnp.max(nominal.use))

    def _value(self, nominal: FlatFlight) -> tuple[float, FlatFlight]:
        info = self.information
        tape, J = info.linearised(np.asarray(nominal.motion), np.asarray(nominal.inputs))
        value, (by_J, by_q) = self._criterion(jnp.asarray(J), nominal.motion[:, 6:10])
        i, j, slots = tape.program.derivatives(range(MOTION + OUTPUTS), J.shape[2])
        weights = np.zeros(tape.values.shape[1:])
        np.add.at(weights, slots, np.asarray(by_J)[:, i, j].T)
        back = info.adjoint.back(tape, weights)
        n = nominal.inputs.shape[1]
        motion = back[:MOTION].T.copy()
        motion[:, 6:10] += np.asarray(by_q)
        inputs = back[-2 * n : -n].T + back[-n:].T
        return float(value), FlatFlight(jnp.asarray(motion), jnp.asarray(inputs), jnp.zeros_like(nominal.use))

    def _penalised(self, flat: Numbers) -> tuple[float, Numbers]:
        coefficients = flat.reshape(2, self.harmonics, 4)
        nominal = self._fly(jnp.asarray(coefficients))
        value, weights = self._value(nominal)
        over = np.maximum(np.asarray(nominal.use) - _SLACK, 0.0)
        samples = over.shape[0]
        penalty = _PENALTY * float(np.sum(over**2)) / samples
        weights = replace(weights, use=jnp.asarray(2.0 * _PENALTY * over / samples))
        gradient = np.asarray(self._back(jnp.asarray(coefficients), weights)).reshape(-1)
        if not np.isfinite(value) or not np.all(np.isfinite(gradient)):
            return 1e6, np.zeros_like(flat)
        return value + penalty, gradient

    def fitted(self, coefficients: Numbers, grow: bool = False) -> Numbers:
        """The coefficients times the largest factor, at most one unless it may grow, that keeps all limits."""

        def keeps(factor: float) -> bool:
            return float(jnp.max(self._fly(jnp.asarray(factor * coefficients)).use)) <= _MOST_USED

        low, high = 0.0, 1.0
        while grow and keeps(high) and high < 1e3:
            low, high = high, 2.0 * high
        if keeps(high):
            return high * coefficients
        for _ in range(_BISECTIONS):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if keeps(middle) else (low, middle)
        return low * coefficients

    def random(self, rng: np.random.Generator) -> Numbers:
        """A random multisine scaled to the limits: even spectrum of speed, random phases and shares of the axes."""
        k = np.arange(1.0, self.harmonics + 1.0)[:, None]
        phase = rng.uniform(0.0, 2.0 * np.pi, (self.harmonics, 4))
        size = rng.uniform(0.0, 1.0, (self.harmonics, 4)) / k * rng.uniform(0.1, 1.0, 4)
        return self.fitted(np.stack([size * np.cos(phase), size * np.sin(phase)]), grow=True)

    def evaluate(self, coefficients: Numbers) -> Manoeuvre:
        """What a manoeuvre promises."""
        nominal = self._fly(jnp.asarray(coefficients))
        motion, inputs = np.asarray(nominal.motion), np.asarray(nominal.inputs)
        matrix = self.seconds / self.period * self.information.matrix(motion, inputs)
        sigma = self.information.sigmas(matrix, self.names)
        path = periodic(coefficients[0], coefficients[1], self.period, self.pilot.limits.centre)
        value = float(self._score(jnp.asarray(matrix)))
        shaken = measure_excitation(motion[:, 10:13], inputs, 1.0 / RATE)
        return Manoeuvre(coefficients, path, sigma, float(jnp.max(nominal.use)), value, shaken)

    def along(self, trajectory: Trajectory) -> dict[str, float | None]:
        """Predicted deviations of a flight along any trajectory, over `seconds`."""
        nominal = self.pilot.fly(sample_trajectory(trajectory, self.seconds))
        info = self.information
        return info.sigmas(info.matrix(np.asarray(nominal.motion), np.asarray(nominal.inputs)), self.names)

    def search(
        self,
        rng: np.random.Generator,
        starts: int = 8,
        iterations: int = 80,
        progress: Callable[[str], None] | None = None,
    ) -> Manoeuvre:
        """The best manoeuvre found from the best of several random starts."""
        tell = progress or (lambda _: None)
        tell(f"trying {starts} random manoeuvres")
        guesses = [self.evaluate(self.random(rng)) for _ in range(starts)]
        best = min(guesses, key=lambda guess: guess.value)
        tell(f"improving the best of them, {iterations} steps")
        found = minimize(
            self._penalised,
            best.coefficients.reshape(-1),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": iterations, "maxcor": 20},
        )
        improved = self.evaluate(self.fitted(np.asarray(found.x).reshape(2, self.harmonics, 4)))
        return min((best, improved), key=lambda guess: guess.value)
