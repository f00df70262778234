"""Graphs: made by hand, changed, run, transformed, copied."""

from __future__ import annotations

import copy
import importlib
import operator
import pickle
import sys
from pathlib import Path
from typing import Any

import pytest

import clew
from tests.twice import raised, twice


def build(lib: Any) -> Any:
    graph = lib.fx.Graph()
    x, w = graph.placeholder("x"), graph.get_attr("w")
    a = graph.call_function(lib.add, (x, w))
    b = graph.call_method("relu", (a,))
    c = graph.call_module("lin", (b,), {})
    graph.output((c, [a, {"k": b}]))
    return graph


def root(lib: Any) -> Any:
    module = lib.nn.Module()
    module.w = lib.nn.Parameter(lib.ones(2))
    module.lin = lib.nn.Linear(2, 2)
    return module


@twice
def test_a_graph_made_by_hand(lib: Any) -> Any:
    graph = build(lib)
    module = lib.fx.GraphModule(root(lib), graph, "ByHand")
    graph.lint()
    other = lib.fx.Graph()
    other.graph_copy(graph, {})
    names = type(module).__name__, type(module).__mro__[1].__name__, sorted(module.state_dict())
    found = [str(node) for node in graph.find_nodes(op="call_method", target="relu")]
    return str(graph), module.code, str(module), names, str(copy.deepcopy(graph)), str(other), found


@twice
def test_changes(lib: Any) -> Any:
    graph = build(lib)
    nodes = {node.name: node for node in graph.nodes}
    with graph.inserting_after(nodes["add"]):
        twice_as_much = graph.call_function(lib.mul, (nodes["add"], 2))
    nodes["relu"].args = (twice_as_much,)
    with graph.inserting_before(nodes["lin"]):
        negative = graph.call_method("neg", (nodes["relu"],))
    nodes["lin"].replace_input_with(nodes["relu"], negative)
    nodes["lin"].update_kwarg("k", 1)
    nodes["add"].insert_arg(0, 5)
    nodes["add"].update_arg(0, nodes["x"])
    graph.lint()
    users = [str(node) for node in nodes["add"].users]
    around = str(nodes["add"].next), str(nodes["add"].prev), str(nodes["add"].all_input_nodes)
    with graph.inserting_before(nodes["add"]):
        other = graph.call_function(lib.sub, (nodes["x"], nodes["w"]))
    replaced = [str(node) for node in nodes["add"].replace_all_uses_with(other)]
    graph.erase_node(nodes["add"])
    nodes["x"].append(nodes["lin"])
    return str(graph), users, around, replaced, raised(graph.lint), len(graph.nodes)


@twice
def test_wrong_changes(lib: Any) -> Any:
    graph = build(lib)
    nodes = list(graph.nodes)
    wrong = [
        raised(graph.erase_node, nodes[2]),
        raised(nodes[-1].args[0][1].append, 1),
        raised(nodes[-1].args[0][1][1].__setitem__, "a", 1),
        raised(graph.create_node, "foo", "x"),
        raised(graph.call_module, 3),
        raised(lib.fx.GraphModule, lib.nn.Module(), graph),
        raised(lib.fx.GraphModule, {}, graph),
    ]
    nodes[2].args = (nodes[4],)
    return wrong, raised(graph.lint, words=20)


@twice
def test_dead_code(lib: Any) -> Any:
    traced = lib.fx.symbolic_trace(lambda x: (x + 1, x * 2, lib._assert(True, "no"))[0])
    changed = traced.graph.eliminate_dead_code(), traced.graph.eliminate_dead_code()
    traced.recompile()
    return changed, traced.code


@twice
def test_transformers(lib: Any) -> Any:
    class Swap(lib.fx.Transformer):
        def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
            if target is operator.add:
                return lib.sub(*args)
            return super().call_function(target, args, kwargs)

        def call_method(self, target: Any, args: Any, kwargs: Any) -> Any:
            return super().call_method("tanh" if target == "relu" else target, args, kwargs)

    layer = lib.nn.Sequential(lib.nn.Linear(2, 2))
    traced = lib.fx.symbolic_trace(lambda x, y=2: (x + y).relu())
    return Swap(traced).transform().code, Swap(lib.fx.symbolic_trace(layer)).transform().code


