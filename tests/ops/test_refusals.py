"""What PyTorch refuses, although it could be computed: gradients of other kinds, arguments without
a derivative, operands of two dtypes, numbers of the wrong type."""

from __future__ import annotations

from typing import Any

import pytest

from tests.statements import assert_agree
from tests.twice import outcome, twice

# Functions of a real and a complex tensor whose gradient of the real one PyTorch leaves complex.
MIXED = [
    "T.dist({a}, {b})", "T.logaddexp({a}, {b})", "T.ldexp({a}, {b})", "T.where(m, {a}, {b})",
    "T.mul({a}, {b})", "T.add({a}, {b})", "T.div({a}, {b})", "T.pow({a}, {b})", "T.cat([{a}, {b}])",
]  # fmt: skip


@pytest.mark.parametrize("call", MIXED)
def test_gradients_of_a_real_beside_a_complex_operand(call: str) -> None:
    program = ["m = T.tensor([True, False])"]
    for a, b in (("r", "c"), ("c", "r")):
        for kept in ("r", "c", ""):
            given = [name if name == kept or not kept else f"{name}.detach()" for name in (a, b)]
            program += [
                "r = T.tensor([0.5, 1.5], requires_grad=True)",
                "c = T.tensor([1.5 + 1j, 2.5], requires_grad=True)",
                f"{call.format(a=given[0], b=given[1])}.abs().sum().backward()",
                "r.grad is None, c.grad is None",
            ]
    assert_agree("\n".join(program))


REDUCED = [
    "sum(dtype={d})", "sum(0, dtype={d})", "mean(dtype={d})", "mean(0, dtype={d})",
    "prod(dtype={d})", "prod(0, dtype={d})", "cumsum(0, dtype={d})", "cumprod(0, dtype={d})",
    "nansum(dtype={d})", "nanmean(dtype={d})", "to({d})",
]  # fmt: skip


@pytest.mark.parametrize("call", REDUCED)
@pytest.mark.parametrize("made", ["T.tensor([0.5, 1.5])", "T.tensor(0.5)", "T.tensor([2.0])"])
def test_gradients_of_reals_added_up_as_complex_numbers(call: str, made: str) -> None:
    assert_agree(f"""
        x = {made}.requires_grad_()
        x.{call.format(d="T.complex64")}.abs().sum().backward()
        x.grad is None
        x.{call.format(d="T.float64")}.abs().sum().backward()
        x.grad is None
    """)


def test_gradients_of_reals_written_into_complex_tensors() -> None:
    assert_agree("""
        r = T.tensor(-2.75, requires_grad=True)
        c = T.ones(2, dtype=T.complex64)
        c.clone().fill_(r).abs().sum().backward()
        c.clone().copy_(r).abs().sum().backward()
        c.masked_fill(c.real > 0, r).abs().sum().backward()
        c.index_fill(0, T.tensor([0]), r).abs().sum().backward()
        c.slice_scatter(r.expand(2)).abs().sum().backward()
        c[None].diagonal_scatter(r[None]).abs().sum().backward()
        d = c.clone()
        d[0] = r
        d.abs().sum().backward()
        e = c.clone()
        e[:] = r.expand(2)
        e.abs().sum().backward()
        r.grad
        x = T.rand(3, 4, 2, requires_grad=True)
        F.group_norm(x[::2], 1).grad_fn.next_functions[0][0].name()
        F.group_norm(x, 1).grad_fn.next_functions[0][0].name()
    """)


@twice
def test_a_real_tensor_beside_a_complex_number_in_where(lib: Any) -> Any:
    x = lib.tensor([0.5, 1.5], requires_grad=True)
    first, second = lib.where(x > 1, x, 2 - 1j), lib.where(x > 1, 1j, x)
    (first.abs().sum() + second.abs().sum()).backward()
    return first.detach(), second.detach(), x.grad


