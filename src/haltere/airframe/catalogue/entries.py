"""The catalogue: vehicles that come with the package, as TOML files in which every value names its source."""

from importlib.resources import files
from importlib.resources.abc import Traversable
from os import PathLike, fspath
from pathlib import Path

from haltere.airframe.airframe import Airframe
from haltere.airframe.errors import AirframeError, closest
from haltere.airframe.toml import load, loads

_SUFFIX = ".toml"


def catalogue_names() -> tuple[str, ...]:
    """The names of all vehicles, in alphabetical order."""
    return tuple(sorted(entry.name.removesuffix(_SUFFIX) for entry in _shelf().iterdir() if _is_entry(entry)))


def catalogue_text(name: str) -> str:
    """The TOML file of a vehicle, with its comments."""
    if name not in catalogue_names():
        text = f"{name!r} is neither a file nor in the catalogue; {closest(name, catalogue_names())}"
        raise AirframeError(text)
    return _shelf().joinpath(name + _SUFFIX).read_text(encoding="utf-8")


def from_catalogue(name: str) -> Airframe:
    """The vehicle of this name."""
    return loads(catalogue_text(name), source=f"catalogue {name}")


def load_airframe(name_or_path: Airframe | str | PathLike[str]) -> Airframe:
    """Return the airframe in a file, or the one of this name in the catalogue.

    A text that ends in .toml or holds a path separator is a file. An `Airframe` is returned unchanged.
    """
    if isinstance(name_or_path, Airframe):
        return name_or_path
    text = fspath(name_or_path)
    is_path = not isinstance(name_or_path, str) or text.endswith(_SUFFIX) or "/" in text or "\\" in text
    return load(Path(text)) if is_path else from_catalogue(text)


def _shelf() -> Traversable:
    return files("haltere.airframe.catalogue")


def _is_entry(entry: Traversable) -> bool:
    return entry.is_file() and entry.name.endswith(_SUFFIX)
