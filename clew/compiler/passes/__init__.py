"""The passes over a graph, in the order in which they run."""

from __future__ import annotations

from clew.compiler.graph import Graph
from clew.compiler.passes.checks import hoist_checks
from clew.compiler.passes.constants import share_constants
from clew.compiler.passes.dead_code import remove_dead_code
from clew.compiler.passes.fusion import fuse
from clew.compiler.passes.overlap import overlap_products
from clew.compiler.passes.validation import compare, versions
from clew.compiler.passes.views import merge_views

PASSES = (hoist_checks, share_constants, merge_views, remove_dead_code, fuse)


def optimize(graph: Graph, overlap: bool = True) -> Graph:
    """A graph after all passes; each leaves one that is valid, and reads what it has read.

    Without `overlap`, products are left as they are: the memory of those that were started is in
    use for longer.
    """
    before = versions(graph)
    for each in (*PASSES, overlap_products) if overlap else PASSES:
        each(graph)
        graph.validate()
        after = versions(graph)
        compare(each.__name__, before, after)
        before = after
    return graph
