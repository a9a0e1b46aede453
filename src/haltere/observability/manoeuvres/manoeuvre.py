"""The manoeuvre to fly for chosen parameters: what to measure by hand, what to fly, and the sigma to expect of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import tomli_w

from haltere.airframe import Airframe, dumps, load_airframe
from haltere.foundation.arrays import double_precision, to_numpy
from haltere.foundation.files import check_free, write_text
from haltere.foundation.memory import bound_programs
from haltere.foundation.numbers import Numbers
from haltere.foundation.tables import TextTable, html_lines, text_lines
from haltere.foundation.text import toml_document
from haltere.observability.answer import analyse
from haltere.observability.information.excitation import UNITS, describe_missing
from haltere.observability.information.fisher import Information, ReadingNoise
from haltere.observability.manoeuvres.flat_flight import Limits, Pilot
from haltere.observability.manoeuvres.search import Designer, Manoeuvre
from haltere.observability.rank.parameters import Verdict
from haltere.observability.rank.rank import Question
from haltere.observability.rank.rational_vehicle import ObservabilityError, RationalVehicle
from haltere.observability.rank.winged import refuse_wings
from haltere.trajectory import Harmonic, bounded, random_lissajous

COMPARED = 5
"""Random Lissajous figures to compare a manoeuvre with."""
TABLE_COLUMNS = (
    "t",
    "x",
    "y",
    "z",
    "yaw",
    "vx",
    "vy",
    "vz",
    "yaw_rate",
    "ax",
    "ay",
    "az",
    "yaw_acceleration",
)


@dataclass(frozen=True, repr=False)
class ManoeuvrePlan:
    """What to measure and to fly.

    Attributes:
        airframe: the vehicle as it was asked for: its name, a file, or the airframe itself.
        designer: the question.
        manoeuvre: the answer.
        assumed: hand measurements that were added so that the parameters can be seen.
        lissajous: median predicted deviation of random Lissajous figures by parameter; None where none says anything.
        findings: sentences about what stays weak.
    """

    airframe: Airframe | str
    designer: Designer
    manoeuvre: Manoeuvre
    assumed: tuple[str, ...]
    lissajous: dict[str, float | None]
    findings: tuple[str, ...]

    @property
    def duration(self) -> float:
        """Length of the flight, s."""
        return self.designer.seconds

    @property
    def trajectory(self) -> Harmonic:
        """What to fly, one period of it."""
        return self.manoeuvre.trajectory

    @property
    def sigma(self) -> dict[str, float | None]:
        """Predicted deviation by parameter, SI, for the whole flight; None where nothing is learnt."""
        return self.manoeuvre.sigma

    @property
    def limits_used(self) -> float:
        """Largest share of a limit that the manoeuvre takes."""
        return self.manoeuvre.use

    @property
    def excitation(self) -> dict[str, float]:
        """Root mean squares, see `haltere.observability.information.excitation`."""
        return self.manoeuvre.excitation

    @property
    def relative_sigma(self) -> dict[str, float | None]:
        """`sigma` over the size of each parameter."""
        size = self.designer.information.size
        return {name: None if s is None else s / size(name) for name, s in self.sigma.items()}

    @double_precision()
    def table(self, rate: float = 50.0) -> Numbers:
        """(T, 13) `TABLE_COLUMNS` over the whole flight at `rate` in Hz: s, m, rad and their derivatives."""
        times = jnp.arange(round(self.duration * rate) + 1) / rate
        flat = jax.vmap(self.trajectory.derivatives)(times)
        return np.asarray(jnp.concatenate([times[:, None], flat[:, :3].reshape(len(times), 12)], axis=1))

    def scenario(self) -> dict[str, Any]:
        """The flight as a scenario for `haltere.scenarios.scenario_flight.simulate`."""
        return {"airframe": self.airframe, "duration": self.duration, "trajectory": self._trajectory()}

    def save(self, out: str | PathLike[str], *, overwrite: bool = False) -> tuple[Path, ...]:
        """Write `table` as OUT.csv and `scenario` as OUT.toml, beside it the airframe if it came from no file.

        Raises:
            ObservabilityError: a file exists and may not be overwritten, or cannot be written.
        """
        rows = (",".join(f"{x:.9g}" for x in row) for row in self.table())
        scenario = self.scenario()
        table, file, described = (Path(f"{fspath(out)}{end}") for end in (".csv", ".toml", "-airframe.toml"))
        texts = {table: "\n".join([",".join(TABLE_COLUMNS), *rows]) + "\n"}
        if isinstance(self.airframe, Airframe):
            texts[described] = dumps(self.airframe)
            scenario["airframe"] = described.name
        texts[file] = toml_document(tomli_w.dumps(scenario))
        for path in texts:
            check_free(path, overwrite, ObservabilityError)
        for path, text in texts.items():
            write_text(path, text, ObservabilityError)
        return tuple(texts)

    def _trajectory(self) -> dict[str, Any]:
        sines, cosines = self.manoeuvre.coefficients.tolist()
        return {
            "kind": "periodic",
            "period": self.designer.period,
            "centre": list(self.designer.pilot.limits.centre),
            "sines": sines,
            "cosines": cosines,
        }

    def to_dict(self) -> dict[str, Any]:
        """The plan in plain numbers, as `haltere design --json` prints it."""
        relative, read = self.relative_sigma, self.designer.information.noise.sigma
        outputs = {"position": 0, "pose": 3, "imu": 7}
        return {
            "airframe": self.airframe.name if isinstance(self.airframe, Airframe) else self.airframe,
            "sensors": [kind for kind, output in outputs.items() if np.isfinite(read[output])],
            "known": list(self.designer.information.known),
            "assumed": list(self.assumed),
            "duration": self.duration,
            "trajectory": self._trajectory(),
            "predicted_sigma": {
                name: {"sigma": sigma, "relative": relative[name], "lissajous": self.lissajous[name]}
                for name, sigma in self.sigma.items()
            },
            "limits_used": self.limits_used,
            "excitation": self.excitation,
            "findings": list(self.findings),
        }

    @property
    def heading(self) -> str:
        """Vehicle, length and use of the limits in one line."""
        name = self.airframe.name if isinstance(self.airframe, Airframe) else self.airframe
        return (
            f"{name}: {self.duration:g} s, repeating {self.designer.period:g} s, "
            f"{100.0 * self.limits_used:.0f} % of the limits"
        )

    @property
    def sigma_table(self) -> TextTable:
        """The predicted deviation of every parameter."""
        relative = self.relative_sigma
        rows = [
            (name, sigma, None if (part := relative[name]) is None else 100.0 * part, self.lissajous[name])
            for name, sigma in self.sigma.items()
        ]
        return TextTable(
            "Predicted deviation", ("parameter", "sigma", "% of value", "median Lissajous"), rows
        )

    @property
    def remarks(self) -> list[str]:
        """The excitation, and what stays weak, in sentences."""
        sizes = ", ".join(f"{kind} {size:.2g} {UNITS[kind]}" for kind, size in self.excitation.items())
        return [f"excitation, rms: {sizes}", *self.findings]

    @property
    def advice(self) -> list[str]:
        """What to measure by hand."""
        return [f"measure by hand: {', '.join(self.assumed)}"] if self.assumed else []

    def __repr__(self) -> str:
        return text_lines([self.heading, *self.advice, self.sigma_table, *self.remarks])

    def _repr_html_(self) -> str:
        return html_lines([self.heading, *self.advice]) + self.sigma_table.html() + html_lines(self.remarks)


@double_precision()
def design(
    airframe: Airframe | str | PathLike[str],
    names: Sequence[str],
    sensors: Sequence[str] = ("pose", "imu"),
    *,
    known: Sequence[str] = (),
    duration: float = 30.0,
    limits: Limits = Limits(),  # noqa: B008 - frozen
    criterion: str = "a",
    iterations: int = 60,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
) -> ManoeuvrePlan:
    """Design the manoeuvre that tells the most about the parameters `names` (names, beginnings of names, patterns).

    The sigmas are predicted with the parameters in `known` taken as exact. Where the wanted parameters cannot be
    observed even so, the fewest hand measurements that make them observable are added and named. The manoeuvre is
    compared with random Lissajous figures of the same length.

    Args:
        airframe: the vehicle, its name in the catalogue, or its file; it must be able to hover.
        names: the wanted parameters.
        sensors: one or more of `pose`, `position`, `imu`.
        known: what is measured by hand, taken as exact.
        duration: length of the flight, s.
        limits: bounds that the manoeuvre keeps.
        criterion: minimise the relative sigmas (`a`) or the determinant of the covariance (`d`); equation (1) of
            `haltere.observability.manoeuvres.search`.
        iterations: of the search.
        seed: of starts and Lissajous figures.
        progress: called with a sentence before each part.

    Raises:
        HaltereError: a name or sensor is not known, the vehicle cannot hover, or no flight determines a parameter.
    """
    bound_programs()
    asked = airframe if isinstance(airframe, Airframe) else fspath(airframe)
    airframe, rng = load_airframe(airframe), np.random.default_rng(seed)
    refuse_wings(airframe, "the information of a manoeuvre")
    question = Question(tuple(sensors))
    vehicle = RationalVehicle.from_airframe(airframe, question.exteroceptive)
    pilot = Pilot.of(airframe, vehicle, limits)
    before = analyse(vehicle, question, known, rng=rng)
    verdicts = {finding.name: finding for finding in before.parameters}
    wanted = Information(vehicle, ReadingNoise.of(airframe, sensors), ()).wanted(names)
    assumed: list[str] = []
    for name in wanted:
        if verdicts[name].verdict is Verdict.OBSERVABLE:
            continue
        fix = verdicts[name].fix
        if fix is None or name in fix:
            raise ObservabilityError(
                f"{name} cannot be seen with {', '.join(sensors)} whatever is flown; measure it by hand or add a sensor"
            )
        assumed += [measurement for measurement in fix if measurement not in assumed]
    # What nobody asked for and nobody can see is held too: it does not touch the wanted parameters.
    held = (*before.known, *before.restore_all[0])
    information = Information(vehicle, ReadingNoise.of(airframe, sensors), tuple(dict.fromkeys(held)))
    designer = Designer(information, pilot, tuple(wanted), duration, criterion=criterion)
    manoeuvre = designer.search(rng, iterations=iterations, progress=progress)
    if progress:
        progress(f"comparing with {COMPARED} Lissajous figures")
    figures = []
    for _ in range(COMPARED):
        key = jax.random.key(int(rng.integers(2**31)))
        path, _note = bounded(pilot.vehicle, random_lissajous(key, duration, centre=pilot.limits.centre))
        figures.append(designer.along(path))
    lissajous = {name: _median([figure[name] for figure in figures]) for name in wanted}
    found = replace(manoeuvre, trajectory=to_numpy(manoeuvre.trajectory))
    return ManoeuvrePlan(asked, designer, found, tuple(assumed), lissajous, _findings(designer, found))


def _median(values: Sequence[float | None]) -> float | None:
    seen = [np.inf if value is None else value for value in values]
    middle = float(np.median(seen)) if seen else np.inf
    return middle if np.isfinite(middle) else None


def _findings(designer: Designer, manoeuvre: Manoeuvre) -> tuple[str, ...]:
    """What stays weak, and the excitation that it would need."""
    sentences = (
        describe_missing(name, sigma, designer.information.limit(name), manoeuvre.excitation)
        for name, sigma in manoeuvre.sigma.items()
    )
    return tuple(sentence for sentence in sentences if sentence is not None)
