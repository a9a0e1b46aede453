"""Compiled programs in memory, kept within bounds.

JAX keeps every program that it has compiled or loaded, trivial ones too, thousands of them. Each takes about 1.5 MB and
5 memory maps, a large one ten or more times as much, and Linux allows a process 65,530 maps (`vm.max_map_count`): the
program that exceeds them ends the process with a segmentation fault. So a process that meets one new vehicle after
another, or a notebook that stays open all day, has to release programs. A released program is compiled again where it
is needed, or loaded from the folder of compiled programs.
"""

import ctypes
import gc
import sys
from pathlib import Path
from typing import Protocol
from weakref import WeakSet

MOST_PROGRAMS = 600
"""Programs in memory above which all are released: 1 to 2 GB."""
MOST_MAPS = 10_000
"""Memory maps above which all are released. One identified vehicle adds up to 5,000, so that half of what Linux
allows is never reached."""
_MAPS = Path("/proc/self/maps")


class Holder(Protocol):
    """Something that keeps compiled programs of its own, beside JAX's caches."""

    def release(self) -> None:
        """Forget them."""


_holders: "WeakSet[Holder]" = WeakSet()
_others = [0]
"""Memory maps that the last release left: they are not ours, and releasing again would not help."""


def register(holder: Holder) -> None:
    """Have `holder` forget its programs whenever programs are released; it is not kept alive by this."""
    _holders.add(holder)


def count_maps() -> int:
    """The number of memory maps of this process; 0 on a system that does not tell, and sets no limit to them."""
    try:
        return _MAPS.read_bytes().count(b"\n")
    except OSError:
        return 0


def count_programs() -> int:
    """The number of compiled programs in memory; 0 while JAX is not imported."""
    if "jax" not in sys.modules:
        return 0
    import jax  # noqa: PLC0415 - a log without pose is identified without it

    return len(jax.local_devices()[0].client.live_executables())


def bound_programs(most_programs: int = MOST_PROGRAMS, most_maps: int = MOST_MAPS) -> bool:
    """Release all programs if there are more than `most_programs`, or more than `most_maps` memory maps of programs.

    Public functions that compile call this before they begin. Returns whether programs were released.
    """
    if count_maps() - _others[0] <= most_maps and count_programs() <= most_programs:
        return False
    release_programs()
    return True


def release_programs() -> None:
    """Forget all compiled programs of this process, and give their memory back to the system."""
    if "jax" not in sys.modules:
        return
    import jax  # noqa: PLC0415

    jax.clear_caches()
    for holder in list(_holders):
        holder.release()
    gc.collect()
    _trim()
    _others[0] = min(count_maps(), MOST_MAPS)


def _trim() -> None:
    """Give freed memory back, where the C library is one that holds on to it (glibc)."""
    try:
        ctypes.CDLL("libc.so.6").malloc_trim(0)
    except (OSError, AttributeError):
        return
