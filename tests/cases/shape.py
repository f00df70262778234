"""Shapes, joining and splitting, indexing by tensors, masks, rearrangement."""

from __future__ import annotations

from typing import Any

import torch

from ..sampling import (
    Maker,
    OpCase,
    Sample,
    Samples,
    also,
    bad_dim,
    given,
    layouts,
    none,
)

METHOD = ("method",)
FUNCTION = ("function",)


def _real_gradients(samples: Samples) -> Samples:
    """torch has no complex gradients for some ops; clew does."""
    return lambda make: [] if make.requires_grad and make.dtype.is_complex else samples(make)


def _calls(*calls: tuple[tuple[int, ...], tuple[Any, ...]]) -> Samples:
    """One tensor of a shape and the other arguments; also in a strided layout."""

    def samples(make: Maker) -> list[Sample]:
        contiguous = [Sample(make(*shape), *rest) for shape, rest in calls]
        strided = [Sample(make.strided(*shape), *rest) for shape, rest in calls if shape]
        return contiguous + strided

    return samples


def _lists(*lists: tuple[tuple[tuple[int, ...], ...], tuple[Any, ...]]) -> Samples:
    """A list of tensors of some shapes and the other arguments."""
    return lambda make: [
        Sample([make(*shape) for shape in shapes], *rest) for shapes, rest in lists
    ]


def _unpacked(samples: Samples) -> Samples:
    """The tensors of a list as separate arguments."""
    return lambda make: [Sample(*s.args[0], *s.args[1:]) for s in samples(make)]


def _long(*values: Any) -> torch.Tensor:
    return torch.tensor(list(values), dtype=torch.int64)


def _mixed_cat(make: Maker) -> list[Sample]:
    return [
        Sample([make(2, 3), make(1, 3, dtype=torch.int32)]),
        Sample([make(2, dtype=torch.float32), make(3, dtype=torch.float64)]),
        Sample([make(0), make(2, 3)], 1),
        Sample([make.strided(2, 3), make(2, 3)], dim=-1),
        Sample([make(2, 3), make(2, 3)], axis=1),
    ]


SAME3 = ((2, 3), (2, 3), (2, 3))
ROWS = ((2, 3), (1, 3), (0, 3))
BAD_CAT = given(
    lambda m: Sample([]),
    lambda m: Sample([m(), m()]),
    lambda m: Sample([m(2, 3), m(2, 4)]),
    lambda m: Sample([m(2, 3), m(2)]),
    lambda m: Sample([m(2)], 1),
    lambda m: Sample([m(2), 3]),
    lambda m: Sample(m(2)),
)
BAD_STACK = given(
    lambda m: Sample([]), lambda m: Sample([m(2), m(3)]), lambda m: Sample([m(2), m(2)], 2)
)

