"""Conjugate and negative views: they share memory, versions and history with their base."""

from __future__ import annotations

import copy
import gc
import io
import pickle
import random
from typing import Any

import pytest
import torch as real_torch

import clew
from clew.core.mirror import MIRRORS
from tests.twice import raised, twice

VALUES = [[1 + 2j, 3 - 1j, -2j], [2 + 0j, 2 + 2j, 5 + 1j]]


def base(torch: Any, requires_grad: bool = False) -> Any:
    return torch.tensor(VALUES, dtype=torch.complex128, requires_grad=requires_grad)


def state(torch: Any, x: Any, *views: Any) -> Any:
    """What can be seen of a tensor and its views: values, bits, layout, versions."""
    return [
        (
            each.tolist(), each.is_conj(), each.is_neg(), each._is_view(), each.stride(),
            each.storage_offset(), each.data_ptr() - x.data_ptr(), each._version,
        )
        for each in (x, *views)
    ]  # fmt: skip


def name(tensor: Any) -> Any:
    return None if tensor.grad_fn is None else tensor.grad_fn.name()


VIEWS = {
    "conj": lambda x: x.conj(),
    "twice": lambda x: x.conj().conj(),
    "row": lambda x: x.conj()[1],
    "of_row": lambda x: x[1].conj(),
    "steps": lambda x: x[:, ::2].conj(),
    "of_steps": lambda x: x.conj()[:, ::2],
    "column": lambda x: x.t().conj()[1],
    "H": lambda x: x.H,
    "mH": lambda x: x.mH,
    "adjoint": lambda x: x.adjoint(),
    "real": lambda x: x.conj().real,
    "imag": lambda x: x.conj().imag,
    "imag_row": lambda x: x.conj()[0].imag[1:],
    "neg": lambda x: x._neg_view(),
    "neg_conj": lambda x: x._neg_view().conj(),
    "neg_imag": lambda x: x._neg_view().imag,
    "neg_of_imag": lambda x: x.conj().imag._neg_view(),
    "diagonal": lambda x: x.conj().diagonal(),
    "flat": lambda x: x.conj().view(-1),
    "strided": lambda x: x[:, 1].conj().as_strided((2, 2), (1, 3), 0),
    "unfolded": lambda x: x.conj().unfold(1, 2, 2),
    "detached": lambda x: x.conj().detach(),
    "data": lambda x: x.conj().data,
    "of_detached": lambda x: x.detach().conj(),
    "unsqueezed": lambda x: x.conj().unsqueeze(0),
    "chunk": lambda x: x.conj().chunk(2)[1],
}
WRITES = {
    "mul_": lambda t: t.mul_(3),
    "add_": lambda t: t.add_(1),
    "times_i": lambda t: t.mul_(2j) if t.is_complex() else t.mul_(2),
    "fill_": lambda t: t.fill_(7),
    "zero_": lambda t: t.zero_(),
    "copy_": lambda t: t.copy_(t.clone() * 2),
    "first": lambda t: t[0].fill_(4),
    "setitem": lambda t: t.__setitem__(..., 5),
    "exp_": lambda t: t.exp_(),
    "through_data": lambda t: t.data.add_(2),
    "through_detach": lambda t: t.detach().mul_(2),
    "masked_fill_": lambda t: t.masked_fill_(t.abs() > 2, 9),
    "clamped": lambda t: t.real.clamp_(min=1.5),
    "conj_physical_": lambda t: t.conj_physical_(),
    "neg_": lambda t: t.neg_(),
}


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("view", VIEWS)
def test_writes_are_seen_on_both_sides(view: str, write: str) -> None:
    """A write to a view, then one to the base: everybody sees both."""

    @twice
    def scenario(torch: Any) -> Any:
        x = base(torch)
        seen, other, whole = VIEWS[view](x), x[1].conj(), x.H
        WRITES[write](seen)
        first = state(torch, x, seen, other, whole)
        WRITES[write](x)
        return first, state(torch, x, seen, other, whole), seen._base is x

    scenario()


