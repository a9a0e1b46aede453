"""Frames of Blackbox logs, decoded without a loop over frames and fields [BlackboxInternals].

A log says nowhere how long a frame is: it ends where its last field ends, and there the letter of the next one stands.
So, in one piece of the log after the other,

    (1)  every byte that is the letter of a frame may begin one: all those frames are measured at once (`ends_of`);
    (2)  the chain from frame to frame picks the true ones; where it breaks the log is damaged, and it goes on at the
         next I frame from which it leads over two further frames;
    (3)  all frames of the chain are decoded at once (`values_of`, `predict`), and main frames whose iteration or time
         cannot be are left out (`plausible`).

What is computed and kept grows with the size of the file and with nothing that the header says.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from haltere.foundation.numbers import Floats
from haltere.logs.readers.blackbox_codes import (
    MARGIN,
    CodeError,
    Integers,
    Octets,
    Positions,
    Window,
    ends_of,
    in_bits,
    values_of,
)
from haltere.logs.readers.blackbox_header import (
    END,
    FIRST_MOTOR,
    HOME,
    MAIN_TIME,
    FrameLayout,
    SessionHeader,
)
from haltere.logs.readers.blackbox_predictors import plausible, predict

PIECE = 1 << 19
"""Bytes that are decoded together."""
_BROKEN, _EVENT, _OVER, _BEYOND = -1, -2, -3, -4
"""What follows a frame that is no frame in the same piece."""
_ADJUSTMENT = 13
_EVENTS = {0: (0,), _ADJUSTMENT: (1,), 14: (0, 0), 15: (0,), 30: (0, 0), 40: (0,)}
"""Events by their number: bytes of their parts, 0 for a variable byte."""


@dataclass(frozen=True)
class FrameTable:
    """The frames of one kind, or of I and P together."""

    names: tuple[str, ...]
    signed: tuple[bool, ...]
    values: NDArray[np.int32]
    """(fields, frames), modulo 2^32."""
    before: Positions
    """(frames,) How many main frames precede each."""

    def __len__(self) -> int:
        return int(self.values.shape[1])

    def __contains__(self, name: str) -> bool:
        return name in self.names

    def __getitem__(self, name: str) -> Floats:
        """Return a field (frames,) as it was logged, without a unit."""
        at = self.names.index(name)
        row = self.values[at]
        return np.asarray(row if self.signed[at] else row.view(np.uint32), np.float64)


@dataclass(frozen=True)
class DecodedSession:
    """What one session of a log holds."""

    main: FrameTable
    others: dict[str, FrameTable]
    """Slow (S), GPS (G) and home (H) frames, as far as the header describes them."""
    events: tuple[int, ...]
    """The numbers of the events that were logged."""
    lost: int
    """Main frames that are known to be missing or were rejected."""
    breaks: int
    """How often the chain of frames broke."""
    complete: bool
    """Whether the log goes on to an end mark or ends with a whole frame."""


def decode_frames(data: bytes, header: SessionHeader, end: int) -> DecodedSession:
    """Return the frames of the session whose header was read; it ends at `end` at the latest."""
    mark = data.find(END, header.payload, end)
    pieces = _Pieces(header)
    at, stop = header.payload, end if mark < 0 else mark
    while at < stop:
        at = pieces.add(data, at, stop)
    return pieces.finish(ended=mark >= 0)


class _Pieces:
    """Decodes a session piece after piece; the history of the P frames goes from each to the next."""

    def __init__(self, header: SessionHeader) -> None:
        self.header = header
        self.layouts = header.layouts
        self.kinds = np.array([ord(kind) for kind in self.layouts] + [ord("E")], np.uint8)
        self.reach = 6 * max(len(layout.names) for layout in self.layouts.values()) + MARGIN
        self.history: Integers | None = None  # (fields, 2) of the two main frames before
        self.chained = True
        self.breaks = self.dropped = self.count = self.steps = 0
        self.main: list[NDArray[np.int32]] = []
        self.starting: list[NDArray[np.bool_]] = []
        self.broken: list[NDArray[np.bool_]] = []
        self.others: dict[str, list[_Others]] = {kind: [] for kind in "SGH" if kind in self.layouts}
        self.events: list[int] = []

    def add(self, data: bytes, at: int, stop: int) -> int:
        """Decode the piece that begins at `at`; return where the next one begins."""
        piece = np.frombuffer(data, np.uint8, min(PIECE + self.reach, stop - at), at)
        candidates = _Candidates(
            piece, self.layouts, self.kinds, min(PIECE, len(piece)), at + len(piece) == stop
        )
        path, leave = self._follow(candidates)
        letters = np.append(candidates.letters, 0)[path]  # 0 where the path is broken
        is_main = (letters == ord("I")) | (letters == ord("P"))
        gaps = np.cumsum(path < 0)
        starting = letters[is_main] == ord("I")
        broken = np.diff(gaps[is_main], prepend=0) > 0
        known = np.maximum.accumulate(starting) | (self.history is not None)
        self.dropped += int((~known).sum())
        starts = candidates.starts[path[is_main]][known] + 1
        decoded = is_main.copy()
        decoded[is_main] = known
        before = self.count + np.cumsum(decoded)
        if len(starts):
            self._add_main(candidates.window, starts, starting[known], broken[known])
        for kind, found in self.others.items():
            which = letters == ord(kind)
            if which.any():
                layout = self.layouts[kind]
                values = values_of(candidates.window, layout.groups, candidates.starts[path[which]] + 1)
                found.append(
                    _Others(
                        values + layout.constant[:, None], before[which], self.steps + np.flatnonzero(which)
                    )
                )
        self.steps += len(path)
        self.events += candidates.window.data[candidates.starts[path[letters == ord("E")]] + 1].tolist()
        if not self.chained:
            self.history = None
        return at + leave

    def _follow(self, candidates: "_Candidates") -> tuple[Positions, int]:
        """Return the numbers of the frames on the chain, -1 where it was broken, and where the next piece begins."""
        path: list[int] = []
        follow = candidates.follow
        if self.chained:
            number = candidates.number_at(0)
        else:
            number = candidates.anchor(0)
            path.append(_BROKEN)
        place = 0
        while number >= 0 or self.chained:
            while number >= 0:
                path.append(number)
                number = follow[number]
            if number == _EVENT:
                number = candidates.behind_event(path[-1])
                if number >= 0:
                    continue
            self.chained = number in (_OVER, _BEYOND)
            if self.chained:
                return np.array(path, np.intp), int(candidates.ends[path[-1]])
            self.breaks += 1
            if path and path[-1] >= 0:
                place = int(candidates.starts[path.pop()])
            path.append(_BROKEN)
            number = candidates.anchor(place + 1)
        return np.array(path, np.intp), candidates.limit

    def _add_main(
        self, window: Window, starts: Positions, starting: NDArray[np.bool_], broken: NDArray[np.bool_]
    ) -> None:
        """Decode main frames whose fields begin at `starts`; the first is an I frame, or there is a history."""
        intra, inter = self.layouts["I"], self.layouts["P"]
        values = np.zeros((len(intra.names), 2 + len(starts)), np.int64)
        if self.history is not None:
            values[:, :2] = self.history
        whole = values_of(window, intra.groups, starts[starting]) + intra.constant[:, None]
        for column in intra.columns(FIRST_MOTOR):
            whole[column] += whole[intra.names.index("motor[0]")]
        values[:, 2:][:, starting] = in_bits(whole, 32)
        values[:, 2:][:, ~starting] = (
            values_of(window, inter.groups, starts[~starting]) + inter.constant[:, None]
        )
        first = np.concatenate([[True, True], starting])
        first[0] = False
        predict(values, first, inter, self.header.intervals)
        self.history = values[:, -2:].copy()
        if starting[-1]:
            self.history[:, 0] = self.history[:, 1]
        self.count += len(starts)
        self.main.append(values[:, 2:].astype(np.int32))
        self.starting.append(starting)
        self.broken.append(broken)

    def finish(self, ended: bool) -> DecodedSession:
        """Return what was decoded, without main frames that cannot be."""
        intra = self.layouts["I"]
        values = np.concatenate(self.main, axis=1) if self.main else np.zeros((len(intra.names), 0), np.int32)
        self.main = []
        starting, broken = (
            np.concatenate(parts) if parts else np.zeros(0, bool) for parts in (self.starting, self.broken)
        )
        iteration, time = (values[intra.names.index(name)] for name in ("loopIteration", "time"))
        good, missing = plausible(iteration, time, starting, broken)
        places = np.concatenate([[0], np.cumsum(good)])
        others = {}
        for kind, found in self.others.items():
            layout = self.layouts[kind]
            side = _Others.joined(found, len(layout.names))
            if kind == "G":
                side = self._complete_gps(side, time)
            others[kind] = FrameTable(
                layout.names, layout.signed, side.values.astype(np.int32), places[side.before]
            )
        if not good.all():
            values = values[:, good]
        main = FrameTable(intra.names, intra.signed, values, np.arange(values.shape[1]))
        whole = ended or self.chained
        return DecodedSession(
            main, others, tuple(self.events), missing + self.dropped, self.breaks - (not whole), whole
        )

    def _complete_gps(self, logged: "_Others", time: NDArray[np.int32]) -> "_Others":
        """Return GPS frames with the time of the main frame and the home before them; those without are left out."""
        layout, values = self.layouts["G"], logged.values
        timed, homes = layout.columns(MAIN_TIME), layout.columns(HOME)
        known = np.ones(len(logged.before), bool)
        if timed:
            known &= logged.before > 0
        home = self.layouts.get("H")
        if homes:
            if home is None or len(home.names) < len(homes):
                raise CodeError("GPS frames are predicted from a home that the header does not describe")
            theirs = _Others.joined(self.others["H"], len(home.names))
            latest = np.searchsorted(theirs.step, logged.step) - 1
            known &= latest >= 0
            for number, column in enumerate(homes):
                if len(theirs.step):
                    values[column] += theirs.values[number, latest]
        for column in timed:
            if len(time):
                values[column] += time[logged.before - 1]
        return _Others(values[:, known], logged.before[known], logged.step[known])


@dataclass(frozen=True)
class _Others:
    """Frames that are no main frames: fields (fields, frames), main frames before them, and their order."""

    values: Integers
    before: Positions
    step: Positions

    @classmethod
    def joined(cls, parts: "list[_Others]", fields: int) -> "_Others":
        if not parts:
            return cls(np.zeros((fields, 0), np.int64), np.zeros(0, np.intp), np.zeros(0, np.intp))
        return cls(
            np.concatenate([part.values for part in parts], axis=1),
            np.concatenate([part.before for part in parts]),
            np.concatenate([part.step for part in parts]),
        )


class _Candidates:
    """All frames that may begin in a piece, measured; see (1) and (2)."""

    def __init__(
        self, piece: Octets, layouts: dict[str, FrameLayout], kinds: Octets, limit: int, last: bool
    ) -> None:
        self.window = window = Window.of(piece)
        self.limit, self.total, self.last = limit, len(piece), last
        self.is_kind = np.zeros(256, bool)
        self.is_kind[kinds] = True
        self.starts = np.flatnonzero(self.is_kind[piece[:limit]])
        self.letters = piece[self.starts]
        self.ends = np.full(len(self.starts), window.nowhere)
        for kind, layout in layouts.items():
            which = np.flatnonzero(self.letters == ord(kind))
            self.ends[which] = ends_of(window, layout.groups, self.starts[which] + 1)
        self.number = np.full(window.nowhere + 1, _BROKEN)
        self.number[self.starts] = np.arange(len(self.starts))
        behind = self.number[self.ends]
        behind[(self.ends >= limit) & self.is_kind[window.data[self.ends]]] = _BEYOND
        behind[self.ends >= self.total] = _BROKEN
        if last:
            behind[self.ends == self.total] = _OVER
        behind[self.letters == ord("E")] = _EVENT
        sound = behind != _BROKEN
        for _ in range(2):
            sound = sound & ((behind < 0) | sound[np.maximum(behind, 0)])
        self.sound = sound
        self.anchors = np.flatnonzero(sound & (self.letters == ord("I")))
        self.anchor_starts = self.starts[self.anchors]
        self.follow = behind.tolist()

    def number_at(self, index: int) -> int:
        """Return the number of the candidate that begins at an index, or why there is none."""
        if index >= self.total:
            return _OVER if index == self.total and self.last else _BROKEN
        if index >= self.limit:
            return _BEYOND if self.is_kind[self.window.data[index]] else _BROKEN
        return int(self.number[index])

    def anchor(self, index: int) -> int:
        """Return the number of the next I frame from an index on that leads over two further frames."""
        at = np.searchsorted(self.anchor_starts, index)
        return int(self.anchors[at]) if at < len(self.anchors) else _BROKEN

    def behind_event(self, number: int) -> int:
        """Return the number of the frame behind an event, whose length depends on its kind."""
        at = int(self.starts[number]) + 1
        kind = int(self.window.data[at])
        at += 1
        if kind in _EVENTS:
            for size in _EVENTS[kind]:
                at = int(self.window.after[at]) if size == 0 else min(at + size, self.window.nowhere)
            if kind == _ADJUSTMENT:  # a number or, where the name of what was adjusted says so, a float
                name = int(self.window.data[at - 1])
                at = min(at + 4, self.window.nowhere) if name > 127 else int(self.window.after[at])
            self.ends[number] = at
            return self.number_at(at)
        near = slice(number + 1, int(np.searchsorted(self.starts, at + MARGIN)))
        found = np.flatnonzero(self.sound[near])  # its length is not known, but that of what follows is
        return number + 1 + int(found[0]) if len(found) else _BROKEN