RESHAPE = [
    OpCase("reshape", _calls(((2, 6), ((3, 4),)), ((2, 6), ((-1,),)), ((), ((1, 1),)),
                             ((2, 0), ((0, 5),)), ((2, 3, 4), ((6, -1),))),
           errors=_calls(((2, 3), ((4, 2),)), ((2, 3), ((-1, -1),)), ((2, 3), ((-1, 4),)),
                         ((0,), ((-1, 0),)), ((2, 3), ((-2, 3),)))),
    OpCase("view", lambda m: [Sample(m(2, 6), 3, 4), Sample(m(2, 6), (-1,)), Sample(m()[None], 1)],
           variants=METHOD,
           errors=given(lambda m: Sample(m.strided(2, 3), 6), lambda m: Sample(m(2, 3), 5))),
    OpCase("flatten",
           also(layouts, _calls(((2, 3, 4), (1,)), ((2, 3, 4), (0, 1)), ((2, 3), (1, 1)))),
           errors=also(bad_dim, _calls(((2, 3), (1, 0))))),
    OpCase("unflatten", _calls(((6, 2), (0, (2, 3))), ((2, 6), (-1, (2, -1, 1)))),
           errors=_calls(((6,), (0, (4, 2))), ((6,), (0, ())), ((6,), (1, (2, 3))))),
    OpCase("ravel", layouts),
    OpCase("transpose", _calls(((2, 3, 4), (0, 2)), ((2, 3), (-1, 0)), ((), (0, -1))),
           errors=_calls(((2, 3), (0, 2)), ((), (0, 1)))),
    OpCase("swapaxes", _calls(((2, 3, 4), (0, 2)))),
    OpCase("swapdims", _calls(((2, 3, 4), (1, -1)))),
    OpCase("t", _calls(((2, 3), ()), ((3,), ()), ((), ())), errors=_calls(((2, 3, 4), ()))),
    OpCase("adjoint", _calls(((2, 3), ()), ((2, 3, 4), ())), errors=_calls(((3,), ()))),
    OpCase("permute", _calls(((2, 3, 4), ((2, 0, 1),)), ((2, 3), ((-1, 0),)), ((), ((),))),
           errors=_calls(((2, 3), ((0,),)), ((2, 3), ((0, 0),)), ((2, 3), ((0, 2),)))),
    OpCase("movedim", _calls(((2, 3, 4), (0, 2)), ((2, 3, 4), ((0, 1), (-1, 0))), ((), (0, 0))),
           errors=_calls(((2, 3), ((0, 1), (0,))), ((2, 3), ((0, 0), (0, 1))), ((2, 3), (0, 5)))),
    OpCase("moveaxis", _calls(((2, 3, 4), (-1, 0)))),
    OpCase("expand", lambda m: [Sample(m(3, 1), 3, 4), Sample(m(3, 1), 2, -1, 4), Sample(m(), 2),
                                Sample(m(1, 3), (0, 3)), Sample(m.strided(3, 1), 2, 3, 5)],
           variants=METHOD,
           errors=given(lambda m: Sample(m(3, 2), 3, 4), lambda m: Sample(m(3, 2), 2),
                        lambda m: Sample(m(3), -1, 3))),
    OpCase("broadcast_to", _calls(((3, 1), ((2, 3, 4),)), ((), ((2,),)))),
    OpCase("broadcast_tensors", _unpacked(_lists((((3, 1), (4,), ()), ()))), variants=FUNCTION,
           errors=_unpacked(_lists((((3,), (4,)), ())))),
    OpCase("squeeze", _calls(((1, 3, 1), ()), ((1, 3, 1), (0,)), ((1, 3, 1), (1,)),
                             ((1, 3, 1), ((0, 2),)), ((1, 3, 1), ((),)), ((), ()), ((), (0,))),
           errors=also(bad_dim, _calls(((1, 1), ((0, 0),))))),
    OpCase("unsqueeze", _calls(((2, 3), (0,)), ((2, 3), (-1,)), ((2, 3), (1,)), ((), (0,))),
           errors=_calls(((2, 3), (3,)), ((2, 3), (-4,)))),
    *(OpCase(f"atleast_{n}d", _unpacked(_lists((((),), ()), (((3,), (2, 3), ()), ()))),
             variants=FUNCTION) for n in (1, 2, 3)),
]  # fmt: skip

