"""Objects that a captured function reads or changes: containers, attributes, iterators."""

from __future__ import annotations

import collections
import functools
import itertools
import threading
import types
import weakref
from typing import Any

import numpy as np
import pytest

import clew
from clew import nn
from tests.compiler.agreement import Wrap, assert_agreement, ones, shown


class Slots:
    __slots__ = ("a",)

    def __init__(self: Any) -> Any:
        self.a = 1.0


def iterator(wrap: Wrap) -> Any:
    it = iter([1.0, 2.0, 3.0, 4.0, 5.0])
    f = wrap(lambda x: x * next(it))
    return [shown(f(ones())) for _ in range(4)]


def iterator_for(wrap: Wrap) -> Any:
    it = itertools.count(1)

    def g(x: Any) -> Any:
        for i in it:
            return x * i

    f = wrap(g)
    return [shown(f(ones())) for _ in range(4)]


def generator(wrap: Wrap) -> Any:

    def gen() -> Any:
        n = 1.0
        while True:
            yield n
            n += 1

    it = gen()
    f = wrap(lambda x: x * next(it))
    return [shown(f(ones())) for _ in range(4)]


def generator_send(wrap: Wrap) -> Any:

    def gen() -> Any:
        n = 1.0
        while True:
            n = n + (yield n)

    it = gen()
    next(it)
    f = wrap(lambda x: x * it.send(1.0))
    return [shown(f(ones())) for _ in range(4)]


def ndarray_global(wrap: Wrap) -> Any:
    a = np.array([1.0, 2.0])
    out = []
    f = wrap(lambda x: x * float(a[0]))
    for i in range(4):
        a[0] = i
        out.append(shown(f(ones())))
    return out


def deque(wrap: Wrap) -> Any:
    d = collections.deque([1.0, 2.0, 3.0])
    out = []
    f = wrap(lambda x: x * d[0])
    for _ in range(4):
        d.rotate(1)
        out.append(shown(f(ones())))
    return out


def deque_append(wrap: Wrap) -> Any:
    d = collections.deque([1.0], maxlen=2)

    def g(x: Any) -> Any:
        d.append(1.0)
        return x * len(d)

    f = wrap(g)
    return [shown(f(ones())) for _ in range(3)] + [list(d)]


def set_content(wrap: Wrap) -> Any:
    s = {1}
    out = []
    f = wrap(lambda x: x * (2 if 1 in s else 3))
    for i in range(4):
        s.clear()
        s.add(i % 2)
        out.append(shown(f(ones())))
    return out


def slots(wrap: Wrap) -> Any:
    o = Slots()
    out = []
    f = wrap(lambda x: x * o.a)
    for i in range(4):
        o.a = i
        out.append(shown(f(ones())))
    return out


def slots_changed(wrap: Wrap) -> Any:
    o = Slots()
    out = []

    def g(x: Any) -> Any:
        o.a += 1
        return x * 1

    f = wrap(g)
    for _ in range(4):
        f(ones())
        out.append(o.a)
    return out


def mappingproxy(wrap: Wrap) -> Any:
    d = {"k": 1.0}
    m = types.MappingProxyType(d)
    f = wrap(lambda x: x * m["k"])
    out = []
    for i in range(4):
        d["k"] = i
        out.append(shown(f(ones())))
    return out


def userdict(wrap: Wrap) -> Any:
    d = collections.UserDict(k=1.0)
    dd = collections.defaultdict(float)
    f = wrap(lambda x: x * d["k"] + dd["z"])
    out = []
    for i in range(4):
        d["k"] = i
        out.append(shown(f(ones())))
        out.append(len(dd))
    return out


def list_subclass(wrap: Wrap) -> Any:

    class L(list):
        k = 1.0

    kept = L([1.0])
    kept.k = 2.0
    f = wrap(lambda x: x * kept.k * kept[0])
    out = []
    for i in range(4):
        kept.k = i
        out.append(shown(f(ones())))
    return out


