"""What `OnlineVehicle` says: every number with its deviation, where it comes from, and what happened."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from haltere.estimation.vehicle.numbers import Numbers, source_of
from haltere.foundation import HaltereError
from haltere.foundation.tables import TextTable
from haltere.foundation.verdict import NORMAL, Source, Verdict, judge, limits


class OnlineEvent(NamedTuple):
    """Something that happened to the estimate."""

    time: float
    """Stamp of the newest reading, s."""
    text: str


class OnlineParameter(NamedTuple):
    """One number."""

    name: str
    value: float
    sigma: float
    source: Source
    verdict: Verdict


@dataclass(frozen=True, repr=False)
class OnlineEstimate:
    """All numbers of the vehicle in body axes, positions from the airframe's origin, SI.

    Attributes:
        time: stamp up to which readings were used, s; NaN before the first seconds were smoothed.
        behind: s from there to the newest reading.
        numbers: values, prior and covariance.
        parameters: one row for each; `source` is `prior` where the flight has not narrowed the number.
        events: what happened so far, the last ones.
    """

    time: float
    behind: float
    numbers: Numbers
    parameters: tuple[OnlineParameter, ...]
    events: tuple[OnlineEvent, ...]

    def __getitem__(self, name: str) -> OnlineParameter:
        for parameter in self.parameters:
            if parameter.name == name:
                return parameter
        raise HaltereError(
            f"no number is called {name!r}; there are {', '.join(p.name for p in self.parameters[:5])}, ..."
        )

    def __iter__(self) -> Iterator[OnlineParameter]:
        return iter(self.parameters)

    def table(self) -> TextTable:
        """A row for each number."""
        return TextTable("", OnlineParameter._fields, self.parameters)

    def __repr__(self) -> str:
        return self.table().text()

    def _repr_html_(self) -> str:
        return self.table().html()


def parameters_of(
    numbers: Numbers, measured: Mapping[str, float], *, is_prior: bool
) -> tuple[OnlineParameter, ...]:
    """A row for each number.

    Args:
        numbers: values, prior and covariance.
        measured: sigma of what was measured by hand, by name.
        is_prior: whether nothing has been flown yet.
    """
    values = dict(zip(numbers.names, map(float, numbers.values), strict=True))
    bounds = limits(values)
    found = []
    for name, sigma, prior in zip(numbers.names, numbers.sigma, numbers.prior_sigma, strict=True):
        own = float(min(sigma, prior))
        source = source_of(own, float(prior), measured.get(name))
        if is_prior and source == "data":
            source = "prior"
        found.append(
            OnlineParameter(name, values[name], own, source, judge(NORMAL * own, bounds[name], source))
        )
    return tuple(found)
