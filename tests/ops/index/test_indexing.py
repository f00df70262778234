"""`x[index]`, `x[index] = value` and their history, against PyTorch."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import clew
from tests import oracle
from tests.derivatives import check_grad, check_gradgrad

pytestmark = pytest.mark.filterwarnings("ignore:Using a non-tuple sequence")


def _array(*shape: int) -> np.ndarray:
    return np.arange(int(np.prod(shape)), dtype=np.float64).reshape(shape) + 1.0


def _both(*shape: int, grad: bool = False) -> tuple[Any, torch.Tensor]:
    ours, theirs = clew.tensor(_array(*shape)), torch.tensor(_array(*shape))
    return (ours.requires_grad_(), theirs.requires_grad_()) if grad else (ours, theirs)


def long(*values: Any) -> torch.Tensor:
    return torch.tensor(list(values), dtype=torch.int64)


MASK4 = torch.tensor([True, False, True, True])
MASK43 = torch.tensor([[True, False, True], [False] * 3, [True] * 3, [False, True, False]])

INDICES: dict[str, Any] = {
    "int": 1, "negative": -1, "np_int": np.int64(2), "slice": slice(1, 3), "all": slice(None),
    "step": slice(0, None, 2), "from_back": slice(-2, None), "empty_slice": slice(3, 1),
    "beyond": slice(-100, 100), "none": None, "ellipsis": ..., "empty_tuple": (),
    "two_ints": (1, 2), "three_ints": (1, 2, 0), "column": (slice(None), 1),
    "last": (..., -1), "ellipsis_between": (0, ..., 1), "none_between": (0, None, 1),
    "none_first": (None, slice(None), 2), "none_last": (..., None),
    "slices": (slice(1, 3), slice(0, 2)),
    "true": True, "false": False, "true_in_tuple": (0, True), "zero_dim": torch.tensor(2),
    "zero_dim_bool": torch.tensor(True), "zero_dim_in_tuple": (slice(None), torch.tensor(1)),
    "list": [0, 2], "negative_list": [-1, 0, -1], "empty_list": [], "nested_list": [[0, 1], [2, 0]],
    "triple_list": [[[0, 1], [2, 0]]], "bool_list": [True, False, True, False], "range": range(2),
    "tensor": long(0, 2, 2), "int32": torch.tensor([1, 0], dtype=torch.int32),
    "matrix": torch.tensor([[0, 1], [3, 3]]), "numpy": np.array([0, 3]),
    "numpy_bool": np.array([True, False, False, True]), "numpy_zero_dim": np.array(2),
    "mask_row": MASK4, "mask_matrix": MASK43, "no_match": torch.zeros(4, dtype=torch.bool),
    "mask_and_int": (MASK4, 1), "mask_and_slice": (MASK4, slice(0, 2)),
    "mask_and_tensor": (MASK4, long(0, 1, 2)), "matrix_mask_then_int": (MASK43, 1),
    "adjacent": (long(0, 1), long(2, 0)), "adjacent_later": (slice(None), long(0, 1), long(1, 0)),
    "separated": (long(0, 1), slice(None), long(1, 0)),
    "broadcast": (long(0, 1).view(2, 1), long(0, 2)),
    "int_then_tensor": (0, slice(None), long(1, 0)),
    "tensor_then_int": (long(1, 0), slice(None), 1),
    "none_and_tensor": (None, long(1, 0)), "tensor_none_tensor": (long(1, 0), None, long(1, 2)),
    "ellipsis_tensor": (..., long(1, 0)), "tensor_ellipsis": (long(1, 0), ...),
    "list_of_tensors": [torch.tensor(0), torch.tensor(1)], "list_with_slice": [0, slice(None)],
    "tuple_in_tuple": ((0, 1),), "last_mask": (..., torch.tensor([True, False])),
    "middle_mask": (slice(None), torch.tensor([True, False, True])),
}  # fmt: skip
SHAPE = (4, 3, 2)

every_index = pytest.mark.parametrize("index", INDICES.values(), ids=INDICES)


@every_index
def test_read(index: Any) -> None:
    ours, theirs = _both(*SHAPE)
    oracle.assert_same(ours[oracle.to_clew(index)], theirs[index])


def _graph(tensor: Any) -> list[str]:
    names = []
    node = tensor.grad_fn
    while node is not None and "AccumulateGrad" not in node.name():
        names.append(node.name())
        node = node.next_functions[0][0]
    return names


@every_index
def test_read_has_the_same_graph_and_gradient(index: Any) -> None:
    ours, theirs = _both(*SHAPE, grad=True)
    read, expected = ours[oracle.to_clew(index)], theirs[index]
    assert _graph(read) == _graph(expected)
    weights = _array(*expected.shape)
    (read * clew.tensor(weights)).sum().backward()
    (expected * torch.tensor(weights)).sum().backward()
    oracle.assert_same(ours.grad, theirs.grad)


@every_index
def test_second_gradient(index: Any) -> None:
    ours, theirs = _both(*SHAPE, grad=True)

    def penalty(library: Any, x: Any, where: Any) -> Any:
        (g,) = library.autograd.grad((x[where] ** 3).sum(), x, create_graph=True)
        return library.autograd.grad((g * g).sum(), x)[0]

    oracle.assert_same(penalty(clew, ours, oracle.to_clew(index)), penalty(torch, theirs, index))


@every_index
def test_basic_indices_give_views_and_others_copies(index: Any) -> None:
    ours, theirs = _both(*SHAPE)
    read, expected = ours[oracle.to_clew(index)], theirs[index]
    assert (read._base is ours) == (expected._base is theirs)
    read.zero_()
    expected.zero_()
    oracle.assert_same(ours, theirs)


def _write(x: Any, index: Any, value: Any = 0.0) -> None:
    x[index] = value


@pytest.mark.parametrize("value", [7.5, True, 3, "tensor", "float32", "int"], ids=str)
@every_index
def test_write(index: Any, value: Any) -> None:
    ours, theirs = _both(*SHAPE)
    if isinstance(value, str):
        dtype = {"float32": torch.float32, "int": torch.int64}.get(value, torch.float64)
        value = torch.tensor(-_array(*theirs[index].shape)).to(dtype)
    _, error = oracle.outcome(_write, ours, oracle.to_clew(index), oracle.to_clew(value))
    _, expected = oracle.outcome(_write, theirs, index, value)
    if expected is not None:
        oracle.assert_same_error(error, expected, words=6)
    else:
        assert error is None, error
    oracle.assert_same(ours, theirs)
    assert ours._version == theirs._version


@every_index
def test_write_broadcasts_and_carries_gradients_of_both_sides(index: Any) -> None:
    shape = torch.zeros(SHAPE)[index].shape
    value_shape = shape[-1:] if shape and shape[-1] else ()
    results = []
    for library, where in ((clew, oracle.to_clew(index)), (torch, index)):
        x = library.tensor(_array(*SHAPE)).requires_grad_()
        value = library.tensor(_array(*value_shape)).requires_grad_()
        y = x * 2
        y[where] = value * 3
        loss = (y * library.tensor(_array(*SHAPE))).sum()
        loss.backward()
        results.append((y, x.grad, value.grad))
    ours, theirs = results
    oracle.assert_same(ours[:2], theirs[:2])
    if theirs[2] is None:
        assert ours[2] is None
    else:
        oracle.assert_same(ours[2], theirs[2])


def _outcomes(
    act: Callable[[Any, Any], Any], index: Any, shape: tuple[int, ...] = SHAPE
) -> tuple[BaseException, BaseException]:
    ours, theirs = _both(*shape)
    _, error = oracle.outcome(act, ours, oracle.to_clew(index))
    _, expected = oracle.outcome(act, theirs, index)
    assert expected is not None, "torch takes this; it is no error"
    assert error is not None, f"nothing raised, torch raises {expected!r}"
    return error, expected


BAD_INDICES: dict[str, Any] = {
    "out_of_range": 4, "below_range": -5, "second_out_of_range": (0, 3), "too_many": (0, 0, 0, 0),
    "after_slice": (slice(None), 5), "negative_step": slice(None, None, -1),
    "zero_step": slice(0, 2, 0), "float": 0.5, "set": frozenset({1}),
    "tensor_out_of_range": long(0, 4), "tensor_below_range": long(-5),
    "float_tensor": torch.ones(2),
    "short_tensor": torch.zeros(1, dtype=torch.int16), "mask_too_short": torch.ones(3) > 0,
    "mask_of_wrong_matrix": torch.ones(4, 4) > 0, "no_common_shape": (long(0, 1), long(0, 1, 2)),
}  # fmt: skip


@pytest.mark.parametrize("index", BAD_INDICES.values(), ids=BAD_INDICES)
def test_bad_indices(index: Any) -> None:
    if isinstance(index, frozenset):
        with pytest.raises(IndexError, match="only integers, slices"):
            _both(*SHAPE)[0][index]
        return
    oracle.assert_same_error(*_outcomes(lambda x, where: x[where], index), words=6)
    oracle.assert_same_error(*_outcomes(_write, index), words=6)


def test_zero_dim_tensors_cannot_be_indexed() -> None:
    error, expected = _outcomes(lambda x, where: x[where], 0, ())
    oracle.assert_same_error(error, expected, words=6)


@pytest.mark.parametrize("value", [[1.0], np.ones(2), "a", None], ids=repr)
def test_values_that_are_not_tensors_are_refused(value: Any) -> None:
    ours, theirs = _both(3)
    with pytest.raises(TypeError, match="can't assign a"):
        ours[0] = value
    with pytest.raises(TypeError):
        theirs[0] = value
    oracle.assert_same(ours, theirs)


@pytest.mark.parametrize("index", [slice(0, 2), long(0, 1)], ids=["slice", "tensor"])
def test_values_of_wrong_shape_are_refused(index: Any) -> None:
    def write(x: Any, where: Any) -> None:
        x[where] = x.new_zeros(5, 7)

    oracle.assert_same_error(*_outcomes(write, index), words=4)


def test_a_leaf_that_requires_grad_refuses_writes() -> None:
    ours, theirs = _both(3, grad=True)
    for x in (ours, theirs):
        with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad"):
            x[0] = 1.0
        with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
            x[[0, 1]] = 1.0


def test_overwriting_an_index_tensor_is_noticed() -> None:
    x, _ = _both(4, grad=True)
    index = clew.tensor([0, 1])
    y = x[index].sum()
    index += 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_length_iteration_membership() -> None:
    ours, theirs = _both(3, 2, grad=True)
    assert len(ours) == len(theirs) == 3
    for mine, yours in zip(ours, theirs, strict=True):
        oracle.assert_same(mine, yours)
        assert mine.grad_fn.name() == yours.grad_fn.name() == "UnbindBackward0"
    assert 2.0 in ours and 99 not in ours and ours[0] in ours
    for act in (len, list):
        error, expected = _outcomes(lambda x, _, act=act: act(x), None, ())
        oracle.assert_same_error(error, expected)
    with pytest.raises(RuntimeError, match=r"Tensor.__contains__ only supports Tensor or scalar"):
        _ = "a" in ours


def test_uint8_masks_warn() -> None:
    ours, theirs = _both(4)
    mask = torch.tensor([1, 0, 0, 1], dtype=torch.uint8)
    with pytest.warns(UserWarning, match=r"torch\.uint8 is now deprecated"):
        read = ours[oracle.to_clew(mask)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        oracle.assert_same(read, theirs[mask])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int64", "bool", "complex64"])
def test_index_put_accumulates_repeated_indices(dtype: str) -> None:
    kind = getattr(torch, dtype)
    x, values = torch.zeros(3, 2).to(kind), torch.ones(4, 2).to(kind)
    index = (long(0, 0, 2, 0),)
    expected = x.index_put(index, values, accumulate=True)
    oracle.assert_same(
        oracle.to_clew(x).index_put(oracle.to_clew(index), oracle.to_clew(values), True), expected
    )


@pytest.mark.parametrize("width", [3, 300])
def test_repeated_rows_are_added_up(width: int) -> None:
    """Wide rows are added row by row, narrow ones element by element."""
    index = long(4, 0, 4, 4, 1, 0)
    rows = _rand(6, width)
    x = _rand(5, width)
    mine = oracle.to_clew(x)
    oracle.assert_same(
        mine.index_add(0, oracle.to_clew(index), oracle.to_clew(rows)), x.index_add(0, index, rows)
    )
    for dim in (0, 1):
        ours, theirs = oracle.to_clew(x).requires_grad_(), x.clone().requires_grad_()
        for leaf, where in ((ours, oracle.to_clew(index)), (theirs, index)):
            taken = leaf.index_select(dim, where % 3) if dim else leaf[where]
            (taken * taken).sum().backward()
        oracle.assert_same(ours.grad, theirs.grad)
    mine.index_put_((oracle.to_clew(index - 5),), oracle.to_clew(rows), accumulate=True)
    oracle.assert_same(mine, x.index_put((index - 5,), rows, accumulate=True))


@pytest.mark.parametrize("dtype", ["float32", "float16", "int64"])
def test_adding_at_indices_reaches_memory_of_any_strides(dtype: str) -> None:
    kind = getattr(torch, dtype)
    whole = torch.arange(24).reshape(2, 3, 4).to(kind)
    index = (long(1, 1, 0), long(2, 2, 0))
    for order in ((2, 1, 0), (1, 2, 0), (0, 1, 2)):
        x = whole.permute(order).contiguous().permute(2, 1, 0)
        values = torch.arange(3 * x.shape[2]).reshape(-1, 3).to(kind).t()
        mine, where = oracle.to_clew(x), oracle.to_clew(index)
        expected = x.index_put(index, values, accumulate=True)
        oracle.assert_same(mine.index_put(where, oracle.to_clew(values), True), expected)
        mine.index_put_(where, oracle.to_clew(values), True)
        oracle.assert_same(mine, expected)


def test_accumulating_out_of_range_is_refused() -> None:
    for index in ((long(0), long(4)), (long(5),), (long(-6),)):

        def put(x: Any, where: Any) -> Any:
            return x.index_put_(where, x.new_ones(()), accumulate=True)

        error, expected = _outcomes(put, index, (5, 4))
        oracle.assert_same_error(error, expected, words=3)


@pytest.mark.parametrize("accumulate", [False, True])
def test_index_put_gradients(accumulate: bool) -> None:
    results = []
    for library in (clew, torch):
        x = library.tensor(_array(4, 3)).requires_grad_()
        values = library.tensor(_array(3)).requires_grad_()
        index = (library.tensor([0, 2]),)
        y = (x * 1).index_put_(index, values, accumulate=accumulate)
        (y * library.tensor(_array(4, 3))).sum().backward()
        results.append((y, x.grad, values.grad))
    oracle.assert_same(*results)


def test_writes_through_a_view_reach_the_base_history() -> None:
    results = []
    for library in (clew, torch):
        x = library.tensor(_array(3, 4)).requires_grad_()
        y = x * 1
        row = y[1]
        row[1:3] = x[0, 0] * 5
        row *= 2
        y.sum().backward()
        results.append((y, row, x.grad))
    oracle.assert_same(*results)


# ---------------------------------------------------------------- reductions into given places


REDUCTIONS = ("sum", "prod", "mean", "amax", "amin")


def _zeros_and_ties() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """No zero, one zero, two zeros in a product; equal extremes."""
    x = torch.tensor([2.0, 0.0, 1.0, 3.0, 5.0], dtype=torch.float64)
    index = long(0, 0, 1, 1, 2, 2, 3, 3)
    source = torch.tensor([1.0, 2.0, 4.0, 3.0, 0.0, 2.0, 0.0, 0.0], dtype=torch.float64)
    return x, index, source


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("reduce", REDUCTIONS)
@pytest.mark.parametrize("name", ["scatter_reduce", "index_reduce"])
def test_reducing_into_places(name: str, reduce: str, include_self: bool) -> None:
    if name == "index_reduce" and reduce == "sum":
        with pytest.raises(RuntimeError, match="Expected reduce to be one of prod, mean"):
            clew.ones(2).index_reduce(0, clew.tensor([0]), clew.ones(1), "sum")
        return
    x, index, source = _zeros_and_ties()
    kwargs = {"include_self": include_self}
    for args in (
        (x, 0, index, source, reduce),
        (x.expand(2, 5).clone(), 1, long(1, 1, 4), _rand(2, 3), reduce),
    ):
        if name == "scatter_reduce" and args[0].dim() == 2:
            args = (args[0], 1, args[2].expand(2, 3), *args[3:])
        leaves = tuple(
            a.detach().clone().requires_grad_()
            if isinstance(a, torch.Tensor) and a.is_floating_point() else a
            for a in args
        )  # fmt: skip
        ours, theirs = getattr(clew, name), getattr(torch, name)
        oracle.assert_same(ours(*oracle.to_clew(leaves), **kwargs), theirs(*leaves, **kwargs))
        check_grad(ours, theirs, leaves, kwargs)
        if not (leaves[0] == 0).any():
            check_gradgrad(ours, theirs, leaves, kwargs)


def _rand(*shape: int) -> torch.Tensor:
    return torch.rand(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("dtype", ["int64", "uint8", "float16", "bfloat16", "bool", "complex64"])
@pytest.mark.parametrize("reduce", REDUCTIONS)
@pytest.mark.parametrize("name", ["scatter_reduce", "index_reduce"])
def test_reducing_dtypes(name: str, reduce: str, dtype: str) -> None:
    kind = getattr(torch, dtype)
    args = (torch.tensor([1, 2, 3]).to(kind), 0, long(0, 0, 2), torch.tensor([3, 4, 0]).to(kind))
    ours, error = oracle.outcome(getattr(clew, name), *oracle.to_clew(args), reduce)
    theirs, expected = oracle.outcome(getattr(torch, name), *args, reduce)
    if expected is not None:
        oracle.assert_same_error(error, expected, words=4)
    else:
        assert error is None, error
        oracle.assert_same(ours, theirs)


def test_complex_products_into_places_round_as_products() -> None:
    base, values = clew.randn(3, dtype=clew.complex64), clew.randn(40, dtype=clew.complex64)
    places = clew.arange(40) % 3
    expected = base.clone()
    for place, value in zip(places.tolist(), values, strict=True):
        expected[place] = expected[place] * value
    assert clew.equal(base.scatter_reduce(0, places, values, "prod"), expected)
