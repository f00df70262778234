"""What random programs run into: memory shared with `out=`, empty indices, mixed dtypes, words."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np

from tests.twice import leaf, outcome, raised, twice

NAN, INF = float("nan"), float("inf")


@twice
def test_sums_into_their_own_input(lib: Any) -> Any:
    """PyTorch fills `out` with what it starts from, then reads the input."""
    seen = []
    for name in ("sum", "nansum", "prod"):
        for start in ([1.0, 2.0, 3.0], [[1.0, INF], [NAN, 4.0]], [[1.0, 2.0]]):
            x = lib.tensor(start)
            getattr(lib, name)(x, 0, out=x)
            kept = lib.tensor(start)
            getattr(lib, name)(kept, 0, keepdim=True, out=kept)
            seen += [x, kept]
        base = lib.tensor([[1.0, 2.0], [3.0, 4.0]])
        getattr(lib, name)(base, 0, out=base[0])
        seen.append(base)
        lost = lib.tensor([[1.0, 2.0], [3.0, 4.0]])
        seen += [raised(getattr(lib, name), lost, 5, out=lost), lost]
    return seen


@twice
def test_out_is_resized_in_its_own_memory(lib: Any) -> Any:
    """Where there is room, so that others see the result; sums and products clear it first."""
    seen: list[Any] = []
    calls = [
        lambda base, out: lib.sum(base.clone(), 1, out=out),
        lambda base, out: lib.sum(base, 0, out=out),
        lambda base, out: lib.prod(base.clone(), 1, keepdim=True, out=out),
        lambda base, out: lib.nansum(base, 0, out=out),
        lambda base, out: lib.exp(lib.zeros(2), out=out),
        lambda base, out: lib.add(lib.ones(1, 2), 1, out=out),
        lambda base, out: lib.amax(lib.ones(2, 2), 0, out=out),
    ]  # fmt: skip
    for call in calls:
        for part in (lambda x: x[1], lambda x: x.view(-1), lambda x: x.T, lambda x: x):
            base = lib.arange(1.0, 7.0).reshape(2, 3)
            out = part(base)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                call(base, out)
            seen += [base, out, out.stride(), out.storage_offset()]
    return seen


@twice
def test_means_after_an_infinity(lib: Any) -> Any:
    rows = [[1.0, 2.0, INF], [INF, 2.0, 3.0], [INF, -INF, 1.0], [1.0, 2.0, 3.0], [NAN, 1.0, 1.0]]
    seen = []
    for dtype in (lib.float32, lib.float64, lib.bfloat16):
        x = lib.tensor(rows, dtype=dtype)
        for function in (lib.var_mean, lib.std_mean):
            seen += [*function(x, 1), *function(x, 0, keepdim=True), *function(x), *function(x[0])]
    return seen


@twice
def test_poles_of_polygamma(lib: Any) -> Any:
    places = [0.0, -1.0, -2.0, -3.0, -7.0, 1.5, -0.5, -2.25]
    seen = []
    for dtype in (lib.float32, lib.float64):
        x = lib.tensor(places, dtype=dtype, requires_grad=True)
        x.digamma().sum().backward()
        seen += [x.grad, lib.polygamma(1, x.detach()), lib.polygamma(1, x.detach()[1])]
    return seen


@twice
def test_the_zeros_of_lgamma_are_positive(lib: Any) -> Any:
    return [1 / lib.lgamma(lib.tensor([1.0, 2.0], dtype=t)) for t in (lib.float32, lib.float64)]


@twice
def test_powers_of_one_and_zero(lib: Any) -> Any:
    odd = lib.tensor([complex(NAN, NAN), complex(INF, 0), 0j, 2j])
    seen = [base**odd for base in (1, 1.0, 1 + 0j)] + [1 ** lib.tensor([NAN, INF, 2.0])]
    zeros = lib.zeros(2, dtype=lib.complex64)
    return [*seen, *[base**zeros for base in (0, 0.0, 0j, 2, 3j)], 0j ** lib.zeros(2)]


@twice
def test_memory_of_one_number(lib: Any) -> Any:
    seen = []
    for make in (lib.asarray, lib.as_tensor, lib.from_numpy):
        number = np.array(1.0)
        x = make(number)
        number[...] = 5.0
        seen.append(x)
    return seen


@twice
def test_complex_numbers_to_the_power_0(lib: Any) -> Any:
    x = lib.tensor([complex(INF, 0), complex(0, -INF), complex(NAN, 1), 0j, 1j, 2 + 1j])
    exponents = (lib.tensor(0), lib.tensor(0j), lib.zeros(6), 0, lib.tensor(2))
    return [lib.isnan(x**each) for each in exponents] + [(x**0).real, (x[4:] ** lib.zeros(2)).real]


@twice
def test_masks_of_bytes(lib: Any) -> Any:
    """One value goes to masked_fill_, which takes no bytes; several do not."""
    mask = lib.tensor([1, 0, 1], dtype=lib.uint8)
    seen = []
    for value in (2, lib.tensor(2.0), lib.tensor([2.0]), lib.tensor([2.0, 3.0])):
        x = lib.ones(3)
        seen += [raised(x.__setitem__, mask, value, words=10), x]
        matrix = lib.ones(3, 3)
        seen += [raised(matrix.__setitem__, (slice(None), mask), value), matrix]
        seen += [raised(matrix.__setitem__, (mask, lib.tensor([0, 1])), value), matrix]
        if isinstance(value, lib.Tensor):
            seen += [raised(x.index_put_, (mask,), value), outcome(x.index_put, (mask,), value), x]
            seen += [raised(x.index_put_, (mask,), value, True), x]
    seen.append(raised(lib.ones(2).__setitem__, mask[:0], 1.0, words=10))
    return [*seen, lib.arange(3.0)[mask]]


@twice
def test_indices_of_nothing(lib: Any) -> Any:
    """Masks must fit also where they are empty; places are looked up only where one is read."""
    no_mask = lib.zeros(0, dtype=lib.bool)
    far = lib.tensor([5])
    keys = [
        (lib.ones(2), no_mask), (lib.ones(2, 3), (slice(None), no_mask)), (lib.ones(0), no_mask),
        (lib.ones(2, 3), lib.zeros(0, 3, dtype=lib.bool)), (lib.ones(0, 2), (slice(None), far)),
        (lib.ones(0, 3), lib.zeros(0, 3, dtype=lib.bool)), (lib.ones(3, 0), far),
        (lib.ones(3, 2), (far, slice(0, 0))), (lib.ones(0, 3), far), (lib.ones(3, 2), far),
    ]  # fmt: skip
    seen = []
    for x, key in keys:
        seen.append(outcome(x.__getitem__, key, words=12))
        seen += [raised(x.__setitem__, key, 1.0, words=12), x]
    embedding = lib.nn.functional.embedding
    seen += [outcome(embedding, lib.tensor([0]), lib.ones(0, 3))]
    return [*seen, outcome(embedding, lib.tensor([], dtype=lib.int64), lib.ones(0, 3))]


@twice
def test_losses_of_two_dtypes(lib: Any) -> Any:
    F = lib.nn.functional
    seen = []
    for first in ("float16", "bfloat16", "float32", "float64", "int64", "bool", "complex64"):
        for second in ("float16", "float32", "float64", "int64", "complex64"):
            x = lib.ones(3, dtype=getattr(lib, first)) * 3
            y = lib.ones(3, dtype=getattr(lib, second))
            for result in (
                outcome(F.huber_loss, x, y),
                outcome(F.cosine_similarity, x, y, 0),
                outcome(F.binary_cross_entropy_with_logits, x, y),
            ):
                seen += [result, str(getattr(result, "dtype", "")).split(".")[-1]]
    x, y = lib.ones(3), lib.zeros(3, dtype=lib.float64, requires_grad=True)
    return [*seen, F.huber_loss(x, y).grad_fn.name()]


@twice
def test_einsum_of_one_operand_is_another_tensor(lib: Any) -> Any:
    x = lib.ones(2, 3, requires_grad=True)
    seen = []
    for equation in ("ij->ij", "ij", "...", "ij->ji", "i...->i..."):
        result = lib.einsum(equation, x)
        seen += [result is x, result, result.grad_fn.name(), result.stride()]
    return seen


@twice
def test_einsum_of_what_products_refuse(lib: Any) -> Any:
    yes, one = lib.ones(3, 3, dtype=lib.bool), lib.ones(3, 1, dtype=lib.bool)
    seen = [
        outcome(lib.einsum, equation, a, b)
        for equation, a, b in (
            ("ij,jk->ik", yes, yes), ("i,i->", yes[0], yes[0]), ("ij,kj->ik", one, one),
            ("...i,...i->...", one, one), ("...i,...i->...", yes, yes), ("i,j->ij", yes[0], yes[1]),
            ("ij,jk->ik", lib.ones(3, 3), lib.ones(3, 3, dtype=lib.float64)),
            ("ij,j->i", lib.ones(3, 3).bfloat16(), lib.ones(3)),
        )
    ]  # fmt: skip
    x = lib.ones(3, 1, dtype=lib.float64, requires_grad=True)
    lib.einsum("ij,jk->ik", x, x.T * 2).square().sum().backward()
    return [*seen, x.grad]


@twice
def test_in_place_products_of_other_shapes(lib: Any) -> Any:
    a, batch = lib.ones(3, 3), lib.ones(3, 3, 3)
    seen = []
    for x in (lib.ones(3), lib.ones(3, 1), lib.ones(3, 3), lib.ones(1, 3, 3)):
        seen += [
            raised(x.addmm_, a, a, words=20),
            raised(lambda x=x: x.addmm_(mat1=a, mat2=a, beta=2), words=20),
            raised(x.addmm_, lib.ones(3, 2), a),
            raised(x.baddbmm_, batch, batch, words=20),
            x,
        ]
    return seen


@twice
def test_in_place_over_a_part_of_an_operand(lib: Any) -> Any:
    seen = []
    for name in ("xlogy_", "copysign_", "nextafter_", "add_"):
        x = lib.arange(12.0).reshape(3, 4)
        seen += [raised(getattr(x, name), x[0]), raised(getattr(x, name), x), x]
        single = lib.ones(1)
        seen += [raised(getattr(single, name), single[::2]), single]
    x = lib.arange(4.0)
    return [*seen, raised(x.addcmul_, x[:1], x), raised(x.addcdiv_, x, x[1:2]), x]


@twice
def test_words_of_wrong_calls(lib: Any) -> Any:
    x, whole = lib.ones(2, 3), lib.tensor(1)
    empty = lib.ones(2, 0, dtype=lib.complex64, requires_grad=True)
    none = lib.empty(0, dtype=lib.bool)
    yes = lib.ones(2, 3, 4, dtype=lib.bool)
    return [
        raised(x.prod, (0, 1), True),
        raised(x.prod, (0, 1)),
        raised(x.lerp_, 0.5, 0.25, words=5),
        raised(leaf(lib, [1.0]).lerp_, 2, 0.5, words=5),
        x[:, :0].cummax(3).values,
        x[:, :0].roll(1, 3),
        raised(x.roll, 1, 3),
        raised(lib.nn.functional.kl_div, x, x + 0j),
        raised(lib.matmul, yes, yes.mT),
        raised(lib.matmul, yes, yes.mT.long()),
        *[raised(getattr(lib, name), whole, 0) for name in ("softmax", "log_softmax")],
        *[raised(getattr(lib, name), empty, 1) for name in ("softmax", "log_softmax")],
        lib.searchsorted(none, none),
    ]


@twice
def test_acosh_has_a_slope_below_minus_one(lib: Any) -> Any:
    x = leaf(lib, [-2.0, -1.5, 0.0, 1.0, 1.25, 3.0])
    z = leaf(lib, [-2.0 + 1j, 0.5 - 1j, 3j], dtype="complex128")
    for each in (x, z):
        each.acosh().backward(lib.ones_like(each))
    return x.grad, z.grad


@twice
def test_values_that_lose_their_leading_ones(lib: Any) -> Any:
    """Then they are no longer the part of memory that they are written to."""
    single, cube = lib.ones(1), lib.ones(1, 1, 1)
    zero = lib.tensor(0)
    x = lib.zeros(3, 3)
    x[0], x[1], x[:2, 1:] = lib.ones(1, 1, 3), lib.ones(1, 1, 1), lib.tensor([[2.0, 3.0]])
    return (
        raised(single.__setitem__, None, single), raised(cube.__setitem__, (zero, zero), cube),
        raised(x.__setitem__, None, x), raised(x.__setitem__, 0, lib.ones(2, 1, 3)), x,
    )  # fmt: skip


@twice
def test_a_selection_needs_what_it_is_of(lib: Any) -> Any:
    x = leaf(lib, [1.0, -2.0, 3.0])
    product = x * 2
    chosen = product.masked_select(product > 0)
    product.mul_(2)
    return raised(chosen.sum().backward)


@twice
def test_products_of_a_batch_of_one(lib: Any) -> Any:
    seen = []
    for first, second in ((1, 2), (2, 1), (1, 1), (3, 3)):
        x = lib.arange(first * 6.0).reshape(first, 2, 3).requires_grad_()
        y = lib.arange(second * 12.0).reshape(second, 3, 4).requires_grad_()
        result = x @ y
        result.square().sum().backward()
        seen += [result, result.grad_fn.name(), result.stride(), x.grad, y.grad]
    return seen


@twice
def test_the_order_in_memory_is_that_of_the_operands(lib: Any) -> Any:
    """Before they are converted."""
    whole = lib.arange(3).reshape(1, 3)
    wide = whole.expand(2, 4, 3)
    bytes_ = lib.eye(1, 3, dtype=lib.uint8).expand(2, 1, 3)
    results = (
        whole / wide, wide / 2, wide.sqrt(), wide + 1.5, wide.expand(2, 2, 4, 3).reciprocal(),
        bytes_ + lib.ones(3), lib.copysign(bytes_[0], bytes_), wide.mT / 2, whole.mT * 0.5,
        lib.eye(2, 3).T.logcumsumexp(0),
    )  # fmt: skip
    return [(each, each.stride()) for each in results]


@twice
def test_sums_into_a_view_that_shrinks(lib: Any) -> Any:
    """Only as much memory as the result needs is written to."""
    seen = []
    for name in ("sum", "prod"):
        for cut in (lambda x: x[1:], lambda x: x[1:, 1:], lambda x: x[0]):
            base = lib.arange(12.0).reshape(3, 4)
            part = cut(base)
            getattr(lib, name)(part, 0, out=part)
            seen += [base, part]
    return seen


@twice
def test_divisions_and_their_modes(lib: Any) -> Any:
    x = leaf(lib, [1.0, -3.0])
    results = [
        x.div(2, rounding_mode=None), lib.div(x, x, rounding_mode=None), x.div(2), x / 2,
        (x * 1).div_(2, rounding_mode=None), (x * 1).div_(2), lib.arange(3).div(2),
        lib.arange(3).div(2, rounding_mode=None), x.div(2, rounding_mode="floor"),
    ]  # fmt: skip
    results[1].sum().backward()
    return [(each, each.grad_fn and each.grad_fn.name()) for each in results], x.grad


@twice
def test_modes_among_nan(lib: Any) -> Any:
    rows = (
        [2.0, 1, NAN, 1], [1.0, 1, NAN], [NAN, 1.0, 1], [1, 2, 2, NAN, 2], [NAN, 1.0, 2],
        [1, NAN, 2, 2, 3, 3], [1.0, 2, 1, 2, NAN], [NAN, NAN], [3.0, 2, NAN], [1.0, 2, 2, 2],
    )  # fmt: skip
    table = lib.tensor([[0.5, NAN, 1.0], [2.0, 1.0, 1.0]])
    return [lib.tensor(row).mode() for row in rows], table.mode(0), table.bfloat16().mode(1)


@twice
def test_slopes_of_logit_at_its_ends(lib: Any) -> Any:
    seen = []
    for eps in (None, 0.0, 0.1):
        x = leaf(lib, [-0.0, 0.0, 1.0, 0.5, -1.0])
        x.logit(eps).backward(lib.tensor([1.0, -1.0, 1.0, 2.0, 1.0], dtype=lib.float64))
        seen.append(x.grad)
    return seen


@twice
def test_distances_of_two_dtypes(lib: Any) -> Any:
    half, double = lib.ones(2, 2, dtype=lib.float16), lib.tensor(4.0, dtype=lib.float64)
    results = lib.dist(double, half), lib.dist(half, double), lib.dist(lib.ones(2), double)
    words = raised(lib.dist, lib.ones(2, 3).long(), lib.ones(2).byte())
    return [(each, str(each.dtype).split(".")[-1]) for each in results], words


@twice
def test_normalised_results_lie_row_by_row(lib: Any) -> Any:
    F = lib.nn.functional
    x, y = lib.ones(3, 2).T, lib.ones(2, 3, 4).permute(2, 1, 0)
    images = lib.ones(2, 3, 4, 5).to(memory_format=lib.channels_last)
    results = [F.batch_norm(each, None, None, training=True) for each in (x, y, y.mT, images)]
    results += [F.batch_norm(y, lib.zeros(3), lib.ones(3)), F.group_norm(x.bfloat16(), 1)]
    return [each.stride() for each in results]


@twice
def test_complex_numbers_where_there_is_no_order(lib: Any) -> Any:
    z, empty, single = lib.ones(3) * 1j, lib.zeros(0, dtype=lib.complex64), lib.tensor(1j)
    return [
        *[raised(getattr(lib, n), lib.ones(2), z) for n in ("maximum", "minimum", "fmax", "fmin")],
        *[raised(getattr(lib, name), lib.ones(2), z) for name in ("fmod", "copysign", "lt")],
        *[raised(getattr(lib.ones(3), name), 2j) for name in ("copysign_", "xlogy_", "fmod_")],
        *[raised(getattr(lib.ones(3).long(), name), z) for name in ("copysign_", "xlogy_")],
        *[raised(getattr(z.clone(), name), 2j) for name in ("copysign_", "xlogy_")],
        raised(empty.max, -1), raised(empty.min, -1, True), raised(z.max, 0), single.mode(0).values,
        raised(leaf(lib, 1j, "complex64").mode, 0), raised(z.mode, 0),
    ]  # fmt: skip


@twice
def test_nan_to_num_of_complex_numbers_with_a_history(lib: Any) -> Any:
    """In place it is allowed."""
    x = leaf(lib, [complex(NAN, 1), complex(1, INF), 2 + 1j], dtype="complex128")
    y = x * lib.tensor([1.0, 1.0, 1.0])
    y.nan_to_num_(posinf=3.0)
    name = y.grad_fn.name()
    y.real.sum().backward()
    return raised(x.nan_to_num), name, y.detach(), x.grad


@twice
def test_real_parts_lie_as_new(lib: Any) -> Any:
    z = lib.ones(1, 3, dtype=lib.complex64)
    parts = z[:, :1], z[0], z[0, 1:2], z.T
    return [each.to(dtype).stride() for each in parts for dtype in (lib.int32, lib.bfloat16)]


@twice
def test_leaves_are_said_before_bools(lib: Any) -> Any:
    x = leaf(lib, [1.0])
    return raised(x.sub_, True, alpha=2), raised(lib.ones(1).sub_, True, alpha=2)


@twice
def test_zeros_times_nan_in_products(lib: Any) -> Any:
    """Also of matrices of one element, for which BLAS has a way of its own."""
    zero, row = lib.zeros(1, 1), lib.tensor([[NAN, INF, 1.0]])
    linear = lib.nn.functional.linear
    return [
        zero @ row, row.T @ zero, zero @ zero, linear(zero, row.T, lib.ones(3)),
        lib.zeros(2, 1) @ row, lib.zeros(1) @ row, row.mv(lib.zeros(3)),
    ]  # fmt: skip


@twice
def test_gradients_of_cumprod_at_zeros(lib: Any) -> Any:
    rows = [
        [0.0, 1.0, 2.0, 3.0], [1.0, 0.0, 2.0, 0.0], [2.0, 3.0, 0.0, 5.0], [0.0, 0.0, 1.0, INF],
        [INF, 0.0, 2.0, 1.0], [NAN, 2.0, 0.0, 1.0], [1.0, 2.0, 0.0, NAN], [3.0, 2.0, 1.0, 2.0],
    ]  # fmt: skip
    weights = [
        [1.0, 1.0, 1.0, 1.0],
        [INF, 1.0, 1.0, 1.0],
        [1.0, NAN, 2.0, 1.0],
        [1.0, 2.0, 3.0, INF],
    ]
    seen = []
    for row, weight in itertools.product(rows, weights):
        x = leaf(lib, row)
        (x.cumprod(0) * lib.tensor(weight)).sum().backward()
        seen.append(x.grad)
    both = leaf(lib, rows)
    both.cumprod(1).sum().backward()
    return [*seen, both.grad]


@twice
def test_norms_of_complex_infinities(lib: Any) -> Any:
    z = lib.tensor([complex(INF, NAN), complex(NAN, INF), 1 + 1j])
    parts = (z, z[:1], z[2:], z.reshape(3, 1), z.reshape(1, 3))
    return [part.norm(order) for part in parts for order in (1, 2, 3, INF)]


@twice
def test_quotients_that_are_added(lib: Any) -> Any:
    z = lib.tensor([1 + 1j, 1j, -1, 3 - 2j])
    zero = lib.tensor(False)
    return [lib.addcdiv(z, z, zero).imag, lib.addcdiv(z, z, zero, value=0.5).isnan()]


@twice
def test_the_sign_of_a_vanishing_logsigmoid(lib: Any) -> Any:
    x = [INF, 200.0, 1e4, -INF]
    return [
        1 / lib.nn.functional.logsigmoid(lib.tensor(x, dtype=dtype))
        for dtype in (lib.float32, lib.bfloat16)
    ]


@twice
def test_searching_where_nothing_is_sorted(lib: Any) -> Any:
    seen = []
    for row in ([3.0, 3.0, NAN], [NAN, 1.0, 2.0], [-2.0, -3.0, 1.75, 0.5, -2.5, -0.25], [NAN, NAN]):
        for dtype in (lib.float32, lib.float64, lib.bfloat16):
            x = lib.tensor(row, dtype=dtype)
            seen += [lib.searchsorted(x, x, right=right) for right in (False, True)]
    whole = lib.tensor([4, 1, 3, 0, 2], dtype=lib.int32)
    return [*seen, lib.searchsorted(whole, whole), lib.bucketize(whole, whole, right=True)]


@twice
def test_i1_has_no_gradient_in_half_precision(lib: Any) -> Any:
    seen = []
    for name in ("i1", "i1e"):
        x = leaf(lib, [0.5, 1.0], dtype="bfloat16")
        seen.append(raised(getattr(lib.special, name)(x).sum().backward))
    return seen
