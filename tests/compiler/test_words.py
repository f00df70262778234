"""Guards as words of memory: every change is seen, and nothing else is taken for one."""

from __future__ import annotations

import sys
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from typing import Any

import pytest

import clew
from clew import nn
from clew.compiler.native.words import Words, of_tensors


def made() -> Any:
    value = 1

    def function(a: int = 2, *, b: int = 3) -> int:
        return a + b + value

    return function


class Plain:
    """An object with a dict."""


DICT_CHANGES: dict[str, Callable[[dict[Any, Any]], Any]] = {
    "another value": lambda d: d.__setitem__("a", 2),
    "a new key": lambda d: d.__setitem__("z", 2),
    "a key less": lambda d: d.pop("a"),
    "update": lambda d: d.update(a=5),
    "merged": lambda d: d.__ior__({"q": 1}),
    "clear": lambda d: d.clear(),
    "setdefault": lambda d: d.setdefault("q", 1),
    "an item": lambda d: d.popitem(),
    "order": lambda d: d.__setitem__("a", d.pop("a")),
}

has_versions = pytest.mark.skipif(
    sys.version_info >= (3, 13), reason="dicts of this interpreter have no version"
)


@has_versions
@pytest.mark.parametrize("name", DICT_CHANGES)
@pytest.mark.parametrize("kind", [dict, lambda d: defaultdict(list, d)])
def test_every_change_of_a_dict_is_seen(name: str, kind: Any) -> None:
    found, words = kind({"a": 1, "b": [1], "c": None}), Words()
    assert words.dict(found)
    assert words.are_same()
    list(found), found.get("a"), "b" in found, dict(found), found == {}
    found["b"].append(2)
    assert words.are_same()
    DICT_CHANGES[name](found)
    assert not words.are_same()


@has_versions
def test_attributes_of_objects_and_classes_are_dicts() -> None:
    plain: Any = Plain()
    kind: Any = Plain
    words = Words()
    plain.a = 1
    assert words.dict(plain.__dict__) and words.dict(Plain.__dict__)
    for _ in range(100):
        assert words.are_same()

    def store(value: Any) -> None:
        plain.a = value

    for number in range(50):
        # The interpreter writes in another way once it has seen a store often enough.
        words = Words()
        words.dict(plain.__dict__)
        store(f"{number}")
        assert not words.are_same()
    words = Words()
    words.dict(Plain.__dict__)
    kind.b = 3
    assert not words.are_same()
    del kind.b


def test_dicts_with_an_order_of_their_own_are_looked_at_by_python() -> None:
    assert not Words().dict(OrderedDict(a=1))


@pytest.mark.parametrize("name", ["__code__", "__defaults__", "__kwdefaults__"])
def test_attributes_of_functions(name: str) -> None:
    first, second, words = made(), made(), Words()
    assert words.attribute(first, name)
    assert words.are_same()
    new = {"__code__": (lambda: first).__code__, "__defaults__": (5,), "__kwdefaults__": {"b": 1}}
    second_value = getattr(second, name) if name != "__code__" else None
    setattr(first, name, new[name] if name != "__code__" else second.__code__.replace(co_name="x"))
    assert not words.are_same()
    assert second_value is None or second_value != getattr(first, name)


def test_defaults_that_are_not_there() -> None:
    def plain() -> None:
        return None

    words = Words()
    assert words.attribute(plain, "__defaults__") and words.are_same()
    plain.__defaults__ = ()
    assert not words.are_same()


def test_contents_of_cells_and_items_of_lists() -> None:
    function, words = made(), Words()
    (cell,) = function.__closure__
    assert words.attribute(cell, "cell_contents") and words.are_same()
    cell.cell_contents = 10**9
    assert not words.are_same()
    for change in (
        lambda items: items.append(1), lambda items: items.pop(), lambda items: items.reverse(),
        lambda items: items.__setitem__(1, "x"), lambda items: items.clear(),
    ):  # fmt: skip
        items, words = ["a", "b", "c"], Words()
        assert words.list(items) and words.are_same()
        change(items)
        assert not words.are_same()
    assert not Words().list(("a",))


def test_memory_of_tensors() -> None:
    weight = nn.Parameter(clew.ones(3))
    words = of_tensors([weight])
    assert words is not None and words.are_same()
    with clew.no_grad():
        weight.add_(1)
    assert words.are_same()
    weight.requires_grad_(False)
    assert not words.are_same()
    words = of_tensors([weight])
    assert words is not None
    weight.data = clew.zeros(3)
    assert not words.are_same()


def test_what_changes_and_means_nothing_costs_no_trace() -> None:
    options = {"k": 2.0}

    @clew.compile
    def scaled(x: Any) -> Any:
        return x * options["k"]

    for number in range(40):
        # Another object, an equal number; or the same again.
        options["k"] = float(str(options["k"])) if number % 2 else options["k"]
        assert scaled(clew.ones(2)).tolist() == [2.0, 2.0]
    assert len(scaled.events) == 1
    options["k"] = 3.0
    assert scaled(clew.ones(2)).tolist() == [3.0, 3.0]
    assert len(scaled.events) == 2


def test_a_step_whose_state_is_another_counts_in_that() -> None:
    weight = nn.Parameter(clew.ones(2))
    optimizer = clew.optim.Adam([weight], 0.1)

    @clew.compile
    def step() -> None:
        optimizer.zero_grad()
        weight.square().sum().backward()
        optimizer.step()

    for _ in range(3):
        step()
    old = optimizer.state[weight]["step"]
    optimizer.state[weight]["step"] = clew.tensor(10.0)
    step()
    assert optimizer.state[weight]["step"].item() == 11 and old.item() == 3
