"""What a controller cannot do, in one line."""

from haltere.foundation import HaltereError


class ControlError(HaltereError):
    """A vehicle that cannot be flown, or numbers that make no controller."""
