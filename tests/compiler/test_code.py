"""The code of a captured function, and what it asks of the world: clocks, files, random numbers."""

from __future__ import annotations

import contextlib
import contextvars
import functools
import io
import logging
import os
import random
import sys
import time
import types
import uuid
import warnings
from typing import Any

import pytest

from clew import nn
from tests.compiler.agreement import Wrap, assert_agreement, ones, shown


class Cfg:
    scale = 1.0
    lst = None


class Meth:
    table = None

    def __init__(self: Any) -> Any:
        self.k = 2.0

    def __call__(self: Any, x: Any) -> Any:
        return x * self.k * self.table[0]

    def m(self: Any, x: Any) -> Any:
        return x * self.k

    @classmethod
    def c(cls: Any, x: Any) -> Any:
        return x * cls.table[0]

    @staticmethod
    def st(x: Any) -> Any:
        return x * Meth.table[0]

    @property
    def p(self: Any) -> Any:
        return self.k


def env(wrap: Wrap) -> Any:
    f = wrap(lambda x: x * float(os.environ.get("CT_X", "1")))
    out = []
    for i in range(4):
        os.environ["CT_X"] = str(i)
        out.append(shown(f(ones())))
    return out


def class_attr(wrap: Wrap) -> Any:
    Cfg.scale = 1.0
    out = []
    f = wrap(lambda x: x * Cfg.scale)
    for i in range(4):
        Cfg.scale = i
        out.append(shown(f(ones())))
    return out


def class_attr_list(wrap: Wrap) -> Any:
    Cfg.lst = [1.0]
    out = []
    f = wrap(lambda x: x * Cfg.lst[0])
    for i in range(4):
        Cfg.lst[0] = i
        out.append(shown(f(ones())))
    return out


def callable_obj(wrap: Wrap) -> Any:
    Meth.table = [1.0]
    o = Meth()
    f = wrap(o)
    out = []
    for i in range(4):
        o.k = i
        Meth.table[0] = i + 1.0
        out.append(shown(f(ones())))
    return out


def methods(wrap: Wrap) -> Any:
    out = []
    Meth.table = [1.0]
    o = Meth()
    fs = [wrap(o.m), wrap(Meth.c), wrap(Meth.st), wrap(functools.partial(o.m))]
    for i in range(3):
        o.k = i
        Meth.table[0] = i + 1.0
        out += [shown(f(ones())) for f in fs]
    return out


def defaults_replaced(wrap: Wrap) -> Any:

    def h(x: Any, k: Any = 1.0) -> Any:
        return x * k

    f = wrap(lambda x: h(x))
    out = []
    for i in range(4):
        h.__defaults__ = (float(i),)
        out.append(shown(f(ones())))
    return out


def dyn_globals(wrap: Wrap) -> Any:
    f = wrap(lambda x: x * globals()["DYN"])
    out = []
    for i in range(4):
        globals()["DYN"] = i
        out.append(shown(f(ones())))
    return out


def evaluated(wrap: Wrap) -> Any:
    f = wrap(lambda x: x * eval("DYN"))
    out = []
    for i in range(4):
        globals()["DYN"] = i
        out.append(shown(f(ones())))
    return out


def import_inside(wrap: Wrap) -> Any:
    m = types.ModuleType("ct_mod")
    sys.modules["ct_mod"] = m

    def g(x: Any) -> Any:
        import ct_mod

        return x * ct_mod.k

    f = wrap(g)
    out = []
    for i in range(4):
        m.k = i
        out.append(shown(f(ones())))
    return out


def module_nofile(wrap: Wrap) -> Any:
    global ct_mod2
    ct_mod2 = types.ModuleType("ct_mod2")
    f = wrap(lambda x: x * ct_mod2.k)
    out = []
    for i in range(4):
        ct_mod2.k = i
        out.append(shown(f(ones())))
    return out


def module_nested(wrap: Wrap) -> Any:
    global ct_mod3
    ct_mod3 = types.ModuleType("ct_mod3")
    ct_mod3.__file__ = "/tmp/x.py"
    ct_mod3.sub = types.ModuleType("ct_mod3.sub")
    ct_mod3.sub.__file__ = "/tmp/y.py"
    f = wrap(lambda x: x * ct_mod3.sub.k)
    out = []
    for i in range(4):
        ct_mod3.sub.k = i
        out.append(shown(f(ones())))
    return out


def name_missing(wrap: Wrap) -> Any:
    globals().pop("LATER", None)

    def g(x: Any) -> Any:
        try:
            return x * LATER
        except NameError:
            return x * 7

    f = wrap(g)
    out = []
    for i in range(4):
        if i > 1:
            globals()["LATER"] = i
        out.append(shown(f(ones())))
    return out


