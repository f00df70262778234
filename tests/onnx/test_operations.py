"""Operations of every family, exported and run by onnxruntime."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import clew
from clew import nn
from clew.nn import functional as F
from tests.onnx.test_export import Of, agree, onnxruntime

LONG = clew.long
CLASSES = clew.zeros(2, 6, dtype=LONG) + clew.tensor([0, 1, 3, 2, 1, 0])


def pairs(x: Any) -> Any:
    return clew.view_as_real(x)


def image(x: Any) -> Any:
    return x.view(-1, 1, 4, 6)


def parts_written(x: Any) -> Any:
    """Writes to views, of what the program made and of a constant."""
    y, collected = x.clone(), clew.zeros(4, 2)
    y[:, 0] = 1.0
    y[:, 1, 2:4] = x[:, 2, 2:4]
    y[0] += 1
    y.transpose(1, 2)[:, ::2].mul_(2)
    seen = y.view(-1)
    y[1, 3].zero_()
    collected[:, 1] = x[0, :, 0]
    return y, collected, seen


def masks_written(x: Any) -> Any:
    y = x.clone()
    y[y < 0] = 0.0
    y[:, clew.tensor([0, 1])] = 2.0
    y[clew.tensor([0, 1]), clew.tensor([2, 3])] += 1
    return y


# Of a tensor of 2 x 4 x 6 normal numbers.
OPERATIONS: dict[str, Callable[[Any], Any]] = {
    # elementwise
    "smooth": lambda x: F.selu(x) + F.celu(x, 1.3) + F.mish(x) + F.logsigmoid(x) + F.hardswish(x),
    "bent": lambda x: F.softplus(x, 2.0) + F.hardshrink(x) + F.softshrink(x) + F.hardsigmoid(x),
    "threshold": lambda x: F.threshold(x, 0.1, 2.0) + F.hardtanh(x, -0.5, 0.7) + F.softsign(x),
    "prelu": lambda x: F.prelu(x, clew.linspace(0.1, 0.4, 4)) + F.prelu(x, clew.tensor([0.3])),
    "glu": lambda x: F.glu(x, -1),
    "logarithms": lambda x: x.abs().log1p() + x.expm1() + x.abs().log2() + x.abs().log10(),
    "angles": lambda x: clew.atan2(x, x + 1) + clew.hypot(x, x) + x.asinh() + x.sinc(),
    "rounded": lambda x: x.trunc() + x.frac() + x.erfc() + x.exp2() + x.deg2rad(),
    "logit": lambda x: clew.logit(x.sigmoid()) + clew.nan_to_num(x / 0) + x.sigmoid().logit(0.1),
    "xlogy": lambda x: clew.xlogy(x.relu(), x.relu()) + clew.fmax(x, x * 0.1),
    "finite": lambda x: clew.isfinite(x / x.relu()),
    "truths": lambda x: ((x > 0) & (x < 1)) | ~(x > -1) ^ (x == 0),
    "with factors": lambda x: clew.add(x, x, alpha=2) - clew.sub(x, 1, alpha=3),
    "of three": lambda x: clew.addcmul(x, x, x, value=0.5) + clew.addcdiv(x, x, x.exp(), value=2.0),
    "lerp": lambda x: clew.lerp(x, x * 2, 0.3) + clew.lerp(x, x.exp(), x),
    "remainders": lambda x: x.fmod(0.7) + x.remainder(0.3) + x.remainder(-0.3),
    "quotients": lambda x: (
        clew.div(x, 0.3, rounding_mode="floor") + clew.div(x, 0.3, rounding_mode="trunc")
    ),
    "whole": lambda x: (x * 10).long() // 3 + (x * 10).long() % -4 + (x * 10).long().fmod(3),
    "bits": lambda x: ((x * 10).int() & 3 | 4) + ~((x * 10).int() << 2),
    "of numbers": lambda x: clew.where(x > 0, 1.0, 0.0) * x,
    # along dimensions
    "spread": lambda x: x.var(1) + x.std(-1).sum(1, keepdim=True) + x.var(dim=1, unbiased=False),
    "norms": lambda x: x.norm(dim=-1) + x.norm(1, dim=-1) + x.norm(3, dim=-1) + x.abs().amax(-1),
    "normalized": lambda x: F.normalize(x, dim=1) + F.cosine_similarity(x, x + 1, 1)[:, None],
    "some": lambda x: ((x > 0).any(-1), (x > -9).all(1), (x > 0).count_nonzero()),
    "extremes": lambda x: (*x.max(1), *x.min(-1, keepdim=True)),
    "sorted": lambda x: (*x.sort(-1, descending=True), x.argsort(1)),
    "topk": lambda x: (*x.topk(2, dim=-1), *x.topk(2, dim=1, largest=False)),
    "in the middle": lambda x: (*x.median(1), *x.kthvalue(2, -1, keepdim=True)),
    "products": lambda x: x.cumprod(1) + x.cumsum(-1),
    "turned": lambda x: x.flip(0, 2) + x.roll(1, 1) + x.roll((1, -2), (1, 2)) + x.roll(5),
    "losses": lambda x: (
        F.mse_loss(x, x * 0.5) + F.smooth_l1_loss(x, x * 3) + F.huber_loss(x, -x, delta=0.5)
        + F.binary_cross_entropy_with_logits(x, clew.ones_like(x), reduction="sum")
    ),
    # indices
    "gathered": lambda x: x.gather(2, clew.tensor([0, 3, 1]).expand(2, 4, 3)),
    "picked": lambda x: (
        x[:, clew.tensor([0, 2])], x[clew.tensor([[0], [1]]), :, clew.tensor([1, 3])]
    ),
    "pairs": lambda x: x[:, clew.tensor([0, 2]), clew.tensor([1, -1])],
    "masked": lambda x: (x[x > 0], x.masked_select(x > 1), x[:, clew.tensor([True, False] * 2)]),
    "places": lambda x: ((x > 0).nonzero(), clew.zeros_like(x).masked_scatter(x > 0, x)),
    "scattered": lambda x: clew.zeros(2, 4, 6).scatter(2, clew.zeros(2, 4, 1, dtype=LONG), x),
    "scattered numbers": lambda x: x.scatter(1, clew.zeros(2, 1, 6, dtype=LONG), 3.0),
    "summed up": lambda x: (
        clew.zeros(2, 4, 6).scatter_add(2, clew.ones(2, 4, 6, dtype=LONG), x)
        + clew.zeros(2, 4, 6).scatter_reduce(2, clew.ones(2, 4, 6, dtype=LONG), x, "amax")
    ),
    "rows": lambda x: (
        clew.zeros(2, 4, 6).index_add(1, clew.tensor([0, 2, 0, 1]), x, alpha=2)
        + x.index_copy(1, clew.tensor([0, 1]), x[:, 2:]) + x.index_fill(2, clew.tensor([0]), 2.0)
    ),
    "put": lambda x: x.index_put((clew.tensor([0, 0]),), clew.ones(4, 6), accumulate=True),
    "buckets": lambda x: clew.bucketize(x, clew.tensor([-1.0, 0.0, 1.0]), right=True),
    "parts written": parts_written,
    "masks written": masks_written,
    # views by places
    "diagonal": lambda x: x.diagonal(dim1=1, dim2=2) + clew.diag_embed(x).sum((0, 1))[:2, :4],
    "windows": lambda x: x.unfold(2, 2, 2),
    # layers
    "group norm": lambda x: F.group_norm(x.view(-1, 4, 2, 3), 2, clew.ones(4) * 2, clew.ones(4)),
    "instance norm": lambda x: F.instance_norm(x, weight=clew.ones(4) * 2, bias=clew.ones(4)),
    "rms norm": lambda x: F.rms_norm(x, (6,), clew.ones(6) * 2) + F.rms_norm(x, (4, 6)),
    "products of batches": lambda x: clew.baddbmm(
        clew.ones(2, 4, 4), x, x.transpose(1, 2), beta=0.5, alpha=2.0
    ) + clew.addmm(clew.ones(4, 4), x[0], x[1].t(), beta=0.5, alpha=2.0),
    "einsum": lambda x: clew.einsum("bij,bkj->bik", x, x) + clew.einsum("bij->bj", x)[:, None, :4],
    "distances": lambda x: clew.cdist(x, x + 1) + clew.cdist(x, x + 1, p=1.0),
    # images
    "one side": lambda x: F.conv1d(x, clew.ones(2, 4, 4), padding="same"),
    "pooled": lambda x: (*F.max_pool2d(x, 2, return_indices=True), F.avg_pool2d(x, 2)),
    "pooled in 3d": lambda x: (
        F.max_pool3d(x.view(1, 1, 2, 4, 6), 2) + F.avg_pool3d(x[None], (1, 2, 2))[:, :1]
    ),
    "adaptive": lambda x: F.adaptive_avg_pool2d(x, (3, 4)) + F.adaptive_max_pool2d(x, (3, 4)),
    "adaptive in 1d": lambda x: F.adaptive_avg_pool1d(x, 4) + F.adaptive_max_pool1d(x, 4),
    "sides": lambda x: (
        F.pad(x, (1, 2), mode="reflect") + F.pad(x, (1, 2), mode="replicate")
        + F.pad(x, (1, 2), mode="circular") + F.pad(x, (-1, 4))
    ),
    "resized": lambda x: F.interpolate(image(x), (7, 9), mode="nearest-exact")
    + F.interpolate(image(x), (7, 9)) + F.interpolate(image(x), (7, 9), mode="bilinear"),
    "scaled": lambda x: F.interpolate(image(x), scale_factor=1.5, mode="bilinear"),
    "smaller": lambda x: F.interpolate(image(x), (2, 3), mode="bilinear", antialias=True),
    "sampled": lambda x: F.grid_sample(
        image(x),
        F.affine_grid(clew.eye(2, 3).expand(2, 2, 3) * 0.7, (2, 1, 4, 6), align_corners=False),
        align_corners=False, padding_mode="border",
    ),
    "patches": lambda x: F.unfold(image(x), (2, 3), padding=1, stride=2),
    "folded": lambda x: F.fold(x, (3, 4), 2),
    "pixels": lambda x: (
        F.pixel_shuffle(x.view(-1, 4, 2, 3), 2), F.pixel_unshuffle(image(x), 2),
        F.channel_shuffle(x.view(-1, 4, 2, 3), 2),
    ),
    "unpooled": lambda x: (
        F.max_unpool2d(*F.max_pool2d(image(x), 2, return_indices=True), 2),
        F.max_unpool1d(*F.max_pool1d(x, 2, return_indices=True), 2),
        F.max_unpool3d(*F.max_pool3d(x[None], 2, return_indices=True), 2),
    ),
    # further losses, extremes and determinants
    "so far": lambda x: (*x.cummax(1), *x.cummin(-1), x.logcumsumexp(2), *x.round().cummax(2)),
    "classes": lambda x: (
        F.nll_loss(x, CLASSES) + F.cross_entropy(x, CLASSES, reduction="sum", ignore_index=1)
        + F.cross_entropy(x, CLASSES, weight=clew.linspace(0.1, 1, 4), label_smoothing=0.1)
        + F.nll_loss(x[0, :, 0], clew.tensor(2))
    ),
    "determinants": lambda x: (x[:, :3, :3].det(), *x[:, :4, :4].slogdet()),
    # complex numbers
    "spectra": lambda x: (
        clew.fft.rfft(x).abs() + clew.fft.rfft(x, norm="ortho").real, pairs(clew.fft.fft2(x)),
        clew.fft.fft(x, n=8, dim=1).imag, pairs(clew.fft.rfft2(x)),
    ),
    "back": lambda x: (
        clew.fft.irfft(clew.fft.rfft(x) * 2, n=6) + clew.fft.irfft2(clew.fft.rfft2(x), s=(4, 6)),
        clew.fft.irfft(clew.fft.rfft(x[..., :5]), n=5), pairs(clew.fft.ifft2(clew.fft.fft2(x))),
        pairs(clew.fft.ifft(x).resolve_conj()),
    ),
    "short time": lambda x: pairs(
        clew.stft(x.view(-1, 24), 8, 4, window=clew.hann_window(8), return_complex=True)
    ),
    "short time and back": lambda x: clew.istft(
        clew.stft(x.view(-1, 24), 8, 4, window=clew.hann_window(8), return_complex=True),
        8, 4, window=clew.hann_window(8),
    ),
    "of complex numbers": lambda x: (
        pairs(clew.complex(x, x) * clew.complex(x, -x + 1) / clew.complex(x + 3, x)),
        pairs((clew.complex(x, x) + 1j).transpose(1, 2) * x.transpose(1, 2) - x.transpose(1, 2)),
        clew.view_as_complex(x.view(2, 4, 3, 2)).conj().sum(1).real,
        pairs(clew.polar(x, x)[:, 1:, None].flatten(1) * clew.tensor(1 + 2j)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations(name: str) -> None:
    clew.manual_seed(1)
    model, x = Of(OPERATIONS[name]), clew.randn(2, 4, 6)
    agree(clew.onnx.export(model, x), model, x)


# The same with a batch that changes.
CHANGING = ["group norm", "rms norm", "extremes", "topk", "sorted", "spread", "products", "parts"]
PARTS: dict[str, Callable[[Any], Any]] = {
    "parts": lambda x: (x.clone().select(1, 0).fill_(2.0).sum() + x, x.clone()[1:].neg_() + x[1:]),
}


@pytest.mark.parametrize("name", CHANGING)
def test_other_sizes(name: str) -> None:
    clew.manual_seed(1)
    model, x = Of((OPERATIONS | PARTS)[name]), clew.randn(2, 4, 6)
    program = clew.onnx.export(model, x, dynamic_shapes=({0: clew.export.Dim("n")},))
    for size in (2, 5):
        agree(program, model, clew.randn(size, 4, 6))


class Counter(nn.Module):
    """Uses a result that has no form in ONNX."""

    def forward(self, x: Any) -> Any:
        return F.adaptive_max_pool2d(x, 2, return_indices=True)[1]


def test_numbers_are_drawn_anew_in_every_run() -> None:
    model = Of(lambda x: x + clew.randn(4, 6) * clew.rand(4, 6))
    program = clew.onnx.export(model, clew.ones(2, 4, 6))
    kinds = [node.op_type for node in program.model_proto.graph.node]
    assert kinds.count("RandomNormalLike") == kinds.count("RandomUniformLike") == 1


def test_results_that_are_not_written_raise() -> None:
    """They would have been fixed at the example's values."""
    with pytest.raises(
        clew.onnx.OnnxExporterError, match="a further result of adaptive_max_pool2d"
    ):
        clew.onnx.export(Counter(), clew.randn(1, 4, 6))
    with pytest.raises(clew.onnx.OnnxExporterError, match="numbers drawn by make"):
        clew.onnx.export(Of(lambda x: x + clew.randint(0, 9, (2,))), clew.randn(2))


