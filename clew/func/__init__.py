"""Function transforms: functions from functions, which compose in any order."""

from clew.func.batching import vmap
