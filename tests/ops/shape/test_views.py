"""Views: shared memory, graphs, in-place changes of shape, copies into memory; against PyTorch."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import clew
from tests import oracle
from tests.twice import raised, twice

Act = Callable[[Any, Any], Any]


def _array(*shape: int) -> np.ndarray:
    return np.arange(int(np.prod(shape)), dtype=np.float64).reshape(shape) + 1.0


VIEWS: dict[str, tuple[tuple[int, ...], Act]] = {
    "view": ((2, 6), lambda L, x: x.view(3, 4)),
    "view_as": ((2, 6), lambda L, x: x.view_as(x.t().contiguous())),
    "reshape": ((2, 6), lambda L, x: x.reshape(12)),
    "flatten": ((2, 3, 2), lambda L, x: x.flatten(1)),
    "unflatten": ((6,), lambda L, x: x.unflatten(0, (2, 3))),
    "ravel": ((2, 3), lambda L, x: x.ravel()),
    "T": ((2, 3), lambda L, x: x.T), "t": ((2, 3), lambda L, x: x.t()),
    "mT": ((2, 3, 4), lambda L, x: x.mT),
    "H": ((2, 3), lambda L, x: x.H), "mH": ((2, 3, 4), lambda L, x: x.mH),
    "transpose": ((2, 3), lambda L, x: x.transpose(0, 1)),
    "permute": ((2, 3, 4), lambda L, x: x.permute(2, 0, 1)),
    "movedim": ((2, 3, 4), lambda L, x: x.movedim(0, 2)),
    "expand": ((1, 3), lambda L, x: x.expand(2, 3)),
    "expand_as": ((1, 3), lambda L, x: x.expand_as(L.zeros(2, 3))),
    "broadcast_to": ((3,), lambda L, x: L.broadcast_to(x, (2, 3))),
    "squeeze": ((1, 3), lambda L, x: x.squeeze()),
    "squeeze_dim": ((1, 3), lambda L, x: x.squeeze(0)),
    "squeeze_dims": ((1, 3), lambda L, x: x.squeeze((0, 1))),
    "unsqueeze": ((3,), lambda L, x: x.unsqueeze(1)),
    "narrow": ((4, 3), lambda L, x: x.narrow(0, 1, 2)),
    "select": ((4, 3), lambda L, x: x.select(1, 2)),
    "unfold": ((5,), lambda L, x: x.unfold(0, 2, 1)),
    "diagonal": ((3, 4), lambda L, x: x.diagonal(1)),
    "as_strided": ((4, 3), lambda L, x: x.as_strided((2, 2), (1, 3), 1)),
    "split": ((4, 3), lambda L, x: x.split(3)[0]),
    "split_list": ((4, 3), lambda L, x: x.split([1, 3])[1]),
    "chunk": ((4, 3), lambda L, x: x.chunk(2)[1]), "unbind": ((4, 3), lambda L, x: x.unbind()[2]),
    "tensor_split": ((4, 3), lambda L, x: x.tensor_split(3)[1]),
    "hsplit": ((4, 4), lambda L, x: x.hsplit(2)[1]),
    "atleast_3d": ((3,), lambda L, x: L.atleast_3d(x)),
    "meshgrid": ((3,), lambda L, x: L.meshgrid(x, x, indexing="ij")[0]),
    "contiguous": ((2, 3), lambda L, x: x.contiguous()), "alias": ((2, 3), lambda L, x: x[...]),
}  # fmt: skip
every_view = pytest.mark.parametrize(("shape", "act"), VIEWS.values(), ids=VIEWS)


def _graph(tensor: Any) -> list[str]:
    names = []
    node = tensor.grad_fn
    while node is not None and "AccumulateGrad" not in node.name():
        names.append(node.name().replace("torch::autograd::", ""))
        node = node.next_functions[0][0]
    return names


@every_view
def test_view_shares_memory_and_knows_its_base(shape: tuple[int, ...], act: Act) -> None:
    ours, theirs = clew.tensor(_array(*shape)), torch.tensor(_array(*shape))
    view, expected = act(clew, ours), act(torch, theirs)
    oracle.assert_same(view, expected)
    assert (view is ours) == (expected is theirs)
    assert (view._base is ours) == (expected._base is theirs)
    assert np.shares_memory(view.numpy(), ours.numpy())
    assert view.stride() == expected.stride()
    assert view.storage_offset() == expected.storage_offset()


@every_view
def test_view_has_the_same_graph(shape: tuple[int, ...], act: Act) -> None:
    ours = clew.tensor(_array(*shape)).requires_grad_()
    theirs = torch.tensor(_array(*shape)).requires_grad_()
    assert _graph(act(clew, ours)) == _graph(act(torch, theirs))


@every_view
def test_writing_to_the_base_renews_the_history_of_the_view(
    shape: tuple[int, ...], act: Act
) -> None:
    results = []
    for library in (clew, torch):
        x = library.tensor(_array(*shape)).requires_grad_()
        base = x * 1
        view = act(library, base)
        base.mul_(3)
        outcome = oracle.outcome(lambda view=view: (view * view).sum().backward())
        results.append((x, outcome[1]))
    (ours, error), (theirs, expected) = results
    if expected is not None:
        oracle.assert_same_error(error, expected)
        return
    assert error is None, error
    oracle.assert_same(ours.grad, theirs.grad)


# Writing where elements overlap in memory has no defined result.
without_overlap = pytest.mark.parametrize(
    ("shape", "act"),
    [view for name, view in VIEWS.items() if name != "unfold"],
    ids=[name for name in VIEWS if name != "unfold"],
)


@without_overlap
def test_writing_to_the_view_enters_the_history_of_the_base(
    shape: tuple[int, ...], act: Act
) -> None:
    results = []
    for library in (clew, torch):
        x = library.tensor(_array(*shape)).requires_grad_()
        base = x * 1
        _, error = oracle.outcome(lambda base=base, library=library: act(library, base).mul_(3))
        if error is None:
            (base * base).sum().backward()
        results.append((x.grad, error))
    (ours, error), (theirs, expected) = results
    if expected is not None:
        oracle.assert_same_error(error, expected)
        return
    assert error is None, error
    oracle.assert_same(ours, theirs)


COPIES: dict[str, tuple[tuple[int, ...], Act]] = {
    "reshape": ((2, 3), lambda L, x: x.t().reshape(6)),
    "flatten": ((2, 3), lambda L, x: x.t().flatten()),
    "ravel": ((2, 3), lambda L, x: x.t().ravel()),
    "contiguous": ((2, 3), lambda L, x: x.t().contiguous()),
    "clone": ((2, 3), lambda L, x: x.clone()), "cat": ((2, 3), lambda L, x: L.cat([x, x])),
    "stack": ((2, 3), lambda L, x: L.stack([x, x])),
    "hstack": ((3,), lambda L, x: L.hstack([x, x])),
    "vstack": ((3,), lambda L, x: L.vstack([x, x])),
    "dstack": ((2, 3), lambda L, x: L.dstack([x, x])),
    "column_stack": ((3,), lambda L, x: L.column_stack([x, x])),
    "block_diag": ((2, 3), lambda L, x: L.block_diag(x, x)),
    "cartesian_prod": ((3,), lambda L, x: L.cartesian_prod(x, x)),
    "diag": ((3, 3), lambda L, x: x.diag()),
    "diag_of_vector": ((3,), lambda L, x: x.diag()),
    "diagflat": ((2, 3), lambda L, x: x.diagflat()),
    "repeat": ((3,), lambda L, x: x.repeat(2)), "tile": ((3,), lambda L, x: x.tile(2)),
    "repeat_interleave": ((2, 3), lambda L, x: x.repeat_interleave(2)),
    "repeat_interleave_dim": ((2, 3), lambda L, x: x.repeat_interleave(2, dim=0)),
    "repeat_interleave_each": ((2, 3), lambda L, x: x.repeat_interleave(L.tensor([1, 2]), dim=0)),
    "flip": ((3,), lambda L, x: x.flip(0)), "roll": ((3,), lambda L, x: x.roll(1)),
    "rot90": ((2, 3), lambda L, x: x.rot90()), "tril": ((2, 3), lambda L, x: x.tril()),
    "triu": ((2, 3), lambda L, x: x.triu()),
    "select_scatter": ((2, 3), lambda L, x: x.select_scatter(x[0], 0, 1)),
    "slice_scatter": ((2, 3), lambda L, x: x.slice_scatter(x[:1], 0, 0, 1)),
    "diagonal_scatter": ((3, 3), lambda L, x: x.diagonal_scatter(x[0])),
    "unsafe_split": ((4,), lambda L, x: x.unsafe_split(2)[0]),
    "unsafe_chunk": ((4,), lambda L, x: x.unsafe_chunk(2)[0]),
    "gather": ((3,), lambda L, x: x.gather(0, L.tensor([0]))),
    "index_select": ((3,), lambda L, x: x.index_select(0, L.tensor([0]))),
    "index_add": ((3,), lambda L, x: x.index_add(0, L.tensor([0]), x[:1])),
    "index_copy": ((3,), lambda L, x: x.index_copy(0, L.tensor([0]), x[:1])),
    "index_fill": ((3,), lambda L, x: x.index_fill(0, L.tensor([0]), 1.0)),
    "index_fill_tensor": ((3,), lambda L, x: x.index_fill(0, L.tensor([0]), x[0])),
    "index_reduce": ((3,), lambda L, x: x.index_reduce(0, L.tensor([0]), x[:1], "amax")),
    "index_put": ((3,), lambda L, x: x.index_put((L.tensor([0]),), x[0])),
    "scatter": ((3,), lambda L, x: x.scatter(0, L.tensor([0]), x[:1])),
    "scatter_value": ((3,), lambda L, x: x.scatter(0, L.tensor([0]), 1.0)),
    "scatter_add": ((3,), lambda L, x: x.scatter_add(0, L.tensor([0]), x[:1])),
    "scatter_reduce": ((3,), lambda L, x: x.scatter_reduce(0, L.tensor([0]), x[:1], "sum")),
    "masked_fill": ((3,), lambda L, x: x.masked_fill(x > 1, 0.0)),
    "masked_fill_tensor": ((3,), lambda L, x: x.masked_fill(x > 1, x[0])),
    "masked_select": ((3,), lambda L, x: x.masked_select(x > 1)),
    "masked_scatter": ((3,), lambda L, x: x.masked_scatter(x > 1, x)),
    "take": ((3,), lambda L, x: x.take(L.tensor([1]))),
    "put": ((3,), lambda L, x: x.put(L.tensor([1]), x[:1])),
    "take_along_dim": ((2, 3), lambda L, x: L.take_along_dim(x, L.tensor([[0, 0, 0]]), 0)),
    "copy_": ((3,), lambda L, x: (x * 1).copy_(x)),
    "fill_": ((3,), lambda L, x: (x * 1).fill_(1.0)),
    "fill_tensor_": ((3,), lambda L, x: (x * 1).fill_(x[0])),
    "zero_": ((3,), lambda L, x: (x * 1).zero_()),
    "squeeze_": ((1, 3), lambda L, x: (x * 1).squeeze_()),
    "squeeze_dim_": ((1, 3), lambda L, x: (x * 1).squeeze_(0)),
    "unsqueeze_": ((3,), lambda L, x: (x * 1).unsqueeze_(0)),
    "t_": ((2, 3), lambda L, x: (x * 1).t_()),
    "transpose_": ((2, 3), lambda L, x: (x * 1).transpose_(0, 1)),
    "swapaxes_": ((2, 3), lambda L, x: (x * 1).swapaxes_(0, 1)),
    "as_strided_": ((2, 3), lambda L, x: (x * 1).as_strided_((2,), (1,))),
}  # fmt: skip


@pytest.mark.parametrize(("shape", "act"), COPIES.values(), ids=COPIES)
def test_copy_has_the_same_graph_and_gradient(shape: tuple[int, ...], act: Act) -> None:
    results, graphs = [], []
    for library in (clew, torch):
        x = library.tensor(_array(*shape)).requires_grad_()
        y = act(library, x)
        graphs.append(_graph(y))
        (y * y).sum().backward()
        results.append((y, x.grad))
    assert graphs[0] == graphs[1]
    oracle.assert_same(*results)


# ---------------------------------------------------------------- in-place changes of shape


@pytest.mark.parametrize("kind", ["plain", "view"])
@pytest.mark.parametrize(
    "act",
    [
        lambda x: x.squeeze_(), lambda x: x.squeeze_(0), lambda x: x.squeeze_((0, 2)),
        lambda x: x.unsqueeze_(1), lambda x: x.transpose_(0, 1), lambda x: x.swapdims_(0, 1),
        lambda x: x.as_strided_((2,), (1,)),
    ],
)  # fmt: skip
def test_in_place_shape(act: Callable[[Any], Any], kind: str) -> None:
    results = []
    for library in (clew, torch):
        x = library.tensor(_array(2, 1, 3, 1)).requires_grad_()
        base = x * 2
        changed = base[1:] if kind == "view" else base
        version = changed._version
        assert act(changed) is changed
        assert changed._version == version + 1
        changed.mul_(5)
        (changed * changed).sum().backward()
        results.append((changed, base, x.grad))
    oracle.assert_same(*results)


def test_a_leaf_refuses_in_place_changes_of_shape() -> None:
    for library in (clew, torch):
        x = library.zeros(2, 1).requires_grad_()
        with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
            x.squeeze_()
        assert tuple(x.shape) == (2, 1)


def test_resize_keeps_elements_and_grows_memory() -> None:
    results = []
    for library in (clew, torch):
        x = library.tensor(_array(2, 3))
        x.resize_(3, 2)
        smaller = x.clone().resize_(2, 2)
        larger = x.clone().resize_(4, 3)[:2]
        again = x.clone().resize_as_(library.zeros(6))
        results.append((x, smaller, larger, again))
    oracle.assert_same(*results)
    with pytest.raises(RuntimeError, match="cannot resize variables that require grad"):
        clew.zeros(2).requires_grad_().resize_(3)


def test_set_shares_memory() -> None:
    source, target = clew.ones(2, 3), clew.zeros(1)
    target.set_(source)
    source.fill_(7)
    oracle.assert_same(target, torch.full((2, 3), 7.0))
    with pytest.raises(RuntimeError, match="Could not set tensor of type"):
        target.set_(clew.ones(2, dtype=clew.int64))


# ---------------------------------------------------------------- bits, copies, formats


DTYPES = [
    "float64", "float32", "float16", "bfloat16", "int64", "int32", "uint8", "complex64", "bool",
]  # fmt: skip


@pytest.mark.parametrize("to", DTYPES)
@pytest.mark.parametrize("dtype", ["float32", "int16", "float64"])
def test_view_as_another_dtype(dtype: str, to: str) -> None:
    for shape in ((2, 4), (3,), ()):
        theirs = torch.tensor(_array(*shape)).to(getattr(torch, dtype))
        ours = oracle.to_clew(theirs)
        view, error = oracle.outcome(lambda ours=ours: ours.view(getattr(clew, to)))
        expected, refused = oracle.outcome(lambda t=theirs: t.view(getattr(torch, to)))
        if refused is not None:
            oracle.assert_same_error(error, refused, words=5)
        elif to == "bool":
            assert tuple(view.shape) == tuple(expected.shape)
        else:
            assert error is None, error
            oracle.assert_same(view, expected, 0, 0)
            assert view.data_ptr() == ours.data_ptr()
            ours.zero_()
            theirs.zero_()
            assert view._version == expected._version == 1
            if dtype != to:
                assert view._is_view() == expected._is_view()


@pytest.mark.parametrize("to", DTYPES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_copy_converts_and_broadcasts(dtype: str, to: str) -> None:
    source = torch.tensor([0.0, 1.75, 3.0]).to(getattr(torch, dtype))
    target = torch.zeros(2, 3, dtype=getattr(torch, to))
    mine = oracle.to_clew(target)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mine.copy_(oracle.to_clew(source))
        target.copy_(source)
    oracle.assert_same(mine, target)
    assert mine._version == target._version == 1


def test_copy_refuses_what_torch_refuses() -> None:
    for library in (clew, torch):
        with pytest.raises(RuntimeError, match=r"The size of tensor a \(3\) must match"):
            library.zeros(3).copy_(library.zeros(4))
        with pytest.raises(TypeError, match=r"copy_\(\): argument 'other' \(position 1\) must be"):
            library.zeros(3).copy_([1, 2, 3])
        with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
            library.zeros(1).expand(3).copy_(library.ones(3))
    clew.set_warn_always(True)
    try:
        with pytest.warns(UserWarning, match="Casting complex values to real discards"):
            clew.zeros(1).copy_(clew.tensor([1j]))
    finally:
        clew.set_warn_always(False)


@pytest.mark.parametrize("value", [1, 1.5, True, -1, 300, 2**40, float("nan"), 1e10, 1j], ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_fill_takes_and_refuses_the_same_numbers(dtype: str, value: Any) -> None:
    ours = clew.zeros(2, dtype=getattr(clew, dtype))
    theirs = torch.zeros(2, dtype=getattr(torch, dtype))
    _, error = oracle.outcome(ours.fill_, value)
    _, expected = oracle.outcome(theirs.fill_, value)
    if expected is not None:
        oracle.assert_same_error(error, expected, words=7)
    else:
        assert error is None, error
        oracle.assert_same(ours, theirs)


def test_contiguous_returns_the_tensor_itself() -> None:
    x = clew.zeros(2, 3)
    assert x.contiguous() is x
    assert x.t().contiguous().is_contiguous()


@pytest.mark.parametrize("name", ["contiguous_format", "preserve_format", "channels_last"])
def test_clone_in_a_memory_format(name: str) -> None:
    theirs = torch.arange(24.0).reshape(1, 2, 3, 4).transpose(1, 2)
    ours = clew.arange(24.0).reshape(1, 2, 3, 4).transpose(1, 2)
    copy = ours.clone(memory_format=getattr(clew, name))
    expected = theirs.clone(memory_format=getattr(torch, name))
    oracle.assert_same(copy, expected)
    assert copy.stride() == expected.stride()


def test_as_strided_sees_the_whole_storage() -> None:
    results = []
    for library in (clew, torch):
        x = library.tensor(_array(10)).requires_grad_()
        part = (x * 1)[4:6]
        y = part.as_strided((2, 3), (1, 2), 1)
        z = part.as_strided((2,), (0,))
        (y * y).sum().backward(retain_graph=True)
        first = x.grad.clone()
        (z * z).sum().backward()
        results.append((y, z, first, x.grad))
    oracle.assert_same(*results)


def test_as_strided_scatter_leaves_the_rest_its_gradient() -> None:
    """torch hands the gradient of the overwritten part to `self`; the derivative is the rest."""
    x = clew.tensor(_array(2, 3)).requires_grad_()
    source = clew.tensor(_array(2)).requires_grad_()
    y = clew.as_strided_scatter(x, source, (2,), (2,), 1)
    oracle.assert_same(
        y.detach(),
        torch.as_strided_scatter(
            torch.tensor(_array(2, 3)), torch.tensor(_array(2)), (2,), (2,), 1
        ),
    )
    (y * clew.tensor(_array(2, 3))).sum().backward()
    assert x.grad.tolist() == [[1.0, 0.0, 3.0], [0.0, 5.0, 6.0]]
    assert source.grad.tolist() == [2.0, 4.0]


def test_broadcast_shapes() -> None:
    for shapes in [((3, 1), (4,)), ((), (2,)), (3, (1, 3)), ()]:
        assert tuple(clew.broadcast_shapes(*shapes)) == tuple(torch.broadcast_shapes(*shapes))
    for library in (clew, torch):
        with pytest.raises(RuntimeError, match="Attempting to broadcast a dimension of length 3"):
            library.broadcast_shapes((2,), (3,))


@twice
def test_T_of_other_dimensions_warns(torch: Any) -> Any:
    return torch.zeros(2, 3, 4).T.shape


@twice
def test_resize_that_makes_a_new_tensor(torch: Any) -> Any:
    x = torch.arange(6.0, requires_grad=True)
    y = x.resize(2, 3)
    y.resize_as(torch.zeros(3, 2)).sum().backward()
    return y, x.grad, raised(x.resize, 7)


@twice
def test_expand_to_more_elements_than_can_be_counted(torch: Any) -> Any:
    return raised(torch.ones(1).expand, 2**40, 2**40)


@pytest.mark.parametrize("name", ["H", "mT", "mH"])
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 3, 4)])
def test_transposing_properties(name: str, shape: tuple[int, ...]) -> None:
    x = torch.complex(torch.tensor(_array(*shape)), torch.tensor(_array(*shape)))
    ours, error = oracle.outcome(getattr, oracle.to_clew(x), name)
    theirs, expected = oracle.outcome(getattr, x, name)
    if expected is not None:
        oracle.assert_same_error(error, expected, words=6)
    else:
        oracle.assert_same(ours, theirs)


def test_meshgrid_without_indexing_warns() -> None:
    with pytest.warns(UserWarning, match=r"torch\.meshgrid: in an upcoming release"):
        clew.meshgrid(clew.zeros(2), clew.zeros(3))


def test_numpy_names_of_arguments() -> None:
    for library in (clew, torch):
        x = library.ones(2, 1, 3)
        assert tuple(x.squeeze(axis=1).shape) == (2, 3)
        assert tuple(x.unsqueeze(axis=0).shape) == (1, 2, 1, 3)
        assert tuple(library.cat([x, x], axis=1).shape) == (2, 2, 3)
        assert tuple(library.stack([x, x], axis=-1).shape) == (2, 1, 3, 2)
        assert [tuple(part.shape) for part in x.chunk(3, axis=2)] == [(2, 1, 1)] * 3
        assert tuple(x.repeat_interleave(2, axis=1).shape) == (2, 2, 3)
        assert tuple(x.index_select(axis=2, index=library.tensor([0])).shape) == (2, 1, 1)
        assert len(x.unbind(axis=2)) == 3


TURNS: dict[str, tuple[tuple[int, ...], Callable[[Any], Any]]] = {
    "t_": ((2, 3), lambda b: b.t_()),
    "t_ twice": ((2, 3), lambda b: b.t_().t_()),
    "transpose_": ((2, 3, 4), lambda b: b.transpose_(0, 2)),
    "squeeze_": ((1, 2, 1, 3), lambda b: b.squeeze_()),
    "squeeze_ and t_": ((2, 1, 3), lambda b: b.squeeze_(1).t_()),
    "unsqueeze_": ((2, 3), lambda b: b.unsqueeze_(1)),
    "as_strided_": ((2, 3), lambda b: b.as_strided_((3, 2), (1, 3))),
}


@pytest.mark.parametrize("name", TURNS)
@pytest.mark.parametrize("write", ["old view", "base", "new view"])
def test_views_outlive_a_change_of_shape_of_their_base(name: str, write: str) -> None:
    shape, turn = TURNS[name]

    def scenario(library: Any) -> list[Any]:
        x = library.arange(float(np.prod(shape))).reshape(shape).requires_grad_(True)
        base = x * 1
        old = base[:, ..., 1]
        older = old[0]
        turn(base)
        new = base[0]
        {"old view": old, "base": base, "new view": new}[write].mul_(3)
        (grad,) = library.autograd.grad((old * 2).sum() + (base * 5).sum() + older.sum(), x)
        return [old, older, new, base, grad]

    for ours, theirs in zip(scenario(clew), scenario(torch), strict=True):
        np.testing.assert_array_equal(ours.detach().numpy(), theirs.detach().numpy())


@pytest.mark.parametrize("how", ["unsafe_split", "unsafe_chunk", "unsafe_split_with_sizes"])
def test_unsafe_pieces_share_memory_and_nothing_else(how: str) -> None:
    @twice
    def scenario(torch: Any) -> Any:
        leaf = torch.arange(12.0).reshape(4, 3).requires_grad_()
        x = leaf * 1
        pieces = getattr(torch, how)(x, [1, 3] if how.endswith("sizes") else 2)
        pieces[1].mul_(2)
        seen = [(each.data_ptr() - x.data_ptr(), each._is_view(), each._version) for each in pieces]
        names = [each.grad_fn.name() for each in pieces]
        (pieces[0].sum() + pieces[1].sum() + x.sum()).backward()
        return seen, names, x.detach(), x._version, leaf.grad

    scenario()
