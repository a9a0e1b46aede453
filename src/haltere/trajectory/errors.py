"""What is wrong with a trajectory, in one line."""

from haltere.foundation import HaltereError


class TrajectoryError(HaltereError):
    """A trajectory that cannot be made or flown as it was asked for."""