class Bags(nn.Module):
    def __init__(self, mode: str, **options: Any) -> None:
        super().__init__()
        self.bags = nn.EmbeddingBag(9, 3, mode=mode, padding_idx=2, **options)

    def forward(self, indices: Any, offsets: Any = None) -> Any:
        return self.bags(indices, offsets)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_bags_of_embeddings(mode: str) -> None:
    """Some bags are empty, or have nothing but the index that is left out."""
    indices, offsets = clew.tensor([1, 2, 3, 3, 2, 2, 8]), clew.tensor([0, 3, 3, 4, 6])
    model = Bags(mode)
    agree(clew.onnx.export(model, (indices, offsets)), model, indices, offsets)
    changing = {0: clew.export.Dim("n")}
    program = clew.onnx.export(model, indices.view(1, 7), dynamic_shapes=(changing,))
    agree(program, model, clew.tensor([[1, 2, 3, 2, 2, 8, 8], [2] * 7, [4] * 7]))
    # Weights of samples, and an offset behind the last bag.
    if mode == "sum":
        weighted = Of(lambda table: F.embedding_bag(
            indices, table, offsets, mode="sum", per_sample_weights=clew.linspace(0, 1, 7),
            include_last_offset=True,
        ))  # fmt: skip
        table = clew.randn(9, 3)
        agree(clew.onnx.export(weighted, table), weighted, table)


