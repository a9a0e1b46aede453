"""The tree that links form: names that occur once, parents that exist, no circle, an order from the root."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from haltere.airframe.errors import closest, fault
from haltere.airframe.link import Link

BODY = "body"


class Named(Protocol):
    """Anything with a name."""

    @property
    def name(self) -> str:
        """The name."""


class Carried(Named, Protocol):
    """Anything that sits on a link."""

    @property
    def link(self) -> str:
        """Name of the link that carries it."""


def check_names(groups: Iterable[tuple[str, Sequence[Named]]], reserved: Iterable[str], words: str) -> None:
    """Refuse a name that occurs twice in `groups` or is `reserved`."""
    first = dict.fromkeys(reserved, "the body itself")
    for key, entries in groups:
        for i, entry in enumerate(entries):
            if entry.name in first:
                text = f"{entry.name!r} is taken by {first[entry.name]}; give each {words} a name of its own"
                raise fault(text, key, i, "name")
            first[entry.name] = f"{key}[{i}]"


def check_carriers(groups: Iterable[tuple[str, Sequence[Carried]]], links: Sequence[Link]) -> None:
    """Refuse what sits on a link that is not there."""
    known = [BODY, *(link.name for link in links)]
    for key, entries in groups:
        for i, entry in enumerate(entries):
            if entry.link not in known:
                text = f"got {entry.link!r}, which is no link; {closest(entry.link, known)}"
                raise fault(text, key, i, "link")


def check_parents(links: Sequence[Link]) -> None:
    """Refuse a parent that is not there, and parents in a circle."""
    known = [BODY, *(link.name for link in links)]
    parents = {link.name: link.parent for link in links}
    for i, link in enumerate(links):
        if link.parent not in known:
            text = f"got {link.parent!r}, which is no link; {closest(link.parent, known)}"
            raise fault(text, "links", i, "parent")
    for i, link in enumerate(links):
        path = [link.name]
        while parents.get(path[-1], BODY) != BODY:
            path.append(parents[path[-1]])
            if path[-1] in path[:-1]:
                circle = path[path.index(path[-1]) :]
                text = f"the parents {' -> '.join(circle)} form a circle; give one of them the parent 'body'"
                raise fault(text, "links", i, "parent")


def depth_first(links: Sequence[Link]) -> tuple[int, ...]:
    """Indices of `links`, parents before children, each branch in one run, else in the given order."""
    children: dict[str, list[int]] = {}
    for i, link in enumerate(links):
        children.setdefault(link.parent, []).append(i)
    order: list[int] = []
    waiting = children.get(BODY, [])[::-1]
    while waiting:
        order.append(waiting.pop())
        waiting += children.get(links[order[-1]].name, [])[::-1]
    return tuple(order)
