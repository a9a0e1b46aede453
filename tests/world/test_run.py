"""The runner with a stand-in for the world and two stand-ins for estimators: what is stored is not made again."""

import math
from dataclasses import replace
from itertools import combinations

import pytest
from tests.world import plan, results, store
from tests.world.plan import Batch, Size
from tests.world.run import Door, run, tasks
from tests.world.scoring import score
from tests.world.stand_in import attempt, fly
from tests.world.store import Store, from_json, to_json

NAMES = ("honest", "refuses")
SMALL = Size(4, 2, "test", levels=("ideal", "nasty"), vehicles=("quadrotor", "hexarotor"))


@pytest.fixture
def kept(tmp_path):
    return Store(tmp_path, {"honest": "1", "refuses": "2"}, "w")


@pytest.fixture
def batches():
    return list(plan.batches(SMALL, ("wind",)))


class Interrupted:
    """Makes a few attempts, then is stopped."""

    def __init__(self, count):
        self.left, self.calls = count, []

    def __call__(self, name, batch, seed, flight):
        if self.left == 0:
            raise KeyboardInterrupt
        self.left -= 1
        self.calls.append((name, batch.level, batch.vehicle, batch.effect, seed))
        return attempt(name, batch, seed, flight)


def test_a_run_that_was_stopped_goes_on_where_it_was(kept, batches):
    first, second, third = Interrupted(7), Interrupted(-1), Interrupted(0)
    with pytest.raises(KeyboardInterrupt):
        run(batches, NAMES, kept, Door(fly, first), workers=0)
    result = run(batches, NAMES, kept, Door(fly, second), workers=0)
    assert len(first.calls) == 7
    assert len(set(first.calls + second.calls)) == len(first.calls + second.calls) == 2 * (16 + 2)
    assert repr(run(batches, NAMES, kept, Door(fly, third), workers=0)) == repr(result)
    assert {(row.estimator, row.flights) for row in result.vehicles if row.name == "all"} == {
        ("honest", 8),
        ("refuses", 8),
    }
    assert [(row.name, row.flights) for row in result.effects] == [("wind", 2), ("wind", 2)]


def test_processes_make_the_same_attempts(kept, batches, tmp_path):
    alone = Store(tmp_path / "alone", kept.keys, kept.world)
    run(batches, NAMES, kept, Door(fly, attempt), workers=2)
    run(batches, NAMES, alone, Door(fly, attempt), workers=0)
    files = {path.relative_to(kept.root) for path in kept.root.glob("*-w/**/*.json")}
    assert len(files) == 36
    assert all((kept.root / file).read_bytes() == (alone.root / file).read_bytes() for file in files)


def test_only_what_is_missing_is_flown(kept, batches):
    run(batches, NAMES, kept, Door(fly, attempt), workers=0)
    kept.path("honest", "nasty", "hexarotor", "", "10002").unlink()
    (task,) = tasks(batches, NAMES, kept)
    assert task.estimators == ("honest",)
    assert task.batch == Batch("nasty", "hexarotor", "", (10_002,))


def test_another_version_of_an_estimator_starts_anew(kept, batches):
    run(batches, NAMES, kept, Door(fly, attempt), workers=0)
    changed = Store(kept.root, {"honest": "3", "refuses": "2"}, "w")
    assert {name for task in tasks(batches, NAMES, changed) for name in task.estimators} == {"honest"}
    moved = Store(kept.root, kept.keys, "other")
    assert {name for task in tasks(batches, NAMES, moved) for name in task.estimators} == set(NAMES)


def test_a_damaged_file_is_made_again(kept, batches):
    run(batches, NAMES, kept, Door(fly, attempt), workers=0)
    path = kept.path("honest", "ideal", "quadrotor", "", "10000")
    path.write_text(path.read_text()[:30])
    assert len(list(tasks(batches, NAMES, kept))) == 1


def test_an_attempt_survives_its_file():
    batch = Batch("ideal", "quadrotor", "", (1,))
    one, other = attempt("honest", batch, 1, 0.5), attempt("refuses", batch, 1, 0.5)
    assert repr(from_json(to_json(one))) == repr(one)
    assert from_json(to_json(other)) == other
    lost = replace(one, claims=(replace(one.claims[0], value=math.nan),))
    assert from_json(to_json(lost)).claims[0].value is None


def test_no_seed_is_in_two_sets():
    for a, b in combinations(plan.SEEDS.values(), 2):
        assert not set(a) & set(b)


@pytest.mark.parametrize("name", plan.SIZES)
def test_seeds_of_a_size_are_inside_their_set(name):
    size = plan.SIZES[name]
    for batch in plan.batches(size, ("a", "b")):
        assert set(batch.seeds) <= set(plan.SEEDS[size.seeds])
        assert 0 < len(batch.seeds) <= plan.BATCH


def test_the_full_table_has_a_hundred_flights_of_each_level():
    every = list(plan.batches(plan.SIZES["full"], ("a",)))
    for level in ("ideal", "realistic", "nasty"):
        assert sum(len(b.seeds) for b in every if b.level == level and not b.effect) == 100
    assert sum(len(b.seeds) for b in every if b.effect == "a") == 24


def test_an_estimator_is_known_by_all_that_it_imports():
    files = {
        path.relative_to(store.SOURCE).as_posix() for path in store.imported_files("haltere.logs.registry")
    }
    assert {"haltere/logs/registry.py", "haltere/flight/flight.py", "haltere/__init__.py"} <= files
    assert not any("estimation" in file for file in files)
    assert store.imported_files("haltere.no_such_module") == frozenset()


def test_the_world_is_known_by_what_makes_a_flight():
    names = {path.stem for path in store.imported_files(store.FLIGHTS)}
    assert {"flights", "rigid", "levels", "sensors", "drawings"} <= names
    assert not names & {"scoring", "estimators", "plan", "run"}
    assert store.world_hash() == store.world_hash()
    assert store.estimator_hash(["haltere.logs.registry"]) != store.estimator_hash(["haltere.flight"])


def test_the_tables_stand_between_their_marks(tmp_path):
    page = tmp_path / "results.md"
    page.write_text(f"# Results\n\n{results.BEGIN}\nformer\n{results.END}\n\n## More\n")
    result = score([attempt(name, Batch("ideal", "quadrotor", "", (1,)), 1, 0.0) for name in NAMES])
    text = results.page(result, "make world")
    results.write(page, text)
    results.write(page, text)
    written = page.read_text()
    assert written.startswith("# Results\n\n")
    assert written.endswith(f"\n{results.END}\n\n## More\n")
    assert "former" not in written
    assert written.count("| honest | ideal | quadrotor |") == 1
    assert results._by_level(("a, ideal, mass", "a, ideal, delay", "a, nasty, mass")) == (
        "a, ideal: mass, delay",
        "a, nasty: mass",
    )
    page.write_text("# Results\n")
    with pytest.raises(ValueError, match="no marks"):
        results.write(page, text)
