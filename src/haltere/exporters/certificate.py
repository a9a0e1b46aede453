"""What flying a result told before it is exported; `haltere.gate.hover_test` issues it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Certificate:
    """Vehicles drawn from what is known of one, each flown by a controller that holds the best guess for true.

    Attributes:
        draws: How many were flown.
        held: How many of them hovered to the end.
        seed: Of the draws.
        sentence: What happened, with the reason if any did not hold.
    """

    draws: int
    held: int
    seed: int
    sentence: str

    @property
    def passed(self) -> bool:
        """Whether all of them hovered."""
        return self.held == self.draws
