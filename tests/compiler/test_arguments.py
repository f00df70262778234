"""Arguments and state that share memory, or have other memory from one call to the next."""

from __future__ import annotations

from typing import Any

import pytest

import clew
from clew import nn
from tests.compiler.agreement import Wrap, assert_agreement, ones, shown


def alias_args(wrap: Wrap) -> Any:

    def g(a: Any, b: Any) -> Any:
        a.mul_(2)
        return b + a

    f = wrap(g)
    out = []
    for i in range(5):
        x = clew.arange(4.0)
        args = [(x, x), (x[:2], x[2:]), (x[:3], x[1:]), (x[:2], x[:2]), (x.clone(), x)][i]
        out.append(shown(f(*args)))
        out.append(shown(x))
    for i in range(5):
        x = clew.arange(4.0)
        args = [(x, x), (x[:2], x[2:]), (x[:3], x[1:]), (x[:2], x[:2]), (x.clone(), x)][i]
        out.append(shown(f(*args)))
        out.append(shown(x))
    return out


def alias_offsets(wrap: Wrap) -> Any:

    def g(a: Any, b: Any) -> Any:
        a.mul_(2)
        return b + a

    f = wrap(g)
    out = []
    for o in (0, 2, 1, 2, 0, 1, 2):
        x = clew.arange(4.0) + 1
        out.append(shown(f(x[:2], x[o : o + 2])))
        out.append(shown(x))
    return out


def offsets_merge(wrap: Wrap) -> Any:

    def g(a: Any, b: Any) -> Any:
        c = a[0]
        d = b[0]
        c.add_(1)
        return c + d

    f = wrap(g)
    out = []
    for o in (0, 2, 1, 2, 0):
        x = clew.arange(4.0)
        out.append(shown(f(x[:2], x[o : o + 2])))
        out.append(shown(x))
    return out


def view_then_base(wrap: Wrap) -> Any:

    def g(v: Any, b: Any) -> Any:
        b.mul_(2)
        return v + 1

    f = wrap(g)
    out = []
    for i in range(4):
        x = clew.arange(4.0) + i
        out.append(shown(f(x[1:3], x)))
        out.append(shown(x))
    return out


def view_then_base_read(wrap: Wrap) -> Any:

    def g(v: Any, b: Any) -> Any:
        y = v * 2
        b.mul_(2)
        return y + v

    f = wrap(g)
    out = []
    for i in range(4):
        x = clew.arange(4.0) + i
        out.append(shown(f(x[1:3], x)))
        out.append(shown(x))
    return out


def undo_view_then_base(wrap: Wrap) -> Any:

    def g(v: Any, b: Any) -> Any:
        b.mul_(2)
        if b.sum() > 30:
            return v * 0
        return v * 1

    f = wrap(g)
    out = []
    for i in (0, 1, 2, 9, 0, 9):
        x = clew.arange(4.0) + i
        out.append(shown(f(x[1:3], x)))
        out.append(shown(x))
    return out


def data_arg(wrap: Wrap) -> Any:

    def g(a: Any, b: Any) -> Any:
        a.mul_(2)
        return b * 1

    f = wrap(g)
    out = []
    for i in range(4):
        p = clew.ones(2, requires_grad=True)
        out.append(shown(f(p.data, p if i % 2 else clew.ones(2, requires_grad=True))))
    return out


def state_data_arg(wrap: Wrap) -> Any:
    s = clew.ones(2)

    def g(a: Any) -> Any:
        a.mul_(2)
        return s * 1

    f = wrap(g)
    out = []
    for i in range(4):
        out.append(shown(f(s.data if i % 2 else clew.ones(2))))
    return out


def arg_view_of_param(wrap: Wrap) -> Any:
    p = clew.arange(4.0).requires_grad_()

    def g(a: Any) -> Any:
        return (a * p[:2]).sum()

    f = wrap(g)
    out = []
    for o in (0, 2, 1, 2, 0, 1, 2):
        p.grad = None
        y = f(p[o : o + 2])
        y.backward()
        out += [shown(y), shown(p.grad)]
    return out


def arg_view_written(wrap: Wrap) -> Any:
    s = clew.arange(4.0)

    def g(a: Any) -> Any:
        a.add_(1)
        return a * s[:2]

    f = wrap(g)
    return [(shown(f(s[o : o + 2])), shown(s)) for o in (0, 2, 1, 2, 0, 1, 2)]


