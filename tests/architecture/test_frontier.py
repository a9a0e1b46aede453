"""The way of a log without pose: no JAX, which takes a second to import, and no more modules than it needs."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.unit.identification.made_vehicle import draw, record
from tests.unit.logs import writers

from haltere.flight import Channel

ROOT = Path(__file__).resolve().parents[2] / "src"
ROOMS = ("airframe", "flight", "logs", "doctor", "identification")
WITH_JAX = (
    "haltere.doctor.arm",
    "haltere.identification.cog_log",
    "haltere.identification.described",
    "haltere.identification.methods.batch",
    "haltere.identification.methods.credibility",
    "haltere.identification.methods.online",
    "haltere.identification.methods.vehicle_input",
    "haltere.identification.methods.vehicle_numbers",
    "haltere.identification.payload",
)
"""What is imported only where an arm, a pose or an export asks for it."""
PAGE = [
    f"haltere.report.{name}"
    for name in ("identified", "rotors_from_above", "tables", "fits", "page", "theme")
]
MOST_MODULES = 55
"""Modules of ours, packages not counted, that `read` and `identify` import for a ULog without pose."""
MOST_OF_COMMAND = 63
"""The same for `haltere identify`, which also writes the report."""
COUNT = "json.dumps([n for n, m in sys.modules.items() if n.startswith('haltere.') and not hasattr(m, '__path__')])"


def modules():
    """Every module on this side of the frontier, by the folders."""
    names = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for room in ROOMS
        for path in sorted((ROOT / "haltere" / room).rglob("*.py"))
    ]
    return [
        n for n in names if not any(n == beyond or n.startswith(f"{beyond}.") for beyond in WITH_JAX)
    ] + PAGE


def run(code, *arguments):
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_modules_this_side_of_the_frontier_import_no_jax():
    names = modules()
    assert len(names) > 80
    code = (
        "import importlib, sys\n"
        "for name in sys.argv[1:]:\n"
        "    importlib.import_module(name)\n"
        "    if 'jax' in sys.modules:\n"
        "        sys.exit(f'{name} imports JAX; import it where it is used')\n"
    )
    run(code, *names)


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    path = tmp_path_factory.mktemp("log") / "flight.ulg"
    rng = np.random.default_rng(11)
    flight = record(rng, draw(rng), 4.0)
    time = flight["imu.gyro"].time[::5]
    still = np.tile(
        [1.0, 0.0, 0.0, 0.0], (len(time), 1)
    )  # the writer wants a pose; without airframe it is not used
    flight = flight.with_channel(Channel("pose.position", time, still[:, 1:], "m", "world"))
    flight = flight.with_channel(Channel("pose.wxyz", time, still, "1", "world"))
    flight = flight.with_channel(Channel("battery.voltage", time, 15.0 * still[:, 0], "V", ""))
    writers.ulog(flight, path)
    return path


def test_a_log_without_pose_needs_few_modules(log):
    code = f"import json, sys, haltere\nhaltere.identify(haltere.read(sys.argv[1]))\nprint({COUNT})"
    found = json.loads(run(code, log))
    assert len(found) <= MOST_MODULES, sorted(found)


def test_the_command_needs_few_modules_more(log, tmp_path):
    code = (
        "import json, sys\n"
        "from haltere.cli.app import main\n"
        "try:\n"
        "    main(['identify', *sys.argv[1:]])\n"
        "except SystemExit as end:\n"
        "    assert not end.code\n"
        f"print({COUNT})"
    )
    found = json.loads(run(code, log, "--out", tmp_path / "out").splitlines()[-1])
    assert len(found) <= MOST_OF_COMMAND, sorted(found)
