"""My fleet: many logs, one table, and the vehicle that differs.

    python examples/my_fleet.py [FOLDER]

Logs are identified in processes of their own; the pool may also be a dask client. A log that cannot be read is named
and stops no other.
"""

import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import haltere as ht


def main(folder: Path) -> None:
    """Record three flights and a broken file, and identify them together."""
    scenario = Path(__file__).with_name("figure.toml")
    logs = [
        ht.simulate(scenario, seed=seed).save(folder / f"drone{seed}.mcap", overwrite=True)
        for seed in (1, 2, 3)
    ]
    logs.append(folder / "broken.ulg")
    logs[-1].write_bytes(b"ULog")

    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:  # JAX is loaded here: do not fork
        fleet = ht.identify_fleet(logs, known={"mass": (0.716, 0.001)}, executor=pool)
    print(fleet)
    for reason in fleet.failures.values():
        print("failed:", reason)
    fleet.save(folder / "fleet", overwrite=True)
    print("open", fleet.report(folder / "fleet.html"))


if __name__ == "__main__":  # processes import this file again
    main(Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp()))