PARTS = [
    OpCase("narrow", _calls(((4, 3), (0, 1, 2)), ((4, 3), (1, -2, 2)), ((4, 3), (0, 4, 0))),
           errors=_calls(((4,), (0, 3, 2)), ((4,), (0, 5, 0)), ((4,), (0, 0, -1)),
                         ((), (0, 0, 1)))),
    OpCase("select", _calls(((4, 3), (0, 1)), ((4, 3), (-1, -1)), ((3,), (0, 2))),
           errors=_calls(((4, 3), (0, 4)), ((4, 3), (0, -5)), ((4, 3), (2, 0)), ((), (0, 0)))),
    OpCase("unfold", _calls(((7,), (0, 3, 2)), ((3, 5), (1, 2, 1)), ((3, 5), (0, 1, 4)),
                            ((), (0, 1, 1))),
           variants=METHOD, errors=_calls(((3,), (0, 4, 1)), ((3,), (0, 2, 0)),
                                            ((3,), (0, -1, 1)))),
    OpCase("as_strided", lambda m: [Sample(m(4, 3), (2, 2), (1, 2)), Sample(m(6), (3, 3), (1, 1)),
                                    Sample(m(6), (2,), (0,), 3), Sample(m(6), (), (), 1)],
           errors=given(lambda m: Sample(m(4), (3, 2), (2, 1)), lambda m: Sample(m(4), (2,), (-1,)),
                        lambda m: Sample(m(4), (2,), (1, 1)))),
    OpCase("diagonal", _calls(((3, 4), ()), ((3, 4), (1,)), ((3, 4), (-2,)), ((3, 4), (9,)),
                              ((2, 3, 4), (0, -1, 0)), ((0, 3), ())),
           errors=_calls(((3, 3), (0, 1, 1)), ((3,), ()))),
    OpCase("diag", _calls(((3,), ()), ((3,), (-1,)), ((3, 4), (1,))),
           errors=_calls(((2, 3, 4), ()), ((), ()))),
    OpCase("diag_embed", _calls(((3,), ()), ((2, 3), (1, 0, 2)), ((2, 3), (-1,))),
           errors=_calls(((2, 3), (0, 1, 1)), ((), ()))),
    OpCase("diagflat", _calls(((2, 3), ()), ((), (2,)), ((3,), (-1,)))),
    OpCase("select_scatter",
           _real_gradients(given(lambda m: Sample(m(3, 4), m(4), 0, 1),
                                 lambda m: Sample(m.strided(3, 4), m(3), 1, -1))),
           errors=given(lambda m: Sample(m(3, 4), m(3), 0, 1), lambda m: Sample(m(3), m(), 0, 5))),
    OpCase("slice_scatter",
           _real_gradients(given(lambda m: Sample(m(5, 3), m(2, 3), 0, 1, 3),
                                 lambda m: Sample(m.strided(4, 5), m(4, 3), 1, step=2))),
           errors=given(lambda m: Sample(m(5, 3), m(1, 3), 0, 1, 3))),
    OpCase("diagonal_scatter", given(lambda m: Sample(m(3, 4), m(3)),
                                     lambda m: Sample(m(3, 4), m(3), 1)),
           errors=given(lambda m: Sample(m(3, 4), m(4)))),
]  # fmt: skip

JOIN_AND_SPLIT = [
    *(OpCase(name, also(_lists((ROWS, ()), (SAME3, (1,)), (((3,), (0,)), ())), _mixed_cat),
             variants=FUNCTION, out=name == "cat", errors=BAD_CAT if name == "cat" else none)
      for name in ("cat", "concat", "concatenate")),
    OpCase("stack", _lists((SAME3, ()), (SAME3, (-1,)), (((), ()), ())), variants=FUNCTION,
           out=True, errors=BAD_STACK),
    *(OpCase(name, _lists((SAME3, ()), (((3,), (3,)), ()), (((), ()), ())), variants=FUNCTION,
             errors=_lists(((), ())))
      for name in ("hstack", "vstack", "dstack", "column_stack", "row_stack")),
    OpCase("block_diag", _unpacked(_lists((((2, 3), (1,), ()), ()), (((0, 2), (2, 1)), ()))),
           variants=FUNCTION, errors=_unpacked(_lists((((2, 3, 4),), ())))),
    OpCase("split", _calls(((5, 3), (2,)), ((5, 3), ((1, 4),)), ((5, 3), (2, 1)), ((0, 3), (2,))),
           errors=_calls(((5,), (-1,)), ((5,), (0,)), ((5,), ((1, 2),)), ((5,), ((6, -1),)),
                         ((), (1,)))),
    OpCase("chunk", _calls(((5, 3), (2,)), ((5, 3), (4, 0)), ((5, 3), (2, -1)), ((0,), (3,))),
           errors=_calls(((5,), (0,)), ((), (1,)))),
    OpCase("unsafe_split", _calls(((5, 3), (2,)))),
    OpCase("unsafe_chunk", _calls(((5, 3), (2,)))),
    OpCase("tensor_split", _calls(((7, 3), (3,)), ((7, 3), ((1, 5),)), ((3, 7), ((4, 2, 9), 1))),
           errors=_calls(((5,), (0,)), ((), (1,)))),
    OpCase("hsplit", _calls(((4, 6), (2,)), ((6,), ((1, 4),))), errors=_calls(((4, 6), (4,)),
           ((), (1,)))),
    OpCase("vsplit", _calls(((4, 6), (2,))), errors=_calls(((4,), (2,)))),
    OpCase("dsplit", _calls(((2, 3, 4), (2,))), errors=_calls(((4, 4), (2,)))),
    OpCase("unbind", _calls(((3, 2), ()), ((3, 2), (-1,)), ((0, 2), ())),
           errors=also(bad_dim, _calls(((), ())))),
]  # fmt: skip

