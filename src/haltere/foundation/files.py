"""Files that are never seen half written: first under a temporary name beside their target, then moved there.

Also folders of results, which are never overwritten unasked.
"""

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
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


def free_folder(stem: str) -> Path:
    """`stem`, or `stem-2`, `stem-3`, ...: the first that does not exist yet."""
    folder, number = Path(stem), 2
    while folder.exists():
        folder, number = Path(f"{stem}-{number}"), number + 1
    return folder


def check_folder(
    folder: Path, files: Sequence[str], overwrite: bool = False, error: type[HaltereError] = HaltereError
) -> None:
    """Raise `error` if `folder` is a file, or holds one of `files` that may not be overwritten."""
    if folder.exists() and not folder.is_dir():
        raise error(f"{folder}: is a file; give a folder")
    there = [name for name in files if (folder / name).exists()]
    if there and not overwrite:
        raise error(
            f"{folder}: holds {', '.join(there)}; give another folder, or allow overwriting (--overwrite)"
        )


def write_folder(
    folder: Path, texts: Mapping[str, str | None], error: type[HaltereError] = HaltereError
) -> None:
    """Write texts by file name into a folder, made if need be; a file whose text is None is deleted."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise error(f"{folder}: cannot be made ({fault.strerror}); give another folder") from None
    for name, text in texts.items():
        if text is None:
            (folder / name).unlink(missing_ok=True)
        else:
            write_text(folder / name, text, error)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
