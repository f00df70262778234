"""The sweep for cliffs: padding, pooling, resizing, normalization, losses, embeddings."""

from collections.abc import Callable
from typing import Any

from clew.bench.cliffs.inputs import Build, Call, Inputs, calls, named

_POOLS = {1: "sequence", 2: "image", 3: "volume"}


def _padding(mode: str, widths: tuple[int, ...]) -> Callable[[Inputs], Callable[..., Any]]:
    return lambda c: lambda x: c.t.nn.functional.pad(x, widths, mode=mode)


def _pool(name: str, *sizes: Any, **options: Any) -> Callable[[Inputs], Callable[..., Any]]:
    def make(c: Inputs) -> Callable[..., Any]:
        function = named(c.t, f"nn.functional.{name}")
        return lambda x: function(x, *sizes, **options)

    return make


def _unpool(axes: int) -> Build:
    def build(c: Inputs) -> Call:
        f = c.t.nn.functional
        pool = getattr(f, f"max_pool{axes}d")
        unpool = getattr(f, f"max_unpool{axes}d")
        out, places = pool(c(getattr(c, _POOLS[axes])).detach(), 2, return_indices=True)
        return lambda x: unpool(x, places, 2), [out.clone().requires_grad_()]

    return build


def _by_axes(axes: int) -> dict[str, Build]:
    shape = _POOLS[axes]
    rows = {
        f"{mode}_pad{axes}d": _padding(mode, (2, 3) * axes)
        for mode in ("constant", "reflect", "replicate", "circular")
    }
    rows |= {
        f"max_pool{axes}d": _pool(f"max_pool{axes}d", 2),
        f"max_pool{axes}d_3": _pool(f"max_pool{axes}d", 3, stride=1, padding=1),
        f"max_pool{axes}d_dilated": _pool(f"max_pool{axes}d", 3, stride=2, dilation=2),
        f"max_pool{axes}d_indices": _pool(f"max_pool{axes}d", 2, return_indices=True),
        f"avg_pool{axes}d": _pool(f"avg_pool{axes}d", 2),
        f"avg_pool{axes}d_3": _pool(f"avg_pool{axes}d", 3, stride=2, padding=1),
        f"lp_pool{axes}d": _pool(f"lp_pool{axes}d", 2.0, 2),
        f"adaptive_avg_pool{axes}d": _pool(f"adaptive_avg_pool{axes}d", 7),
        f"adaptive_avg_pool{axes}d_1": _pool(f"adaptive_avg_pool{axes}d", 1),
        f"adaptive_max_pool{axes}d": _pool(f"adaptive_max_pool{axes}d", 7),
        f"interpolate_nearest{axes}d": _pool("interpolate", scale_factor=2.0),
        f"interpolate_exact{axes}d": _pool("interpolate", scale_factor=1.7, mode="nearest-exact"),
        f"interpolate_area{axes}d": _pool("interpolate", scale_factor=0.6, mode="area"),
        f"dropout{axes}d": _pool(f"dropout{axes}d", 0.5),
        f"instance_norm{axes}d": _pool("instance_norm"),
        f"batch_norm{axes}d": _pool("batch_norm", None, None, training=True),
    }
    return {**calls(rows, shape), f"max_unpool{axes}d": _unpool(axes)}


def _grid(mode: str, padding: str, volume: bool = False) -> Build:
    def build(c: Inputs) -> Call:
        x = c(c.volume if volume else c.image)
        grid = c((x.shape[0], *x.shape[2:], 3 if volume else 2), -1.1, 1.1)
        sample = c.t.nn.functional.grid_sample
        return (
            lambda x, g: sample(x, g, mode=mode, padding_mode=padding, align_corners=False),
            [x, grid],
        )

    return build


