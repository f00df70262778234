"""Tests of clew/optim."""
