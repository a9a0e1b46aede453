"""Attempts on disk, one JSON file each, so that a run that was stopped goes on where it was.

    <root>/<estimator>-<hash of its source>-<hash of the world>/<level>/<vehicle>[+<effect>]/<seed>.json

A change of the world, or of a module that the estimator imports, directly or indirectly, gives another folder: nothing
is scored that another version has found. Files are written under a temporary name and moved.
"""

import ast
import hashlib
import json
import math
import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from functools import cache
from pathlib import Path

from tests.world.attempts import Attempt, Claim

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src"
FLIGHTS = "tests.world.flights"
"""The module that makes flights."""
ADAPTERS = ("tests.world.adapters.base", "tests.world.frames")
"""What all adapters share; each names its own module itself."""


def default_root() -> Path:
    """`$HALTERE_WORLD`, or a folder in the user's cache."""
    given = os.environ.get("HALTERE_WORLD")
    return Path(given) if given else Path.home() / ".cache" / "haltere" / "world"


class Store:
    """The attempts of a few estimators in one world.

    Args:
        root: folder of all of them.
        keys: hash of each estimator, by its name.
        world: hash of the world.
    """

    def __init__(self, root: Path, keys: dict[str, str], world: str) -> None:
        self.root, self.keys, self.world = root, keys, world

    def path(self, estimator: str, level: str, vehicle: str, effect: str, flight: str) -> Path:
        """Where an attempt stands."""
        version = f"{estimator.replace(' ', '-')}-{self.keys[estimator]}-{self.world}"
        kind = f"{vehicle}+{effect}" if effect else vehicle
        return self.root / version / level / kind / f"{flight}.json"

    def load(self, estimator: str, level: str, vehicle: str, effect: str, flight: str) -> Attempt | None:
        """The attempt, or None if there is none that can be read."""
        try:
            text = self.path(estimator, level, vehicle, effect, flight).read_text(encoding="utf-8")
            return from_json(text)
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def save(self, attempt: Attempt) -> None:
        """Write an attempt; nobody ever sees half of it."""
        path = self.path(attempt.estimator, attempt.level, attempt.vehicle, attempt.effect, attempt.flight)
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(f".{os.getpid()}.tmp")
        temporary.write_text(to_json(attempt), encoding="utf-8")
        temporary.replace(path)


def to_json(attempt: Attempt) -> str:
    """As JSON; NaN and infinity become null."""
    return json.dumps(_plain(asdict(attempt)), allow_nan=False)


def from_json(text: str) -> Attempt:
    """The attempt that `to_json` wrote."""
    data = json.loads(text)
    claims = []
    for each in data.pop("claims"):
        low, high = each.pop("interval")
        truth = each.pop("truth")
        claims.append(
            Claim(interval=(low, high), truth=tuple(truth) if isinstance(truth, list) else truth, **each)
        )
    seconds = data.pop("seconds")
    return Attempt(claims=tuple(claims), seconds=math.nan if seconds is None else seconds, **data)


def _plain(data: object) -> object:
    if isinstance(data, dict):
        return {key: _plain(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_plain(value) for value in data]
    if isinstance(data, float) and not math.isfinite(data):
        return None
    return data


def world_hash() -> str:
    """Of all files that make a flight."""
    return _digest(imported_files(FLIGHTS))


def estimator_hash(modules: Iterable[str]) -> str:
    """Of modules of the package and all that they import, and of the code that calls them.

    Args:
        modules: dotted names, such as `haltere.identification.pipeline`.
    """
    files = {path for module in modules for path in imported_files(module)}
    return _digest(files | {path for path in map(_file, ADAPTERS) if path is not None})


def imported_files(module: str) -> frozenset[Path]:
    """The file of a module and those of all modules in `src` and `tests` that it imports, anywhere in its code."""
    found: dict[str, Path] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        path = _file(name)
        if path is None or name in found:
            continue
        found[name] = path
        package = name.rpartition(".")[0]
        waiting += [package] if package else []
        waiting += _imports(path)
    return frozenset(found.values())


@cache
def _imports(path: Path) -> tuple[str, ...]:
    return tuple(_imported_names(ast.parse(path.read_text(encoding="utf-8"))))


def _imported_names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _file(module: str) -> Path | None:
    first, *_ = words = module.split(".")
    path = (ROOT if first == "tests" else SOURCE).joinpath(*words)
    return next((p for p in (path.with_suffix(".py"), path / "__init__.py") if p.is_file()), None)


def _digest(files: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in sorted(files):
        digest.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:10]
