r"""Text from outside (logs, results, descriptions by others) as text of a file, a terminal or a page.

Such text may hold anything: line ends, quotes, tags, markup, escape sequences of terminals, characters that reverse
the direction of writing. Names that we write are checked (`is_name`, `is_path`) or changed (`safe_names`); every other
text goes through the function of its target, once, where it is written. What is not printable is shown as `\u001b`.

| target | function |
|---|---|
| terminal, plain text, a line of an error | `one_line` |
| comments of PX4, INDIflight, ArduPilot and Lua files | `comment_lines` |
| comments and attributes of XML (URDF, MJCF) | `xml_comment`, `xml_attribute` |
| HTML; data in a script element; labels of plotly figures | `html_text`, `script_json`, `figure_label` |
| TOML | `toml_document` |
| JSON | `json.dumps`, which escapes all that is not ASCII |
"""

import html
import re
import textwrap
import unicodedata
from collections.abc import Iterable
from xml.sax.saxutils import quoteattr

LONGEST_NAME = 64
NAME_RULE = f"ASCII letters, digits, _ and - only, at most {LONGEST_NAME}"
"""What a name may hold, for errors."""
COMMENT_WIDTH = 100
"""Characters of a comment line: PX4's shell takes what exceeds its buffer of 128 for the next command."""

_NAME = re.compile(rf"[A-Za-z0-9_-]{{1,{LONGEST_NAME}}}")
_PATH = re.compile(rf"(?:{_NAME.pattern})(?:[./](?:{_NAME.pattern}))*")


def is_name(text: object) -> bool:
    """Whether a text is a name as airframe files have it."""
    return isinstance(text, str) and _NAME.fullmatch(text) is not None


def is_path(text: object) -> bool:
    """Whether a text is names joined by dots (`rotors.m1.curve`), or such paths over each other."""
    return isinstance(text, str) and _PATH.fullmatch(text) is not None


def safe_name(text: str, otherwise: str = "unnamed") -> str:
    """The name that is nearest to a text: accents are left out, `_` stands for all that a name cannot hold."""
    if is_name(text):
        return text
    letters = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode("ascii")
    return re.sub(r"[^A-Za-z0-9_-]+", "_", letters).strip("_-")[:LONGEST_NAME] or otherwise


def safe_names(
    texts: Iterable[str], reserved: Iterable[str] = (), otherwise: str = "unnamed"
) -> dict[str, str]:
    """A name for each text, none twice and none of `reserved`; a text that is a name keeps it."""
    unique, taken = list(dict.fromkeys(texts)), set(reserved)
    found = {text: text for text in unique if is_name(text) and text not in taken}
    taken |= set(found)
    for text in unique:
        if text in found:
            continue
        stem = name = safe_name(text, otherwise)
        number = 2
        while name in taken:
            ending = f"_{number}"
            name, number = stem[: LONGEST_NAME - len(ending)] + ending, number + 1
        found[text] = name
        taken.add(name)
    return found


def renamed_note(names: dict[str, str], what: str) -> list[str]:
    """The sentence on names that `safe_names` changed, if it changed any."""
    changed = [f"{old!r} is {new}" for old, new in names.items() if old != new]
    return [f"{what} have names that were changed ({NAME_RULE}): {', '.join(changed)}"] if changed else []


def one_line(text: object) -> str:
    """A text on one line: line ends and the like become a space, what else is not printable is written as an escape.

    So is a mark at its beginning, which would combine with the character before.
    """
    words = str(text)
    if not words.isprintable():
        words = "".join(c if c.isprintable() else _escaped(c) for c in " ".join(words.split()))
    if words and unicodedata.category(words[0]).startswith("M"):
        words = _escaped(words[0]) + words[1:]
    return words


def comment_lines(text: object, sign: str = "#") -> list[str]:
    """A text as comment lines of a script or parameter file: `sign`, a space, ASCII without backslash.

    A backslash at its end would join a line with the next in some languages; `/` stands for it, and escapes have the
    form <U+001B>.
    """
    letters = "".join(
        c if c.isascii() and c.isprintable() else " " if c.isspace() else f"<U+{ord(c):04X}>"
        for c in str(text).replace("\\", "/")
    )
    lines = textwrap.wrap(letters, COMMENT_WIDTH - len(sign) - 1, break_on_hyphens=False)
    return [f"{sign} {line}" for line in lines]


def xml_comment(text: object) -> str:
    """A text as a comment of XML, in which no two hyphens may follow each other."""
    return f"<!-- {re.sub('-(?=-)', '- ', one_line(text))} -->"


def xml_attribute(text: object) -> str:
    """A text as the value of an attribute of XML, with its quotation marks."""
    return quoteattr(one_line(text))


def html_text(text: object) -> str:
    """A text inside an HTML element or an attribute in quotation marks."""
    return html.escape(one_line(text))


def script_json(document: str) -> str:
    """A JSON document inside a script element, which it can neither end nor comment out."""
    return document.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def figure_label(text: object) -> str:
    """A text in a plotly figure, which knows some tags and, in templates, `%{...}`."""
    return html.escape(one_line(text), quote=False).replace("%{", "&#37;{")


def toml_document(document: str) -> str:
    """A TOML document in whose strings all that is not printable is escaped; it reads back as the same."""
    return "".join(c if c.isprintable() or c == "\n" else _escaped(c) for c in document)


def _escaped(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
