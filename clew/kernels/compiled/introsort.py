"""Sorting and selecting where the order of equal elements counts: as the C++ library does it.

PyTorch sorts with `std::sort`, takes the largest with `std::nth_element` and `std::partial_sort`,
and finds an element of a rank by its own quickselect. These leave equal elements in an order that
depends on every step, so the steps here are theirs: medians of three for pivots, insertion for
short ranges, heaps where partitions stay unequal.

An item is two int64: what is compared, and the index. A task is a number of rows.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from clew.kernels.codegen.builder import BODY, IRBuilder
from clew.kernels.codegen.contexts import compiled, context_of
from clew.kernels.codegen.emitter import Emitter
from clew.kernels.codegen.loops import end_module

Array = np.ndarray
SORT, TOP, TOP_UNORDERED, FEW, RANK = "sort", "top", "top_unordered", "few", "rank"
_FIELDS = ("*items", "size", "count")
_ITEM = "<2 x i64>"
_ITEMS_PER_TASK = 4096
# The library's: shorter ranges are sorted by insertion, and selected from by it.
_SHORT_SORT, _SHORT_SELECTION = 16, 3
_LARGEST = {size: np.iinfo(f"i{size}").max for size in (2, 4, 8)}
# One in so many or fewer are found by a heap rather than by partitions.
_FEW = 64


def items_of(values: Array, descending: bool) -> Array:
    """The items of rows (..., n) of numbers that are not complex; NaN is the largest."""
    items = np.empty((*values.shape, 2), np.int64)
    items[..., 0] = _ordered(values)
    if descending:
        np.invert(items[..., 0], out=items[..., 0])
    items[..., 1] = np.arange(values.shape[-1])
    return items


def _ordered(values: Array) -> Array:
    """Integers of the same order."""
    if values.dtype.kind == "u" and values.dtype.itemsize == 8:
        return values.view(np.int64) ^ np.iinfo(np.int64).min
    if values.dtype.kind != "f":
        return values
    bits = np.asarray(values + 0.0).view(f"i{values.dtype.itemsize}")
    largest = _LARGEST[bits.dtype.itemsize]
    ordered = np.where(bits < 0, bits ^ largest, bits)
    ordered[np.isnan(values)] = largest
    return ordered


def arrange(items: Array, how: str, count: int = 0) -> None:
    """Rearrange rows of items (..., n, 2), which are contiguous.

    The whole rows in order; the first `count`, in order or not, or found by a heap; or the one of
    rank `count`.
    """
    size = items.shape[-2]
    if items.size:
        context = context_of((items,), (size, count))
        rows = items.size // (2 * size)
        _function(how)(context.ctypes.data, rows, max(_ITEMS_PER_TASK // size, 1))


def is_few(count: int, size: int) -> bool:
    """Whether so many are found by a heap."""
    return count > 0 and count * _FEW <= size


def first_few(values: Array, count: int, descending: bool) -> Array:
    """The indices of the first few of a vector, in order.

    What is not before the last one of a heap leaves it as it is. So after a part of the elements
    only those are looked at that come before the last one of that part's heap.
    """
    part = max(math.isqrt(values.size * count), 2 * count)
    items = items_of(values[:part], descending)
    arrange(items, TOP, count)
    bound = values[items[count - 1, 1]]
    if bound == bound:
        rest = values[part:]
        later = np.flatnonzero(~(rest <= bound) if descending else rest < bound)
        places = np.concatenate([np.arange(min(part, values.size)), later + part])
    else:
        places = np.arange(values.size)
    items = items_of(values[places], descending)
    arrange(items, FEW, count)
    return places[items[:count, 1]]


@functools.cache
def _function(how: str) -> Any:
    return compiled(f"introsort {how}", functools.partial(module, how), "introsort")


def module(how: str) -> str:
    e = Emitter()
    c = _Items(e, "i64")
    c.insertion()
    if how == RANK:
        c.quickselect()
    else:
        c.partition()
        c.adjust_heap()
        c.heap_select()
        c.sort_heap()
        c.sort_range()
        c.sort()
        c.nth()
    with c.function(BODY):
        f = c.load_context(*_FIELDS)
        size, count = f["size"], f["count"]
        with c.loop("%begin", "%end") as row:
            start = c.at(f["items"], c.mul(row, size))
            if how == SORT:
                c.call("sort", start, size)
            elif how == RANK:
                c.call("quickselect", start, count, size)
            elif how == FEW:
                c.few(start, count, size)
            else:
                c.top(start, count, size, in_order=how == TOP)
    end_module(e, "introsort")
    return e.text()


class _Items(IRBuilder):
    """Functions over an array `%a` of items, of which ranges are given by indices."""

    # -- items -----------------------------------------------------------------------------------

    def at(self, base: str, index: str) -> str:
        return self.e.value(f"getelementptr inbounds {_ITEM}, ptr {base}, i64 {index}")

    def get(self, index: str) -> str:
        return self.load(self.at("%a", index), _ITEM)

    def put(self, index: str, item: str) -> None:
        self.store(item, self.at("%a", index), _ITEM)

    def less(self, one: str, other: str) -> str:
        keys = [self.e.value(f"extractelement {_ITEM} {item}, i32 0") for item in (one, other)]
        return self.icmp("slt", *keys)

    def swap(self, one: str, other: str) -> None:
        first, second = self.get(one), self.get(other)
        self.put(one, second)
        self.put(other, first)

    def swap_if_less(self, one: str, other: str) -> None:
        with self.if_then(self.less(self.get(one), self.get(other))):
            self.swap(one, other)

    def call(self, name: str, pointer: str, *integers: str, cut: str = "") -> None:
        given = [f"ptr {pointer}", *(f"i64 {each}" for each in integers)]
        given += [f"ptr {cut}"] if cut else []
        self.e.line(f"call void @{name}({', '.join(given)})")

    def advance(self, place: str, by: str, goes_on: Any) -> None:
        """Move an index while a condition on the item there holds."""
        with self.loop_forever() as leave:
            index = self.load_word(place)
            self.branch_unless(goes_on(self.get(index)), leave)
            self.store_word(place, self.add(index, by))

    def depth(self, size: str) -> str:
        """How many partitions are allowed: twice the logarithm of the size."""
        self.e.declare("i64 @llvm.ctlz.i64(i64, i1)")
        zeros = self.e.value(f"call i64 @llvm.ctlz.i64(i64 {size}, i1 false)")
        return self.mul("2", self.sub("63", zeros))

    # -- short ranges and partitions -------------------------------------------------------------

    def insertion(self) -> None:
        with self.function("internal void @insertion(ptr %a, i64 %low, i64 %high)"):
            place = self.local("i64", "0")
            with self.loop(self.add("%low", "1"), "%high") as i:
                item = self.get(i)
                self.store_word(place, i)
                with self.loop_forever() as leave:
                    here = self.load_word(place)
                    self.branch_unless(self.icmp("sgt", here, "%low"), leave)
                    before = self.sub(here, "1")
                    other = self.get(before)
                    self.branch_unless(self.less(item, other), leave)
                    self.put(here, other)
                    self.store_word(place, before)
                self.put(self.load_word(place), item)

    def partition(self) -> None:
        """Items below the median of three come first; `%cut` gets where the others begin."""
        with self.function("internal void @partition(ptr %a, i64 %low, i64 %high, ptr %cut)"):
            left, right = self.local("i64", "0"), self.local("i64", "%high")
            second, last = self.add("%low", "1"), self.sub("%high", "1")
            middle = self.add("%low", self.udiv(self.sub("%high", "%low"), "2"))
            x, y, z = (self.get(index) for index in (second, middle, last))
            xy, yz, xz = self.less(x, y), self.less(y, z), self.less(x, z)
            rising = self.select(yz, middle, self.select(xz, last, second))
            falling = self.select(xz, second, self.select(yz, last, middle))
            self.swap("%low", self.select(xy, rising, falling))
            pivot = self.get("%low")
            self.store_word(left, second)
            with self.loop_forever() as leave:
                self.advance(left, "1", lambda item: self.less(item, pivot))
                self.store_word(right, self.sub(self.load_word(right), "1"))
                self.advance(right, "-1", lambda item: self.less(pivot, item))
                i, j = self.load_word(left), self.load_word(right)
                self.branch_unless(self.icmp("slt", i, j), leave)
                self.swap(i, j)
                self.store_word(left, self.add(i, "1"))
            self.store_word("%cut", self.load_word(left))

    # -- heaps, of the items from the first one on -----------------------------------------------

    def adjust_heap(self) -> None:
        """Let a hole sink to a leaf, then the item rise from there."""
        head = f"internal void @adjust_heap(ptr %a, i64 %top, i64 %size, {_ITEM} %item)"
        with self.function(head):
            hole = self.local("i64", "%top")
            with self.loop_forever() as leave:
                here = self.load_word(hole)
                self.branch_unless(
                    self.icmp("slt", here, self.udiv(self.sub("%size", "1"), "2")), leave
                )
                right = self.add(self.mul(here, "2"), "2")
                left = self.sub(right, "1")
                child = self.select(self.less(self.get(right), self.get(left)), left, right)
                self.put(here, self.get(child))
                self.store_word(hole, child)
            here = self.load_word(hole)
            child = self.add(self.mul(here, "2"), "1")
            with self.if_then(self.icmp("eq", child, self.sub("%size", "1"))):
                self.put(here, self.get(child))
                self.store_word(hole, child)
            with self.loop_forever() as leave:
                here = self.load_word(hole)
                self.branch_unless(self.icmp("sgt", here, "%top"), leave)
                parent = self.udiv(self.sub(here, "1"), "2")
                other = self.get(parent)
                self.branch_unless(self.less(other, "%item"), leave)
                self.put(here, other)
                self.store_word(hole, parent)
            self.put(self.load_word(hole), "%item")

    def sink(self, top: str, size: str, item: str) -> None:
        given = f"ptr %a, i64 {top}, i64 {size}, {_ITEM} {item}"
        self.e.line(f"call void @adjust_heap({given})")

    def heap_select(self) -> None:
        """A heap of the least `%middle` of `%size` items, the largest of them first."""
        with self.function("internal void @heap_select(ptr %a, i64 %middle, i64 %size)"):
            parents = self.udiv("%middle", "2")
            with self.loop("0", parents) as number:
                parent = self.sub(parents, number, "1")
                self.sink(parent, "%middle", self.get(parent))
            with self.loop("%middle", "%size") as i:
                item, largest = self.get(i), self.get("0")
                with self.if_then(self.less(item, largest)):
                    self.put(i, largest)
                    self.sink("0", "%middle", item)

    def sort_heap(self) -> None:
        head = "internal void @sort_heap(ptr %a, i64 %size)"
        with self.function(head), self.loop("1", "%size") as number:
            last = self.sub("%size", number)
            item = self.get(last)
            self.put(last, self.get("0"))
            self.sink("0", last, item)

    # -- sorting and selecting -------------------------------------------------------------------

    def sort_range(self) -> None:
        """Partition until ranges are short; what stays unequal for too long is sorted by a heap."""
        head = "internal void @sort_range(ptr %a, i64 %low, i64 %high, i64 %depth)"
        with self.function(head):
            end, left, cut = (self.local("i64", each) for each in ("%high", "%depth", "0"))
            with self.loop_forever() as leave:
                high, depth = self.load_word(end), self.load_word(left)
                size = self.sub(high, "%low")
                self.branch_unless(self.icmp("sgt", size, str(_SHORT_SORT)), leave)
                is_spent = self.icmp("eq", depth, "0")
                with self.if_then(is_spent):
                    start = self.at("%a", "%low")
                    self.call("heap_select", start, size, size)
                    self.call("sort_heap", start, size)
                    self.store_word(end, "%low")
                with self.if_then(self.not_(is_spent)):
                    self.store_word(left, self.sub(depth, "1"))
                    self.call("partition", "%a", "%low", high, cut=cut)
                    middle = self.load_word(cut)
                    self.call("sort_range", "%a", middle, high, self.sub(depth, "1"))
                    self.store_word(end, middle)

    def sort(self) -> None:
        with self.function("internal void @sort(ptr %a, i64 %size)"):
            is_long = self.icmp("sgt", "%size", "1")
            with self.if_then(is_long):
                self.call("sort_range", "%a", "0", "%size", self.depth("%size"))
                self.call("insertion", "%a", "0", "%size")

    def nth(self) -> None:
        """Put the item of a rank in its place, smaller ones before it and larger ones after it."""
        with self.function("internal void @nth(ptr %a, i64 %rank, i64 %size)"):
            low, high, cut = (self.local("i64", each) for each in ("0", "%size", "0"))
            left = self.local("i64", self.depth("%size"))
            with self.loop_forever() as leave:
                begin, end, depth = (self.load_word(each) for each in (low, high, left))
                size = self.sub(end, begin)
                self.branch_unless(self.icmp("sgt", size, str(_SHORT_SELECTION)), leave)
                is_spent = self.icmp("eq", depth, "0")
                with self.if_then(is_spent):
                    kept = self.sub(self.add("%rank", "1"), begin)
                    self.call("heap_select", self.at("%a", begin), kept, size)
                    self.swap(begin, "%rank")
                    self.store_word(low, end)
                with self.if_then(self.not_(is_spent)):
                    self.store_word(left, self.sub(depth, "1"))
                    self.call("partition", "%a", begin, end, cut=cut)
                    middle = self.load_word(cut)
                    is_after = self.icmp("sle", middle, "%rank")
                    self.store_word(low, self.select(is_after, middle, begin))
                    self.store_word(high, self.select(is_after, end, middle))
            self.call("insertion", "%a", self.load_word(low), self.load_word(high))

    def few(self, start: str, count: str, size: str) -> None:
        self.call("heap_select", start, count, size)
        self.call("sort_heap", start, count)

    def top(self, start: str, count: str, size: str, in_order: bool) -> None:
        """The first `count` of the order, which is at least 1."""
        is_few = self.icmp("sle", self.mul(count, str(_FEW)), size)
        with self.if_then(is_few):
            self.few(start, count, size)
        with self.if_then(self.not_(is_few)):
            before = self.sub(count, "1")
            self.call("nth", start, before, size)
            if in_order:
                self.call("sort", start, before)

    def quickselect(self) -> None:
        """Put the item of a rank in its place."""
        with self.function("internal void @quickselect(ptr %a, i64 %rank, i64 %size)"):
            low, high = self.local("i64", "0"), self.local("i64", self.sub("%size", "1"))
            left, right = self.local("i64", "0"), self.local("i64", "0")
            with self.loop_forever() as leave:
                first, last = self.load_word(low), self.load_word(high)
                self.branch_unless(self.icmp("sgt", last, first), leave)
                second = self.add(first, "1")
                is_pair = self.icmp("eq", last, second)
                with self.if_then(is_pair):
                    self.swap_if_less(last, first)
                    self.store_word(high, first)
                with self.if_then(self.not_(is_pair)):
                    self.swap(self.add(first, self.udiv(self.sub(last, first), "2")), second)
                    for one, other in ((last, second), (last, first), (first, second)):
                        self.swap_if_less(one, other)
                    self.store_word(left, second)
                    self.store_word(right, last)
                    pivot = self.get(first)
                    with self.loop_forever() as done:
                        for place, by in ((left, "1"), (right, "-1")):
                            self.store_word(place, self.add(self.load_word(place), by))
                            if place == left:
                                self.advance(place, by, lambda item: self.less(item, pivot))
                            else:
                                self.advance(place, by, lambda item: self.less(pivot, item))
                        i, j = self.load_word(left), self.load_word(right)
                        self.branch_unless(self.icmp("sge", j, i), done)
                        self.swap(i, j)
                    i, j = self.load_word(left), self.load_word(right)
                    self.swap(first, j)
                    is_after, is_before = self.icmp("sle", j, "%rank"), self.icmp("sge", j, "%rank")
                    self.store_word(low, self.select(is_after, i, first))
                    self.store_word(high, self.select(is_before, self.sub(j, "1"), last))
