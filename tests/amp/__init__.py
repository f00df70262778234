"""Tests of clew/amp."""
