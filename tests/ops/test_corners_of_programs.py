"""What random programs run into: empty and one-element products, values that do not fit, NaN."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from tests.twice import leaf, outcome, raised, twice

NAN, INF = float("nan"), float("inf")


@twice
def test_gradients_of_logcumsumexp_where_the_incoming_ones_are_not_finite(lib: Any) -> Any:
    seen: list[Any] = []
    for g in ([INF, 1.0, -2.0], [NAN, 1.0, -2.0], [0.0, NAN, 1.0], [1.0, -INF, INF], [3.0, -1, 2]):
        for dtype in ("float32", "float64", "complex64"):
            x = leaf(lib, [0.5, -1.0, 2.0], dtype)
            out = x.logcumsumexp(0)
            (grad,) = lib.autograd.grad(
                out, x, lib.tensor(g, dtype=x.dtype), create_graph=True
            )  # of a complex one, only finite parts are compared
            seen.append(grad.detach() if dtype != "complex64" or np.isfinite(g).all() else None)
    return seen


@twice
def test_logarithms_of_sums_of_complex_exponentials_with_nan(lib: Any) -> Any:
    first = [complex(-INF, NAN), complex(INF, NAN), complex(1, NAN), complex(NAN, 1), -INF + 0j]
    return [
        lib.isnan(function(lib.tensor([a, 1 + 1j])))
        for a in first
        for function in (lambda x: x.logcumsumexp(0), lambda x: lib.logaddexp(x[:1], x[1:]))
    ]


@twice
def test_sums_of_one_product_are_sums(lib: Any) -> Any:
    """They begin with 0, so that -0 stays only where PyTorch multiplies columns by rows."""
    seen: list[Any] = []
    for dtype in (lib.float32, lib.float64, lib.float16, lib.bfloat16):
        for rows in (1, 2, 3):
            for columns in (1, 2, 20):
                a, b = -lib.ones(rows, 1, dtype=dtype), lib.zeros(1, columns, dtype=dtype)
                seen += [lib.signbit(a @ b), lib.signbit(a[None] @ b[None])]
                seen += [lib.signbit(a.expand(3, rows, 1) @ b.expand(3, 1, columns))]
        seen += [lib.signbit(lib.dot(a[0], b[0, :1]))]
        seen += [lib.signbit(lib.einsum("...i,...i->...", a, b[:, :1].expand(3, 1)))]
    return seen


@twice
def test_einsum_drops_dimensions_of_size_one(lib: Any) -> Any:
    x = leaf(lib, [[1.0], [-2.0]])
    y = lib.ones(2, 3, 1).transpose(0, 1)
    outs = [
        lib.einsum("...i,...i->...", x, x), lib.einsum("ij,jk->ik", x, x.T),
        lib.einsum("ij,kj->ki", x, x), lib.einsum("ij,ij->ij", x, x), lib.einsum("ij,ij->", x, x),
    ]  # fmt: skip
    strides = [lib.einsum("...i,...i->...", y, y).stride(), *[out.stride() for out in outs]]
    return [*outs, *[out.grad_fn.name() for out in outs], strides]


@twice
def test_products_of_batches_of_nothing(lib: Any) -> Any:
    """bmm looks at dtypes where there is something to add."""
    whole, real = lib.ones(2, 0, dtype=lib.int64), lib.ones(1, 0, 2)
    pairs = [
        (whole, real), (whole[None], real), (real.mT, whole.T), (whole, real[0]),
        (lib.ones(0, 2, 2, dtype=lib.int64), lib.ones(0, 2, 2)),
        (lib.ones(2, 2, 2, dtype=lib.bool), lib.ones(2, 2, 0, dtype=lib.bool)),
        (lib.ones(2, 2, 2, dtype=lib.int64), lib.ones(2, 2, 2)),
        (lib.ones(2, 2, 2, dtype=lib.bool), lib.ones(1, 2, 2, dtype=lib.bool)),
        (lib.ones(1, 4, 1), lib.ones(1, 4, 1)), (lib.ones(5, 2, 2), lib.ones(1, 3, 2)),
        (lib.ones(1, 1, 2), lib.ones(1, 2, 2, dtype=lib.bool)),
    ]  # fmt: skip
    scalar = lib.ones(())
    return [outcome(lib.matmul, a, b) for a, b in pairs] + [
        raised(lib.mv, scalar, lib.ones(2)), raised(lib.mv, scalar, scalar),
    ]  # fmt: skip


@twice
def test_one_value_for_a_mask_must_fit(lib: Any) -> Any:
    seen: list[Any] = []
    mask = lib.tensor([True, False])
    for dtype in (lib.uint8, lib.int64, lib.bool, lib.float16):
        for value in (-2.5, 2.5, 300, -1, NAN, 1e6, 2j, 2 + 0j):
            x = lib.ones(2, dtype=dtype)
            number = lib.tensor(value)
            seen += [outcome(x.masked_fill, mask, number), outcome(x.masked_fill, mask, value)]
            seen += [raised(x.__setitem__, mask, number), raised(x.__setitem__, ~mask, number)]
            if value not in (2j, 2 + 0j):
                seen += [outcome(x.index_fill, 0, lib.tensor([0]), number)]
            seen.append(x)
    return seen


@twice
def test_no_values_for_other_places(lib: Any) -> Any:
    x = lib.empty(2, 0, dtype=lib.int32)
    nothing = lib.tensor([], dtype=lib.int64)
    keys = [(-1, nothing), (slice(0, 1), nothing), (lib.tensor([0]), nothing), lib.tensor([0])]
    values = [x, x[:1], x[0], lib.zeros(3, 0, dtype=lib.int32)]
    return [raised(x.__setitem__, key, value, words=12) for key in keys for value in values]


@twice
def test_writes_to_conjugate_views_read_everything_first(lib: Any) -> Any:
    seen: list[Any] = []
    for write in (
        lambda z: z[1:].add_(z[:3]), lambda z: z.index_add_(0, lib.tensor([0, 1]), z[:2]),
        lambda z: z.index_put_((lib.tensor([0, 0]),), z[0], accumulate=True),
        lambda z: z.__setitem__(lib.tensor([0, 1]), z[1:3]), lambda z: z.copy_(z[0]),
    ):  # fmt: skip
        z = lib.tensor([1 + 1j, 2 - 1j, 3.0, 4j])
        seen += [raised(write, z.conj()), z]
    return seen


@twice
def test_nothing_to_replace_in_integers(lib: Any) -> Any:
    x = lib.ones(1, dtype=lib.int32)
    x.expand(2, 2).nan_to_num_()
    return [x, x._version, raised(lib.ones(1).expand(2, 2).nan_to_num_)]


@twice
def test_logaddexp2_where_the_sum_cancels(lib: Any) -> Any:
    dtypes = (lib.float32, lib.float64, lib.bfloat16, lib.float16)
    # As the factor that it is, so that no tolerance hides it.
    return [lib.logaddexp2(-lib.ones(n, dtype=d), -lib.ones(n, dtype=d)).double() * 1e9
            for d in dtypes for n in (1, 7, 40)]  # fmt: skip


@twice
def test_gradients_of_powers_in_two_dtypes(lib: Any) -> Any:
    seen: list[Any] = []
    for base, exponent in ((2.0, [2.0]), ([2.0], [2.0]), ([3.0], 2.0), (3.0, 2.5)):
        x, y = leaf(lib, base, "bfloat16"), leaf(lib, exponent)
        (x**y).sum().backward()
        seen += [x.grad, y.grad]
    return seen


@twice
def test_second_gradients_of_acosh_need_its_input(lib: Any) -> Any:
    x = leaf(lib, [2.0, 3.0]) * 1
    (g,) = lib.autograd.grad(x.acosh().sum(), x, create_graph=True)
    x.mul_(1)
    return raised(g.sum().backward)


@twice
def test_integrals_of_nothing(lib: Any) -> Any:
    calls = [((0,), -1), ((0, 1), -1), ((1, 0), -1), ((1,), -1), ((0, 2), 5), ((0, 2), 0)]
    return [
        outcome(lambda: lib.trapezoid(lib.ones(shape, dtype=dtype), dim=dim))  # noqa: B023  # at once
        for shape, dim in calls
        for dtype in (lib.bool, lib.int64, lib.float32)
    ]


@twice
def test_batch_norm_of_integers_with_gaps(lib: Any) -> Any:
    whole = lib.ones(2, 3, 3, dtype=lib.int64)
    inputs = [whole, whole.mT, whole[0].T, whole.expand(2, 2, 3, 3), whole.bool().mT]
    norm = lib.nn.functional.batch_norm
    return [raised(norm, x, None, None, training=True) for x in inputs]


@twice
def test_a_history_for_a_part_of_bools(lib: Any) -> Any:
    part = lib.ones(2, dtype=lib.bool).split(2)[0]
    value = leaf(lib, 1.75)
    return [part.copy_(value), part.requires_grad, raised(part.mul_, value)]


@twice
def test_convolutions_of_no_channels(lib: Any) -> Any:
    conv = lib.nn.functional.conv1d
    x, w = lib.zeros(1, 0, 2, requires_grad=True), lib.ones(2, 0, 2, requires_grad=True)
    bias = lib.ones(2, requires_grad=True)
    y = conv(x, w, bias, padding=1)
    y.sum().backward()
    return [
        y, x.grad, w.grad, bias.grad, conv(x[0], w), conv(x, w, groups=2),
        lib.nn.functional.conv2d(lib.zeros(2, 0, 4, 4), lib.ones(3, 0, 2, 2)),
        raised(conv, x, lib.ones(2, 0, 3)),
    ]  # fmt: skip


@twice
def test_whole_powers_of_complex_numbers(lib: Any) -> Any:
    """As exponentials of logarithms: exact zeros would lie on the other side of a branch cut."""
    z = lib.tensor([2j, 1 + 2j, -1.5 + 0j, -2 - 0.5j], dtype=lib.complex64)
    n = lib.tensor([1.0, -2.0, 3.0, 7.0])
    powers = [2j**n, z**n, z**7, z**-3, n**z]
    return [[lib.signbit(p.real), lib.signbit(p.imag), p] for p in powers]


@twice
def test_products_with_one_number(lib: Any) -> Any:
    zero, column = lib.tensor([0.0]), lib.tensor([[INF], [1.0]])
    return [column @ zero, column[None] @ zero, column.double() @ zero.double(), zero @ column.T]


@twice
def test_places_that_are_not_there(lib: Any) -> Any:
    nothing = lib.zeros(0, dtype=lib.int64)
    x = lib.empty(1, 0, 2, dtype=lib.bool)
    ones = lib.ones(2, dtype=lib.int64)
    return [
        outcome(lib.ones(2, dtype=lib.uint8).scatter, 0, nothing, -2.5),
        outcome(lib.ones(2, dtype=lib.uint8).scatter, 0, nothing + 0, 2j),
        raised(x.__setitem__, (0, ones), x), raised(x.__setitem__, (0, ones), True),
        raised(x.__setitem__, (0, ones), lib.ones(3, 2, dtype=lib.bool)),
    ]  # fmt: skip


@twice
def test_memory_of_two_dtypes(lib: Any) -> Any:
    x = lib.tensor([1.5])
    half = x.view(lib.float16)
    return [raised(half.add_, x), half, raised(x.add_, half[:1])]


@twice
def test_vectors_times_batches(lib: Any) -> Any:
    """Without a gradient they are batches of one row, with words of such."""
    batch = lib.ones(2, 2, 2)
    pairs = [
        (lib.ones(8), batch), (lib.ones(2), batch), (lib.ones(2), batch.long()),
        (lib.ones(2).bool(), batch.bool()), (lib.ones(2).bool(), batch), (batch, lib.ones(3)),
        (lib.ones(3, requires_grad=True), batch), (lib.ones(0).long(), lib.ones(2, 0, 2)),
    ]  # fmt: skip
    return [outcome(lib.matmul, a, b, words=4) for a, b in pairs]


@twice
def test_masks_of_nothing(lib: Any) -> Any:
    mask = lib.ones(0, dtype=lib.bool)
    tensors = [lib.ones(1, 0, 2), lib.ones(1, 2), lib.ones(0, 2), lib.ones(3, 0), lib.ones(0)]
    return [outcome(x.__getitem__, mask) for x in tensors]


@twice
def test_softmax_of_halves_along_columns(lib: Any) -> Any:
    """Of few columns the exponentials are rounded, too: to the last bit."""
    x = (lib.arange(24.0).reshape(2, 4, 3) * 0.37).sin() * 3
    halves = [x.to(dtype) for dtype in (lib.float16, lib.bfloat16)]
    return [y.softmax(dim).view(lib.int16) for y in halves for dim in (0, 1, 2)]


@twice
def test_true_is_not_one_to_a_complex_power(lib: Any) -> Any:
    z = lib.tensor([complex(INF, 1), 2 + 1j, complex(1, NAN)])
    return [True**z, 1**z, 1.0**z, True ** lib.tensor([INF, NAN])]


@twice
def test_one_gradient_for_many_places_of_halves(lib: Any) -> Any:
    """What is expanded has no memory of its own for each place."""
    seen: list[Any] = []
    for dtype in ("float16", "bfloat16", "float32"):
        for key in ([0, 1], [1, 1, 1], lib.tensor([[0], [3]])):
            x = leaf(lib, [[1.0, 2.0]] * 4, dtype)
            seen += lib.autograd.grad(x[key].sum(), x)
            seen += lib.autograd.grad(x.index_select(0, lib.tensor([2, 2])).sum(), x)
            seen += lib.autograd.grad(x.gather(0, lib.zeros(3, 2, dtype=lib.int64)).sum(), x)
            seen.append(x.detach().index_add(0, lib.tensor([0, 2]), x.detach()[0].expand(2, 2)))
            seen.append(x.detach().index_put(
                (lib.tensor([0, 0]),), lib.ones((), dtype=x.dtype).expand(2, 2), accumulate=True
            ))  # fmt: skip
    return seen


@twice
def test_neighbours_towards_what_is_overwritten(lib: Any) -> Any:
    seen: list[Any] = []
    for swap in (False, True):
        x, fixed = leaf(lib, [1.0, 2.0]), lib.ones(2, dtype=lib.float64)
        y = lib.nextafter(x, fixed) if swap else lib.nextafter(fixed, x)
        fixed.add_(1)
        seen += [raised(y.sum().backward), x.grad]
    return seen


@twice
def test_sums_of_bools_without_elements(lib: Any) -> Any:
    nothing, ones = lib.ones(0, 3, dtype=lib.bool), lib.ones(3, 3, dtype=lib.bool)
    return [
        outcome(lib.addmm, nothing, nothing, ones), outcome(lib.mm, nothing, ones),
        outcome(lib.addmm, ones[:1], nothing.T[:1], nothing),
    ]  # fmt: skip


@twice
def test_names_of_kernels_that_halves_of_complex_numbers_have_not(lib: Any) -> Any:
    names = ("exp", "log", "sqrt", "sin", "tan", "log10", "expm1", "atan", "acos", "sinh", "acosh")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        z = lib.ones(2, dtype=lib.float16) * 2j
        return [raised(getattr(lib, name), z) for name in names]


@twice
def test_targets_of_binary_cross_entropy(lib: Any) -> Any:
    """They are chances, too; where the input is certain, their gradients are infinite."""
    seen: list[Any] = []
    loss = lib.nn.functional.binary_cross_entropy
    for value in (1.5, -0.1, NAN):
        seen.append(raised(loss, lib.tensor([0.5, 0.2]), lib.tensor([value, 0.2])))
        seen.append(raised(loss, lib.tensor([value, 0.2]), lib.tensor([value, 0.2])))
    for dtype in ("float32", "bfloat16"):
        x = leaf(lib, [0.0, 1.0, 0.25], dtype)
        target = leaf(lib, [0.5, 1.0, 0.75], dtype)
        weight = lib.tensor([1.0, 2.0, 3.0], dtype=x.dtype)
        for reduction in ("none", "mean"):
            out = loss(x, target, weight, reduction=reduction)
            seen += lib.autograd.grad(out.sum(), (x, target))
    return seen


@twice
def test_gather_into_what_grows_onto_the_index(lib: Any) -> Any:
    index, x = lib.tensor([0, 1, 2]), lib.arange(3)
    memory = lib.zeros(4, dtype=lib.int64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        refused = raised(lib.gather, x, 0, index[1:], out=index[:1])
        lib.gather(x, 0, index, out=memory[1:2])
    return [refused, index, memory]


@twice
def test_resizing_the_examples_of_a_vmap(lib: Any) -> Any:
    x = lib.arange(12.0).reshape(3, 4)

    def in_channels(row: Any) -> Any:
        return row.clone().resize_(1, 1, 2, 2, memory_format=lib.channels_last)

    return [
        lib.vmap(lambda row: row.clone().resize_(2, 2))(x),
        lib.vmap(lambda row: row.resize_(2, 2) * 2)(x), x.shape,
        lib.vmap(lambda row, other: other.resize_(2, 2) + row[0], in_dims=(0, None))(
            x[:, 0], lib.ones(4)
        ),
        raised(lib.vmap(in_channels), lib.ones(3, 4)),
    ]  # fmt: skip


@twice
def test_integers_scaled_by_fractions_where_nothing_is_added(lib: Any) -> Any:
    results = []
    for name, shapes in (
        ("addmm", ((2, 2), (2, 0), (0, 2))),
        ("baddbmm", ((1, 2, 2), (1, 2, 0), (1, 0, 2))),
        ("addbmm", ((2, 2), (1, 2, 0), (1, 0, 2))),
        ("addmv", ((2,), (2, 0), (0,))),
        ("addmm", ((0, 2), (0, 0), (0, 2))),
        ("addmm", ((2, 2), (2, 1), (1, 2))),
    ):
        for beta in (1.0, 0.0, 1, 2, 0.5):
            operands = [lib.ones(shape, dtype=lib.int64) for shape in shapes]
            results.append(raised(getattr(lib, name), *operands, beta=beta, words=12))
    return results


@twice
def test_gradients_of_products_with_two_zeros(lib: Any) -> Any:
    gradients = []
    for values in ([0.0, 2.0, 0.0], [0.0, 2.0, 3.0], [[0.0, 0.0], [0.0, 4.0]]):
        for gradient in (1.0, float("inf"), float("nan")):
            x = lib.tensor(values, requires_grad=True)
            gradients.append(lib.autograd.grad(x.prod(), x, lib.tensor(gradient)))
            if gradient == 1:
                (first,) = lib.autograd.grad(x.prod(), x, create_graph=True)
                gradients.append(lib.autograd.grad(first.sum(), x))
    return gradients


@twice
def test_batches_of_convolutions_of_nothing(lib: Any) -> Any:
    x, w = lib.zeros(3, 2, 0, 4, 4), lib.zeros(3, 4, 0, 2, 2)
    convolve = lib.nn.functional.conv2d
    return (
        lib.vmap(convolve)(x, w),
        lib.vmap(convolve, in_dims=(0, None))(x, w[0]),
        lib.func.grad(lambda weight: lib.vmap(convolve, in_dims=(0, None))(x, weight).sum())(w[0]),
    )
