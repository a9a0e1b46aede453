"""The text of the `/channels` topic: unit, frame, shape and place of every channel, and the notes, as JSON.

One object: `version`, `notes`, and `channels` with, by name, `unit`, `frame`, `columns`, `shape` (of one
sample), `samples` (how many were written), `topic`, `message` and `field`.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from haltere.flight.flight import Flight
from haltere.flight.mcap.definitions import DEFINITIONS, schema_name
from haltere.flight.mcap.topics import Part, Topic, part

VERSION = 1


@dataclass(frozen=True)
class Entry:
    """What is known of a channel besides its samples."""

    name: str
    unit: str
    frame: str
    columns: tuple[str, ...]
    samples: int


@dataclass(frozen=True)
class Manifest:
    """All channels of a file by name, the topics that hold them, and the notes."""

    entries: dict[str, Entry]
    topics: tuple[Topic, ...]
    notes: tuple[str, ...]


def dumps(flight: Flight, topics: Iterable[Topic]) -> str:
    """Return the text for a flight that is written to these topics."""
    place = {part.channel: (topic, part) for topic in topics for part in topic.parts}
    channels = {}
    for name, channel in flight.channels.items():
        topic, held = place[name]
        channels[name] = {
            "unit": channel.unit,
            "frame": channel.frame,
            "columns": list(channel.columns),
            "shape": list(held.shape),
            "samples": len(channel),
            "topic": topic.name,
            "message": schema_name(topic.message),
            "field": held.field,
        }
    data = {"version": VERSION, "notes": list(flight.notes), "channels": channels}
    return json.dumps(data, ensure_ascii=False)


def loads(text: str) -> Manifest:
    """Return what `dumps` wrote; ValueError says what is wrong with any other text."""
    try:
        data = json.loads(text)
        if data["version"] > VERSION:
            raise ValueError(f"version {data['version']}, this program reads up to {VERSION}; update it")
        entries = {
            name: Entry(name, item["unit"], item["frame"], tuple(item["columns"]), int(item["samples"]))
            for name, item in data["channels"].items()
        }
        return Manifest(entries, _topics(data["channels"]), tuple(data["notes"]))
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{type(error).__name__} {error}") from None


def _topics(channels: dict[str, dict[str, Any]]) -> tuple[Topic, ...]:
    heads: dict[str, tuple[str, str]] = {}
    parts: dict[str, list[Part]] = {}
    for name, item in channels.items():
        message = item["message"].replace("/msg/", "/")
        if message not in DEFINITIONS:
            raise ValueError(f"channel '{name}' is in an unknown message {item['message']}")
        topic = item["topic"]
        if heads.setdefault(topic, (message, item["frame"])) != (message, item["frame"]):
            raise ValueError(f"topic {topic} has two kinds of messages")
        shape = tuple(int(size) for size in item["shape"])
        if min(shape, default=0) < 0:
            raise ValueError(f"channel '{name}' has the shape {shape}")
        parts.setdefault(topic, []).append(part(name, item["field"], shape, tuple(item["columns"])))
    return tuple(Topic(topic, *head, tuple(parts[topic])) for topic, head in heads.items())
