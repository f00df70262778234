"""Collectives and messages that gradients go through."""

from tests.distributed.ranks import needs_mpi, passes


@needs_mpi
def test_gradients_go_through_the_graph_of_all_ranks() -> None:
    assert passes(3, "program_functional.py").out.count("checked 10") == 3