@pytest.mark.parametrize("view", sorted(VIEWS.keys() - {"detached", "data", "of_detached"}))
def test_gradients_through_views_that_are_written(view: str) -> None:
    """The history of the base is that of the write; other views follow."""

    @twice
    def scenario(torch: Any) -> Any:
        leaf = base(torch, requires_grad=True)
        x = leaf * (1 + 1j)
        seen, other = VIEWS[view](x), x.conj()
        before = name(seen)
        if view == "chunk":
            return raised(seen.mul_, 2)
        seen.mul_(seen.detach() * 2)
        names = name(x), before
        x.mul_(3)
        loss = (x * (2 - 1j)).abs().sum() + (other * 1j).real.sum() + (seen * 2).abs().sum()
        loss.backward()
        return leaf.grad, names, leaf.grad.is_conj(), x, seen, other, x._version

    scenario()


@twice
def test_gradients(torch: Any) -> Any:
    x = base(torch, requires_grad=True)
    results = []
    for view in (x.conj(), x.H, x.conj().imag, x.conj().real, x._neg_view(), x.conj().conj()):
        (grad,) = torch.autograd.grad(view, x, torch.ones_like(view) * 2, retain_graph=True)
        results += [grad, grad.is_conj(), grad.is_neg(), grad._is_view(), name(view)]
    (first,) = torch.autograd.grad((x.conj() * x * x).real.sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.abs().sum(), x)
    (x.conj() * 2).real.sum().backward()
    return results, first, second, x.grad


@twice
def test_overwritten_after_it_was_saved(torch: Any) -> Any:
    results = []
    for writes_base in (True, False):
        leaf = base(torch, requires_grad=True)
        x = leaf * 2
        y = x.conj()
        product = y * y
        (x if writes_base else y).add_(1)
        results += [raised(product.abs().sum().backward, words=12), x._version, y._version]
    return results


@twice
def test_leaves_and_no_grad(torch: Any) -> Any:
    x = base(torch, requires_grad=True)
    results = [raised(x.conj().mul_, 2, words=12), raised(x.mul_, 2, words=12)]
    with torch.no_grad():
        y = x.conj()
        y.mul_(2)
        results += [x.detach(), y.detach(), x._version]
    results.append(raised(y.mul_, 2, words=8))
    z = base(torch)
    y = z.conj().requires_grad_()
    (y * 1j).real.sum().backward()
    with torch.inference_mode():
        a = base(torch)
        b = a.conj()
        a.mul_(2j)
        results += [b, b.is_conj(), b._is_view()]
        b.add_(1j)
    return [*results, y.grad, y.is_leaf, a]


@twice
def test_what_is_refused(torch: Any) -> Any:
    x = base(torch)
    y = x.conj()
    return [
        raised(call, words=40)
        for call in (
            y.numpy,
            y.imag.numpy,
            y.__array__,
            lambda: torch.view_as_real(y),
            lambda: y.view(torch.float64),
            lambda: y.imag.view(torch.int64),
            y.__dlpack__,
            lambda: torch.from_dlpack(y),
            lambda: x.conj().expand(2, 2, 3).mul_(2),
        )
    ]


@twice
def test_copies_are_plain(torch: Any) -> Any:
    x = base(torch)
    y = x.conj()
    copies = {
        "clone": y.clone(), "resolve_conj": y.resolve_conj(), "resolve_neg": y.imag.resolve_neg(),
        "both": y._neg_view().resolve_conj(), "conj_physical": y.conj_physical(),
        "to": y.to(torch.complex64), "contiguous": y.t().contiguous(), "deepcopy": copy.deepcopy(y),
        "deepcopy_imag": copy.deepcopy(y.imag), "copied": y.to(torch.complex128, copy=True),
        "forced": torch.from_numpy(y.numpy(force=True)), "sum": y + y, "cat": torch.cat([y, y]),
        "zeros": torch.zeros_like(y), "index": y[[0, 1]],
    }  # fmt: skip
    x.zero_()
    return {
        key: (each, each.is_conj(), each.is_neg(), each.stride(), each._version)
        for key, each in copies.items()
    }


