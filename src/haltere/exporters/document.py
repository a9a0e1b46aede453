"""What an export gives or refuses: files, their headings and comments, and the certificate of a flown result."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from haltere import __version__
from haltere.exporters.sheet import KnownSetting, Omission, Sheet
from haltere.foundation import HaltereError
from haltere.foundation.text import comment_lines, one_line
from haltere.identification.described import DescribedVehicle


class ExportError(HaltereError):
    """A vehicle that cannot be written for the target asked for."""


@dataclass(frozen=True)
class Certificate:
    """The outcome of a hover test of vehicles sampled from what is known of one, under the controller for the estimate.

    `haltere.gate.hover_test` issues it before a result is exported.

    Attributes:
        draws: How many were flown.
        hovered: How many of them hovered to the end.
        seed: Of the draws.
        sentence: What happened, with the reason if any did not hold.
    """

    draws: int
    hovered: int
    seed: int
    sentence: str

    @property
    def passed(self) -> bool:
        """Whether all of them hovered."""
        return self.hovered == self.draws


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


def make_heading(vehicle: DescribedVehicle, what: str, certificate: Certificate | None) -> list[str]:
    """Texts for the top of a file, not yet comments."""
    lines = [f"{what} of {vehicle.name}, written by haltere {__version__}"]
    if vehicle.result is not None:
        r = vehicle.result
        lines.append(f"identified from {r.source} ({r.duration:.1f} s, method {r.method})")
    if certificate is not None:
        lines.append(certificate.sentence)
    elif vehicle.result is not None:
        lines.append("not flown in simulation before export")
    return lines


def describe_sigma(settings: Sequence[KnownSetting], unit: str = "") -> str:
    """How well settings are known, for their comment."""
    if not any(setting.from_log for setting in settings):
        return "given, not from the log"
    if all(setting.sigma is None for setting in settings):
        return "a ratio that the log identifies; only a combination of its parts is known, so it has no sigma"
    sigmas = ", ".join("-" if setting.sigma is None else f"{setting.sigma:.2g}" for setting in settings)
    return f"sigma {sigmas}{' ' + unit if unit else ''}"


def comment_on(
    vehicle: DescribedVehicle, name: str, settings: Sequence[KnownSetting], unit: str = "", sign: str = "#"
) -> list[str]:
    """The comment above a setting of a result; an airframe file needs none."""
    return [] if vehicle.result is None else comment_lines(f"{name}: {describe_sigma(settings, unit)}", sign)


def comments(texts: Iterable[str], sign: str = "#") -> list[str]:
    """All texts as comment lines."""
    return [line for text in texts for line in comment_lines(text, sign)]


def describe_omissions(omissions: Iterable[Omission]) -> list[str]:
    """A line for each family that is left out."""
    return [one_line(omission.sentence) for omission in omissions]


def require(vehicle: DescribedVehicle, sheet: Sheet, target: str, *families: str) -> None:
    """Refuse in one line if a family that the target cannot do without is not known, or nothing is."""
    refused = [o for o in sheet.omissions if o.family in families]
    if not refused and sheet.settings:
        return
    refused = refused or list(sheet.omissions)
    names = dict.fromkeys(name for o in refused for name in o.missing)
    raise ExportError(
        f"{vehicle.name}: not enough is known for {target}: {', '.join(names)}; "
        "give what you measured with `haltere identify --known NAME=VALUE`, or fly what the report advises"
    )
