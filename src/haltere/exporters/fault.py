"""What an export refuses."""

from haltere.foundation import HaltereError


class ExportError(HaltereError):
    """A vehicle that cannot be written in the words asked for."""
