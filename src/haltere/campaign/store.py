"""The folder of a campaign: what was asked for, and one file for each batch that is done, all without pickle.

    manifest.json        function, seed, cases, parameters, batch size, versions
    batch-00000.npz      columns of the cases that succeeded, `column.case` first; `failed` and `reason` of the rest

A file is written under another name and then moved, so it is whole or not there. A folder serves one campaign: asked
for another one, it says what differs.
"""

import json
import os
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from haltere import __version__
from haltere.campaign.case import BatchResult, CampaignError, form, odd_form
from haltere.foundation.numbers import Numbers

MANIFEST = "manifest.json"
FORMAT = 1
_PREFIX = "column."


@dataclass(frozen=True)
class CampaignPlan:
    """All that decides the results of a campaign; `sweep` holds the parameters of single cases, or nothing."""

    function: str
    seed: int
    cases: int
    batch: int
    parameters: Mapping[str, Any]
    sweep: Sequence[Mapping[str, Any]] = ()

    @property
    def batches(self) -> int:
        """How many batches there are."""
        return -(-self.cases // self.batch)

    def numbers(self, index: int) -> tuple[int, ...]:
        """The cases of batch `index`."""
        return tuple(range(index * self.batch, min((index + 1) * self.batch, self.cases)))

    def manifest(self) -> dict[str, Any]:
        """The plan with the versions that carry it out, as JSON knows it."""
        return {
            "format": FORMAT,
            "function": self.function,
            "seed": self.seed,
            "cases": self.cases,
            "batch": self.batch,
            "parameters": self.parameters,
            "sweep": self.sweep,
            "version": __version__,
            "jax": version("jax"),
        }


def as_json(parameters: Any) -> Any:
    """Parameters as they are after they were written and read as JSON."""
    try:
        return json.loads(json.dumps(parameters, allow_nan=False))
    except (TypeError, ValueError) as error:
        msg = (
            f"parameters: cannot be written as JSON ({error}); give finite numbers, texts, lists and mappings"
        )
        raise CampaignError(msg) from None


class Store:
    """The folder of one campaign; made, or found with an equal plan in it."""

    def __init__(self, folder: str | os.PathLike[str], plan: CampaignPlan) -> None:
        self.folder = Path(folder)
        self.plan = plan
        wanted = plan.manifest()
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            found = read_manifest(self.folder)
            if found is None:
                if any(self.folder.iterdir()):
                    msg = f"{self.folder}: is not empty and holds no campaign; give an empty or a new folder"
                    raise CampaignError(msg)
                self._move(json.dumps(wanted, indent=1).encode(), self.folder / MANIFEST)
        except OSError as error:
            raise CampaignError(
                f"{self.folder}: cannot be used ({error.strerror}); give a new folder"
            ) from None
        if found is not None:
            _compare(self.folder, found, wanted)

    def file(self, index: int) -> Path:
        """Where batch `index` is kept."""
        return self.folder / f"batch-{index:05d}.npz"

    def done(self, failures_too: bool = True) -> list[int]:
        """Batches whose file is there and sound, in order; without those that have failures if asked so."""
        found = []
        for index in range(self.plan.batches):
            result = self.read(index)
            if result is not None and (failures_too or not result.failures):
                found.append(index)
        return found

    def write(self, index: int, result: BatchResult) -> None:
        """Keep the result of a batch."""
        arrays: dict[str, Any] = {_PREFIX + name: values for name, values in result.columns.items()}
        arrays["failed"] = np.asarray(list(result.failures), np.int64)
        arrays["reason"] = np.asarray(list(result.failures.values()), np.str_)
        part = self.file(index).with_suffix(".part")
        try:
            with part.open("wb") as stream:
                np.savez(stream, **arrays)
            part.replace(self.file(index))
        except OSError as error:
            part.unlink(missing_ok=True)
            msg = f"{part}: cannot be written ({error.strerror}); make room and call again to go on"
            raise CampaignError(msg) from None

    def read(self, index: int) -> BatchResult | None:
        """The result of a batch; None if it is not there, damaged or not of these cases."""
        try:
            with self.file(index).open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
                columns = {n.removeprefix(_PREFIX): arrays[n] for n in arrays.files if n.startswith(_PREFIX)}
                failed, reasons = arrays["failed"].tolist(), arrays["reason"].tolist()
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            return None
        result = BatchResult(columns, dict(zip(failed, reasons, strict=True)))
        cases = [*columns.get("case", np.empty(0, int)).tolist(), *failed]
        return result if sorted(cases) == list(self.plan.numbers(index)) else None

    def collect(self) -> tuple[dict[str, Numbers], dict[int, str]]:
        """Columns and failures of all batches that are there, in the order of the cases.

        Cases of a batch whose columns differ in form from those of the first count as failed.
        """
        parts: list[Mapping[str, Numbers]] = []
        failures: dict[int, str] = {}
        for index in range(self.plan.batches):
            result = self.read(index) or BatchResult()
            failures.update(result.failures)
            if not result.columns:
                continue
            one = {name: values[0] for name, values in result.columns.items()}
            others = {name: values[0] for name, values in (parts or [result.columns])[0].items()}
            if form(one) == form(others):
                parts.append(result.columns)
            else:
                failures |= dict.fromkeys(result.columns["case"].tolist(), odd_form(one, others))
        names = list(parts[0]) if parts else []
        return {name: np.concatenate([part[name] for part in parts]) for name in names}, failures

    @staticmethod
    def _move(content: bytes, file: Path) -> None:
        part = file.with_suffix(".part")
        part.write_bytes(content)
        part.replace(file)


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """The manifest in a folder, None if there is none."""
    file = folder / MANIFEST
    if not file.exists():
        return None
    try:
        content = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise CampaignError(f"{file}: cannot be read ({error}); give another folder") from None
    if not isinstance(content, dict):
        raise CampaignError(f"{file}: is no manifest of a campaign; give another folder")
    return content


def _compare(folder: Path, stored: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    for name in wanted:
        there, here = stored.get(name), wanted[name]
        if there == here:
            continue
        if isinstance(there, dict) and isinstance(here, dict):
            inner = next(k for k in sorted({*there, *here}) if there.get(k) != here.get(k))
            name, there, here = f"{name}.{inner}", there.get(inner), here.get(inner)  # noqa: PLW2901
        difference = (
            f"{name} is {there!r} there and {here!r} here"
            if max(len(repr(there)), len(repr(here))) <= 60
            else f"{name} differs"
        )
        raise CampaignError(
            f"{folder}: holds another campaign: {difference}; give another folder or the same arguments"
        )