def test_dropout_in_training() -> None:
    """Other elements in every run; what is left is scaled."""
    model = nn.Sequential(nn.Dropout(0.25), nn.Identity())
    training = clew.onnx.TrainingMode.TRAINING
    program = clew.onnx.export(model, clew.ones(100, 40), training=training)
    session = onnxruntime.InferenceSession(program.model_proto.SerializeToString())
    given = {"input": clew.ones(100, 40).numpy()}
    one, two = (clew.from_numpy(session.run(None, given)[0]) for _ in range(2))
    kept = one != 0
    assert not clew.equal(one, two)
    assert clew.allclose(one[kept], clew.tensor(1 / 0.75))
    # Six standard deviations around what is expected.
    assert abs(kept.double().mean().item() - 0.75) < 0.042


def test_complex_inputs_and_results_raise() -> None:
    for model, x in (
        (Of(lambda x: clew.fft.fft(x)), clew.ones(4)),
        (Of(lambda x: x.real), clew.ones(4) * 1j),
    ):
        with pytest.raises(clew.onnx.OnnxExporterError, match="cannot be complex"):
            clew.onnx.export(model, x)
    with pytest.raises(clew.onnx.OnnxExporterError, match="exp of complex numbers has no ONNX"):
        clew.onnx.export(Of(lambda x: (x * 1j).exp().real), clew.ones(4))
