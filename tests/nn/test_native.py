"""Functions of PyTorch's that also return what they keep, against PyTorch."""

from __future__ import annotations

from typing import Any

from tests.twice import raised, twice


def _image(lib: Any, dtype: str = "float64") -> Any:
    values = lib.linspace(-1, 2, 48, dtype=lib.float64).sin().reshape(2, 6, 4)
    return values.to(getattr(lib, dtype))


@twice
def test_normalizations_with_their_statistics(lib: Any) -> Any:
    return [_normalized(lib, dtype) for dtype in ("float64", "float32", "bfloat16")]


def _normalized(lib: Any, dtype: str) -> Any:
    x = _image(lib, dtype)
    weight, bias = lib.ones(6, dtype=x.dtype) * 2, lib.ones(6, dtype=x.dtype)
    mean, var = lib.zeros(6, dtype=x.dtype), lib.ones(6, dtype=x.dtype)
    return [
        lib.native_layer_norm(x, (4,), None, None, 1e-5),
        lib.native_group_norm(x, weight, bias, 2, 6, 4, 3, 1e-5),
        lib.native_batch_norm(x, weight, bias, mean, var, True, 0.1, 1e-5),
        lib.native_batch_norm(x, None, None, mean, var, False, 0.1, 1e-5),
        lib._native_batch_norm_legit(x, weight, None, True, 0.1, 1e-5),
        (mean, var),
    ]


@twice
def test_gradients_of_normalizations(lib: Any) -> Any:
    x = _image(lib).requires_grad_()
    results = [
        lib.native_layer_norm(x, (4,), None, None, 1e-5)[0],
        lib.native_group_norm(x, None, None, 2, 6, 4, 3, 1e-5)[0],
        lib.native_batch_norm(x, None, None, None, None, True, 0.1, 1e-5)[0],
    ]
    return [lib.autograd.grad(each.sin().sum(), x) for each in results]


@twice
def test_batch_norm_into_given_tensors(lib: Any) -> Any:
    outs = tuple(lib.empty(0, dtype=lib.float64) for _ in range(3))
    lib.native_batch_norm(_image(lib), None, None, None, None, True, 0.1, 1e-5, out=outs)
    return outs


@twice
def test_samplers_by_number_of_dimensions(lib: Any) -> Any:
    image, grid = _image(lib).reshape(2, 3, 2, 4), _image(lib)[:, :4].reshape(2, 4, 2, 2)
    volume, points = image.reshape(2, 3, 2, 2, 2), _image(lib)[:, :3].reshape(2, 2, 2, 1, 3)
    return (
        lib.grid_sampler_2d(image, grid, 0, 0, False),
        lib.grid_sampler_3d(volume, points, 0, 1, True),
    )


@twice
def test_indices_that_a_mask_excuses(lib: Any) -> Any:
    x = lib.arange(6.0).reshape(2, 3).requires_grad_()
    rows, columns = lib.tensor([[0], [7]]), lib.tensor([[0, 1, -9]])
    mask = lib.tensor([[True, True, False], [False, False, False]])
    taken = lib._unsafe_masked_index(x, mask, [rows, columns], -1.0)
    put = lib._unsafe_masked_index_put_accumulate(x.detach(), mask, [rows, columns], lib.ones(2, 3))
    return taken, put, lib.autograd.grad(taken.sum(), x)


# -- out= ------------------------------------------------------------------------------------


@twice
def test_into_given_tensors(lib: Any) -> Any:
    F = lib.nn.functional
    x = lib.arange(32.0).reshape(2, 4, 4)
    calls = [
        lambda out: F.avg_pool2d(x, 2, out=out),
        lambda out: F.avg_pool3d(x.reshape(1, 2, 4, 4), (1, 2, 2), out=out),
        lambda out: F.linear(x, lib.ones(3, 4), lib.ones(3), out=out),
    ]
    return [[call(lib.empty(0)), raised(lambda: call(lib.empty(0).int()))] for call in calls]  # noqa: B023  (called at once)


@twice
def test_hash_into_a_given_tensor(lib: Any) -> Any:
    return lib.hash_tensor(lib.arange(3), out=lib.empty((), dtype=lib.uint64))


@twice
def test_parts_into_given_tensors(lib: Any) -> Any:
    x = lib.arange(4.0)
    outs = [lib.empty(0), lib.empty(3)]
    results = [lib.split_with_sizes_copy(x, [1, 3], out=outs), list(outs)]
    outs = [lib.empty(2), lib.empty(2)]
    results += [lib.split_copy(x, 2, out=outs), list(outs)]
    return results, raised(lambda: lib.unbind_copy(x, out=outs))


# -- dtypes that PyTorch has no kernel for -------------------------------------------------------


@twice
def test_refused_dtypes(lib: Any) -> Any:
    F = lib.nn.functional
    half, whole = lib.ones(1, 2, 2, 2, 2).half(), lib.ones(3, 2, dtype=lib.int64)
    target = lib.zeros(3, dtype=lib.int64)
    cut = lib.ones(2, 2, 2, 2, dtype=lib.complex64)
    return [
        raised(call)
        for call in (
            lambda: F.avg_pool3d(half, 1),
            lambda: F.multi_margin_loss(lib.ones(3, 2).half(), target),
            lambda: F.multilabel_margin_loss(lib.ones(3, 2).bfloat16(), whole),
            lambda: lib.pdist(lib.ones(3, 2).half()),
            lambda: lib.renorm(whole, 2, 0, 1.0),
            lambda: F.embedding(target, whole, max_norm=1.0),
            lambda: F.dropout2d(cut),
            lambda: F.feature_alpha_dropout(cut, training=True),
            lambda: F.local_response_norm(lib.ones(1, 2, 3).int(), 2),
            lambda: lib.cumsum(whole, 0, dtype=lib.bool),
            lambda: F.threshold(cut, 1.0, 2j),
            lambda: F.threshold(lib.ones(2), 1.0, 2j),
            lambda: F.threshold(whole, 1, 1e30),
        )
    ]


