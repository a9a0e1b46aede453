"""64-bit numbers, compiled functions kept between runs (a folder that git ignores), and examples that do not change.

Property tests take the same examples in every run of `make test` (profile `fixed`); `make test-slow` and `make fuzz`
explore with fresh ones, many more (profiles `fresh` and `fuzz`), and what they find is written as an `@example` or a
test of its own.
"""

import os
from pathlib import Path

import jax
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parent.parent

pytest_plugins = ["tests.worker_memory"]

# Read when the first program is compiled; most of the time of a first run is compiling, and this halves it.
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_use_fusion_emitters=false")
jax.config.update("jax_enable_x64", True)
jax.config.update("jax_compilation_cache_dir", str(ROOT / ".cache" / "jax"))
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)

EXAMPLES = settings(  # the same on every machine: hypothesis has another default where the variable CI is set
    settings.get_profile("default"),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
settings.register_profile("fixed", EXAMPLES, max_examples=100, derandomize=True, database=None)
settings.register_profile("fresh", EXAMPLES, max_examples=1_000, print_blob=True)
settings.register_profile("fuzz", settings.get_profile("fresh"), max_examples=20_000)
settings.load_profile("fixed")
