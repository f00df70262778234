"""Programs as graphs: traced, looked at, changed, and turned into Python again.

`symbolic_trace` runs a module with proxies and gives a `GraphModule`: a `Graph` of `Node`s, and
the code that is generated from it. `Interpreter` runs a graph node by node, `Transformer` makes
another one on the way, `replace_pattern` replaces parts.
"""

from clew.fx import (
    _pytree,
    graph,
    graph_module,
    immutable_collections,
    interpreter,
    node,
    passes,
    proxy,
    subgraph_rewriter,
)
from clew.fx._symbolic_trace import PH, Tracer, symbolic_trace, wrap
from clew.fx.graph import CodeGen, Graph
from clew.fx.graph_module import GraphModule
from clew.fx.interpreter import Interpreter, Transformer
from clew.fx.node import Node, has_side_effect, map_arg
from clew.fx.proxy import Proxy
from clew.fx.subgraph_rewriter import replace_pattern

__all__ = [
    "PH",
    "_pytree",
    "CodeGen",
    "Graph",
    "GraphModule",
    "Interpreter",
    "Node",
    "Proxy",
    "Tracer",
    "Transformer",
    "graph",
    "graph_module",
    "has_side_effect",
    "immutable_collections",
    "interpreter",
    "map_arg",
    "node",
    "passes",
    "proxy",
    "replace_pattern",
    "subgraph_rewriter",
    "symbolic_trace",
    "wrap",
]