def bytes_changed(wrap: Wrap) -> Any:
    b = bytearray(b"\x01")
    f = wrap(lambda x: x * b[0])
    out = []
    for i in range(4):
        b[0] = i
        out.append(shown(f(ones())))
    return out


def tlocal(wrap: Wrap) -> Any:
    kept = threading.local()
    kept.k = 1.0
    f = wrap(lambda x: x * kept.k)
    out = []
    for i in range(4):
        kept.k = float(i)
        out.append(shown(f(ones())))
    return out


def weak_reference(wrap: Wrap) -> Any:

    class Kept:
        pass

    o = Kept()
    o.k = 1.0
    r = weakref.ref(o)
    f = wrap(lambda x: x * (r().k if r() else 9.0))
    out = []
    for i in range(4):
        if i < 3:
            o.k = i
        else:
            del o
        out.append(shown(f(ones())))
    return out


def dict_order_global(wrap: Wrap) -> Any:
    d = {"a": 1.0, "b": 2.0}

    def g(x: Any) -> Any:
        r = x
        for v in d.values():
            r = r * 2 + v
        return r

    f = wrap(g)
    out = [shown(f(ones())), shown(f(ones()))]
    v = d.pop("a")
    d["a"] = v
    return out + [shown(f(ones()))]


def neg_zero(wrap: Wrap) -> Any:
    f = wrap(lambda x, k: x / k)
    return [str(shown(f(ones(), k))) for k in (0.0, -0.0, 0.0, -0.0)]


def neg_zero_global(wrap: Wrap) -> Any:
    k = [0.0]
    f = wrap(lambda x: x / k[0])
    out = []
    for v in (0.0, -0.0, 0.0, -0.0):
        k[0] = v
        out.append(str(shown(f(ones()))))
    return out


def dict_arg_mutated(wrap: Wrap) -> Any:

    def g(x: Any, kept: Any) -> Any:
        kept["k"] = 5.0
        return x * 1

    f = wrap(g)
    out = []
    for _ in range(4):
        kept = {}
        out.append(shown(f(ones(), kept)))
        out.append(shown(kept))
    return out


def list_arg_mutated(wrap: Wrap) -> Any:

    def g(x: Any, kept: Any) -> Any:
        kept.append(1)
        return x * len(kept)

    f = wrap(g)
    out = []
    kept = []
    for _ in range(4):
        out.append(shown(f(ones(), kept)))
        out.append(list(kept))
    return out


def attr_missing(wrap: Wrap) -> Any:
    o = types.SimpleNamespace()
    f = wrap(lambda x: x * getattr(o, "k", 9.0))
    out = []
    for i in range(4):
        if i > 1:
            o.k = i
        out.append(shown(f(ones())))
    return out


def module_attr_missing(wrap: Wrap) -> Any:

    class M(nn.Module):
        def forward(self: Any, x: Any) -> Any:
            return x * getattr(self, "k", 9.0)

    o = M()
    f = wrap(o)
    out = []
    for i in range(4):
        if i > 1:
            o.k = i
        out.append(shown(f(ones())))
    return out


def module_dict_later_buffer(wrap: Wrap) -> Any:

    class M(nn.Module):
        def forward(self: Any, x: Any) -> Any:
            return x * getattr(self, "k", clew.tensor(9.0))

    o = M()
    f = wrap(o)
    out = []
    for i in range(4):
        if i == 2:
            o.register_buffer("k", clew.tensor(2.0))
        out.append(shown(f(ones())))
    return out


def swap_tensors(wrap: Wrap) -> Any:
    kept = [clew.ones(2), clew.zeros(2)]

    def g(x: Any) -> Any:
        kept[0].add_(1)
        r = kept[0] * x
        kept.reverse()
        return r

    f = wrap(g)
    return [shown(f(ones())) for _ in range(5)]


def func_attr(wrap: Wrap) -> Any:

    def h(x: Any) -> Any:
        return x * h.scale

    h.scale = 1.0
    f = wrap(lambda x: h(x))
    out = []
    for i in range(4):
        h.scale = i
        out.append(shown(f(ones())))
    return out


