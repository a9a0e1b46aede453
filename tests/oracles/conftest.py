"""The comparison needs 64-bit numbers."""

import jax

jax.config.update("jax_enable_x64", True)
