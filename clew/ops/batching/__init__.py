"""Batching rules: how every operation runs on all examples of a vmap at once."""
