"""The error of log readers, and the guard that turns whatever a parser raises into one line."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from haltere.flight import FlightError
from haltere.foundation import HaltereError


class LogError(FlightError):
    """A log that cannot be read as it stands; its message is one line, whatever the log holds."""

    def __init__(self, message: str) -> None:
        super().__init__(" ".join("".join(c if c.isprintable() else " " for c in message).split()))


@contextmanager
def reading(file: Path, what: str, remedy: str = "copy it again from the vehicle") -> Iterator[None]:
    """Turn any error of a parser into a `LogError` that names the file, what it should be and what to try."""
    try:
        yield
    except HaltereError:
        raise
    except MemoryError:
        raise LogError(f"{file}: is broken (it asks for more memory than there is); {remedy}") from None
    except OSError as error:
        reason = error.strerror or " ".join(str(error).split()) or type(error).__name__
        raise LogError(f"{file}: cannot be read as {what} ({reason}); {remedy}") from None
    except Exception as error:  # parsers of others raise many kinds
        reason = " ".join(str(error).split()) or type(error).__name__
        raise LogError(f"{file}: is broken or no {what} ({reason[:200]}); {remedy}") from None
