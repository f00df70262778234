"""`split_copy`, `split_with_sizes_copy` and `unbind_copy` with `out=`; copies of any memory."""

from __future__ import annotations

from typing import Any

from tests.twice import raised, twice


@twice
def test_pieces_go_to_the_tensors_given(lib: Any) -> Any:
    x, seen = lib.arange(6.0).reshape(2, 3), []
    for function, argument, shapes in (
        (lib.split_copy, 1, ((1, 3), (1, 3))),
        (lib.split_with_sizes_copy, (1, 1), ((1, 3), (0,))),
        (lib.unbind_copy, 0, ((3,), (3,))),
    ):
        out = [lib.empty(shape) for shape in shapes]
        seen.append((function(x, argument, out=out), out, function(x, argument)))
    return seen


@twice
def test_what_does_not_fit_is_refused(lib: Any) -> Any:
    x, two = lib.arange(4.0), lib.empty(2)
    return (
        raised(lib.split_copy, x, 2, out=two), raised(lib.split_copy, x, 2, out=(two,)),
        raised(lib.split_copy, x, 2, out=(lib.empty(3), two), words=9),
        raised(lib.split_with_sizes_copy, x, [2, 2], out=[two]),
        raised(lib.split_with_sizes_copy, x, [2, 2], out=[two.long(), two], words=12),
        raised(lib.unbind_copy, x, out=[lib.empty(())] * 3),
    )  # fmt: skip


@twice
def test_view_copy_of_memory_in_another_order(lib: Any) -> Any:
    x = lib.arange(24.0).reshape(2, 3, 4).permute(2, 0, 1)
    copies = [lib.view_copy(x, (6, 4)), lib.view_copy(x, (4, 6)), lib.view_copy(x, lib.int32)]
    return copies, [each.stride() for each in copies]