REARRANGE = [
    OpCase("flip", _calls(((3, 4), ((0,),)), ((3, 4), ((0, -1),)), ((3, 4), ((),)), ((), ((),))),
           errors=_calls(((3, 4), ((0, 0),)), ((3, 4), ((2,),)))),
    OpCase("fliplr", _calls(((3, 4), ())), errors=_calls(((3,), ()))),
    OpCase("flipud", _calls(((3, 4), ()), ((3,), ())), errors=_calls(((), ()))),
    OpCase("roll", _calls(((3, 4), (1,)), ((3, 4), (-1, 1)), ((3, 4), ((1, 2), (0, 1))), ((), (1,)),
                          ((0, 3), (1, 0))),
           errors=_calls(((3, 4), ((1, 2), (0,))), ((3,), (1, 1)), ((3, 4), ((1, 2),)))),
    OpCase("rot90", _calls(((3, 4), ()), ((3, 4), (2,)), ((2, 3, 4), (-1, (0, 2))), ((3, 4), (0,))),
           errors=_calls(((3,), ()), ((3, 4), (1, (0,))), ((3, 4), (1, (0, 0))),
                         ((3, 4), (1, (0, 3))))),
    OpCase("tril", _calls(((3, 4), ()), ((2, 4, 3), (1,)), ((3, 3), (-2,))), inplace="tril_",
           out=True, errors=_calls(((3,), ()))),
    OpCase("triu", _calls(((3, 4), ()), ((2, 4, 3), (1,)), ((3, 3), (-2,))), inplace="triu_",
           out=True, errors=_calls(((3,), ()))),
    OpCase("repeat", lambda m: [Sample(m(2, 3), 2, 1), Sample(m(2, 3), (3, 1, 2)), Sample(m(), 2),
                                Sample(m(2), 0), Sample(m.strided(2, 3), 1, 2), Sample(m(), ())],
           variants=METHOD,
           errors=given(lambda m: Sample(m(2, 3), 2), lambda m: Sample(m(2), -1))),
    OpCase("tile", _calls(((2, 3), ((2,),)), ((2,), ((3, 2),)), ((2, 3), ((2, 1, 2),)))),
    OpCase("repeat_interleave",
           also(_calls(((2, 3), (2,)), ((2, 3), (2, 1)), ((), (3,)), ((2, 3), (0, 0))),
                lambda m: [Sample(m(3, 2), _long(1, 0, 2), 0), Sample(m(3), _long(2)),
                           Sample(m(2, 2), _long(1, 2, 0, 1)),
                           Sample(m(3), _long(1, 0, 2), output_size=3)]),
           errors=given(lambda m: Sample(m(3), -1), lambda m: Sample(m(3), _long(1, 2)),
                        lambda m: Sample(m(3), torch.ones(3)))),
    OpCase("meshgrid", lambda m: [Sample(m(3), m(2), indexing="ij"),
                                  Sample(m(), m(4), indexing="xy"),
                                  Sample([m(2), m(3), m(4)], indexing="xy")],
           variants=FUNCTION,
           errors=given(lambda m: Sample(m(2, 2), indexing="ij"),
                        lambda m: Sample(m(2), indexing="ab"))),
    OpCase("cartesian_prod", _unpacked(_lists((((3,), (2,)), ()), (((3,),), ()))),
           variants=FUNCTION, errors=_unpacked(_lists((((2, 2), (2,)), ())))),
    OpCase("combinations", lambda m: [Sample(m(4)), Sample(m(4), 3), Sample(m(3), 2, True),
                                      Sample(m(3), 1), Sample(m(2), 3)],
           variants=FUNCTION, errors=_calls(((2, 2), ()))),
]  # fmt: skip


# ---------------------------------------------------------------- indices and masks


def _indices(*shape: int, below: int, seed: int = 0) -> torch.Tensor:
    return torch.randint(0, below, shape, generator=torch.Generator().manual_seed(seed))


def _gathers(make: Maker) -> list[Sample]:
    return [
        Sample(make(3, 4), 0, _indices(2, 4, below=3)),
        Sample(make(3, 4), 1, _indices(2, 6, below=4)),
        Sample(make.strided(3, 4), -1, _indices(3, 2, below=4)),
        Sample(make(), 0, _long(0)),
        Sample(make(), 0, torch.tensor(0)),
        Sample(make(3, 4), 0, _indices(0, 4, below=3)),
        Sample(make(3), 0, torch.tensor([2, 0], dtype=torch.int32)),
    ]


