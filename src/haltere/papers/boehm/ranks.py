"""The observability tables of [Boehm2022] Section V beside exact ranks: rows for `haltere reproduce boehm`.

`paper` is the printed number, `ours` the exact rank in the convention that the paper's number needs, `bound` what the
rank must not exceed (it is the rank itself: a larger one would be wrong). `note` says in one line why the two differ.
"""

import numpy as np

from haltere.airframe import Airframe, from_catalogue
from haltere.observability import Question, RationalVehicle, analyse, count_rank, exact_matrices
from haltere.observability.answer import Observability
from haltere.observability.rank.parameters import VehicleParameters, Verdict
from haltere.papers.tables import PaperRow, PaperTable

#: Name, sensors, whether rotor speed is held fixed inside the IMU, and the paper's rank a + b N as (a, b).
SETS = (
    ("pose & IMU", ("pose", "imu"), False, (38, 6)),
    ("position & IMU", ("position", "imu"), False, (34, 6)),
    ("pose", ("pose",), False, (25, 6)),
    ("position", ("position",), False, (21, 6)),
    ("IMU", ("imu",), True, (18, 3)),
)
ROTORS = (1, 4, 6, 8)

#: Groups of states as Table I has them, as prefixes of names.
GROUPS = (
    ("r_WM", "state.position"), ("v_WM", "state.velocity"), ("q_WM", "state.attitude"), ("w_WM", "state.rate"),
    ("r_MP", "{}.position"), ("q_MP", "{}.rotation"), ("r_MI", "imu.position"), ("q_MI", "imu.rotation"),
    ("b_a", "imu.accel_bias"), ("b_w", "imu.gyro_bias"), ("m", "mass"), ("i", "inertia"), ("g", "gravity"),
    ("r_MR", "rotors.*.position"), ("psi", "rotors.*.axis.inclination"), ("theta", "rotors.*.axis.azimuth"),
    ("k_f", "rotors.*.thrust_coefficient"), ("k_m", "rotors.*.torque_ratio"),
)  # fmt: skip

_OK, _NO = "ok", "unobs."
_WITH_POSE = (*[_OK] * 10, "J2", "J3", _OK, "J3", _OK, _OK, "J2", "J3")
TABLE_1 = {
    "pose & IMU": _WITH_POSE,
    "position & IMU": (*_WITH_POSE[:5], _NO, *_WITH_POSE[6:]),
    "pose": (*_WITH_POSE[:6], *[_NO] * 4, *_WITH_POSE[10:]),
    "position": (*_WITH_POSE[:5], *[_NO] * 5, *_WITH_POSE[10:]),
    "IMU": (
        *[_NO] * 3, _OK, *[_NO] * 2, _OK, _OK, "J1", _OK, "J1", "J1", _NO, *["J1"] * 5,
    ),
}  # fmt: skip
#: Which of the paper's joint subspaces a direction belongs to.
LABELS = {"mass scale": "J2", "leverage scale": "J3", "slide": "J3", "turn": "J4"}

CHAIN = (
    ("nothing", None, 57),
    ("m", "mass", None),
    ("theta_i", "rotors.*.axis.azimuth", None),
    ("r_z", "rotors.*.position.z", None),
    ("|r2 - r1|", "distance.front.left", None),
    ("q_MP,z", "pose.rotation.z", 68),
)
EXPECTED_CHAIN = (57, 58, 62, 66, 67, 68)


def rank_rows(seed: int = 0) -> list[PaperRow]:
    """Ranks of vehicles without symmetry, for all sensor sets and 1, 4, 6 and 8 rotors."""
    rows = []
    for n in ROTORS:
        vehicle = RationalVehicle.generic(n, np.random.default_rng([seed, n]))
        questions = [Question(sensors, frozen=frozen) for _, sensors, frozen, _ in SETS]
        questions.append(Question(("imu",)))
        matrices = exact_matrices(vehicle, questions, np.random.default_rng([seed, n, 1]))
        for (name, _, frozen, (a, b)), matrix in zip(SETS, matrices, strict=False):
            both = {norms: count_rank(matrix, vehicle, norms) for norms in ("determined", "all")}
            note = f"unit lengths of determined quaternions only; with all three it is {both['all']}"
            if frozen:
                note += "; rotor speed held fixed inside h, an artefact"
            rows.append(_row(f"{name}, N = {n}", a + b * n, both["determined"], a + b * n, note))
        free = count_rank(matrices[-1], vehicle, "determined")
        whole = count_rank(matrices[-1], vehicle, "all")
        note = f"rotor speed varies inside h: 18 + 6N (with all unit lengths {whole})"
        rows.append(_row(f"IMU, u varying, N = {n}", 18 + 3 * n, free, 18 + 6 * n, note))
    return rows


