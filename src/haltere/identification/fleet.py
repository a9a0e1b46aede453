"""Many logs, each identified on its own, with one summary; a log that cannot be identified stops no other.

Without an executor the logs are spread over all cores of this machine by the campaign runner, which survives workers
that die. With one, each log is one job of it: any `concurrent.futures` executor or a `dask.distributed` client.
"""

import importlib
import json
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from haltere.airframe import Airframe, dumps, load_airframe, loads
from haltere.flight.window import IdentifyError
from haltere.foundation.files import check_folder, write_folder
from haltere.foundation.jsonable import to_jsonable
from haltere.foundation.tables import TextTable, make_dataframe
from haltere.identification.known import check_known
from haltere.identification.parameters import FRAME_COLUMNS, frame_row
from haltere.identification.pipeline import check_method, identify
from haltere.identification.result import RESULT_FILES, Identification, read_result
from haltere.logs import read
from haltere.logs.mapping import Mapping as ChannelMapping
from haltere.logs.mapping import load_mapping

if TYPE_CHECKING:
    from haltere.campaign.case import CampaignCase

FLEET_FILES = ("fleet.json", "fleet.html")
REPORT = "haltere.report.fleet"
SHOWN = ("mass", "thrust_to_weight", "inertia.xx", "inertia.yy", "inertia.zz")
"""Parameters that stand in the summary's table."""
Progress = Callable[[str], None]


@dataclass(frozen=True)
class FleetMember:
    """One log of a fleet: its result, or the reason why there is none; its files are in `folder` if it is given."""

    path: Path
    result: Identification | None
    error: str = ""
    folder: Path | None = None


@dataclass(frozen=True, repr=False)
class Fleet:
    """The outcome of `identify_fleet`: one member for each log, in the order given; none is lost."""

    members: tuple[FleetMember, ...]
    folder: Path | None = None
    """Where the summary was written, if it was."""

    @property
    def results(self) -> tuple[Identification, ...]:
        """Of the logs that could be identified."""
        return tuple(member.result for member in self.members if member.result is not None)

    @property
    def failures(self) -> dict[Path, str]:
        """Why each other log could not be identified."""
        return {member.path: member.error for member in self.members if member.result is None}

    def __repr__(self) -> str:
        return self.table().text()

    def _repr_html_(self) -> str:
        return self.table().html()

    def table(self) -> TextTable:
        """A row for each log: method, main parameters, how many are identified, or the error."""
        rows: list[tuple[Any, ...]] = []
        for member in self.members:
            if member.result is None:
                rows.append((member.path.name, "-", *(None for _ in SHOWN), "-", member.error))
                continue
            parameters = member.result.parameters
            shown = [parameters[name].value if name in parameters else None for name in SHOWN]
            sure = sum(p.verdict == "identified" for p in parameters)
            rows.append(
                (member.path.name, member.result.method, *shown, f"{sure} of {len(parameters)}", member.error)
            )
        title = f"{len(self.results)} of {len(self.members)} logs"
        return TextTable(title, ("log", "method", *SHOWN, "identified", "error"), rows)

    def to_dict(self) -> dict[str, Any]:
        """As plain data: `flights`, `failed` and, if they were written, the files."""
        content: dict[str, Any] = {
            "flights": [_entry(m, m.result) for m in self.members if m.result is not None],
            "failed": [{"file": m.path, "error": m.error} for m in self.members if m.result is None],
        }
        return content if self.folder is None else {**content, "report": self.folder / FLEET_FILES[1]}

    def to_dataframe(self) -> Any:
        """All parameters of all logs as a pandas data frame, one row for each, by log.

        Raises:
            HaltereError: pandas is not installed.
        """
        rows = [
            (str(m.path), *frame_row(p))
            for m in self.members
            if m.result is not None
            for p in m.result.parameters
        ]
        return make_dataframe(("log", *FRAME_COLUMNS), rows, "log")

    def save(self, folder: str | PathLike[str], *, overwrite: bool = False) -> "Fleet":
        """Write a folder for each result and `fleet.json` and `fleet.html`; return the fleet with its files."""
        there = Path(folder)
        names = _folder_names(member.path for member in self.members)
        _check_folders(there, names, overwrite)
        members = []
        for member, name in zip(self.members, names, strict=True):
            if member.result is not None:
                member.result.save(there / name, overwrite=overwrite)
                member = FleetMember(member.path, member.result, folder=there / name)  # noqa: PLW2901
            members.append(member)
        return Fleet(tuple(members), there)._summarized()

    def report(self, path: str | PathLike[str]) -> Path:
        """Write the summary as one HTML file; replaces only what haltere has written."""
        written: Path = self._page().write(Path(path))
        return written

    def _page(self) -> Any:
        """The page of the summary, which stands in a layer above: looked up by name, as a plug-in."""
        return importlib.import_module(REPORT).fleet_page(self.results)

    def _summarized(self) -> "Fleet":
        """The same fleet, with its summary written to its folder."""
        if self.folder is not None:
            text = json.dumps(to_jsonable(self), allow_nan=False, indent=2) + "\n"
            write_folder(self.folder, dict(zip(FLEET_FILES, (text, self._page().html()), strict=True)))
        return self


