"""Tracing: the graphs and the code of programs are PyTorch's, to the letter."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any, List, Optional  # noqa: UP035  (annotations as programs write them)

import pytest

import clew
from tests.twice import raised, twice


def shown(lib: Any, program: Any, **options: Any) -> tuple[str, str]:
    """The code and the graph of a program."""
    traced = lib.fx.symbolic_trace(program, **options)
    return traced.code, str(traced.graph)


def model(lib: Any) -> Any:
    class M(lib.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lin = lib.nn.Linear(4, 5)
            self.param = lib.nn.Parameter(lib.rand(3, 4))
            self.register_buffer("buf", lib.ones(5))
            self.seq = lib.nn.Sequential(lib.nn.ReLU(), lib.nn.Linear(5, 5))
            self.drop = lib.nn.Dropout(0.1)

        def forward(self, x: Any, y: Any = None, *, z: int = 3) -> Any:
            a = self.lin(x + self.param)
            b = lib.nn.functional.relu(a).clamp(min=0.0, max=1.0)
            c = lib.cat([b, self.buf.expand(3, 5)], dim=-1)[:, :5]
            d = self.seq(c) * 2 - 1
            e = lib.sum(d, dim=(0, 1), keepdim=True)
            f = e.shape[0]
            g = -d.view(f, -1) @ d.t().reshape(-1, f)
            k = d.size(0) + 1
            parts = [k, d[0, ...], d[None], d[1:k:2]]
            return {"a": (g.T, lib.add(d, 1, alpha=2)), "b": parts, "c": self.drop(d).softmax(-1)}

    return M()


@twice
def test_a_model(lib: Any) -> Any:
    model_of_lib = model(lib)
    traced = lib.fx.symbolic_trace(model_of_lib)
    # Parameters and annotations are named by their library.
    graph = str(traced.graph).replace("typing.Any", "")
    return traced.code.replace(" : typing_Any", ""), graph, list(traced.state_dict())


def test_a_traced_model_computes_the_same() -> None:
    original = model(clew)
    original.drop.p = 0.0
    traced = clew.fx.symbolic_trace(original)
    x = clew.rand(3, 4)
    expected, actual = original(x), traced(x)
    assert clew.equal(expected["c"], actual["c"])
    assert clew.equal(expected["a"][1], actual["a"][1])
    again = clew.fx.Interpreter(traced).run(x)
    assert clew.equal(expected["c"], again["c"])
    actual["c"].sum().backward()
    assert original.lin.weight.grad is traced.lin.weight.grad is not None


@twice
def test_operators(lib: Any) -> Any:
    def program(x, y):  # type: ignore[no-untyped-def]  # annotations would be shown
        return [
            x - y, y / x, x // 2, 2 // x, x % 3, x**2, 2**x, x << 1, x >> 1, x & y, x | y, x ^ y,
            ~x, -x, +x, x == y, x != y, x < y, x <= 1, x > y, x >= y, x @ y, 1 - x, abs(x), x[0],
            x[y], x.T,
        ]  # fmt: skip

    def in_place(x, y):  # type: ignore[no-untyped-def]  # the same
        x += y
        x -= 1
        return x

    def unpacked(x):  # type: ignore[no-untyped-def]  # the same
        a, b = x.split(2)
        return a + b

    return shown(lib, program), shown(lib, in_place), shown(lib, unpacked)


@twice
def test_functions_and_methods(lib: Any) -> Any:
    F = lib.nn.functional
    programs = [
        lambda x, w, b: F.layer_norm(F.dropout(F.linear(x, w, b), 0.5, training=False), (3,)),
        lambda x, w: [F.softmax(x, dim=1), F.gelu(x), F.cross_entropy(x, w), F.pad(x, (1, 2))],
        lambda x: [F.normalize(x), F.interpolate(x, scale_factor=2), F.max_pool2d(x, 2)],
        lambda x, w: [F.conv2d(x, w), F.batch_norm(x, None, None, training=True), F.silu(x)],
        lambda x, w: [F.embedding(x, w), F.mse_loss(x, w), F.leaky_relu(x), F.avg_pool2d(x, 2)],
        lambda x, y: [lib.split(x, 2), lib.einsum("ij,jk->ik", x, y), lib.norm(x)],
        lambda x, y: [lib.stack([x, y]), lib.where(x > 0, x, y), lib.tensordot(x, y, 1)],
        lambda x, y: [lib.topk(x, 2), lib.unique(x), lib.meshgrid(x, y, indexing="ij")],
        lambda x, y: [lib.cdist(x, y), lib.relu(x), x.sigmoid_(), lib.max(x, dim=1)[0]],
        lambda x: [lib.linalg.inv(x), lib.fft.fft(x), lib.special.ndtri(x), lib.linalg.norm(x)],
        lambda x: x.float().max(dim=1)[0].unsqueeze(-1).contiguous().permute(0, 1).type_as(x),
        lambda x: x.norm().split(2)[0].unique().sum(-1, keepdim=True),
        lambda x: (x.shape, x.device, x.foo, x.bar(1, k=2), x.view(-1).view(2, -1)),
        lambda x: x.to(lib.float64).to(lib.device("cpu")).sum(dtype=lib.int64) + float("inf"),
        lambda x: x.masked_fill(x > 0, -math.inf) + float("nan"),
        lambda x: x.__setitem__(0, 1),
        lambda x: math.sqrt(x),
    ]
    return [shown(lib, program) for program in programs]


@twice
def test_constants_and_numbers_of_tensors(lib: Any) -> Any:
    return [
        shown(lib, lambda x: x + lib.ones(2)),
        shown(lib, lambda x: lib.zeros(2, 3) + x),
        shown(lib, lambda x: lib.zeros(x.shape[0]) + lib.randn_like(x)),
        shown(lib, lambda x: 3),
        shown(lib, lambda x: None),
        shown(lib, lambda x: ((x,), [x], {"a": (x,)}, slice(x, None))),
        shown(lib, lambda x: (x + 1, x * 2)[0]),
        shown(lib, lambda x: str(x)),
    ]


@twice
def test_parameters_of_functions(lib: Any) -> Any:
    def annotated(x, y: Optional[int] = None, z: List[int] = None, *args, **kw):  # type: ignore[no-untyped-def]  # noqa: RUF013, UP006, UP045  (as programs write them)
        return x

    return [
        shown(lib, annotated),
        shown(lib, lambda *args, **kw: args[0] + kw["a"]),
        shown(lib, lambda input, max, _x: input + max + _x),
        shown(lib, lambda x, flag: x + 1 if flag else x - 1, concrete_args={"flag": True}),
        shown(lib, lambda x, n=3: x + n, concrete_args={"n": 5}),
    ]


def nested(lib: Any) -> tuple[Any, Any]:
    class Inner(lib.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lin = lib.nn.Linear(2, 2)

        def forward(self, x, k=1):  # type: ignore[no-untyped-def]  # annotations would be shown
            return self.lin(x) * k

    class Outer(lib.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = Inner()
            self.seq = lib.nn.Sequential(lib.nn.Linear(2, 2), Inner())
            self.layers = lib.nn.ModuleList([lib.nn.Linear(2, 2) for _ in range(2)])
            self.w = lib.nn.Parameter(lib.ones(2))
            self.register_buffer("b", lib.ones(2))
            self.c = lib.ones(2)

        def forward(self, x):  # type: ignore[no-untyped-def]  # the same
            x = self.seq(self.inner(x, k=2)) + self.inner.lin.weight
            for layer in self.layers:
                x = layer(x)
            return x + self.w + self.w * self.b + self.b + self.c

    return Inner, Outer()


@twice
def test_modules_inside_of_modules(lib: Any) -> Any:
    Inner, outer = nested(lib)

    class Leaves(lib.fx.Tracer):
        def is_leaf_module(self, m: Any, module_qualified_name: str) -> bool:
            return isinstance(m, Inner) or super().is_leaf_module(m, module_qualified_name)

    traced = lib.fx.symbolic_trace(outer)
    stacks = [list(node.meta.get("nn_module_stack", {})) for node in traced.graph.nodes]
    graph = Leaves().trace(outer)
    return traced.code, str(traced.graph), str(traced), stacks, str(graph)


@twice
def test_what_cannot_be_traced(lib: Any) -> Any:
    programs = [
        lambda x: x if x > 0 else -x, lambda x: list(x), lambda x: len(x), lambda x: int(x),
        lambda x: float(x), lambda x: range(x), lambda x: 1 in x, lambda x: not x,
        lambda x: x and 1, lambda x: max(x, 1), lambda x: [1, 2][x], lambda x: x + object(),
        lambda x: f"{x.shape[0]:d}" if x.shape[0] else 1,
    ]  # fmt: skip

    def assigned(x: Any) -> Any:
        x[0] = 1
        return x

    wrong = [raised(lib.fx.symbolic_trace, program, words=12) for program in programs]
    wrong.append(raised(lib.fx.symbolic_trace, assigned))
    wrong += [raised(lib.fx.wrap, 3), raised(lib.fx.wrap, "len")]
    return wrong


def helper(x: Any, n: int) -> Any:
    return x + n


clew.fx.wrap("helper")
clew.fx.wrap("sorted")


def test_wrapped_functions_are_steps() -> None:
    traced = clew.fx.symbolic_trace(lambda x: helper(x, 2) * sorted(x)[-1])
    assert [node.name for node in traced.graph.nodes] == [
        "x", "helper", "sorted_1", "getitem", "mul", "output",
    ]  # fmt: skip
    assert traced(clew.arange(3.0)).tolist() == [4.0, 6.0, 8.0]
    assert helper(clew.ones(1), 1).item() == 2
    assert sorted([2, 1]) == [1, 2]


def test_modules_are_as_they_were_after_a_trace() -> None:
    before = clew.nn.Module.__call__, clew.nn.Module.__getattr__, math.sqrt
    with pytest.raises(clew.fx.proxy.TraceError, match="control flow"):
        clew.fx.symbolic_trace(lambda x: 1 if math.sqrt(x) else 2)
    assert (clew.nn.Module.__call__, clew.nn.Module.__getattr__, math.sqrt) == before


def test_shapes_of_parameters_may_be_constants() -> None:
    class Scaled(clew.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = clew.nn.Parameter(clew.ones(2, 3))

        def forward(self, x: Any) -> Any:
            assert clew.fx._symbolic_trace.is_fx_tracing()
            return x.view(self.w.shape) * self.w if self.w.dim() == 2 else x

    tracer = clew.fx.Tracer(param_shapes_constant=True)
    names = [node.name for node in tracer.trace(Scaled()).nodes]
    assert names == ["x", "w", "view", "mul", "output"]
    assert not clew.fx._symbolic_trace.is_fx_tracing()


@twice
def test_arguments_that_are_nested(lib: Any) -> Any:
    """Structures of arguments are known, and some of their leaves."""
    PH = lib.fx.PH

    def program(d, y, z):  # type: ignore[no-untyped-def]  # annotations would be shown
        return {"o": d["a"] + y, "p": [d["b"][0], z]}

    def by_name(x, *, d):  # type: ignore[no-untyped-def]  # the same
        return x + d["a"]

    numbers = (PH, "s", 2.5, True)
    shown_ones = [
        shown(lib, program, concrete_args={"d": {"a": PH, "b": [PH, 3]}, "z": None}),
        shown(lib, program, concrete_args={"d": {"a": PH, "b": [PH, PH]}, "y": PH}),
        shown(lib, by_name, concrete_args={"d": {"a": PH}}),
        shown(lib, lambda a, b: b, concrete_args={"a": ()}),
        shown(lib, lambda a, b: b, concrete_args=((PH, PH), 2)),
        shown(lib, lambda a, b: a + b, concrete_args={"a": 1, "b": 2}),
        shown(lib, lambda a, b: a[0] + b, concrete_args={"a": numbers}),
    ]
    traced = lib.fx.symbolic_trace(program, concrete_args={"d": {"a": PH, "b": [PH, 3]}, "z": None})
    one, two = lib.ones(1), lib.ones(2)
    copied = copy.deepcopy(traced)
    given = {"a": two, "b": [one, 3]}
    wrong = raised(traced, {"a": two, "b": [one, 4]}, two, None), raised(traced, {"a": 1}, 1, None)
    out = traced(given, two, None), copied(given, two, None)
    return shown_ones, out, wrong, lib.fx.Interpreter(traced).run(given, two, None)


def test_modules_with_nested_arguments() -> None:
    """The module itself is no argument of the generated code."""

    class Pair(clew.nn.Module):
        def forward(self, a: Any, b: Any = 2) -> Any:
            return a[0] * a[1] + b

    PH = clew.fx.PH
    traced = clew.fx.symbolic_trace(Pair(), concrete_args={"a": (PH, PH)})
    assert "fx_pytree.tree_flatten_spec([a, b], self._in_spec)" in traced.code
    again = pickle.loads(pickle.dumps(clew.fx.GraphModule(traced, traced.graph)))
    for each in (traced, again, clew.fx.Transformer(traced).transform()):
        assert each((3, 4), 5) == 17
    assert clew.fx.Interpreter(traced).run((3, 4), 5) == 17
