"""The observability matrix and its rank, decided exactly, with the floating-point one beside it.

Rank: two conventions for the unit length of quaternions ([Boehm2022] eq. (19)), both counted among 40 + 7N `states`:

    `all`         one row for each of the three quaternions                rank + 3
    `determined`  rows only for quaternions that the sensors determine     rank + their number                (1)

where rank is that of the error state. Which one a paper used can only be seen from sensor sets that leave a
quaternion free. The exact rank is the largest over independent primes and points, two of which must agree.

Matrix: derivatives of the outputs' power series in time by the initial error state. Along x' = f(x, u(t)) from x_0
the outputs are y(t) = sum_k y_k t^k; y_k is a combination of the Lie derivatives of order up to k with coefficients
from u, so for generic polynomial inputs the rows

    d y_k / d x_0,   k = 0..order, several inputs u                                                     (2)

span the observability codistribution ([Hermann1977]; [Boehm2022] eq. (18)). With the variation P = dx/dz_0 and
A = df/dx, B = df/dp of the constant numbers p:

    P_0 = (1, 0),   (k + 1) P_{k+1} = sum_j A_j P_{k-j} + B_k,   dy_k = sum_j C_j P_{k-j} + D_k          (3)
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from haltere.algebra import modular
from haltere.algebra.series import Field, Reals, Residues, SingularPointError, Tape
from haltere.foundation.numbers import Numbers
from haltere.observability.rank import exact, system
from haltere.observability.rank.rational_vehicle import ObservabilityError, RationalVehicle
from haltere.observability.rank.system import MOTION


@dataclass(frozen=True)
class RandomMotion:
    """Where the vehicle is and how its rotors spin: the random part of the analysis.

    Attributes:
        motion: (13) moving state at the start, rational, the quaternion of unit length.
        inputs: (order + 1, N, points) coefficients of the squared rotor speeds in the field's numbers.
        held: (N, points) rotor speeds for the specific force if they are to be held fixed.
    """

    motion: exact.Vector
    inputs: Numbers
    imu_inputs: Numbers

    @classmethod
    def sample(
        cls, vehicle: RationalVehicle, field: Field, points: int, order: int, rng: np.random.Generator
    ) -> "RandomMotion":
        """Random motion and inputs, all of order one: give real numbers a vehicle in its own units."""
        n = len(vehicle.spin)
        signed = [exact.random_signed(rng) for _ in range(13)]
        motion = (*signed[:6], *exact.squared(signed[6:10]), *signed[10:])
        if isinstance(field, Residues):
            whole = rng.integers(1, field.prime, (order + 1, n, points))
            imu_inputs = np.repeat(rng.integers(1, field.prime, (n, 1)), points, 1)
            return cls(motion, whole, imu_inputs)
        draws = rng.uniform(-1.0, 1.0, (order + 1, n, points))
        draws[0] = rng.uniform(0.5, 1.5, (n, points))
        return cls(motion, draws, np.repeat(rng.uniform(0.5, 1.5, (n, 1)), points, 1))


def output_jacobian(
    vehicle: RationalVehicle, field: Field, excitation: RandomMotion, *, frozen: bool = False
) -> Numbers:
    """(order + 1, points, 13, 40 + 8N) of equation (2), by the numbers z, before constraints.

    Args:
        vehicle: the vehicle.
        field: residues modulo a prime, or real numbers.
        excitation: start and inputs.
        frozen: hold the rotor speed fixed inside the specific force, as [Boehm2022] Table I has it.
    """
    n, numbers = len(vehicle.spin), vehicle.coordinates.numbers
    order, points = excitation.inputs.shape[0] - 1, excitation.inputs.shape[2]
    tape = Tape(system.program(n), field, points, order)
    start = np.asarray([field.number(x) for x in (*excitation.motion, *vehicle.constants)], field.dtype)
    still = np.zeros(system.WRENCH, field.dtype)
    spin = np.asarray([field.number(x) for x in vehicle.spin], field.dtype)
    state = np.repeat(start[:MOTION, None], points, 1)
    variation = [np.zeros((points, MOTION, numbers), field.dtype)]
    variation[0][:, range(MOTION), range(MOTION)] = 1
    slopes: list[Numbers] = []
    rows: list[Numbers] = []
    results: list[Numbers] = []
    for k in range(order + 1):
        constant = np.zeros((numbers - MOTION + system.WRENCH + n, points), field.dtype)
        imu_inputs = np.zeros((n, points), field.dtype)
        if k == 0:
            constant[:] = np.concatenate([start[MOTION:], still, spin])[:, None]
            imu_inputs = excitation.imu_inputs
        u = excitation.inputs[k]
        tape.advance(k, np.concatenate([state, constant, u, imu_inputs if frozen else u]))
        slopes.append(tape.jacobian(k, system.slope_rows(), numbers))
        rows.append(tape.jacobian(k, system.output_rows(), numbers))
        results.append(_through(rows, variation, field))
        if k < order:
            share = field.number(Fraction(1, k + 1))
            state = field.reduced(tape.outputs(k)[:MOTION] * share)
            variation.append(field.reduced(_through(slopes, variation, field) * share))
    return np.stack(results)


def _through(outer: Sequence[Numbers], inner: Sequence[Numbers], field: Field) -> Numbers:
    """Coefficient k of the derivatives by z_0, from those by (x, p) along the way: equation (3)."""
    k = len(outer) - 1
    total = outer[k].copy()
    total[..., :MOTION] = 0
    for j in range(k + 1):
        total = total + field.product(outer[j][..., :MOTION], inner[k - j])
    return field.reduced(total)


def in_own_units(vehicle: RationalVehicle) -> RationalVehicle:
    """The vehicle in units of its own, so that floating-point numbers of one computation are of one size."""
    units = vehicle.coordinates.number_units(*vehicle.units())[MOTION:]
    constants = (x / Fraction(unit) for x, unit in zip(vehicle.constants, units, strict=True))
    return replace(vehicle, constants=tuple(constants))


def error_jacobian(vehicle: RationalVehicle, motion: exact.Vector, axes: str) -> Numbers:
    """(40 + 8N, 37 + 7N) rational derivatives of z by the error state.

    Rotations are perturbed on the right, q exp(d / 2). An axis has its tangent's two directions (`sphere`) or the
    paper's azimuth and inclination (`spherical`), of which the first moves nothing at the pole; lengths of the
    directions are as in `haltere.observability.rank.exact.tangent`.
    """
    c = vehicle.coordinates
    T = np.full((c.numbers, c.errors), Fraction(0), object)
    for number, error in c.straight:
        T[number, error] = Fraction(1)
    z = (*motion, *vehicle.constants)
    half = Fraction(1, 2)
    for number, error in c.rotations:
        for k, unit in enumerate(exact.identity(3)):
            turned = exact.multiplied(z[number : number + 4], (Fraction(0), *unit))
            T[number : number + 4, error + k] = [half * x for x in turned]
    for i in range(len(c.rotors)):
        number, error = c.rotor_number(i, "axis"), c.rotor_error(i, "axis")
        n = vehicle.axis(i)
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


SENSORS = ("pose", "position", "imu")
AXES = ("sphere", "spherical")
NORMS = ("all", "determined")
ORDER = 5
_AGREE, _MOST = 2, 6
_NEGLIGIBLE, _ROUNDING, _TRACE = 1e-10, 1e-12, 1e-7


@dataclass(frozen=True)
class Question:
    """What is measured and how it is counted.

    Attributes:
        sensors: of `pose`, `position`, `imu`.
        axes: `sphere` or `spherical`, see `error_jacobian`.
        frozen: hold the rotor speed fixed inside the specific force, as [Boehm2022] Table I has it.
        order: of the power series in time.
    """

    sensors: tuple[str, ...]
    axes: str = "sphere"
    frozen: bool = False
    order: int = ORDER

    def __post_init__(self) -> None:
        if not self.sensors:
            raise ObservabilityError("no sensors were given, at least one is expected; try pose,imu")
        for sensor in self.sensors:
            if sensor not in SENSORS:
                raise ObservabilityError(f"sensor {sensor!r} is not known; choose from {', '.join(SENSORS)}")
        if self.axes not in AXES:
            raise ObservabilityError(f"axes {self.axes!r} are not known; choose from {', '.join(AXES)}")

    @property
    def exteroceptive(self) -> str:
        """What the sensor P is called: `position` where nothing reads its attitude."""
        return "position" if "position" in self.sensors and "pose" not in self.sensors else "pose"


@dataclass(frozen=True)
class ExactMatrix:
    """The row space of the observability matrix modulo a prime, at one point.

    Attributes:
        prime: the prime.
        motion: (13) the moving state at the start.
        reduced: (rank, 37 + 7N) reduced row echelon form.
        pivots: its pivot columns.
    """

    prime: int
    motion: exact.Vector
    reduced: Numbers
    pivots: tuple[int, ...]

    @property
    def rank(self) -> int:
        """Rows of the echelon form."""
        return len(self.pivots)

    def extended(self, rows: Numbers) -> "ExactMatrix":
        """With further rational rows (m, 37 + 7N): things that are known."""
        if len(rows) == 0:
            return self
        stacked = np.concatenate([self.reduced, modular.residues(rows, self.prime)])
        return ExactMatrix(self.prime, self.motion, *modular.echelon(stacked, self.prime))

    def null_space(self) -> Numbers:
        """(37 + 7N, nullity) residues."""
        return modular.null_space(self.reduced, self.pivots, self.prime)

    def blind(self) -> list[int]:
        """Entries of the error state that alone leave no trace."""
        return [i for i in range(self.reduced.shape[1]) if not np.any(self.reduced[:, i])]

    def moves_alone(self, row: Numbers, own: tuple[int, ...]) -> bool:
        """Whether a quantity with gradient `row` can change by its own entries alone, without a trace."""
        chosen = list(own)
        free = modular.null_space(*modular.echelon(self.reduced[:, chosen], self.prime), self.prime)
        gradient = modular.residues(row[chosen], self.prime)
        return bool(np.any(modular.product(gradient[None, :], free, self.prime)))

    def annihilates(self, vector: Numbers) -> bool:
        """Whether a rational vector (37 + 7N,) is an unobservable direction."""
        column = modular.residues(vector, self.prime)[:, None]
        return not np.any(modular.product(self.reduced, column, self.prime))

    def contains(self, row: Numbers) -> bool:
        """Whether a rational row (37 + 7N,) is a combination of the rows: the quantity is observable."""
        residues = modular.residues(row, self.prime)
        leading = residues[None, list(self.pivots)]
        return not np.any((residues - modular.product(leading, self.reduced, self.prime)[0]) % self.prime)


def points_for(rotors: int) -> int:
    """Inputs that surely suffice: each rotor must be seen apart from the others."""
    return rotors + 4


def exact_matrices(
    vehicle: RationalVehicle, questions: Sequence[Question], rng: np.random.Generator
) -> list[ExactMatrix]:
    """The best of several independent draws for each question; questions share what they can."""
    best: list[ExactMatrix | None] = [None] * len(questions)
    times = [0] * len(questions)
    primes = modular.largest_primes(_MOST)
    order = max(question.order for question in questions)
    for prime in primes:
        try:
            sample = _draw(vehicle, questions, Residues(prime), order, rng)
        except (SingularPointError, ValueError):
            continue
        for i, found in enumerate(sample):
            known = best[i]
            if known is None or found.rank > known.rank:
                best[i], times[i] = found, 1
            elif found.rank == known.rank:
                times[i] += 1
        if min(times) >= _AGREE:
            return [matrix for matrix in best if matrix is not None]
    raise ObservabilityError(
        f"the rank of {vehicle.name!r} differs between all {_MOST} draws; try another seed and report it"
    )


def _draw(
    vehicle: RationalVehicle,
    questions: Sequence[Question],
    field: Residues,
    order: int,
    rng: np.random.Generator,
) -> list[ExactMatrix]:
    excitation = RandomMotion.sample(vehicle, field, points_for(len(vehicle.spin)), order, rng)
    jacobians = {
        frozen: output_jacobian(vehicle, field, excitation, frozen=frozen)
        for frozen in {question.frozen for question in questions}
    }
    by_axes = {axes: error_jacobian(vehicle, excitation.motion, axes) for axes in {q.axes for q in questions}}
    matrices = []
    for question in questions:
        jacobian = jacobians[question.frozen][: question.order + 1]
        rows = observability_matrix(jacobian, by_axes[question.axes], question.sensors, field)
        matrices.append(ExactMatrix(field.prime, excitation.motion, *modular.echelon(rows, field.prime)))
    return matrices


@dataclass(frozen=True)
class FloatMatrix:
    """The same in floating-point numbers, rows and columns of like size; answers hold within rounding.

    Attributes:
        motion: (13) the moving state at the start.
        matrix: (rows, 37 + 7N) equilibrated.
        scale: (37 + 7N,) by which its columns were multiplied.
        singular_values: (37 + 7N,) decreasing.
        basis: (37 + 7N, 37 + 7N) right singular vectors as columns.
    """

    motion: exact.Vector
    matrix: Numbers
    scale: Numbers
    singular_values: Numbers
    basis: Numbers

    @property
    def rank(self) -> int:
        """Singular values above 1e-10 of the largest."""
        return int(np.sum(self.singular_values > _NEGLIGIBLE * self.singular_values[0]))

    @property
    def gap(self) -> tuple[float, float]:
        """The last singular value that counts and the first that does not, relative to the largest."""
        relative = self.singular_values / self.singular_values[0]
        return float(relative[self.rank - 1]), float(relative[self.rank]) if self.rank < len(
            relative
        ) else 0.0

    def null_space(self, rank: int) -> Numbers:
        """(37 + 7N, n - rank) unobservable directions, as the columns of an array."""
        return np.asarray(self.scale[:, None] * self.basis[:, rank:])

    def extended(self, rows: Numbers) -> "FloatMatrix":
        """With further rational rows (m, 37 + 7N): things that are known."""
        if len(rows) == 0:
            return self
        plain = np.concatenate([self.matrix, exact.floats(rows) * self.scale])
        return equilibrated(self.motion, plain, self.scale)

    def blind(self) -> list[int]:
        """Entries of the error state that alone leave no trace."""
        return [i for i in range(self.matrix.shape[1]) if not np.any(self.matrix[:, i])]

    def moves_alone(self, row: Numbers, own: tuple[int, ...]) -> bool:
        """Whether a quantity with gradient `row` can change by its own entries alone, without a trace."""
        chosen = list(own)
        _, values, basis = np.linalg.svd(self.matrix[:, chosen], full_matrices=True)
        free = basis[int(np.sum(values > _TRACE)) :].T
        gradient = exact.floats(row)[chosen] * self.scale[chosen]
        return bool(np.any(np.abs(gradient @ free) > _TRACE * np.linalg.norm(gradient)))

    def annihilates(self, vector: Numbers) -> bool:
        """Whether a rational vector (37 + 7N,) is an unobservable direction."""
        scaled = exact.floats(vector) / self.scale
        return bool(np.linalg.norm(self.matrix @ scaled) <= _TRACE * np.linalg.norm(scaled))

    def contains(self, row: Numbers) -> bool:
        """Whether a rational row (37 + 7N,) is a combination of the rows: the quantity is observable."""
        scaled = exact.floats(row) * self.scale
        return bool(np.linalg.norm(scaled @ self.basis[:, self.rank :]) <= _TRACE * np.linalg.norm(scaled))


ObservabilityMatrix = ExactMatrix | FloatMatrix


def float_matrix(
    vehicle: RationalVehicle, question: Question, rng: np.random.Generator, rows: Numbers | None = None
) -> FloatMatrix:
    """The observability matrix in 64-bit numbers, with rational rows (m, 37 + 7N) for what is known."""
    field, scaled = Reals(), in_own_units(vehicle)
    units = np.asarray(vehicle.coordinates.error_units(*vehicle.units()))
    excitation = RandomMotion.sample(scaled, field, points_for(len(vehicle.spin)), question.order, rng)
    jacobian = output_jacobian(scaled, field, excitation, frozen=question.frozen)
    T = error_jacobian(scaled, excitation.motion, question.axes)
    matrix = observability_matrix(jacobian, T, question.sensors, field)
    if rows is not None and len(rows):
        matrix = np.concatenate([matrix, exact.floats(rows) * units])
    return equilibrated(excitation.motion, matrix, units)


def equilibrated(motion: exact.Vector, matrix: Numbers, units: Numbers) -> FloatMatrix:
    """Rows and columns brought to like size, then decomposed; what is rounding in its row counts as zero."""
    largest = np.max(np.abs(matrix), axis=1, keepdims=True)
    matrix = np.where(np.abs(matrix) > _ROUNDING * largest, matrix, 0.0)
    scale = units
    for _ in range(8):
        size = np.sqrt(np.sum(matrix**2, axis=1))
        matrix = matrix[size > 0.0] / size[size > 0.0, None]
        across = np.sqrt(np.sum(matrix**2, axis=0))
        across = np.where(across > 0.0, across, 1.0)
        matrix, scale = matrix / across, scale / across
    triangle: Numbers = np.asarray(np.linalg.qr(matrix, mode="r"))
    padded = np.zeros((matrix.shape[1], matrix.shape[1]))
    padded[: triangle.shape[0]] = triangle
    _, values, basis = np.linalg.svd(padded)
    return FloatMatrix(motion, matrix, scale, values, basis.T)


def determined_quaternions(matrix: ObservabilityMatrix, vehicle: RationalVehicle) -> int:
    """How many of the three quaternions the sensors determine at least in part."""
    blind = set(matrix.blind())
    return sum(not {error, error + 1, error + 2} <= blind for _, error in vehicle.coordinates.rotations)


def count_rank(matrix: ObservabilityMatrix, vehicle: RationalVehicle, norms: str) -> int:
    """The rank among 40 + 7N states: equation (1)."""
    if norms not in NORMS:
        raise ObservabilityError(f"norms {norms!r} are not known; choose from {', '.join(NORMS)}")
    return matrix.rank + (3 if norms == "all" else determined_quaternions(matrix, vehicle))