def _entry(member: FleetMember, result: Identification) -> dict[str, Any]:
    files = {} if member.folder is None else dict(zip(("result", "report"), RESULT_FILES[::2], strict=True))
    return {
        "file": member.path,
        **{key: None if member.folder is None else member.folder / name for key, name in files.items()},
        "method": result.method,
        "duration": result.duration,
        "parameters": [p.to_dict() for p in result.parameters],
        "findings": [dict(f) for f in result.findings],
    }


def identify_fleet(
    paths: Iterable[str | PathLike[str]],
    airframe: Airframe | str | PathLike[str] | None = None,
    *,
    known: Mapping[str, float | tuple[float, float]] | None = None,
    method: str = "auto",
    model: str = "full",
    apply: Iterable[str] = (),
    mapping: ChannelMapping | str | PathLike[str] | None = None,
    folder: str | PathLike[str] | None = None,
    overwrite: bool = False,
    executor: Any = None,
    progress: Progress | None = None,
) -> Fleet:
    """Identify many logs, each on its own.

    Args:
        paths: The logs, of any format.
        airframe: The nominal vehicle of all logs, or its file or name in the catalogue.
        known: Numbers measured in another way, by name; see `identify`.
        method: As in `identify`; `auto` chooses a method for each log.
        model: As in `identify`.
        apply: Kinds of findings of `diagnose` to mend even if they are not certain.
        mapping: For CSV and ROS bags: which column or topic holds which channel.
        folder: Where the summary and a folder for each result are written; nothing is written if None.
        overwrite: Whether files of earlier results in `folder` may be replaced.
        executor: A `concurrent.futures.Executor` or a dask client, which is not closed; if None, all cores of this
            machine are used.
        progress: Called with a sentence as logs are done.

    Raises:
        HaltereError: an argument is wrong. A log that fails raises nothing; `failures` of the result says why.
    """
    files = [Path(path) for path in paths]
    if not files:
        raise IdentifyError("there is no log to identify; give one or more")
    options = _options(airframe, known, (method, model), apply, mapping)
    names = _folder_names(files)
    there = None if folder is None else Path(folder)
    if there is not None:
        _check_folders(there, names, overwrite)
    report = progress or (lambda _: None)
    report(f"identifying {len(files)} logs")
    if executor is not None:
        fleet = Fleet(tuple(_run_jobs(executor, files, options, report)))
        return fleet if there is None or not fleet.results else fleet.save(there, overwrite=overwrite)
    if there is not None:
        fleet = Fleet(tuple(_run_campaign(files, names, options, there, report)), there)
        return fleet._summarized() if fleet.results else fleet
    with tempfile.TemporaryDirectory() as short_lived:
        members = _run_campaign(files, names, options, Path(short_lived), report)
    return Fleet(tuple(FleetMember(m.path, m.result, m.error) for m in members))


