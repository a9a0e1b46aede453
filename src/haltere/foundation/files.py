"""Files that are never seen half written: first under a temporary name beside their place, then moved there."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from haltere.foundation.errors import HaltereError


def check_free(file: Path, overwrite: bool = False, error: type[HaltereError] = HaltereError) -> None:
    """Raise `error` if `file` is a folder, or exists and may not be overwritten."""
    if file.is_dir():
        raise error(f"{file}: is a directory; give the name of a file in it")
    if file.exists() and not overwrite:
        raise error(f"{file}: exists already; give another name, or allow overwriting")


@contextmanager
def whole_file(file: Path, error: type[HaltereError] = HaltereError) -> Iterator[BinaryIO]:
    """A stream whose bytes become `file` when the block ends, replacing what is there; nothing if it fails.

    Raises:
        HaltereError: of the type `error`, where the system does not let the file be written.
    """
    part: Path | None = None
    try:
        handle, name = tempfile.mkstemp(prefix=f".{file.name}.", suffix=".part", dir=file.parent)
        part = Path(name)
        with os.fdopen(handle, "wb") as stream:
            yield stream
        part.chmod(0o666 & ~_umask())
        part.replace(file)
    except (OSError, ValueError) as fault:
        if isinstance(fault, UnicodeError):
            raise
        reason = getattr(fault, "strerror", None) or fault
        raise error(f"{file}: cannot be written ({reason}); try another folder") from None
    finally:
        if part is not None:
            part.unlink(missing_ok=True)


def write_text(file: Path, text: str, error: type[HaltereError] = HaltereError) -> None:
    """Write a text in UTF-8, replacing what is there; raises as `whole_file` does."""
    with whole_file(file, error) as stream:
        stream.write(text.encode("utf-8"))


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