def arg_is_state(wrap: Wrap) -> Any:
    s = clew.arange(4.0)

    def g(a: Any) -> Any:
        return a * s

    f = wrap(g)
    out = []
    for i in range(6):
        out.append(shown(f(s if i % 2 else clew.ones(4))))
    return out


def tied(wrap: Wrap) -> Any:
    a, b = (nn.Linear(2, 2, bias=False), nn.Linear(2, 2, bias=False))
    a.weight.data.fill_(1.0)
    b.weight.data.fill_(2.0)
    m = nn.Sequential(a, b)
    f = wrap(m)
    out = []
    for i in range(6):
        if i == 2:
            b.weight = a.weight
        if i == 4:
            b.weight = nn.Parameter(clew.full((2, 2), 3.0))
        m.zero_grad()
        y = f(ones())
        y.sum().backward()
        out += [shown(y)] + [shown(p.grad) for p in m.parameters()]
    return out


def data_shared(wrap: Wrap) -> Any:
    a, b = (nn.Parameter(clew.ones(2)), nn.Parameter(clew.ones(2)))

    def g(x: Any) -> Any:
        with clew.no_grad():
            a.add_(1)
        return b * x

    f = wrap(g)
    out = []
    for i in range(6):
        if i == 2:
            b.data = a.data
        if i == 4:
            b.data = clew.ones(2)
        out.append(shown(f(ones())))
    return out


def arg_version(wrap: Wrap) -> Any:

    def g(x: Any) -> Any:
        x.add_(1)
        return x.sum()

    f = wrap(g)
    out = []
    for _ in range(3):
        x = ones()
        f(x)
        out.append(x._version)
    return out


def arg_version_saved(wrap: Wrap) -> Any:

    def g(x: Any) -> Any:
        x.add_(1)
        return x.sum()

    f = wrap(g)
    out = []
    for _ in range(3):
        x = ones()
        p = clew.ones(2, requires_grad=True)
        y = (p * x).sum()
        f(x)
        try:
            y.backward()
            out.append("none")
        except RuntimeError:
            out.append("modified")
    return out


def param_changes(wrap: Wrap) -> Any:
    m = nn.Linear(2, 2, bias=False)
    m.weight.data.fill_(1.0)
    f = wrap(m)
    out = []
    out.append(shown(f(ones())))
    m.weight.data = clew.full((2, 2), 3.0)
    out.append(shown(f(ones())))
    m.load_state_dict({"weight": clew.full((2, 2), 4.0)})
    out.append(shown(f(ones())))
    m.to(clew.float64)
    out.append(shown(f(ones().double())))
    m.to(clew.float32)
    out.append(shown(f(ones())))
    m.weight.requires_grad_(False)
    out.append(shown(f(ones())))
    m.weight.requires_grad_(True)
    out.append(shown(f(ones())))
    m.load_state_dict({"weight": clew.full((2, 2), 5.0)}, assign=True)
    out.append(shown(f(ones())))
    m.weight.data = m.weight.data.t()
    out.append(shown(f(ones())))
    del m.weight
    m.register_parameter("weight", nn.Parameter(clew.full((2, 2), 6.0)))
    out.append(shown(f(ones())))
    m._parameters["weight"] = nn.Parameter(clew.full((2, 2), 7.0))
    out.append(shown(f(ones())))
    return out


def data_set_inside(wrap: Wrap) -> Any:
    p = clew.ones(2, requires_grad=True)

    def g(x: Any) -> Any:
        p.data = p.data + x
        return p * 1

    f = wrap(g)
    return [shown(f(ones())) for _ in range(4)] + [shown(p)]


def data_write_inside(wrap: Wrap) -> Any:
    p = clew.ones(2, requires_grad=True)

    def g(x: Any) -> Any:
        p.data.add_(x)
        p.data[0] = 3.0
        return p * 1

    f = wrap(g)
    out = []
    for _ in range(4):
        out.append(shown(f(ones())))
        out.append(p._version)
    return out


def inplace_arg_grad(wrap: Wrap) -> Any:

    def g(x: Any) -> Any:
        x.mul_(2)
        return x.sum()

    f = wrap(g)
    out = []
    for _ in range(3):
        p = clew.ones(2, requires_grad=True)
        x = p * 3
        y = f(x)
        out += [shown(x), shown(y)]
        y.backward()
        out.append(shown(p.grad))
    return out