def _affine(c: Inputs) -> Call:
    size = (c.count // 20000 or 1, 1, 100, 100)
    return lambda x: c.t.nn.functional.affine_grid(x, size, align_corners=False), [
        c((size[0], 2, 3))
    ]


def _fractional(axes: int) -> Callable[[Inputs], Callable[..., Any]]:
    return lambda c: lambda x: named(c.t, f"nn.functional.fractional_max_pool{axes}d")(x, 2, 4)


def _of_pixels(c: Inputs) -> Callable[..., Any]:
    target = c.integers(c.image[1], (c.image[0], *c.image[2:]))
    return lambda x: c.t.nn.functional.nll_loss(x, target)


def _enlarged(mode: str) -> Callable[[Inputs], Callable[..., Any]]:
    return _pool("interpolate", scale_factor=1.7, mode=mode)


IMAGES: dict[str, Build] = {
    **_by_axes(1),
    **_by_axes(2),
    **_by_axes(3),
    **calls(
        {
            "fractional_max_pool2d": _fractional(2),
            "interpolate_bilinear": _enlarged("bilinear"),
            "interpolate_bicubic": _enlarged("bicubic"),
            "interpolate_antialias": _pool(
                "interpolate", scale_factor=0.6, mode="bilinear", antialias=True
            ),
            "interpolate_antialias_bicubic": _pool(
                "interpolate", scale_factor=0.6, mode="bicubic", antialias=True
            ),
            "nll_loss2d": _of_pixels,
            "unfold": _pool("unfold", 3, padding=1),
            "unfold_stride": _pool("unfold", 2, stride=2),
            "fold": lambda c: lambda x: c.t.nn.functional.fold(
                x.reshape(x.shape[0], x.shape[1], -1)[:, : x.shape[1] // 4 * 4, :400],
                (21, 21), 2,
            ),
            "pixel_unshuffle": _pool("pixel_unshuffle", 2),
            "channel_shuffle": _pool("channel_shuffle", 2),
            "local_response_norm": _pool("local_response_norm", 3),
            "group_norm": _pool("group_norm", 2),
        },
        "image",
    ),
    **calls({"fractional_max_pool3d": _fractional(3)}, "volume"),
    **calls({"interpolate_linear": _enlarged("linear")}, "sequence"),
    **calls({"interpolate_trilinear": _enlarged("trilinear")}, "volume"),
    "pixel_shuffle": lambda c: (
        lambda x: c.t.nn.functional.pixel_shuffle(x, 2), [c((c.count // 10000, 4, 50, 50))],
    ),
    "grid_sample_bilinear": _grid("bilinear", "zeros"),
    "grid_sample_nearest": _grid("nearest", "border"),
    "grid_sample_bicubic": _grid("bicubic", "reflection"),
    "grid_sample_border": _grid("bilinear", "border"),
    "grid_sample_reflection": _grid("bilinear", "reflection"),
    "grid_sample_3d": _grid("bilinear", "zeros", volume=True),
    "affine_grid": _affine,
}  # fmt: skip

_LOSSES = """
mse_loss l1_loss smooth_l1_loss huber_loss binary_cross_entropy binary_cross_entropy_with_logits
kl_div poisson_nll_loss soft_margin_loss hinge_embedding_loss multilabel_soft_margin_loss
"""


def _loss(name: str) -> Build:
    def build(c: Inputs) -> Call:
        target = c(c.rows, 0.0, 0.99).detach()
        function = named(c.t, f"nn.functional.{name}")
        return lambda x: function(x, target), [c(c.rows, 0.01, 0.99)]

    return build


def _classes(name: str, **options: Any) -> Build:
    def build(c: Inputs) -> Call:
        target = c.integers(100, c.rows[:1])
        function = named(c.t, f"nn.functional.{name}")
        return lambda x: function(x, target, **options), [c(c.rows)]

    return build


def _ctc(c: Inputs) -> Call:
    steps, batch, classes = (100, 100, 100) if c.count >= 10**6 else (50, 10, 20)
    target = c.integers(classes - 1, (batch, 20)) + 1
    lengths = c.t.full((batch,), steps), c.t.full((batch,), 20)
    f = c.t.nn.functional
    return (
        lambda x: f.ctc_loss(f.log_softmax(x, -1), target, *lengths),
        [c((steps, batch, classes))],
    )


def _bag(mode: str) -> Build:
    def build(c: Inputs) -> Call:
        places = c.integers(1000, (c.count // 1000, 10))
        f = c.t.nn.functional
        return lambda w: f.embedding_bag(places, w, mode=mode), [c((1000, 100))]

    return build


def _triplet(c: Inputs) -> Call:
    return c.t.nn.functional.triplet_margin_loss, [c(c.rows), c(c.rows, 0, 2), c(c.rows, 1, 3)]


def _multilabel(c: Inputs) -> Call:
    target = c.integers(100, c.rows)
    target[:, 5] = -1
    return lambda x: c.t.nn.functional.multilabel_margin_loss(x, target), [c(c.rows)]


def _gaussian(c: Inputs) -> Call:
    return c.t.nn.functional.gaussian_nll_loss, [c(c.rows), c(c.rows, 0, 1), c(c.rows, 0.5, 1)]


def _attention(causal: bool) -> Build:
    def build(c: Inputs) -> Call:
        shape = (c.count // 3200 or 1, 1, 100, 32)
        f = c.t.nn.functional.scaled_dot_product_attention
        return lambda q, k, v: f(q, k, v, is_causal=causal), [c(shape), c(shape), c(shape)]

    return build


def _conv(axes: int, transposed: bool = False, groups: int = 1) -> Build:
    def build(c: Inputs) -> Call:
        x = c(getattr(c, _POOLS[axes]))
        channels = x.shape[1]
        w = c((channels, (channels if groups == 1 else 1), *[3] * axes), -0.5, 0.5)
        function = named(c.t, f"nn.functional.conv{'_transpose' * transposed}{axes}d")
        used = 1 if groups == 1 else channels
        return lambda x, w: function(x, w, groups=used), [x, w]

    return build


LAYERS: dict[str, Build] = {
    **{name: _loss(name) for name in _LOSSES.split()},
    "cross_entropy": _classes("cross_entropy"),
    "cross_entropy_smooth": _classes("cross_entropy", label_smoothing=0.1),
    "nll_loss": _classes("nll_loss"),
    "multi_margin_loss": _classes("multi_margin_loss"),
    "multilabel_margin_loss": _multilabel,
    "gaussian_nll_loss": _gaussian,
    "triplet_margin_loss": _triplet,
    "ctc_loss": _ctc,
    "margin_ranking_loss": lambda c: (
        lambda x, y: c.t.nn.functional.margin_ranking_loss(x, y, y.detach()),
        [c(), c(c.vector, 0.5, 2.0)],
    ),
    "cosine_embedding_loss": lambda c: (
        lambda x, y: c.t.nn.functional.cosine_embedding_loss(x, y, c.t.ones(c.rows[0])),
        [c(c.rows), c(c.rows, 0.5, 2.0)],
    ),
    "embedding": lambda c: (
        lambda w: c.t.nn.functional.embedding(c.integers(1000, (c.count // 100,)), w),
        [c((1000, 100))],
    ),
    "embedding_bag_sum": _bag("sum"),
    "embedding_bag_mean": _bag("mean"),
    "embedding_bag_max": _bag("max"),
    "attention": _attention(False),
    "attention_causal": _attention(True),
    "bilinear": lambda c: (
        lambda x, y, w: c.t.nn.functional.bilinear(x, y, w),
        [c((c.count // 100, 10)), c((c.count // 100, 10)), c((5, 10, 10))],
    ),
    "conv1d": _conv(1), "conv2d": _conv(2), "conv3d": _conv(3),
    "conv_transpose1d": _conv(1, True), "conv_transpose2d": _conv(2, True),
    "conv_transpose3d": _conv(3, True),
    "conv2d_depthwise": _conv(2, groups=2), "conv1d_depthwise": _conv(1, groups=2),
    **calls(
        {
            "layer_norm": lambda c: lambda x: c.t.nn.functional.layer_norm(x, (100,)),
            "rms_norm": lambda c: lambda x: c.t.nn.functional.rms_norm(x, (100,)),
            "dropout": lambda c: lambda x: c.t.nn.functional.dropout(x, 0.5),
            "alpha_dropout": lambda c: lambda x: c.t.nn.functional.alpha_dropout(x, 0.5, True),
            "feature_alpha_dropout": lambda c: lambda x: (
                c.t.nn.functional.feature_alpha_dropout(x, 0.5, True)
            ),
            "gumbel_softmax": lambda c: lambda x: c.t.nn.functional.gumbel_softmax(x),
            "rrelu_training": lambda c: lambda x: c.t.nn.functional.rrelu(x - 0.5, training=True),
            "batch_norm_rows": lambda c: lambda x: (
                c.t.nn.functional.batch_norm(x, None, None, training=True)
            ),
            "batch_norm_eval": lambda c: lambda x: c.t.nn.functional.batch_norm(
                x, x[0].detach(), x[1].detach(), training=False
            ),
        },
        "rows",
    ),
}  # fmt: skip


def _recurrent(name: str) -> Build:
    def build(c: Inputs) -> Call:
        c.t.manual_seed(0)
        layer = getattr(c.t.nn, name)(32, 32, dtype=c.dtype)
        return lambda x: layer(x)[0], [c((30, c.count // 960, 32))]

    return build


LAYERS |= {name: _recurrent(name) for name in ("LSTM", "GRU", "RNN")}


def _heads(c: Inputs) -> Call:
    width, heads = 32, 4
    x = c((100, max(c.count // 3200, 1), width))
    weights = [c((3 * width, width), -0.2, 0.2), c((width, width), -0.2, 0.2)]
    function = c.t.nn.functional.multi_head_attention_forward

    def attend(x: Any, w_in: Any, w_out: Any) -> Any:
        return function(
            x, x, x, width, heads, w_in, None, None, None, False, 0.0, w_out, None,
            need_weights=False,
        )[0]  # fmt: skip

    return attend, [x, *weights]


LAYERS["multi_head_attention_forward"] = _heads
