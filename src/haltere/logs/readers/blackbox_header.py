"""Headers of Blackbox logs: sessions in a file, settings, and which fields each kind of frame has [BlackboxInternals].

A session begins with the start marker, lines "H name:value" follow, then frames. Names are text from outside: they are
compared and shown, nothing is made of them.
"""

from dataclasses import dataclass

import numpy as np

from haltere.logs.readers.blackbox_codes import CodeError, Group, Integers, group_fields, least_length

START = b"H Product:Blackbox flight data recorder by Nicholas Sherlock"
END = b"E\xffEnd of log"
MOST_FIELDS = 1024
"""Of one kind of frame; the largest that were seen have 200."""
MOST_FIELDS_A_BYTE = 16
"""So that the size of a file bounds what comes out of it; encodings reach 8."""
MOST_LINES = 10_000
LONGEST_LINE = 65_536

(
    ZERO,
    LAST,
    LINE,
    MEAN,
    LEAST_THROTTLE,
    FIRST_MOTOR,
    COUNT,
    HOME,
    MIDDLE,
    REFERENCE_VOLTAGE,
    MAIN_TIME,
    LEAST_MOTOR,
) = range(12)
_CONSTANTS = {
    LEAST_THROTTLE: "minthrottle",
    REFERENCE_VOLTAGE: "vbatref",
    LEAST_MOTOR: "motorOutput",
}
_ALLOWED = {
    "I": (ZERO, FIRST_MOTOR, MIDDLE, *_CONSTANTS),
    "P": (ZERO, LAST, LINE, MEAN, FIRST_MOTOR, COUNT, MIDDLE, *_CONSTANTS),
    "S": (ZERO, MIDDLE, *_CONSTANTS),
    "H": (ZERO, MIDDLE, *_CONSTANTS),
    "G": (ZERO, HOME, MIDDLE, MAIN_TIME, *_CONSTANTS),
}


@dataclass(frozen=True)
class FrameLayout:
    """The fields of one kind of frame."""

    kind: str
    names: tuple[str, ...]
    signed: tuple[bool, ...]
    predictors: tuple[int, ...]
    groups: tuple[Group, ...]
    constant: Integers
    """(fields,) What the predictors add that the header fixes."""

    def columns(self, predictor: int) -> list[int]:
        """Return the numbers of the fields with a predictor."""
        return [i for i, other in enumerate(self.predictors) if other == predictor]


@dataclass(frozen=True)
class SessionHeader:
    """The header of one session."""

    settings: dict[str, str]
    layouts: dict[str, FrameLayout]
    """By the letter of the frame; I and P are always there and have the same names."""
    payload: int
    """Where the frames begin."""

    def numbers(self, name: str) -> list[float]:
        """Return the numbers of a setting, such as "158,2047"; none if there is no such setting or it is no number."""
        try:
            return [float(part) for part in self.settings.get(name, "").split(",")]
        except ValueError:
            return []

    @property
    def intervals(self) -> tuple[int, int, int]:
        """Iterations from I frame to I frame; of the others P / Q are logged: P, Q. "P interval:Q" means 1 / Q."""
        first, _, second = self.settings.get("P interval", "1/1").partition("/")
        numerator, denominator = (first, second) if second else ("1", first)
        return tuple(  # type: ignore[return-value]
            min(max(_integer(text, 1), 1), 1 << 31)
            for text in (self.settings.get("I interval", "1"), numerator, denominator)
        )


def find_sessions(data: bytes) -> list[tuple[int, int]]:
    """Return where the sessions in a file begin and end."""
    starts = []
    at = data.find(START)
    while at >= 0:
        starts.append(at)
        at = data.find(START, at + len(START))
    return list(zip(starts, [*starts[1:], len(data)], strict=True))


def read_header(data: bytes, start: int, end: int) -> SessionHeader:
    """Return the header of the session at `start`; a `CodeError` if it describes no frames."""
    settings: dict[str, str] = {}
    at = start
    for _ in range(MOST_LINES):
        stop = data.find(b"\n", at, min(end, at + LONGEST_LINE))
        if stop < 0 or data[at : at + 2] != b"H ":
            break
        name, colon, value = data[at + 2 : stop].decode("latin-1").partition(":")
        if not colon:
            break
        settings.setdefault(name.strip(), value.strip())
        at = stop + 1
    version = settings.get("Data version", "")
    if version != "2":
        raise CodeError(f"data version {version[:20] or 'missing'}, 2 is expected")
    layouts = {}
    for kind in "IPSGH":
        layout = _read_layout(settings, kind)
        if layout is not None:
            layouts[kind] = layout
    if "I" not in layouts or "P" not in layouts:
        raise CodeError("the header describes no main frames")
    if not {"loopIteration", "time"} <= set(layouts["I"].names):
        raise CodeError("the header describes no time")
    return SessionHeader(settings, layouts, at)


def _read_layout(settings: dict[str, str], kind: str) -> FrameLayout | None:
    """Return the fields of one kind of frame; none if the header does not have it."""
    prefix = f"Field {kind} "
    listed = settings.get(prefix + "name", settings.get("Field I name", "") if kind == "P" else "")
    if not listed or prefix + "encoding" not in settings:
        return None
    names = tuple(name.strip() for name in listed.split(","))
    if len(names) > MOST_FIELDS:
        raise CodeError(f"{len(names)} fields in a frame {kind}, at most {MOST_FIELDS} are read")
    if len(set(names)) < len(names):
        raise CodeError(f"two fields of a frame {kind} have the same name")
    marks = settings.get(prefix + "signed", settings.get("Field I signed", "") if kind == "P" else "")
    signed = tuple(part.strip() == "1" for part in marks.split(",")) if marks else (False,) * len(names)
    predictors = tuple(_integer(part, -1) for part in settings.get(prefix + "predictor", "").split(","))
    encodings = tuple(_integer(part, -1) for part in settings[prefix + "encoding"].split(","))
    for what, found in (("signs", signed), ("predictors", predictors), ("encodings", encodings)):
        if len(found) != len(names):
            raise CodeError(f"{len(names)} names, but {len(found)} {what} of fields in a frame {kind}")
    groups = group_fields(encodings)
    if len(names) > MOST_FIELDS_A_BYTE * least_length(groups):
        raise CodeError(f"{len(names)} fields in a frame {kind} that may have {least_length(groups)} bytes")
    constant = np.zeros(len(names), np.int64)
    for field, predictor in enumerate(predictors):
        if predictor not in _ALLOWED[kind]:
            raise CodeError(f"predictor {predictor} in a frame {kind} is not known")
        if predictor in _CONSTANTS:
            constant[field] = _setting(settings, _CONSTANTS[predictor])
        elif predictor == MIDDLE:
            constant[field] = 1500
        elif predictor == FIRST_MOTOR and ("motor[0]" not in names or names[field] == "motor[0]"):
            raise CodeError(f"a field of a frame {kind} is predicted from motor[0], which there is not")
    return FrameLayout(kind, names, signed, predictors, groups, constant)


def _setting(settings: dict[str, str], name: str) -> int:
    text = settings.get(name, "").partition(",")[0]
    value = _integer(text, -1)
    if value < 0:
        raise CodeError(f"fields are predicted from {name}, which is {text[:20] or 'missing'}")
    return value


def _integer(text: str, default: int) -> int:
    """Return a number of at most 32 bits that text says; otherwise the default."""
    text = text.strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else default