def test_arguments_without_a_derivative() -> None:
    assert_agree("""
        x = T.tensor([[0.2, 0.4, 0.3]], requires_grad=True)
        w = T.ones(3, requires_grad=True)
        t = T.tensor([1])
        F.nll_loss(x, t, w)
        F.nll_loss(x.detach(), t, w)
        F.nll_loss(T.ones(1, 3, 2, 2), T.zeros(1, 2, 2, dtype=T.int64), w)
        F.cross_entropy(x, t, w)
        F.cross_entropy(x, x.detach(), w).shape
        F.multi_margin_loss(x, t, weight=w)
        F.soft_margin_loss(x, w[None])
        F.binary_cross_entropy(x, x.detach(), w)
        F.binary_cross_entropy_with_logits(x, x.detach(), w)
        F.binary_cross_entropy_with_logits(x, x.detach(), pos_weight=w)
        F.batch_norm(x, w, w.detach(), training=False)
        F.batch_norm(x, w.detach(), w, training=False)
        F.batch_norm(x, w * 1, w.detach().clone(), training=True)
        T.linalg.pinv(x, rtol=w[:1])
        T.linalg.pinv(x, atol=w[:1])
        r = T.rand(1, 1, 2, requires_grad=True)
        F.fractional_max_pool2d(T.ones(1, 1, 4, 4), 2, output_size=2, _random_samples=r)
        with T.no_grad(): F.nll_loss(x, t, w)
    """)


def test_operands_of_two_dtypes() -> None:
    assert_agree("""
        x = T.ones(2, requires_grad=True)
        y = T.zeros(2, dtype=T.float64, requires_grad=True)
        F.huber_loss(x, y).backward()
        F.huber_loss(y, x).backward()
        F.huber_loss(x.detach(), y).backward()
        F.huber_loss(x, y, reduction="none").sum().backward()
        F.smooth_l1_loss(x, y).backward()
        T.addcdiv(x, x, T.tensor([2, 3])).sum().backward()
        T.addcdiv(x, T.tensor([2, 3]), x).sum().backward()
        a = T.eye(2) * 2
        b = T.ones(2, 2, dtype=T.float64)
        T.linalg.solve_triangular(a, b, upper=True)
        T.linalg.solve_triangular(b, a, upper=True)
        T.linalg.solve_triangular(a, b.to(T.complex64), upper=True).dtype
        T.cholesky_solve(b, a)
        T.triangular_solve(b, a)
        T.linalg.vecdot(x, y)
        T.linalg.vecdot(x, x * 1j)
        T.cross(T.ones(3), T.ones(3).double(), dim=0)
        F.cross_entropy(T.ones(1, 3), T.ones(1, 3) * 1j)
        F.bilinear(a[:1], b[:1], T.ones(1, 2, 2))
        T.lerp(x, x, 1j)
        T.bucketize(T.tensor([True, False]), T.tensor([0.0, 1.0]))
        T.bucketize(T.tensor([True, False]), T.tensor([False, True]))
    """)


def test_a_product_whose_blocks_do_not_lie_side_by_side() -> None:
    assert_agree("""
        x = T.arange(6.0).reshape(2, 3)
        T.kron(x, x.mT)
        T.kron(x.mT, x.mT)
        T.kron(x, x)
        T.kron(x, T.ones(2))
        T.kron(T.ones(3), x.mT)
        T.kron(x, x[:, ::2])
    """)


def test_powers_of_bools_have_no_gradient() -> None:
    assert_agree("""
        x = T.tensor([0.5, 2.0], requires_grad=True)
        True ** x
        (True ** x).sum().backward()
        (False ** x).sum().backward()
        c = T.tensor([0.5 + 1j, 2.0], requires_grad=True)
        (True ** c).abs().sum().backward()
        c.grad
        (1 ** x).sum().backward()
        (T.tensor(True) ** x).sum().backward()
        T.float_power(True, x).sum().backward()
        x.grad
    """)


def test_complex_results_without_a_derivative() -> None:
    assert_agree("""
        c = T.ones(2, 2, dtype=T.complex64, requires_grad=True)
        T.slice_scatter(c, c)
        T.slice_scatter(c.detach(), c.detach()).shape
        T.select_scatter(c, c[0], 0, 0)
        T.diagonal_scatter(c, c[0]).shape
        T.geqrf(c)
    """)


def test_numbers_of_the_wrong_type() -> None:
    assert_agree("""
        x = T.tensor([0.25, 0.5])
        T.nan_to_num(x, x)
        T.nan_to_num(x, 1, "a")
        T.nan_to_num(x, 1j)
        T.nan_to_num(x, T.tensor(1.0))
        T.pinverse(x[None], x)
        T.logit(x, (0,))
        T.logit(x, x)
        T.hardshrink(x, (0,))
        T.max(x, x, True)
        T.min(x, x, 0)
        T.normal(x, dtype=T.float32)
        T.normal(x, 1.0, (2,))
        T.randperm(2.5)
        F.layer_norm(x, (2.0,))
        F.pad(x, (1, 1), mode="bad", value=1.5)
        T.range(0, 3, dtype=T.bool)
        T.range(0, 3, dtype=T.complex64)
        T.hann_window(4, dtype=T.complex64)
        T.hann_window(1, dtype=T.complex64)
        x[False] = 1j
        x[False] = 3
        T.add(T.tensor([1]), 1, alpha=T.tensor(2).numpy().astype("float32")[()])
        T.repeat_interleave(T.tensor(1.0), 2, 0)
        T.repeat_interleave(T.tensor(1.0), T.tensor([2]), 0)
        T.optim.Adam([x], betas=(0, 0.5))
        list(T.utils.data.DataLoader([1, 2], timeout=1))
        x.is_same_size((2,))
        x.permute(T.tensor([0]))
    """)


