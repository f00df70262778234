"""Tests of clew/autograd."""