@twice
def test_the_tensor_itself(torch: Any) -> Any:
    x, y = base(torch), base(torch).conj()
    flat = torch.ones(2)
    return [
        flat.conj() is flat, flat.conj_physical() is flat, flat.resolve_conj() is flat,
        x.resolve_conj() is x, x.resolve_neg() is x, y.resolve_neg() is y, y.contiguous() is y,
        y.to(torch.complex128) is y, y.imag.conj().is_neg(), y.is_contiguous(),
        x.real.H.is_conj(), torch.is_conj(y), torch.is_neg(y.imag), y.is_set_to(x.conj()),
        y.untyped_storage().data_ptr() == y._base.untyped_storage().data_ptr(),
        y.storage_offset(), torch.empty(0, dtype=torch.complex64).conj().is_conj(),
        torch.tensor(1j).conj().is_conj(), torch.nn.Parameter(y).is_conj(),
    ]  # fmt: skip


@twice
def test_files_and_pickles(torch: Any) -> Any:
    x = base(torch)
    results: list[Any] = []
    for legacy in (False, True):
        file = io.BytesIO()
        given = [x, x.conj(), x.H, x[1:]._neg_view(), base(torch).conj().imag]
        torch.save(given, file, _use_new_zipfile_serialization=not legacy)
        file.seek(0)
        loaded = torch.load(file)
        loaded[1].mul_(2j)
        results += [(t, t.is_conj(), t.is_neg(), t.stride()) for t in loaded]
    pickled = [pickle.loads(pickle.dumps(t)) for t in given]
    return results, [(t, t.is_conj(), t.is_neg()) for t in pickled]


@twice
def test_out_optimizers_and_accumulated_gradients(torch: Any) -> Any:
    x = base(torch)
    y = x.conj()
    torch.add(base(torch), 1j, out=y)
    weight = torch.nn.Parameter(base(torch))
    view = weight.detach().conj()
    optimizer = torch.optim.Adam([weight], lr=0.1)
    seen = []
    for _ in range(2):
        (weight * weight.conj()).real.sum().backward()
        grads = weight.grad.conj() if not seen else seen[0]
        optimizer.step()
        seen += [grads, view.clone(), view._version]
    torch.nn.utils.clip_grad_norm_([weight], 0.5)
    return x, y, seen, weight.detach(), weight.grad


@twice
def test_parts_and_pairs_are_written(torch: Any) -> Any:
    x = base(torch)
    y, pairs = x.conj(), torch.view_as_real(x)
    results = []
    pairs[..., 1].fill_(3)
    results += [x.clone(), y.clone()]
    y.imag = torch.tensor(7.0)
    y.real += 1
    results += [x.clone(), pairs.clone()]
    negative = torch.view_as_complex(pairs._neg_view())
    negative[0] = 1 + 1j
    x.imag.mul_(2)
    return results, x, y, pairs, negative, negative.is_neg()


@twice
def test_forward_mode_and_vmap(torch: Any) -> Any:
    x, v = base(torch), base(torch) * (1 - 2j)
    results = list(torch.func.jvp(lambda t: (t.conj() * t).sum() + t.mH.abs().sum(), (x,), (v,)))

    def written(t: Any) -> Any:
        t = t * 1j
        y = t.conj()
        y.mul_(2)
        return t, y, y.real

    _, tangents = torch.func.jvp(written, (x,), (v,))
    out = torch.vmap(written)(x)
    flags: list[bool] = []
    torch.vmap(lambda t: flags.append(t.conj().is_conj()) or t)(x)
    return results, tangents, out, [each.is_conj() for each in out], flags


@twice
def test_random_fills_and_memory_of_another_kind(torch: Any) -> Any:
    strided = torch.empty_strided((2, 3), (1, 2), dtype=torch.complex128)
    strided.copy_(base(torch))
    y = strided.conj()
    strided.mul_(1j)
    shared = torch.from_numpy(base(torch).numpy()[:, ::2])
    z = shared.conj()
    shared.mul_(2)
    z.imag.fill_(1)
    filled = torch.zeros(3, dtype=torch.complex64)
    w = filled.conj()
    filled.fill_(2j)
    filled.t_()
    filled.mul_(2)
    return strided, y, y.stride(), shared, z, z.stride(), w


@twice
def test_small_writes_to_large_memory(torch: Any) -> Any:
    """Written parts may lie inside, across and outside of what a view covers."""
    x = torch.arange(24).reshape(4, 6) * (1 + 1j)
    views = [x.conj(), x[1:3].conj(), x.H, x[:, 1:3].conj(), x.t()[2:4].conj(), x[2, ::2].conj()]
    views.append(x[0].conj().expand(2, 6))
    for part in (x[1], x[:, 2], x[0:2, 1:4], x[3, 5], x.t()[2:3], views[2][1], views[1].imag[0]):
        part += 3 - (1j if part.is_complex() else 0)
    torch.view_as_real(x)[2].mul_(2)
    x[3:3].zero_()
    return x, views