BAD_GATHER = given(
    lambda m: Sample(m(3, 4), 0, _long(0)),
    lambda m: Sample(m(3, 4), 0, torch.zeros(1, 1)),
    lambda m: Sample(m(3, 4), 0, torch.tensor([[3]])),
    lambda m: Sample(m(3, 4), 0, torch.tensor([[-1]])),
    lambda m: Sample(m(3, 4), 0, _indices(1, 5, below=1)),
    lambda m: Sample(m(3, 4), 2, _long(0)),
)


def _scatters(make: Maker) -> list[Sample]:
    """Without repeated indices: which of several writers wins is no part of the contract."""
    places = torch.tensor([[0, 2, 1, 0], [1, 0, 2, 2]])
    return [
        Sample(make(3, 4), 0, places, make(2, 4)),
        Sample(make.strided(4, 3), 1, places.T, make(4, 2)),
        Sample(make(3), 0, _long(2, 0), make(2)),
    ]


def _scatter_values(make: Maker) -> list[Sample]:
    return [
        Sample(make(3, 4), 0, _indices(2, 4, below=3), 1),
        Sample(make(3, 4), 1, _long().view(0, 0), 1),
    ]


def _adding(make: Maker) -> list[Sample]:
    return [
        Sample(make(3, 4), 0, _indices(5, 4, below=3), make(5, 4)),
        Sample(make.strided(3, 4), 1, _indices(2, 6, below=4), make(2, 6)),
        Sample(make(), 0, _long(0), make(1)),
    ]


BAD_SCATTER = given(
    lambda m: Sample(m(3, 4), 0, _long(0), m(1)),
    lambda m: Sample(m(3, 4), 0, torch.tensor([[3]]), m(1, 1)),
    lambda m: Sample(m(3, 4), 0, torch.tensor([[0, 0]]), m(1, 1)),
    lambda m: Sample(m(3, 4), 0, torch.zeros(1, 1), m(1, 1)),
    lambda m: Sample(m(3, 4), 0, torch.tensor([[0]]), m(1, 1, dtype=torch.int16)),
)


def _rows(*extra: Any) -> Samples:
    """A tensor, a dimension, distinct indices, and a source of that many slices."""
    return lambda make: [
        Sample(make(4, 3), 0, _long(2, 0), make(2, 3), *extra),
        Sample(make.strided(2, 4), -1, _long(3, 1, 0), make(2, 3), *extra),
        Sample(make(3), 0, torch.tensor(1), make(1), *extra),
    ]


def _repeated_rows(*extra: Any) -> Samples:
    return lambda make: [
        Sample(make(4, 3), 0, _long(2, 0, 2, 2), make(4, 3), *extra),
        Sample(make(2, 3, 2), 1, _long(1, 1), make(2, 2, 2), *extra),
    ]


def _bad_rows(*extra: Any) -> Samples:
    return given(
        lambda m: Sample(m(4, 3), 0, _long(4), m(1, 3), *extra),
        lambda m: Sample(m(4, 3), 0, _long(0, 1), m(1, 3), *extra),
        lambda m: Sample(m(4, 3), 0, _long(0), m(1, 2), *extra),
        lambda m: Sample(m(4, 3), 0, _long(0).view(1, 1), m(1, 3), *extra),
        lambda m: Sample(m(4, 3), 0, _long(0), m(1, 3, dtype=torch.int16), *extra),
    )


MASK = torch.tensor([[True, False, True], [False, False, True]])
MASKED = given(
    lambda m: Sample(m(2, 3), MASK, 2),
    lambda m: Sample(m.strided(2, 3), MASK, True),
    lambda m: Sample(m(2, 3), MASK[0], 1),
    lambda m: Sample(m(2, 3), MASK, m()),
    lambda m: Sample(m(), torch.tensor(True), 1),
    lambda m: Sample(m(0, 3), MASK[0], 1),
)
BAD_MASKED = given(
    lambda m: Sample(m(2, 3), MASK.int(), 1),
    lambda m: Sample(m(2, 4), MASK, 1),
    lambda m: Sample(m(2, 3), MASK, m(1)),
)

