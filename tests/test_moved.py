"""Pickles that name modules where operations were before they had folders, or in other folders."""

import importlib
import pickle

import pytest

import clew
from clew import moved


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("pickling", "_rebuild"),
        ("return_types", "max"),
        ("activation_gates", "gelu"),
        ("memory", "is_dense"),
        ("shape.memory_layout", "is_dense"),
        ("legacy", "retyped"),
    ],
)
def test_a_pickled_name_is_found(module: str, name: str) -> None:
    text = f"cclew.ops.{module}\n{name}\n.".encode()
    now = importlib.import_module(moved._moved()[f"clew.ops.{module}"])
    assert pickle.loads(text) is getattr(now, name)


def test_every_module_is_where_the_table_says() -> None:
    for before, now in moved._moved().items():
        assert vars(importlib.import_module(now))
        if before != "clew.ops.linalg":  # a folder now
            assert importlib.import_module(before).__name__ == before


def test_other_names_are_still_missing() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"clew\.ops\.no_such_module"):
        importlib.import_module("clew.ops.no_such_module")
    assert not hasattr(clew.ops, "pickling_of_old")