def hummingbird_rows(seed: int = 0) -> list[PaperRow]:
    """Ranks of the Hummingbird: as printed, with the sphere's tangent, and the chain of hand measurements."""
    airframe = from_catalogue("hummingbird")
    vehicle = RationalVehicle.from_airframe(airframe)
    both = ("pose", "imu")
    rows = []
    known: list[str] = []
    for (name, measured, printed), expected in zip(CHAIN, EXPECTED_CHAIN, strict=True):
        known += [measured] if measured else []
        rank = analyse(vehicle, Question(both, "spherical"), known, rng=np.random.default_rng(seed)).rank
        note = "the paper's angles, as printed" if printed else "between the two numbers that the paper gives"
        rows.append(
            _row(f"known so far: {name}" if measured else "nothing known", printed, rank, expected, note)
        )
    sphere = analyse(vehicle, Question(both), rng=np.random.default_rng(seed)).rank
    rows.append(
        _row(
            "axis as 2-D tangent",
            57,
            sphere,
            61,
            "upright axes have no azimuth; a tangent of the sphere has no hole",
        )
    )
    uneven = vehicle.with_numbers({35: vehicle.number(35) * 2})
    rows.append(
        _row(
            "inertia xx not yy",
            57,
            analyse(uneven, Question(both, "spherical"), rng=np.random.default_rng(seed)).rank,
            58,
            "J4, the yaw of the principal axes, exists only because inertia xx = yy",
        )
    )
    tilted = RationalVehicle.from_airframe(tilted_hummingbird(airframe))
    rows.append(
        _row(
            "rotors tilted by 20 degrees",
            None,
            analyse(tilted, Question(both, "spherical"), rng=np.random.default_rng(seed)).rank,
            61,
            "62 less J4: the experiment of Fig. 6 needs q_MP,z too",
        )
    )
    return rows


def tilted_hummingbird(airframe: Airframe, degrees: float = 20.0) -> Airframe:
    """The airframe with each rotor leaned towards the next, about its own arm."""
    lean = np.radians(degrees)
    rotors = []
    for rotor in airframe.rotors:
        x, y, _ = rotor.position
        size = float(np.hypot(x, y))
        across = (-y / size, x / size)
        axis = (float(np.sin(lean) * across[0]), float(np.sin(lean) * across[1]), float(np.cos(lean)))
        rotors.append(rotor.model_copy(update={"axis": axis}))
    return airframe.model_copy(update={"rotors": tuple(rotors)})


def short_rows(seed: int = 0) -> list[PaperRow]:
    """What mass and all distances between rotors leave open, for few rotors."""
    rows = []
    for n, left in ((1, 2), (2, 2), (3, 1), (4, 0)):
        vehicle = RationalVehicle.generic(n, np.random.default_rng([seed, n]))
        known = ["mass", *(["distance"] if n > 1 else [])]
        result = analyse(vehicle, Question(("pose", "imu")), known, rng=np.random.default_rng(seed))
        note = f"N + 1 = {n + 1} lengths are open, {n * (n - 1) // 2} distances exist"
        open_directions = len(result.directions)
        rows.append(_row(f"unobservable with mass and distances, N = {n}", None, open_directions, left, note))
    return rows


def label_rows(seed: int = 0) -> list[PaperRow]:
    """Table I state by state for four rotors: ok, the joint subspaces, or unobservable."""
    subject_seed = np.random.default_rng([seed, 4])
    rows = []
    for name, sensors, frozen, _ in SETS:
        question = Question(sensors, "spherical", frozen)
        vehicle = RationalVehicle.generic(
            4, np.random.default_rng(subject_seed.integers(2**32)), question.exteroceptive
        )
        result = analyse(vehicle, question, rng=np.random.default_rng(seed))
        for (symbol, _), printed, ours in zip(GROUPS, TABLE_1[name], labels(result), strict=True):
            note = "as printed" if ours == printed else _difference(symbol)
            rows.append(PaperRow(f"{name}: {symbol}", "label", ours, None, printed, {"note": note}))
    return rows


def labels(result: Observability) -> list[str]:
    """A label for each of `GROUPS`: ok, unobs., or the joint subspaces whose directions move it."""
    parameters = VehicleParameters(result.vehicle, result.matrix.motion, result.question.axes)
    verdicts = {f.name: f.verdict for f in (*result.parameters, *result.motion)}
    merged = any(d.kind == "combination" for d in result.directions)  # the paper's J1 holds J2 and J3
    found = []
    for _, pattern in GROUPS:
        names = [p.name for p in parameters.named(pattern.format(result.vehicle.coordinates.sensor))]
        kinds = {verdicts[name] for name in names}
        if kinds == {Verdict.OBSERVABLE}:
            found.append(_OK)
        elif kinds == {Verdict.UNOBSERVABLE}:
            found.append(_NO)
        else:
            moving = {d.kind for d in result.directions if {n for n, _ in d.members} & set(names)}
            found.append(
                "J1" if merged else " ".join(sorted({LABELS[kind] for kind in moving if kind in LABELS}))
            )
    return found


def _difference(symbol: str) -> str:
    if symbol == "i":
        return "inertia scales with m and k_f too (J2), not only with r and k_m (J3)"
    return "differs from the printed table"


def _row(quantity: str, paper: float | None, ours: int, bound: int, note: str) -> PaperRow:
    return PaperRow(quantity, "rank", ours, bound, paper, {"note": note})


def rank_tables(seed: int = 0) -> list[PaperTable]:
    """The tables of Section V."""
    return [
        PaperTable("Table I: rank by sensors, no symmetry", rank_rows(seed)),
        PaperTable("Table I: state by state, N = 4", label_rows(seed)),
        PaperTable("Section V-B: Hummingbird, pose & IMU", hummingbird_rows(seed)),
        PaperTable("Section V-A: few rotors", short_rows(seed)),
    ]