BY_INDEX = [
    OpCase("gather", _gathers, out=True, errors=BAD_GATHER),
    OpCase("take_along_dim", lambda m: [Sample(m(3, 4), _indices(2, 4, below=3), 0),
                                        Sample(m(3, 4), _indices(3, 1, below=4), 1),
                                        Sample(m(3, 4), _long(0, -1, 5))],
           errors=given(lambda m: Sample(m(3, 4), _long(0), 0),
                        lambda m: Sample(m(3), torch.zeros(1), 0))),
    OpCase("scatter", also(_scatters, _scatter_values), inplace="scatter_", errors=BAD_SCATTER),
    OpCase("scatter_add", _adding, inplace="scatter_add_", errors=BAD_SCATTER),
    OpCase("index_select", lambda m: [Sample(m(3, 4), 0, _long(0, 0, 2)),
                                      Sample(m.strided(3, 4), -1, _long(3, 1)),
                                      Sample(m(), 0, _long(0)), Sample(m(3, 4), 1, _long())],
           out=True,
           errors=given(lambda m: Sample(m(3), 0, _long(3)), lambda m: Sample(m(3), 0, _long(-1)),
                        lambda m: Sample(m(3), 0, torch.zeros(1)),
                        lambda m: Sample(m(), 0, _long(0, 0)),
                        lambda m: Sample(m(3), 0, _long(0).view(1, 1)))),
    OpCase("index_add", also(_rows(), _repeated_rows()), inplace="index_add_", errors=_bad_rows()),
    OpCase("index_add",
           lambda m: [Sample(m(4, 3), 0, _long(1, 1), m(2, 3), alpha=2)], label="alpha"),
    OpCase("index_copy", _rows(), inplace="index_copy_", errors=_bad_rows()),
    OpCase("index_fill", lambda m: [Sample(m(4, 3), 0, _long(2, 0), 1),
                                    # torch's gradient of a tensor value refuses index -1.
                                    Sample(m(3), 0, _long(2), m()), Sample(m(3), 0, _long(-1), 1),
                                    Sample(m(), 0, _long(0), 1)],
           inplace="index_fill_",
           errors=given(lambda m: Sample(m(3), 0, _long(3), 1),
                        lambda m: Sample(m(3), 0, _long(0), m(1)),
                        lambda m: Sample(m(3), 0, torch.zeros(1), 1))),
    OpCase("take", lambda m: [Sample(m(3, 4), torch.tensor([[0, -1], [5, 5]])),
                              Sample(m.strided(3, 4), _long(7)), Sample(m(), _long(0))],
           out=True, errors=given(lambda m: Sample(m(3), _long(3)),
                                  lambda m: Sample(m(0), _long(0)))),
    OpCase("put", lambda m: [Sample(m(3, 4), _long(0, -1), m(2)),
                             Sample(m(3), _long(1, 1), m(2), True),
                             Sample(m.strided(3, 4), _long(5, 2), m(1, 2))],
           inplace="put_",
           errors=given(lambda m: Sample(m(3), _long(3), m(1)),
                        lambda m: Sample(m(3), _long(0), m(2)))),
    OpCase("masked_fill", MASKED, inplace="masked_fill_", errors=BAD_MASKED),
    OpCase("masked_select", lambda m: [Sample(m(2, 3), MASK), Sample(m(3), MASK),
                                       Sample(m.strided(2, 3), MASK[0]),
                                       Sample(m(), torch.tensor(True))],
           out=True, errors=given(lambda m: Sample(m(2, 3), MASK.int()),
                                  lambda m: Sample(m(4), MASK))),
    OpCase("masked_scatter", lambda m: [Sample(m(2, 3), MASK, m(5)),
                                        Sample(m(2, 3), MASK[0], m(2, 2)),
                                        Sample(m.strided(2, 3), MASK, m(3))],
           inplace="masked_scatter_", errors=given(lambda m: Sample(m(2, 3), MASK, m(2)))),
    OpCase("nonzero", layouts, out=True),
    OpCase("nonzero", lambda m: [Sample(m(3, 4), as_tuple=True), Sample(m(), as_tuple=True)],
           label="as_tuple"),
    OpCase("argwhere", layouts),
]  # fmt: skip

CASES: list[OpCase] = [*RESHAPE, *PARTS, *JOIN_AND_SPLIT, *REARRANGE, *BY_INDEX]
