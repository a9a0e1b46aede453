"""`haltere bench`: speed and accuracy beside the peers that are installed, in one run."""

from haltere.cli.output import JsonFlag, emit_json, emit_table, prepare_jax, progress

EXAMPLE = "Example: haltere bench --json"


def bench(json: JsonFlag = False) -> None:
    """Measure speed and accuracy beside peers.

    The peers that are installed are measured in the same run, on this machine.
    """
    prepare_jax()
    from haltere.bench.bench import run_bench

    with progress("measuring") as report:
        results = run_bench(report)
    if json:
        emit_json({"results": results})
        return
    columns = ("name", "value", "unit", "peer", "peer_value", "ratio")
    emit_table("Benchmark", columns, [[row.get(column) for column in columns] for row in results])
