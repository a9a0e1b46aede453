"""`export`: a vehicle as configuration of a flight stack or model of a simulator, flown in simulation before."""

from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from haltere.airframe import Airframe
from haltere.exporters import TARGETS, Certificate, ExportError, render, save
from haltere.foundation.tables import TextTable, html_lines, text_lines
from haltere.foundation.text import safe_name
from haltere.gate.hover_test import certify
from haltere.identification.described import DescribedVehicle, describe
from haltere.identification.result import Identification

Exportable = DescribedVehicle | Identification | Airframe | str | PathLike[str]


@dataclass(frozen=True, repr=False)
class Exported:
    """The files of an export, what they leave out or assume, and the hover test that the result has passed.

    Attributes:
        target: For which flight stack or simulator.
        files: As written.
        notes: What is left out or assumed, in sentences.
        certificate: Of the hover test; None for an airframe, which is not flown, and if `check` was false.
    """

    target: str
    files: tuple[Path, ...]
    notes: tuple[str, ...] = ()
    certificate: Certificate | None = None

    def __repr__(self) -> str:
        return text_lines([self._table(), *self._lines()])

    def _repr_html_(self) -> str:
        return self._table().html() + html_lines(self._lines())

    def _table(self) -> TextTable:
        return TextTable(f"Exported to {self.target}", ("file",), [(file,) for file in self.files])

    def _lines(self) -> list[str]:
        tested = [] if self.certificate is None else [self.certificate.sentence]
        return [*tested, *(f"note: {note}" for note in self.notes)]

    def to_dict(self) -> dict[str, Any]:
        """As plain data; `gate` is the outcome of the hover test."""
        test = self.certificate
        return {
            "files": list(self.files),
            "target": self.target,
            "notes": list(self.notes),
            "gate": None if test is None else {"draws": test.draws, "held": test.hovered, "seed": test.seed},
        }


def export(
    vehicle: Exportable,
    to: str,
    out: str | PathLike[str] | None = None,
    *,
    overwrite: bool = False,
    check: bool = True,
    draws: int = 20,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
) -> Exported:
    """Write a vehicle for a flight stack or simulator.

    An `Identification` is tested first: vehicles sampled within its uncertainty must hover in simulation, with a
    controller made for the estimate. What was not identified is left out, and `notes` of the returned object says so.

    Args:
        vehicle: An `Identification` or its `result.json`; or an airframe, its file or its name in the catalogue.
        to: `px4`, `indiflight`, `ardupilot`, `urdf` or `mjcf`.
        out: The file to write; named after the vehicle if None.
        overwrite: Whether existing files may be replaced.
        check: Whether to make this hover test.
        draws: How many vehicles are sampled for the test.
        seed: Of the sampled vehicles.
        progress: Called with a sentence that says what is being done.

    Raises:
        ExportError: too little is known, the hover test fails, or a file exists already.
    """
    if to not in TARGETS:
        raise ExportError(f"no export is called {to!r}; give {', '.join(TARGETS)}")
    described = describe(vehicle)
    certificate = None
    if described.result is not None:
        render(described, to)  # what cannot be written is not flown
        if check:
            if progress is not None:
                progress(f"flying {draws} vehicles sampled from what is known")
            certificate = certify(described, draws, seed)
    rendering = render(described, to, certificate)
    files = save(rendering, Path(out) if out is not None else _stem(vehicle, described), overwrite)
    return Exported(to, files, rendering.notes, certificate)


def _stem(vehicle: Exportable, described: DescribedVehicle) -> Path:
    """What the files are named after: the file that was given, the log of a result, or the airframe."""
    if isinstance(vehicle, str | PathLike) and Path(vehicle).is_file():
        return Path(Path(vehicle).stem)
    return Path(safe_name(described.name if described.airframe is not None else Path(described.name).stem))
