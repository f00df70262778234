"""Corners of elementwise functions: overlapping memory, numbers alone, tiny and complex values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import clew
from tests.twice import leaf, outcome, raised, twice

INF, NAN = float("inf"), float("nan")


@twice
def test_out_may_be_an_input_and_not_a_part_of_it(lib: Any) -> Any:
    seen = []
    one = ("exp", "abs", "square", "logit", "angle", "hardshrink", "neg")
    two = ("add", "sub", "mul", "div", "true_divide", "fmod", "remainder", "copysign", "xlogy")
    for names, count in ((one, 1), (two, 2)):
        for name in names:
            data = lib.arange(8.0) / 10 + 0.1
            rest = [lib.ones(3) / 2] * (count - 1)
            function = getattr(lib, name)
            part, shifted = data[:3], data[1:4]
            seen.append(raised(function, shifted, *rest, out=part))
            seen.append(function(part, *rest, out=part))
    return seen


@twice
def test_two_numbers(lib: Any) -> Any:
    names = ("add", "sub", "mul", "div", "true_divide", "floor_divide")
    pairs = ((5, 2), (5.0, 2.0), (1, 2.5))
    return [getattr(lib, name)(*pair) for name in names for pair in pairs]


@twice
def test_reflected_operators_take_tensors(lib: Any) -> Any:
    x, i = lib.tensor([1.0, 2.0]), lib.tensor([1, 2])
    names = ("__radd__", "__rsub__", "__rmul__", "__rdiv__", "__rtruediv__", "__rpow__", "__rmod__")
    bits = ("__rand__", "__ror__", "__rxor__")
    return [getattr(x, name)(x + 1) for name in names], [getattr(i, n)(i + 1) for n in bits]


@twice
def test_complex_logarithms(lib: Any) -> Any:
    small = lib.tensor([1e-19 + 1e-18j, 1e-18 + 0.1j, -1 + 2j, 1e30 + 1j, 0.2 + 0.3j, 0j])
    a = lib.tensor([complex(-INF, 4), complex(INF, 0), complex(1.2, 2.1), complex(NAN, 1)])
    b = lib.tensor([complex(-INF, 1), complex(INF, 0), complex(-INF, 1), complex(0, 1)])
    return small.log1p(), small.to(lib.complex128).log1p(), lib.logaddexp(a, b).real


@twice
def test_slope_of_sinc_near_zero(lib: Any) -> Any:
    x = leaf(lib, [0.0, 1e-300, 2.2250738585072014e-308, 1.0, 1e-5])
    lib.sinc(x).sum().backward()
    return x.grad


@twice
def test_absolute_values_of_complex_numbers_in_out(lib: Any) -> Any:
    x = lib.tensor([3 + 4j])
    kinds = ("complex64", "complex128", "float32", "float64", "float16", "int64")
    return [
        outcome(lambda k=kind: lib.abs(x, out=lib.empty(1, dtype=getattr(lib, k))))
        for kind in kinds
    ]


@twice
def test_weights_of_lerp_without_dimensions(lib: Any) -> Any:
    x = lib.tensor([1.0, 2.0], dtype=lib.float64)
    weights = (lib.tensor(0.5), lib.tensor(1), lib.tensor(0.5j), lib.tensor([0.5]))
    return [outcome(lib.lerp, x, x + 1, weight) for weight in weights]


@twice
def test_incomplete_gamma_functions(lib: Any) -> Any:
    a = lib.linspace(0.1, 30, 400, dtype=lib.float64)
    x = lib.linspace(0.05, 45, 400, dtype=lib.float64).flip(0)
    return lib.igamma(a, x), lib.igammac(a, x), lib.igamma(x, a), lib.igamma(a, a)


@twice
def test_distances_of_infinite_rows(lib: Any) -> Any:
    seen = []
    for p in (0.0, 0.5, 1.0):
        for row in ([INF, 1.0], [NAN, 0.0], [0.0, 1.0]):
            x = leaf(lib, [[0.0, 1.0], row])
            distance = lib.nn.functional.pdist(x, p)
            distance.sum().backward()
            seen.append((distance, x.grad))
            seen.append(lib.cdist(x.detach(), lib.ones(1, 2, dtype=lib.float64), p))
    return seen


@twice
def test_second_derivative_of_products_with_two_zeros(lib: Any) -> Any:
    seen = []
    index = lib.tensor([0, 0, 1])
    for values in ([0.0, 0.0, 3.0], [0.0, 2.0, 3.0]):
        x, src = leaf(lib, [1.0, 2.0]), leaf(lib, values)
        product = x.scatter_reduce(0, index, src, "prod")
        (of_src,) = lib.autograd.grad(product.sum(), src, create_graph=True)
        seen.append((of_src, raised(lambda g=of_src: g.sum().backward(), words=12)))
    return seen


@twice
def test_joining_and_making(lib: Any) -> Any:
    x = lib.ones(3, requires_grad=True) * 2
    capsule = lib.utils.dlpack.to_dlpack(lib.tensor([1.0, 2.0]))
    kept, cut = lib.asarray(x, requires_grad=True), lib.asarray(x, requires_grad=False)
    return [
        lib.block_diag(lib.tensor([1]), lib.tensor([0.5])),
        raised(lib.ones(2).flip),
        lib.cat([lib.ones(0), lib.ones(0)], dim=1),
        lib.asarray(capsule),
        kept is x,
        cut.requires_grad,
    ]


@twice
def test_histograms(lib: Any) -> Any:
    x, nan = lib.tensor([1.0, 2.0, 1.0]), lib.tensor([NAN])
    calls = [
        lambda: lib.histogram(x, lib.ones(2, dtype=lib.float64)),
        lambda: lib.histogram(x, 2, weight=x.double()),
        lambda: lib.histogram(x, lib.ones(2, 2)),
        lambda: lib.histogram(x, lib.ones(0)),
        lambda: lib.histogram(nan, 2),
        lambda: lib.histc(x.long(), 4, min=5, max=1),
        lambda: lib.histc(lib.full((3,), lib.finfo(lib.float32).max), bins=4),
        lambda: lib.histc(lib.full((3,), lib.finfo(lib.float32).min), bins=4),
        lambda: lib.histc(x, bins=4, min=5, max=5),
    ]
    return [outcome(call, words=8) for call in calls]


@twice
def test_out_of_reductions(lib: Any) -> Any:
    x = lib.tensor([[3.0, 1.0, 2.0], [6.0, 5.0, 4.0]])
    index = lib.tensor([[0, 1, 1]])
    calls = {
        "all": lambda **kw: lib.all(x, 0, **kw), "argmax": lambda **kw: lib.argmax(x, 0, **kw),
        "max": lambda **kw: lib.max(x, 0, **kw), "sort": lambda **kw: lib.sort(x, 0, **kw),
        "topk": lambda **kw: lib.topk(x, 2, **kw), "mode": lambda **kw: lib.mode(x, 0, **kw),
        "median": lambda **kw: lib.median(x, 0, **kw), "sum": lambda **kw: lib.sum(x, 0, **kw),
        "kthvalue": lambda **kw: lib.kthvalue(x, 2, **kw),
        "cummax": lambda **kw: lib.cummax(x, 0, **kw), "prod": lambda **kw: lib.prod(x, 0, **kw),
        "quantile": lambda **kw: lib.quantile(x, 0.5, **kw),
        "histogram": lambda **kw: lib.histogram(x, 3, **kw),
        "logsumexp": lambda **kw: lib.logsumexp(x, 0, **kw),
        "scatter_add": lambda **kw: lib.scatter_add(x, 0, index, x, **kw),
        "where": lambda **kw: lib.where(x > 2, x, x, **kw),
        "frexp": lambda **kw: lib.frexp(x, **kw), "hstack": lambda **kw: lib.hstack([x, x], **kw),
        "bucketize": lambda **kw: lib.bucketize(x, lib.tensor([1.0, 2.0]), **kw),
        "fft": lambda **kw: lib.fft.fft(x, **kw), "irfftn": lambda **kw: lib.fft.irfftn(x, **kw),
    }  # fmt: skip
    seen = {}
    for name, call in calls.items():
        result = call()
        is_one = isinstance(result, lib.Tensor)
        results = [result] if is_one else list(result)
        for number, each in enumerate(results):
            for kind in ("int32", "bool", "float64"):
                outs = [lib.empty_like(other) for other in results]
                outs[number] = lib.empty(tuple(each.shape), dtype=getattr(lib, kind))
                given = outs[0] if is_one else tuple(outs)
                seen[f"{name} {number} {kind}"] = raised(call, out=given, words=20)
    return seen


@twice
def test_incomplete_gamma_functions_at_infinity_and_nan(lib: Any) -> Any:
    values = lib.tensor([0.0, 1.0, 2.5, float("inf"), -1.0, float("nan")], dtype=lib.float64)
    a, x = values.unsqueeze(1), values.unsqueeze(0)
    return lib.igamma(a, x), lib.igammac(a, x)


@twice
def test_complex_views_of_nothing(lib: Any) -> Any:
    parts = [lib.view_as_real(lib.zeros(shape, dtype=lib.complex64)) for shape in ((0,), (2, 0))]
    return [lib.view_as_complex(each).shape for part in parts for each in (part, part.frac())]


@twice
def test_halves_that_integers_scale(lib: Any) -> Any:
    x = lib.tensor([-2, 2**-10, 1.3], dtype=lib.half)
    exponents = lib.tensor([-25, 20, 3])
    written = x.clone().ldexp_(exponents)
    return lib.ldexp(x, exponents), lib.ldexp(x, exponents.half()), x.ldexp(exponents[1]), written


@twice
def test_reciprocals_of_complex_numbers(lib: Any) -> Any:
    inf, nan = float("inf"), float("nan")
    parts = (0.0, -0.0, 1.0, -3.0, inf, nan)
    seen = []
    for dtype in (lib.complex64, lib.complex128):
        z = lib.tensor([complex(a, b) for a in parts for b in parts], dtype=dtype)
        seen += [z.reciprocal(), z**-1, z**-2, z[:1].reciprocal(), 1 / z, z.clone().reciprocal_()]
    return [lib.view_as_real(each) for each in seen]


@twice
def test_infinite_gradients_of_what_is_replaced(lib: Any) -> Any:
    x = lib.tensor([float("nan"), float("inf"), -float("inf"), 1.0], requires_grad=True)
    x.nan_to_num().backward(lib.tensor([float("inf"), 1.0, float("inf"), 2.0]))
    return x.grad


@twice
def test_second_derivatives_of_elu_at_zero(lib: Any) -> Any:
    F, seen = lib.nn.functional, []
    for function in (F.elu, F.selu, F.celu, F.elu_, F.selu_, F.celu_):
        x = leaf(lib, [-1.0, -0.0, 0.0, 2.0])
        (grad,) = lib.autograd.grad(function(x * 1).sum(), x, create_graph=True)
        seen += [grad.detach(), lib.autograd.grad(grad.sum(), x)]
    return seen


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_points_between_tensors_have_the_bits_of_pytorch(dtype: str) -> None:
    found = []
    for lib in (clew, torch):
        lib.manual_seed(3)
        x, y, weight = (lib.randn(1003, dtype=getattr(lib, dtype)) for _ in range(3))
        results = [x.lerp(y, weight), *(x.lerp(y, each) for each in (0.03, 0.5, 0.9, 1.0, 2.5))]
        results += [x.clone().lerp_(y, 0.97), x[::2].clone().lerp_(y[1::2].repeat(2)[:502], 0.1)]
        found.append([each.numpy() for each in results])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_array_equal(ours, theirs)