@twice
def test_what_is_no_memory_format_and_no_dimension(lib: Any) -> Any:
    x = lib.ones(2)
    wrong = (1, "a", lib.tensor([0, 0]))
    calls = [x.contiguous, x.float, x.is_contiguous, x.clone]
    formats = [
        outcome(lambda call=call, each=each: call(memory_format=each), words=0)
        for call in calls
        for each in wrong
    ]
    return formats, [outcome(x.softmax, each, words=0) for each in wrong[1:]]


@twice
def test_flags_of_unique(lib: Any) -> Any:
    x = lib.tensor([3, 1, 3])
    flags = ("sorted", "return_inverse", "return_counts")
    # Of the words only the type: PyTorch names the function inside.
    return [
        outcome(lambda flag=flag, name=name: lib.unique(x, **{name: flag}), words=0)
        for name in flags
        for flag in (1, None, "a", True, False)
    ]


def test_bools_of_numpy_count_as_floats() -> None:
    assert_agree("""
        import numpy as np
        i = T.tensor([1, 2])
        i * np.bool_(True)
        i - np.bool_(True)
        T.tensor([True]) + np.bool_(True)
        T.tensor([1.5]) - np.bool_(True)
        T.tensor([True]) & np.bool_(True)
        i.clone().add_(np.bool_(True))
        T.full((2,), np.bool_(True))
        T.where(i > 1, i, np.bool_(True))
        T.result_type(i, np.bool_(True))
        T.tensor(np.bool_(True)), T.as_tensor([np.bool_(False)])
        T.testing.assert_close(True, np.bool_(True))
    """)


@twice
def test_losses_named_without_a_reduction_have_none(lib: Any) -> Any:
    x, y = lib.tensor([[0.5, 1.5, -1.0]]), lib.tensor([[1.0, 0.0, 1.0]])
    return [
        lib.binary_cross_entropy_with_logits(x, y).shape,
        lib.kl_div(x, y),
        lib.kl_div(x, y, 1),
        lib.hinge_embedding_loss(x, 2 * y - 1),
        lib.margin_ranking_loss(x, y, y),
        lib.triplet_margin_loss(x, y, x),
        lib.cosine_embedding_loss(x, y, y[0, :1]),
    ]


@twice
def test_what_weighs_nothing_has_no_gradient_of_zero(lib: Any) -> Any:
    functional = lib.nn.functional
    seen = []
    for targets in ([0, 0], [0, 1], [-100, -100], [0, -100]):
        for loss in (functional.cross_entropy, functional.nll_loss):
            for weight in (None, lib.arange(3.0)):
                x = lib.tensor([[0.75, -1.75, -2.0], [-1.25, 1.5, -1.5]], requires_grad=True)
                loss(x, lib.tensor(targets), weight).backward()
                # Of a product with -0, the sign is left out.
                seen.append(x.grad + 0)
    return seen


@twice
def test_lists_of_indices_warn(lib: Any) -> Any:
    x = lib.arange(12.0).reshape(4, 3)
    return x[[[0], [1]]], x[[slice(0, 1), 0]], x[[lib.tensor([0]), lib.tensor([1])]], x[[0, 1]]


@twice
def test_copies_of_tensors_warn(lib: Any) -> Any:
    x = lib.ones(2, requires_grad=True)
    kept = lib.asarray(x)
    return kept is x, lib.asarray(x, requires_grad=False).requires_grad, x.new_tensor(x.detach())


@twice
def test_old_norms_and_factors(lib: Any) -> Any:
    singular = lib.tensor([[0.5, 0.25], [-1.0, -0.5]])
    return [
        lib.nuclear_norm(lib.ones(2, 2, 3)),
        lib.nuclear_norm(lib.ones(2, 2, 3), keepdim=True),
        lib.norm_except_dim(lib.tensor([1.0, -2.0])),
        lib.norm_except_dim(lib.ones(2, 3), 2, 1),
        lib.lu(singular),
        str(lib.ones(0).storage()),
        str(lib.ones(1).untyped_storage()),
    ]