@twice
def test_thresholds_of_integers(lib: Any) -> Any:
    F = lib.nn.functional
    bytes_, x = lib.tensor([0, 1, 5], dtype=lib.uint8), lib.tensor([-2, 1, 5])
    return F.threshold(bytes_, 1, -9), F.threshold(bytes_, -1, 2), F.threshold(x, 1.5, 3.7)


# -- byte images ---------------------------------------------------------------------------------


@twice
def test_byte_images_resized_exactly(lib: Any) -> Any:
    return [
        _resized(lib, mode, antialias)
        for mode in ("bilinear", "bicubic")
        for antialias in (False, True)
    ]


def _resized(lib: Any, mode: str, antialias: bool) -> Any:
    image = (lib.arange(2 * 3 * 17 * 19) * 7919 % 256).reshape(2, 3, 17, 19).to(lib.uint8)
    options: Any = {"mode": mode, "antialias": antialias}
    return [
        lib.nn.functional.interpolate(image, (9, 31), **options),
        lib.nn.functional.interpolate(image, scale_factor=(1.7, 0.6), **options),
        lib.nn.functional.interpolate(image, (17, 40), align_corners=not antialias, **options),
    ]


@twice
def test_shapes_of_linear_cross_entropy(lib: Any) -> Any:
    loss = lib.nn.functional.linear_cross_entropy
    x, weight, target = lib.ones(2, 3), lib.ones(4, 3), lib.tensor([0, 1])
    return [
        raised(call)
        for call in (
            lambda: loss(x[None], weight, target),
            lambda: loss(x, weight[0], target),
            lambda: loss(x, lib.ones(4, 5), target),
            lambda: loss(x, weight, target, linear_bias=lib.ones(5)),
            lambda: loss(x[0], lib.ones(4, 2, 3), target),
            lambda: loss(x, weight, lib.ones(2, 4), ignore_index=1),
        )
    ]


@twice
def test_ranking_of_integers_is_a_float(lib: Any) -> Any:
    a, b, sign = lib.tensor([1, 5]), lib.tensor([2, 2]), lib.tensor([1, -1])
    return lib.nn.functional.margin_ranking_loss(a, b, sign)


@twice
def test_coordinates_are_int64(lib: Any) -> Any:
    return lib.unravel_index(lib.tensor([1, 5], dtype=lib.uint8), (2, 3))


@twice
def test_factories_with_out_of_another_dtype(lib: Any) -> Any:
    out = lib.zeros(2, dtype=lib.int32)
    calls = [
        lambda **given: lib.ones(2, **given),
        lambda **given: lib.full((2,), 3, **given),
        lambda **given: lib.arange(2, **given),
        lambda **given: lib.linspace(0, 1, 2, **given),
        lambda **given: lib.randperm(2, **given).sort().values,
    ]
    return [
        (call(out=out), raised(lambda: call(out=out, dtype=lib.int64)))  # noqa: B023  (called at once)
        for call in calls
    ]


@twice
def test_refused_dtypes_of_indices_and_parts(lib: Any) -> Any:
    x, whole = lib.zeros(2), lib.zeros(2, dtype=lib.int64)
    return [
        raised(lambda: lib.tril_indices(2, 2, dtype=lib.float32)),
        raised(lambda: lib.triu_indices(2, 2, dtype=lib.uint8)),
        raised(lambda: lib.slice_scatter(x, x[:1], end=1, out=whole)),
        raised(lambda: lib.hash_tensor(x, out=whole)),
    ]


@twice
def test_functions_of_torch_that_take_a_reduction_by_number(m: Any) -> Any:
    m.manual_seed(0)
    x, y, z = (m.randn(4, 3, requires_grad=True) for _ in range(3))
    sign, seen = m.tensor([1.0, -1.0, 1.0, -1.0]), []
    for reduction in (0, 1, 2, 7):
        seen += [
            m.binary_cross_entropy_with_logits(x, y.sigmoid(), reduction=reduction),
            m.kl_div(x, y.exp(), reduction),
            m.kl_div(x, y, reduction, log_target=True),
            m.poisson_nll_loss(x, y.exp(), True, False, 1e-8, reduction),
            m.hinge_embedding_loss(x, sign[:, None].expand(4, 3), 1.0, reduction),
            m.margin_ranking_loss(x[:, 0], y[:, 0], sign, 0.5, reduction),
            m.cosine_embedding_loss(x, y, sign, 0.1, reduction),
            m.triplet_margin_loss(x, y, z, 1.0, 2.0, 1e-6, True, reduction),
        ]
    return [*seen, *m.autograd.grad(sum(each.sum() for each in seen), (x, y, z))]


@twice
def test_other_functions_of_nn_under_torch(m: Any) -> Any:
    m.manual_seed(0)
    table, x = m.randn(5, 3, requires_grad=True), m.randn(4, 3)
    rows = m.embedding(table, m.tensor([1, 2, 1]), 2)
    seen = [rows, *m.autograd.grad(rows.square().sum(), table)]
    seen += [m.embedding_renorm_(table.detach(), m.tensor([0, 3]), 1.0, 2.0)]
    seen += [m.rrelu(x), m.rrelu(x, 0.1, 0.3, True)]
    seen += [m.norm_except_dim(x, 2, dim) for dim in (0, 1, -1)]
    for drop in (m.alpha_dropout_, m.feature_alpha_dropout_, m.feature_dropout_):
        seen.append(drop(x.clone(), 0.5, True))
    return seen
