"""Flies the world, scores all estimators in it, and renews the tables of the results.

    python -m tests.world --size small             # `make world SIZE=small`
    python -m tests.world --profile hover          # sticks that hardly move
    python -m tests.world --record                 # and write the tables into docs/results.md

The tables go to stdout, progress to stderr. What was found before and has not changed is read from a folder in the
user's cache, or `$HALTERE_WORLD`.
"""

import argparse
import sys
from collections.abc import Sequence

from tests.world import estimators, plan, results
from tests.world.run import WORKERS, Door, collect, run
from tests.world.scoring import score
from tests.world.sticks import PROFILES
from tests.world.store import Store, default_root, estimator_hash, world_hash


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.world", description=__doc__.splitlines()[0])
    parser.add_argument("--size", choices=sorted(plan.SIZES), default="full")
    parser.add_argument(
        "--seeds", choices=sorted(plan.SEEDS), default="", help="other than those of the size"
    )
    parser.add_argument("--estimators", default=",".join(estimators.ESTIMATORS), help="names, with commas")
    parser.add_argument("--profile", choices=PROFILES, default="full", help="of the sticks")
    parser.add_argument("--workers", type=int, default=WORKERS)
    parser.add_argument("--stored", action="store_true", help="score what is stored, fly nothing")
    parser.add_argument("--record", action="store_true", help="write the tables into docs/results.md")
    options = parser.parse_args(arguments)
    if options.record and options.profile != "full":
        parser.error("the recorded tables are those of --profile full")
    names = [name.strip() for name in options.estimators.split(",") if name.strip()]
    unknown = sorted(set(names) - set(estimators.ESTIMATORS))
    if unknown:
        parser.error(f"no estimator {', '.join(unknown)}; there are {', '.join(estimators.ESTIMATORS)}")
    keys = {name: estimator_hash(estimators.ESTIMATORS[name].modules) for name in names}
    root = default_root() if options.profile == "full" else default_root() / options.profile
    store = Store(root, keys, world_hash())
    size = plan.SIZES[options.size]
    attempts = []
    for scenario in estimators.SCENARIOS if options.profile == "full" else ("flight",):
        own = [name for name in names if estimators.ESTIMATORS[name].scenario == scenario]
        batches = estimators.batches(size, scenario, options.seeds, options.profile)
        if own and not options.stored:
            run(batches, own, store, Door(estimators.fly, estimators.attempt), options.workers)
        attempts += collect(batches, own, store)
    result = score(attempts)
    seeds = options.seeds or size.seeds
    command = f"make world SIZE={options.size}" + (f" SEEDS={seeds}" if seeds != size.seeds else "")
    text = results.page(result, command)
    print(text)
    if options.record:
        results.write(results.PAGE, text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