def inplace_arg_grad_view(wrap: Wrap) -> Any:

    def g(x: Any) -> Any:
        x[0].mul_(2)
        return x.sum()

    f = wrap(g)
    out = []
    for _ in range(3):
        p = clew.ones(2, requires_grad=True)
        x = p * 3
        y = f(x)
        out += [shown(x), shown(y)]
        (y + x.sum()).backward()
        out.append(shown(p.grad))
    return out


def shape_branch_nonzero(wrap: Wrap) -> Any:

    def g(x: Any) -> Any:
        n = x.nonzero()
        return n.shape[0] * x

    f = wrap(g)
    return [shown(f(clew.tensor(v))) for v in ([1.0, 0.0], [1.0, 1.0], [0.0, 0.0], [0.0, 1.0])]


def exceptions(wrap: Wrap) -> Any:

    class E(Exception):
        pass

    def g(x: Any) -> Any:
        if x.sum() > 2:
            raise E(f"{x.sum().item()}")
        return x * 2

    f = wrap(g)
    out = []
    for v in (1.0, 5.0, 1.0, 6.0, 0.5, 7.0):
        try:
            out.append(shown(f(clew.full((2,), v))))
        except E as e:
            out.append(str(e))
    return out


def exception_after_write(wrap: Wrap) -> Any:
    s = clew.zeros(2)

    def g(x: Any) -> Any:
        s.add_(1)
        if x.sum() > 2:
            raise ValueError
        s.add_(10)
        return x * 2

    f = wrap(g)
    out = []
    for v in (1.0, 1.0, 5.0, 1.0, 6.0, 0.5, 7.0):
        try:
            out.append(shown(f(clew.full((2,), v))))
        except ValueError:
            out.append("E")
        out.append(s.tolist())
        out.append(s._version)
    return out


def caught_inside_t(wrap: Wrap) -> Any:

    def g(x: Any, i: Any) -> Any:
        try:
            return clew.index_select(x, 0, i)
        except IndexError:
            return x * 0

    f = wrap(g)
    return [shown(f(ones(), clew.tensor([i]))) for i in (0, 1, 5, 0, 5, 5)]


def recursion(wrap: Wrap) -> Any:
    box = {}

    def g(x: Any) -> Any:
        if x.sum() < 10:
            return box["f"](x * 2)
        return x

    f = box["f"] = wrap(g)
    return [shown(f(clew.full((2,), float(v)))) for v in (1, 2, 1, 3, 1, 20)]


def nested_compiled(wrap: Wrap) -> Any:
    h = wrap(lambda x: x * 2 + 1)
    f = wrap(lambda x: h(x) + h(x.sum()))
    return [shown(f(clew.full((2,), float(v)))) for v in (1, 2, 1, 3, 1, 20)]


SCENARIOS = [
    alias_args,
    alias_offsets,
    offsets_merge,
    view_then_base,
    view_then_base_read,
    undo_view_then_base,
    data_arg,
    state_data_arg,
    arg_view_of_param,
    arg_view_written,
    arg_is_state,
    tied,
    data_shared,
    arg_version,
    arg_version_saved,
    param_changes,
    data_set_inside,
    data_write_inside,
    inplace_arg_grad,
    inplace_arg_grad_view,
    shape_branch_nonzero,
    exceptions,
    exception_after_write,
    caught_inside_t,
    recursion,
    nested_compiled,
]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.__name__)
@pytest.mark.filterwarnings("ignore")
def test_compiled_is_eager(scenario: Any) -> None:
    assert_agreement(scenario)


def test_sparse_gradients_and_arguments_run_eagerly() -> None:
    def trained(compiled: bool) -> list[float]:
        clew.manual_seed(0)
        table, index = clew.nn.Embedding(10, 4, sparse=True), clew.tensor([1, 2, 3, 1])
        optimizer = clew.optim.SGD(table.parameters(), lr=0.1)

        def step(index: clew.Tensor) -> clew.Tensor:
            optimizer.zero_grad()
            loss = table(index).pow(2).sum()
            loss.backward()
            optimizer.step()
            return loss

        run = clew.compile(step) if compiled else step
        return [run(index).item() for _ in range(4)]

    assert trained(True) == trained(False)
    table = clew.nn.Embedding(10, 4, sparse=True)
    clew.compile(table)(clew.tensor([1, 2])).sum().backward()
    assert table.weight.grad is not None and table.weight.grad.is_sparse
    product = clew.compile(clew.sparse.mm)
    matrix, x = clew.eye(3).to_sparse(), clew.arange(6.0).reshape(3, 2)
    for _ in range(2):
        assert clew.equal(product(matrix, x), x)
    assert "not strided" in product.explain("summary")
