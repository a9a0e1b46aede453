"""The observability matrix: derivatives of the outputs' power series in time by the initial error state.

Along x' = f(x, u(t)) from x_0 the outputs are y(t) = sum_k y_k t^k; y_k is a combination of the Lie derivatives of
order up to k with coefficients from u, so for generic polynomial inputs the rows

    d y_k / d x_0,   k = 0..order, several inputs u                                                     (1)

span the observability codistribution ([Hermann1977]; [Boehm2022] eq. (18)). With the variation P = dx/dz_0 and
A = df/dx, B = df/dp of the constant numbers p:

    P_0 = (1, 0),   (k + 1) P_{k+1} = sum_j A_j P_{k-j} + B_k,   dy_k = sum_j C_j P_{k-j} + D_k          (2)
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from haltere.algebra.series import Field, Residues, Tape
from haltere.foundation.numbers import Numbers
from haltere.observability.rank import exact, system
from haltere.observability.rank.coordinates import MOTION
from haltere.observability.rank.subject import Subject


@dataclass(frozen=True)
class Excitation:
    """Where the vehicle is and how its rotors turn: the random part of the analysis.

    Attributes:
        motion: (13) moving state at the start, rational, the quaternion of unit length.
        inputs: (order + 1, N, points) coefficients of the squared rotor speeds in the field's numbers.
        held: (N, points) rotor speeds for the specific force if they are to be held fixed.
    """

    motion: exact.Vector
    inputs: Numbers
    held: Numbers

    @classmethod
    def drawn(
        cls, subject: Subject, field: Field, points: int, order: int, rng: np.random.Generator
    ) -> "Excitation":
        """Random motion and inputs, all of order one: give real numbers a vehicle in its own units."""
        n = len(subject.spin)
        signed = [exact.random_signed(rng) for _ in range(13)]
        motion = (*signed[:6], *exact.squared(signed[6:10]), *signed[10:])
        if isinstance(field, Residues):
            whole = rng.integers(1, field.prime, (order + 1, n, points))
            held = np.repeat(rng.integers(1, field.prime, (n, 1)), points, 1)
            return cls(motion, whole, held)
        draws = rng.uniform(-1.0, 1.0, (order + 1, n, points))
        draws[0] = rng.uniform(0.5, 1.5, (n, points))
        return cls(motion, draws, np.repeat(rng.uniform(0.5, 1.5, (n, 1)), points, 1))


def output_jacobian(
    subject: Subject, field: Field, excitation: Excitation, *, frozen: bool = False
) -> Numbers:
    """(order + 1, points, 13, 40 + 8N) of equation (1), by the numbers z, before constraints.

    Args:
        subject: the vehicle.
        field: residues modulo a prime, or real numbers.
        excitation: start and inputs.
        frozen: hold the rotor speed fixed inside the specific force, as [Boehm2022] Table I has it.
    """
    n, numbers = len(subject.spin), subject.coordinates.numbers
    order, points = excitation.inputs.shape[0] - 1, excitation.inputs.shape[2]
    tape = Tape(system.program(n), field, points, order)
    start = np.asarray([field.number(x) for x in (*excitation.motion, *subject.constants)], field.dtype)
    still = np.zeros(system.WRENCH, field.dtype)
    spin = np.asarray([field.number(x) for x in subject.spin], field.dtype)
    state = np.repeat(start[:MOTION, None], points, 1)
    variation = [np.zeros((points, MOTION, numbers), field.dtype)]
    variation[0][:, range(MOTION), range(MOTION)] = 1
    slopes: list[Numbers] = []
    rows: list[Numbers] = []
    results: list[Numbers] = []
    for k in range(order + 1):
        constant = np.zeros((numbers - MOTION + system.WRENCH + n, points), field.dtype)
        held = np.zeros((n, points), field.dtype)
        if k == 0:
            constant[:] = np.concatenate([start[MOTION:], still, spin])[:, None]
            held = excitation.held
        u = excitation.inputs[k]
        tape.advance(k, np.concatenate([state, constant, u, held if frozen else u]))
        slopes.append(tape.jacobian(k, system.slope_rows(), numbers))
        rows.append(tape.jacobian(k, system.output_rows(), numbers))
        results.append(_through(rows, variation, field))
        if k < order:
            share = field.number(Fraction(1, k + 1))
            state = field.reduced(tape.outputs(k)[:MOTION] * share)
            variation.append(field.reduced(_through(slopes, variation, field) * share))
    return np.stack(results)


def _through(outer: Sequence[Numbers], inner: Sequence[Numbers], field: Field) -> Numbers:
    """Coefficient k of the derivatives by z_0, from those by (x, p) along the way: equation (2)."""
    k = len(outer) - 1
    total = outer[k].copy()
    total[..., :MOTION] = 0
    for j in range(k + 1):
        total = total + field.product(outer[j][..., :MOTION], inner[k - j])
    return field.reduced(total)


def in_own_units(subject: Subject) -> Subject:
    """The vehicle in units of its own, so that floating-point numbers of one computation are of one size."""
    units = subject.coordinates.number_units(*subject.units())[MOTION:]
    constants = (x / Fraction(unit) for x, unit in zip(subject.constants, units, strict=True))
    return replace(subject, constants=tuple(constants))


def chart(subject: Subject, motion: exact.Vector, axes: str) -> Numbers:
    """(40 + 8N, 37 + 7N) rational derivatives of z by the error state.

    Rotations are perturbed on the right, q exp(d / 2). An axis has its tangent's two directions (`sphere`) or the
    paper's azimuth and inclination (`spherical`), of which the first moves nothing at the pole; lengths of the
    directions are as in `haltere.observability.rank.exact.tangent`.
    """
    c = subject.coordinates
    T = np.full((c.numbers, c.errors), Fraction(0), object)
    for number, error in c.straight:
        T[number, error] = Fraction(1)
    z = (*motion, *subject.constants)
    half = Fraction(1, 2)
    for number, error in c.rotations:
        for k, unit in enumerate(exact.identity(3)):
            turned = exact.multiplied(z[number : number + 4], (Fraction(0), *unit))
            T[number : number + 4, error + k] = [half * x for x in turned]
    for i in range(len(c.rotors)):
        number, error = c.rotor_number(i, "axis"), c.rotor_error(i, "axis")
        n = subject.axis(i)
        T[number : number + 3, error : error + 2] = np.asarray(exact.tangent(n), object)
        if axes == "spherical" and n[0] == 0 and n[1] == 0:
            T[number : number + 3, error] = Fraction(0)
    return T


def sensor_rows(sensors: Sequence[str]) -> list[int]:
    """Outputs that the sensors read."""
    rows: list[int] = []
    if "pose" in sensors or "position" in sensors:
        rows += system.POSITION
    if "pose" in sensors:
        rows += system.ATTITUDE
    if "imu" in sensors:
        rows += [*system.ACCEL, *system.GYRO]
    return rows


def observability_matrix(jacobian: Numbers, T: Numbers, sensors: Sequence[str], field: Field) -> Numbers:
    """(rows, 37 + 7N) from the outputs' jacobian: the sensors' rows, by the error state."""
    rows = jacobian[:, :, sensor_rows(sensors)].reshape(-1, jacobian.shape[-1])
    numbers = np.asarray([field.number(x) for x in T.reshape(-1).tolist()], field.dtype).reshape(T.shape)
    return field.product(rows, numbers)