def func_attr_counter(wrap: Wrap) -> Any:

    def h(x: Any) -> Any:
        h.n += 1
        return x * 1

    h.n = 0
    f = wrap(h)
    for _ in range(4):
        f(ones())
    return h.n


def default_mutable(wrap: Wrap) -> Any:

    def h(x: Any, seen: Any = []) -> Any:  # noqa: B006  # the point of it
        seen.append(1)
        return x * len(seen)

    f = wrap(h)
    return [shown(f(ones())) for _ in range(4)]


def nonlocals(wrap: Wrap) -> Any:
    n = 0

    def g(x: Any) -> Any:
        nonlocal n
        n += 1
        return x * n

    f = wrap(g)
    return [shown(f(ones())) for i in range(4)]


def getattr_dyn(wrap: Wrap) -> Any:

    class A:
        def __getattr__(self: Any, n: Any) -> Any:
            return self.__dict__["d"][n]

    a = A()
    a.d = {"k": 1.0}
    f = wrap(lambda x: x * a.k)
    out = []
    for i in range(4):
        a.d["k"] = i
        out.append(shown(f(ones())))
    return out


def cached(wrap: Wrap) -> Any:
    k = [0.0]

    @functools.lru_cache
    def h(n: Any) -> Any:
        return k[0]

    f = wrap(lambda x: x * h(1))
    out = []
    for i in range(4):
        k[0] = i
        if i == 2:
            h.cache_clear()
        out.append(shown(f(ones())))
    return out


def returns_function(wrap: Wrap) -> Any:
    f = wrap(lambda x: lambda: x * 2)
    return [shown(f(ones() * i)()) for i in range(4)]


def returns_generator(wrap: Wrap) -> Any:

    def g(x: Any) -> Any:
        for i in range(2):
            yield (x * i)

    f = wrap(g)
    return [shown(list(f(ones() * i))) for i in range(4)]


def set_const_out(wrap: Wrap) -> Any:
    f = wrap(lambda x: (x * 2, {1, 2}, bytearray(b"a")))
    rs = [f(ones()) for i in range(4)]
    rs[1][1].add(3)
    return [list(r[1]) for r in rs]


def ndarray_const_out(wrap: Wrap) -> Any:
    f = wrap(lambda x: (x * 2, np.zeros(2)))
    rs = [f(ones()) for i in range(4)]
    rs[1][1][0] = 3
    return [r[1].tolist() for r in rs]


def custom_obj_const_out(wrap: Wrap) -> Any:

    class Kept:
        def __init__(self: Any) -> Any:
            self.l = []

    f = wrap(lambda x: (x * 2, Kept()))
    rs = [f(ones())[1] for i in range(4)]
    return [a is b for a in rs for b in rs]


def returns_state_container(wrap: Wrap) -> Any:
    d = {"a": clew.ones(2)}
    f = wrap(lambda x: d)
    return [f(ones()) is d for _ in range(3)]


def returns_arg_container(wrap: Wrap) -> Any:
    f = wrap(lambda d: d)
    out = []
    for _ in range(3):
        d = [ones()]
        out.append(f(d) is d)
    return out


SCENARIOS = [
    iterator, iterator_for, generator, generator_send, ndarray_global, deque, deque_append,
    set_content, slots, slots_changed, mappingproxy, userdict, list_subclass, bytes_changed,
    tlocal, weak_reference, dict_order_global, neg_zero, neg_zero_global, dict_arg_mutated,
    list_arg_mutated, attr_missing, module_attr_missing, module_dict_later_buffer, swap_tensors,
    func_attr, func_attr_counter, default_mutable, nonlocals, getattr_dyn, cached,
    returns_function, returns_generator, set_const_out, ndarray_const_out, custom_obj_const_out,
    returns_state_container, returns_arg_container,
]  # fmt: skip


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.__name__)
@pytest.mark.filterwarnings("ignore")
def test_compiled_is_eager(scenario: Any) -> None:
    assert_agreement(scenario)
