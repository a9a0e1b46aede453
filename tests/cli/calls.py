"""A command as a user calls it, without a process of its own."""

import pytest

from haltere.cli.app import main


def call(capsys, *words):
    """Exit code, and what was printed to both streams."""
    with pytest.raises(SystemExit) as end:
        main([str(word) for word in words])
    out, err = capsys.readouterr()
    return end.value.code or 0, out, err
