"""Memory maps and memory of each test worker: bounded while the tests run, printed at the end.

Every compiled program takes memory maps, of which Linux allows a process 65,530; a worker that keeps all the programs
of the suite dies with a segmentation fault in some test or other. So programs are released between modules once there
are many, and a worker that grows beyond `--most-maps` all the same fails the test that it is at.
"""

import os
import time
from pathlib import Path

import pytest

from haltere.foundation.memory import MOST_MAPS, bound_programs, count_maps

MOST = 40_000
"""Memory maps at which a test fails."""
WITHIN_MODULE = 13_000
"""Memory maps at which programs are released though the next test may want them again."""
BETWEEN = 1.0
"""s; within a module, maps are counted no more often: counting ten thousand takes some ms."""
PAGE = os.sysconf("SC_PAGE_SIZE")
STATUS = Path("/proc/self/statm")


def memory():
    """Resident memory of this process, GB; 0 on a system that does not tell."""
    return int(STATUS.read_text().split()[1]) * PAGE / 1e9 if STATUS.exists() else 0.0


class Usage:
    """The largest number of maps and the most memory of this process, looked at between tests."""

    def __init__(self, most):
        self.most = most
        self.maps, self.memory, self.released, self.looked = 0, 0.0, 0, 0.0

    def look(self):
        maps, self.looked = count_maps(), time.monotonic()
        self.maps = max(self.maps, maps)
        self.memory = max(self.memory, memory())
        return maps

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self, item, nextitem):
        yield
        last = nextitem is None or nextitem.path != item.path
        if not last and time.monotonic() - self.looked < BETWEEN:
            return
        maps = self.look()
        self.released += bound_programs(most_maps=MOST_MAPS if last else WITHIN_MODULE)
        if maps > self.most:
            pytest.fail(
                f"the worker has {maps} memory maps, {self.most} are allowed; see 'Memory maps' in CONTRIBUTING.md",
                pytrace=False,
            )

    @pytest.hookimpl
    def pytest_sessionfinish(self, session):
        self.look()
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput["usage"] = self.words()

    def words(self):
        return f"at most {self.maps} memory maps and {self.memory:.1f} GB, programs released {self.released} times"


class Collected:
    """What the workers said when they ended."""

    def __init__(self, own):
        self.own, self.workers = own, {}

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node, error):
        said = getattr(node, "workeroutput", {}).get("usage", f"died: {error}")
        self.workers[node.gateway.id] = said

    def pytest_terminal_summary(self, terminalreporter):
        for name, said in sorted((self.workers or {"tests": self.own.words()}).items()):
            terminalreporter.write_line(f"{name}: {said}")


def pytest_addoption(parser):
    parser.addoption("--most-maps", type=int, default=MOST, help="memory maps at which a test fails")


def pytest_configure(config):
    usage = Usage(config.getoption("--most-maps"))
    config.pluginmanager.register(usage, "haltere-usage")
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Collected(usage), "haltere-usage-collected")
