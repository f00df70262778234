"""Kullback-Leibler divergences: `kl_divergence(p, q)`, and `register_kl` for new pairs."""

# ruff: noqa: F401  (the families are imported to be registered)

from clew.distributions.kl import across_families, within_families
from clew.distributions.kl.registry import _KL_REGISTRY, kl_divergence, register_kl

__all__ = ["register_kl", "kl_divergence"]
