"""Passes over graphs: parts of a module, as PyTorch splits it."""

from __future__ import annotations

import importlib
from typing import Any

from tests.twice import raised, twice


def splitter(lib: Any) -> Any:
    return importlib.import_module(f"{lib.__name__}.fx.passes.split_module").split_module


def parts(module: Any) -> Any:
    """The code of a module and of its parts."""
    return module.code, {name: each.code for name, each in module.named_children()}


@twice
def test_parts_of_a_module(lib: Any) -> Any:
    class M(lib.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = lib.nn.Linear(3, 4), lib.nn.Sequential(lib.nn.Linear(4, 2))
            self.p = lib.nn.Parameter(lib.ones(2))
            self.register_buffer("buf", lib.ones(3))

        def forward(self, x, y=1):  # type: ignore[no-untyped-def]  # annotations would be shown
            u = self.a(x + self.buf)
            v = lib.relu(u)
            w = self.b(v) + self.p
            return {"o": w * y + v.sum(), "q": (u, w)}

    model = M()
    for number, parameter in enumerate(model.parameters()):
        parameter.data.fill_(0.1 * number)
    places = {"add": 0, "a": 0, "relu": 1, "b_0": 1, "add_1": 2, "mul": 2, "sum_1": 1, "add_2": 2}
    traced = lib.fx.symbolic_trace(model)
    names: dict[str, str] = {}
    split = splitter(lib)(traced, model, lambda node: places[node.name], names)
    x = lib.arange(6.0).view(2, 3)
    out, expected = split(x, 2), model(x, 2)
    assert lib.equal(out["o"], expected["o"])
    return parts(split), names, list(split.state_dict()), str(split.graph), out["q"]


@twice
def test_names_and_orders_of_parts(lib: Any) -> Any:
    split = splitter(lib)

    def program(x):  # type: ignore[no-untyped-def]  # annotations would be shown
        return (x + 1) * 2 + x.sin().cos() * (x - 1)

    traced = lib.fx.symbolic_trace(program)
    # Three parts need nothing; the last one needs all.
    places = {
        "add": "a",
        "mul": "a",
        "sin": "b",
        "cos": "b",
        "sub": "c",
        "mul_1": "d",
        "add_1": "d",
    }

    def place(node: Any) -> str:
        return places[node.name]

    found = [
        parts(split(traced, None, place)),
        parts(split(traced, None, place, keep_original_order=True)),
        parts(split(traced, None, place, partition_affix="pp")),
        parts(split(traced, None, place, keep_original_node_name=True)),
        parts(split(traced, None, place, keep_original_input_name=False)),
        parts(split(traced, None, place, tuple_return=True)),
    ]
    wrong = {"add": 1, "mul": 0, "sin": 1, "cos": 1, "sub": 1, "mul_1": 1, "add_1": 1}
    return found, raised(split, traced, None, lambda node: wrong[node.name])


@twice
def test_parts_that_filters_agree_to(lib: Any) -> Any:
    rewriter = importlib.import_module(f"{lib.__name__}.fx.subgraph_rewriter")
    replace, trace = rewriter.replace_pattern_with_filters, lib.fx.symbolic_trace

    def program(x):  # type: ignore[no-untyped-def]  # annotations would be shown
        return (x + 1).relu() + (x * x).relu() + (x + 2).relu() * 3

    def pattern(a):  # type: ignore[no-untyped-def]  # the same
        return a.relu()

    def is_of_a_sum(match: Any, graph: Any, pattern_graph: Any) -> bool:
        relu = next(node for node in pattern_graph.nodes if node.op == "call_method")
        ends = [node.name for node in (*match.placeholder_nodes, *match.returning_nodes)]
        assert ends == [match.nodes_map[relu].args[0].name, match.nodes_map[relu].name]
        return "add" in ends[0]

    found = []
    for filters in ([is_of_a_sum], [], None, [is_of_a_sum, lambda *_: False]):
        traced = trace(program)
        made = replace(traced, pattern, lambda a: a.abs().sqrt(), filters)
        replaced = [(each.anchor.name, [n.name for n in each.replacements]) for each in made]
        found.append((traced.code, replaced))
    # Numbers of the pattern may be any; the replacement may be made for each match.
    traced = trace(lambda x: (x + 1) * (x + 2))
    replace(traced, lambda a: a + 5, lambda a: a - 5, ignore_literals=True)

    def made_for(match: Any, graph: Any, pattern_graph: Any) -> Any:
        return trace(lambda a: a.sin()).graph

    again = trace(program)
    replace(again, pattern, replacement_callback=made_for)
    return found, traced.code, again.code, raised(replace, traced, pattern)
