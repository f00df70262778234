"""Random streams of GPUs, of which there are none, at the place where PyTorch defines them."""

# ruff: noqa: F401  (names are imported here to be found here)

from clew.cuda import (
    get_rng_state,
    get_rng_state_all,
    initial_seed,
    manual_seed,
    manual_seed_all,
    seed,
    seed_all,
    set_rng_state,
    set_rng_state_all,
)
