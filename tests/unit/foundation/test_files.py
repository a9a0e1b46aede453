"""Files are whole or not there."""

from pathlib import Path

import pytest

from haltere.foundation import HaltereError
from haltere.foundation.files import check_free, whole_file, write_text


class OwnError(HaltereError):
    """Of these tests."""


def test_a_text_is_written_and_replaced(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    write_text(file, "ä\n")
    write_text(file, "b\n")
    assert file.read_bytes() == b"b\n"
    assert [f.name for f in tmp_path.iterdir()] == ["a.txt"]


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    write_text(file, "old")

    def fail() -> None:
        with whole_file(file) as stream:
            stream.write(b"new")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert file.read_text() == "old"
    assert [f.name for f in tmp_path.iterdir()] == ["a.txt"]


def test_what_the_system_refuses_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(OwnError, match=r"cannot be written .*; try another folder"):
        write_text(tmp_path / "none" / "a.txt", "", OwnError)


def test_a_file_is_kept_unless_overwriting_is_allowed(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    check_free(file)
    write_text(file, "")
    check_free(file, overwrite=True)
    with pytest.raises(OwnError, match="exists already"):
        check_free(file, error=OwnError)
    with pytest.raises(HaltereError, match="is a directory"):
        check_free(tmp_path, overwrite=True)
