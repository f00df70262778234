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


@pytest.mark.parametrize(
    ("module", "method"),
    [("pointwise.arithmetic", "div"), ("pointwise.arithmetic", "fmod_"),
     ("create.sampling", "normal_")],
)  # fmt: skip
def test_a_name_is_found_in_the_module_that_it_was_part_of(module: str, method: str) -> None:
    now = getattr(clew.Tensor, method)
    text = pickle.dumps(now, 0).replace(now.__module__.encode(), f"clew.ops.{module}".encode())
    assert now.__module__ != f"clew.ops.{module}"
    assert pickle.loads(text) is now


@pytest.mark.parametrize("name", ["det", "pinv", "lstsq", "matrix_exp", "tensorsolve"])
def test_names_of_a_module_that_is_a_folder_now(name: str) -> None:
    from clew.ops.linalg import matrix_functions

    found = pickle.loads(f"cclew.ops.linalg\n{name}\n.".encode())
    assert found is getattr(matrix_functions, name)


@pytest.mark.parametrize("space", ["linalg", "fft", "special", "nn.functional"])
def test_public_functions_are_found_where_they_are_public(space: str) -> None:
    """By the names of today, too: each is what the pickle of itself gives."""
    theirs = importlib.import_module(f"torch.{space}")
    ours = importlib.import_module(f"clew.{space}")
    names = [n for n in getattr(theirs, "__all__", dir(theirs)) if not n.startswith("_")]
    both = [(getattr(theirs, n, None), getattr(ours, n, None)) for n in names]
    for function, own in both:
        if callable(function) and callable(own) and not isinstance(function, type(importlib)):
            try:
                pickle.dumps(function)
            except (pickle.PicklingError, AttributeError, TypeError):
                continue  # torch's is not found, either
            assert pickle.loads(pickle.dumps(own)) is own


def test_every_module_is_where_the_table_says() -> None:
    for before, now in moved._moved().items():
        assert vars(importlib.import_module(now))
        if before != "clew.ops.linalg":  # a folder now
            assert importlib.import_module(before).__name__ == before


def test_other_names_are_still_missing() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"clew\.ops\.no_such_module"):
        importlib.import_module("clew.ops.no_such_module")
    # To programs it is `torch.ops`, where any other name is a library that may be defined.
    with pytest.raises(AttributeError, match="has no attribute 'anything'"):
        _ = clew.ops.pickling_of_old.anything