def test_a_random_fill_is_seen() -> None:
    x = clew.zeros(4, dtype=clew.complex64)
    y = x.conj()
    x.normal_()
    assert y.tolist() == x.conj_physical().tolist() != [0] * 4
    y.normal_()
    assert y.tolist() == x.conj_physical().tolist()


@twice
def test_writes_from_outside_are_seen_by_new_views(torch: Any) -> Any:
    x = base(torch)
    y, array = x.conj(), x.numpy()
    array[0] = 5 + 5j
    first = y[0].clone()
    y.mul_(2)
    array[1] += 1
    return first, x, torch.from_numpy(array), y[1], y.conj()


STEPS = {
    "conj": lambda t: t.conj(),
    "neg": lambda t: t._neg_view(),
    "transposed": lambda t: t.mT if t.ndim > 1 else t.view(t.shape),
    "adjoint": lambda t: t.mH if t.ndim > 1 else t.conj(),
    "real": lambda t: t.real,
    "imag": lambda t: t.imag if t.is_complex() else t[:],
    "row": lambda t: t[0] if t.ndim > 1 else t[:],
    "rest": lambda t: t[..., 1:] if t.ndim and t.shape[-1] > 1 else t[...],
    "steps": lambda t: t[..., ::2] if t.ndim else t[...],
    "unsqueezed": lambda t: t.unsqueeze(0) if t.ndim < 3 else t[:],
    "detached": lambda t: t.detach(),
    "diagonal": lambda t: t.diagonal() if t.ndim == 2 else t[...],
    "expanded": lambda t: t.expand(2, *t.shape) if t.ndim < 3 else t[...],
}
CHANGES = {
    **{key: WRITES[key] for key in ("mul_", "times_i", "fill_", "through_data", "neg_")},
    "square": lambda t: t.mul_(t.clone()),
    "sum": lambda t: t.copy_(t.clone().sum().real),
}


@pytest.mark.parametrize("seed", range(200))
def test_random_programs(seed: int) -> None:
    """Views of views and writes to any of them: values, bits, layouts, versions, gradients."""

    @twice
    def scenario(torch: Any) -> Any:
        choose = random.Random(seed)
        leaf = base(torch, requires_grad=choose.random() < 0.6)
        tensors, seen = [leaf * (1 + 0.5j)], []
        for _ in range(choose.randint(3, 9)):
            given = choose.choice(tensors)
            try:
                if choose.random() < 0.6:
                    tensors.append(STEPS[choose.choice(list(STEPS))](given))
                else:
                    CHANGES[choose.choice(list(CHANGES))](given)
            except RuntimeError as error:
                seen.append(" ".join(str(error).split()[:6]))
        seen.append(state(torch, *tensors))
        if leaf.requires_grad:
            sum((t * k).abs().square().sum() for k, t in enumerate(tensors, 1)).backward()
        return seen, leaf.grad

    scenario()


def test_mirrors_go_with_their_views() -> None:
    gc.collect()
    before = len(MIRRORS)
    x = clew.ones(3, dtype=clew.complex64)
    rows = [x.conj()[1:] for _ in range(3)]
    assert len(MIRRORS) == before + 1 and sum(map(len, MIRRORS.values())) >= 3
    del rows
    assert len(MIRRORS) == before


def test_files_are_read_by_the_other_library() -> None:
    for write, read in ((clew, real_torch), (real_torch, clew)):
        for legacy in (False, True):
            file = io.BytesIO()
            x = base(write)
            imag = base(write).conj().imag
            write.save([x, x.mH, imag], file, _use_new_zipfile_serialization=not legacy)
            file.seek(0)
            ours = read.load(file)
            assert [t.tolist() for t in ours] == [t.tolist() for t in (x, x.mH, imag)]
            assert [t.is_conj() for t in ours] == [False, True, False]
            assert ours[1].data_ptr() == ours[0].data_ptr() and ours[2].is_neg()
