"""64-bit numbers, and compiled functions kept between runs (a folder that git ignores)."""

from pathlib import Path

import jax

ROOT = Path(__file__).resolve().parent.parent

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_compilation_cache_dir", str(ROOT / ".cache" / "jax"))
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