def _options(
    airframe: Airframe | str | PathLike[str] | None,
    known: Mapping[str, float | tuple[float, float]] | None,
    chosen: tuple[str, str],
    apply: Iterable[str],
    mapping: ChannelMapping | str | PathLike[str] | None,
) -> dict[str, Any]:
    """What a worker needs beside its log, as JSON knows it; checked here, so that a slip is one error, not many."""
    method, model = chosen
    check_method(method, model)
    if mapping is not None and not isinstance(mapping, ChannelMapping):
        mapping = load_mapping(mapping)
    return {
        "airframe": None if airframe is None else dumps(load_airframe(airframe)),
        "known": {name: list(pair) for name, pair in check_known(known or {}).items()},
        "method": method,
        "model": model,
        "apply": list(apply),
        "mapping": None if mapping is None else mapping.model_dump(mode="json"),
    }


def identify_log(path: str, options: Mapping[str, Any]) -> Identification:
    """One log of the fleet, in a worker."""
    airframe, mapping = options["airframe"], options["mapping"]
    flight = read(path, mapping=None if mapping is None else ChannelMapping.model_validate(mapping))
    nominal = None if airframe is None else loads(airframe, "the fleet's airframe")
    pairs = {name: (value, sigma) for name, (value, sigma) in options["known"].items()}
    chosen = {name: options[name] for name in ("method", "model", "apply")}
    return identify(flight, nominal, known=pairs, **chosen)


def identify_case(case: "CampaignCase") -> dict[str, Any]:
    """One log of the fleet as a case of a campaign: its files are left in a folder."""
    result = identify_log(case.parameters["flight"], case.parameters["options"])
    result.save(case.parameters["folder"], overwrite=True)
    return {"duration": float(result.duration)}


def _run_campaign(
    files: Sequence[Path], names: Sequence[str], options: Mapping[str, Any], folder: Path, report: Progress
) -> list[FleetMember]:
    """Over all cores of this machine, through files."""
    from haltere.campaign.runner import run_campaign  # noqa: PLC0415 - JAX takes a second to import

    cases = [
        {"flight": str(file), "folder": str(folder / name)} for file, name in zip(files, names, strict=True)
    ]
    with tempfile.TemporaryDirectory() as store:
        function = "haltere.identification.fleet:identify_case"
        done = run_campaign(function, cases, 0, store, {"options": dict(options)}, 1, progress=report)
    members = []
    for number, (file, name) in enumerate(zip(files, names, strict=True)):
        if number in done.failures:
            members.append(FleetMember(file, None, done.failures[number]))
        else:
            there = folder / name
            members.append(FleetMember(file, read_result(there / RESULT_FILES[0]), folder=there))
    return members


def _run_jobs(
    executor: Any, files: Sequence[Path], options: Mapping[str, Any], report: Progress
) -> list[FleetMember]:
    """Over the user's executor, which may break: then the logs that are left have that as their error."""
    jobs: list[Any] = []
    for file in files:
        try:
            jobs.append(executor.submit(identify_log, str(file), options))
        except Exception as error:
            jobs.append(error)
    members: list[FleetMember] = []
    for file, job in zip(files, jobs, strict=True):
        try:
            if isinstance(job, Exception):
                raise job
            members.append(FleetMember(file, job.result()))
        except Exception as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            members.append(FleetMember(file, None, reason))
        report(f"{len(members)} of {len(files)} logs done")
    return members


def _folder_names(paths: Iterable[Path]) -> list[str]:
    """A folder name for each log, none of them twice."""
    names: list[str] = []
    for path in paths:
        stem = path.stem or "flight"
        name, number = stem, 2
        while name in names:
            name, number = f"{stem}-{number}", number + 1
        names.append(name)
    return names


def _check_folders(folder: Path, names: Sequence[str], overwrite: bool) -> None:
    check_folder(folder, FLEET_FILES, overwrite)
    for name in names:
        check_folder(folder / name, RESULT_FILES, overwrite)
