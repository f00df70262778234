"""The merge of two lists of integers by their first elements, which need not be in order."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from clew.kernels.codegen.builder import BODY, IRBuilder
from clew.kernels.codegen.contexts import compiled, context_of
from clew.kernels.codegen.emitter import Emitter
from clew.kernels.codegen.loops import end_module
from clew.kernels.codegen.vectors import carrying_loop
from clew.kernels.runtime.numpy_capi import address_of

Array = np.ndarray
_FIELDS = ("*one", "*two", "*first", "*second", "size_one", "size_two")
_LAST = np.iinfo(np.int64).max


def merge(one: Array, two: Array) -> tuple[Array, Array]:
    """For each element of the merged list its positions in both; -1 in a list that lacks it.

    The lesser of the two next elements is taken, of equal ones both as one element.
    """
    sizes = (one.size, two.size)
    # A last element that is never less ends either list.
    lists = [np.append(each, _LAST).astype(np.int64, copy=False) for each in (one, two)]
    places = [np.empty(sum(sizes), np.int64) for _ in lists]
    context = context_of((*lists, *places), sizes)
    # The walk is one task: each step depends on the one before.
    _function()(address_of(context), sum(sizes), max(sum(sizes), 1))
    count = sum(sizes) - int(np.count_nonzero((places[0] >= 0) & (places[1] >= 0)))
    return places[0][:count], places[1][:count]


@functools.cache
def _function() -> Any:
    return compiled("merging", module, "merging")


def module() -> str:
    """The LLVM module of the kernel."""
    e = Emitter()
    c = IRBuilder(e, "i64")
    with c.function(BODY):
        f = c.load_context(*_FIELDS)

        def step(i: str, at: list[str]) -> list[str]:
            values = [c.load_i64(f[name], n) for name, n in zip(("one", "two"), at, strict=True)]
            following = []
            for this, name in enumerate(("one", "two")):
                is_left = c.icmp("slt", at[this], f[f"size_{name}"])
                is_next = c.and_(is_left, c.icmp("sle", values[this], values[1 - this]))
                target = c.gep_i64(f[("first", "second")[this]], i)
                c.store_word(target, c.select(is_next, at[this], "-1"))
                following.append(c.select(is_next, c.add(at[this], "1"), at[this]))
            return following

        carrying_loop(e, ("%begin", "%end"), 1, step, [("i64", "0"), ("i64", "0")])
    end_module(e, "merging")
    return e.text()
