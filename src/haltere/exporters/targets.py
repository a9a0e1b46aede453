"""The targets of an export, and writing their files."""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from haltere.exporters.document import Certificate, Document, ExportError, Rendering
from haltere.foundation.files import check_free, write_text
from haltere.identification.described import DescribedVehicle

#: Module and function of every target. To add one: write its module and add a line here.
TARGETS: dict[str, str] = {
    "px4": "haltere.exporters.px4:render",
    "indiflight": "haltere.exporters.indiflight:render",
    "ardupilot": "haltere.exporters.ardupilot:render",
    "urdf": "haltere.exporters.urdf:render",
    "mjcf": "haltere.exporters.mjcf:render",
}


def render(vehicle: DescribedVehicle, target: str, certificate: Certificate | None = None) -> Rendering:
    """The files of `target` as text.

    Args:
        vehicle: What to export.
        target: For which flight stack or simulator.
        certificate: Of its hover test; one that did not pass is refused.

    Raises:
        ExportError: not enough is known, or the result would not hover.
    """
    if target not in TARGETS:
        raise ExportError(f"no export is called {target!r}; known are {', '.join(TARGETS)}")
    if certificate is not None and not certificate.passed:
        raise ExportError(f"{vehicle.name}: not exported, for it might not hover: {certificate.sentence}")
    module, _, function = TARGETS[target].partition(":")
    write: Callable[[DescribedVehicle, Certificate | None], Rendering] = getattr(
        import_module(module), function
    )
    return write(vehicle, certificate)


def save(rendering: Rendering, stem: Path, overwrite: bool = False) -> tuple[Path, ...]:
    """Write the files of an export, each `stem` with its own ending; none if one of them is there already.

    A `stem` that ends like the first document is that file's whole name.
    """
    paths = [(_path(stem, document, rendering), document) for document in rendering.documents]
    for path, _ in paths:
        check_free(path, overwrite, ExportError)
    for path, document in paths:
        write_text(path, document.text, ExportError)
    return tuple(path for path, _ in paths)


def _path(stem: Path, document: Document, rendering: Rendering) -> Path:
    """Where a document goes: the first one exactly where it was asked to go if that name has an ending."""
    first = rendering.documents[0]
    if not stem.suffix:
        return stem.with_name(stem.name + document.ending)
    if document is first:
        return stem
    return stem.with_name(stem.name.removesuffix(stem.suffix) + Path(document.ending).suffix)