def class_method_replaced(wrap: Wrap) -> Any:

    class A:
        def h(self: Any, x: Any) -> Any:
            return x * 1

    a = A()
    f = wrap(lambda x: a.h(x))
    out = []
    for i in range(4):
        if i == 2:
            A.h = lambda self, x: x * 5
        out.append(shown(f(ones())))
    return out


def class_property(wrap: Wrap) -> Any:
    vals = [1.0]

    class A:
        @property
        def h(self: Any) -> Any:
            return vals[0]

    a = A()
    f = wrap(lambda x: x * a.h)
    out = []
    for i in range(4):
        vals[0] = i
        out.append(shown(f(ones())))
    return out


def metaclass(wrap: Wrap) -> Any:

    class Me(type):
        k = 1.0

        @property
        def s(cls: Any) -> Any:
            return cls.k

    class A(metaclass=Me):
        pass

    f = wrap(lambda x: x * A.s)
    out = []
    for i in range(4):
        Me.k = i
        out.append(shown(f(ones())))
    return out


def ctx_manager(wrap: Wrap) -> Any:
    log = []

    class C:
        def __enter__(self: Any) -> Any:
            log.append("in")

        def __exit__(self: Any, *a: Any) -> Any:
            log.append("out")

    def g(x: Any) -> Any:
        with C():
            return x * 2

    f = wrap(g)
    for _ in range(4):
        f(ones())
    return log


def printing(wrap: Wrap) -> Any:

    def g(x: Any) -> Any:
        print("hello")
        return x * 2

    f = wrap(g)
    b = io.StringIO()
    with contextlib.redirect_stdout(b):
        for _ in range(4):
            f(ones())
    return b.getvalue()


def stringio(wrap: Wrap) -> Any:
    b = io.StringIO()

    def g(x: Any) -> Any:
        b.write("h")
        return x * 2

    f = wrap(g)
    for _ in range(4):
        f(ones())
    return b.getvalue()


def warn(wrap: Wrap) -> Any:

    def g(x: Any) -> Any:
        warnings.warn("hey", stacklevel=2)
        return x * 2

    f = wrap(g)
    with warnings.catch_warnings(record=True) as r:
        warnings.simplefilter("always")
        for _ in range(4):
            f(ones())
    return len(r)


def random_instance(wrap: Wrap) -> Any:
    r = random.Random(0)
    f = wrap(lambda x: x * r.random())
    return [shown(f(ones())) for _ in range(4)]


def file_write(wrap: Wrap) -> Any:
    p = "/tmp/comptest/v.txt"
    open(p, "w").close()

    def g(x: Any) -> Any:
        with open(p, "a") as h:
            h.write("x")
        return x * 1

    f = wrap(g)
    for _ in range(4):
        f(ones())
    return open(p).read()


def logged(wrap: Wrap) -> Any:
    lg = logging.getLogger("ct")
    recs = []

    class H(logging.Handler):
        def emit(self: Any, r: Any) -> Any:
            recs.append(1)

    lg.handlers = [H()]
    lg.setLevel("INFO")
    lg.propagate = False

    def g(x: Any) -> Any:
        lg.info("a")
        return x * 1

    f = wrap(g)
    for _ in range(4):
        f(ones())
    return len(recs)


def contextvar(wrap: Wrap) -> Any:
    c = contextvars.ContextVar("c", default=1.0)
    f = wrap(lambda x: x * c.get())
    out = []
    for i in range(4):
        c.set(float(i))
        out.append(shown(f(ones())))
    return out


def unique_ids(wrap: Wrap) -> Any:
    f = wrap(lambda x: (x, str(uuid.uuid4())))
    return len({f(ones())[1] for _ in range(4)})


def perf_attr(wrap: Wrap) -> Any:

    class M(nn.Module):
        def forward(self: Any, x: Any) -> Any:
            t = time.perf_counter()
            y = x * 2
            self.t = time.perf_counter() - t
            return y

    m = M()
    f = wrap(m)
    rs = []
    for _ in range(4):
        f(ones())
        rs.append(m.t)
    return len(set(rs)) > 2


SCENARIOS = [
    env, class_attr, class_attr_list, callable_obj, methods, defaults_replaced, dyn_globals,
    evaluated, import_inside, module_nofile, module_nested, name_missing, class_method_replaced,
    class_property, metaclass, ctx_manager, printing, stringio, warn, random_instance,
    file_write, logged, contextvar, unique_ids, perf_attr,
]  # fmt: skip


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.__name__)
@pytest.mark.filterwarnings("ignore")
def test_compiled_is_eager(scenario: Any) -> None:
    assert_agreement(scenario)