@twice
def test_patterns(lib: Any) -> Any:
    def program(a, b, c):  # type: ignore[no-untyped-def]  # annotations would be shown
        return lib.cat([a, b]).sum() + lib.cat([b, c]).sum() * 2

    traced = lib.fx.symbolic_trace(program)
    found = lib.fx.replace_pattern(
        traced, lambda x, y: lib.cat([x, y]).sum(), lambda x, y: lib.stack([x, y]).mean()
    )
    nothing = lib.fx.replace_pattern(traced, lambda x: x.exp(), lambda x: x)
    chained = lib.fx.symbolic_trace(lambda x: x.neg().relu().neg().relu())
    lib.fx.replace_pattern(chained, lambda x: x.neg().relu(), lambda x: x.abs())
    return len(found), str(found[0].anchor), traced.code, str(traced.graph), nothing, chained.code


@twice
def test_submodules(lib: Any) -> Any:
    layer = lib.nn.Sequential(lib.nn.Linear(2, 2), lib.nn.ReLU())
    traced = lib.fx.symbolic_trace(layer)
    done = [
        traced.add_submodule("new.a", lib.nn.ReLU()),
        traced.add_submodule("1.b", lib.nn.ReLU()),
        traced.delete_submodule("nope"),
        traced.delete_submodule("1.b"),
    ]
    before = [name for name, _ in traced.named_modules()]
    traced.delete_all_unused_submodules()
    return done, before, [name for name, _ in traced.named_modules()]


@twice
def test_shapes(lib: Any) -> Any:
    importlib.import_module(f"{lib.__name__}.fx.passes.shape_prop")
    layer = lib.nn.Sequential(lib.nn.Conv2d(1, 2, 3), lib.nn.ReLU(), lib.nn.Flatten())
    traced = lib.fx.symbolic_trace(layer)
    lib.fx.passes.shape_prop.ShapeProp(traced).propagate(lib.ones(4, 1, 5, 5))
    found = []
    for node in traced.graph.nodes:
        meta = node.meta["tensor_meta"]
        format_ = str(meta.memory_format)
        found.append((list(meta.shape), str(meta.dtype), meta.stride, format_, meta.requires_grad))
    return found


class Small(clew.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lin = clew.nn.Linear(2, 3)
        self.w = clew.nn.Parameter(clew.rand(3))

    def forward(self, x: Any) -> Any:
        return clew.relu(self.lin(x)) * self.w + float("inf")


def test_copies() -> None:
    traced = clew.fx.symbolic_trace(Small().eval())
    x = clew.rand(4, 2)
    for other in (copy.deepcopy(traced), pickle.loads(pickle.dumps(traced)), copy.copy(traced)):
        assert isinstance(other, clew.fx.GraphModule)
        assert type(other).__name__ == "Small"
        assert other.code == traced.code
        assert not other.training
        assert clew.equal(other(x), traced(x))
        assert other.graph.owning_module is other or type(other) is not type(traced)
    copied = copy.deepcopy(traced)
    copied.w.data.zero_()
    assert traced.w.abs().sum() > 0


def test_errors_show_the_generated_line() -> None:
    traced = clew.fx.symbolic_trace(lambda x: clew.cat([x, x]) @ x)
    with pytest.raises(RuntimeError, match=r"matmul = cat @ x"):
        traced(clew.ones(2, 3))
    with pytest.raises(RuntimeError) as caught:
        clew.fx.Interpreter(traced).run(clew.ones(2, 3))
    assert "While executing %matmul" in caught.value.__notes__[0]


def test_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    traced = clew.fx.symbolic_trace(Small())
    traced.to_folder(tmp_path / "small_package", "Small")
    monkeypatch.syspath_prepend(str(tmp_path))
    with clew.as_torch():
        loaded = importlib.import_module("small_package").Small()
    x = clew.rand(1, 2)
    assert clew.equal(loaded(x), traced(x))
    sys.modules.pop("small_package.module", None)


def test_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    build(clew).print_tabular()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["opcode", "name", "target", "args", "kwargs"]
    assert lines[4].startswith("call_function  add")


@twice
def test_names_of_operations_with_overloads(lib: Any) -> Any:
    graph = lib.fx.Graph()
    x = graph.placeholder("x")
    packet = graph.call_function(lib.ops.aten.relu, (x,))
    graph.output(graph.call_function(lib.ops.aten.add.Tensor, (packet, x)))
    module = lib.fx.GraphModule(lib.nn.Module(), graph)
    return module.code, module(lib.tensor([-1.0, 2.0]))
