"""What an export gives or refuses: files, the words that head them, and the certificate of a flown result."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from haltere import __version__
from haltere.exporters.sheet import Line, Omission, Sheet
from haltere.foundation import HaltereError
from haltere.identification.described import Subject


class ExportError(HaltereError):
    """A vehicle that cannot be written in the words asked for."""


@dataclass(frozen=True)
class Certificate:
    """Vehicles drawn from what is known of one, each flown by a controller that holds the best guess for true.

    `haltere.gate.hover_test` issues it before a result is exported.

    Attributes:
        draws: How many were flown.
        held: How many of them hovered to the end.
        seed: Of the draws.
        sentence: What happened, with the reason if any did not hold.
    """

    draws: int
    held: int
    seed: int
    sentence: str

    @property
    def passed(self) -> bool:
        """Whether all of them hovered."""
        return self.held == self.draws


@dataclass(frozen=True)
class Document:
    """One file: how its name ends, and its text."""

    ending: str
    text: str


@dataclass(frozen=True)
class Rendering:
    """What an export gives: files, and what they leave out or assume, in sentences."""

    documents: tuple[Document, ...]
    notes: tuple[str, ...]


def heading(subject: Subject, what: str, certificate: Certificate | None) -> list[str]:
    """Lines for the top of a file, without comment signs."""
    lines = [f"{what} of {subject.name}, written by haltere {__version__}"]
    if subject.result is not None:
        r = subject.result
        lines.append(f"identified from {r.source} ({r.duration:.1f} s, method {r.method})")
    if certificate is not None:
        lines.append(certificate.sentence)
    elif subject.result is not None:
        lines.append("not flown in simulation before export")
    return [" ".join(line.split()) for line in lines]


def said(lines: Sequence[Line], unit: str = "") -> str:
    """How well settings are known, for their comment; nothing to say of what was given."""
    if not any(line.told for line in lines):
        return "given, not from the log"
    if all(line.sigma is None for line in lines):
        return "a ratio that the log tells; its parts are known together only, sigma not told"
    sigmas = ", ".join("-" if line.sigma is None else f"{line.sigma:.2g}" for line in lines)
    return f"sigma {sigmas}{' ' + unit if unit else ''}"


def remark(subject: Subject, name: str, lines: Sequence[Line], unit: str = "", sign: str = "#") -> list[str]:
    """The comment line above a setting of a result; an airframe file needs none."""
    return [] if subject.result is None else [f"{sign} {name}: {said(lines, unit)}"]


def omitted(omissions: Iterable[Omission]) -> list[str]:
    """A line for each family that is left out."""
    return [" ".join(omission.sentence.split()) for omission in omissions]


def require(subject: Subject, sheet: Sheet, target: str, *families: str) -> None:
    """Refuse in one line if a family that the target cannot do without is not known, or nothing is."""
    gone = [o for o in sheet.omissions if o.family in families]
    if not gone and sheet.lines:
        return
    gone = gone or list(sheet.omissions)
    names = dict.fromkeys(name for o in gone for name in o.missing)
    raise ExportError(
        f"{subject.name}: not enough is known for {target}: {', '.join(names)}; "
        "give what you measured with `haltere identify --known NAME=VALUE`, or fly what the report advises"
    )
