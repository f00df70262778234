"""The usual networks, exported in both ways of calling and run by onnxruntime."""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from typing import Any

import pytest

import clew
from clew import nn
from clew.nn import functional as F
from tests.onnx.test_export import agree, onnxruntime


class MBConv(nn.Module):
    """The block of EfficientNet: wider, depthwise, gated by channel, narrow again."""

    def __init__(self, inner: int, outer: int, kernel: int, stride: int) -> None:
        super().__init__()
        wide = 4 * inner
        self.wide = nn.Sequential(nn.Conv2d(inner, wide, 1), nn.BatchNorm2d(wide), nn.SiLU())
        self.depth = nn.Conv2d(wide, wide, kernel, stride, kernel // 2, groups=wide)
        self.gate = nn.Sequential(
            nn.AdaptiveAvgPool2d(1), nn.Conv2d(wide, 4, 1), nn.SiLU(), nn.Conv2d(4, wide, 1),
            nn.Sigmoid(),
        )  # fmt: skip
        self.narrow = nn.Sequential(nn.Conv2d(wide, outer, 1), nn.BatchNorm2d(outer))
        self.skips = stride == 1 and inner == outer

    def forward(self, x: Any) -> Any:
        y = F.silu(self.depth(self.wide(x)))
        y = self.narrow(y * self.gate(y))
        return x + y if self.skips else y


class EfficientNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, 2, 1)
        self.blocks = nn.Sequential(MBConv(8, 8, 3, 1), MBConv(8, 12, 5, 2))
        self.out = nn.Linear(12, 5)

    def forward(self, x: Any) -> Any:
        x = F.adaptive_avg_pool2d(self.blocks(F.silu(self.stem(x), inplace=True)), 1)
        return self.out(F.dropout(x.flatten(1), 0.2, self.training))


def _twice(inner: int, outer: int, norm: Any) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inner, outer, 3, padding=1), norm(outer), nn.ReLU(True),
        nn.Conv2d(outer, outer, 3, padding=1), nn.LeakyReLU(0.1),
    )  # fmt: skip


class UNet(nn.Module):
    def __init__(self, up: str, norm: Any = nn.BatchNorm2d) -> None:
        super().__init__()
        self.one, self.two, self.low = (
            _twice(a, b, norm) for a, b in ((3, 4), (4, 8), (8, 16))
        )  # fmt: skip
        self.up2, self.up1 = self._up(up, 16, 8), self._up(up, 8, 4)
        self.three, self.four = _twice(16, 8, norm), _twice(8, 4, norm)
        self.out = nn.Conv2d(4, 2, 1)

    def _up(self, how: str, inner: int, outer: int) -> Any:
        if how == "transposed":
            return nn.ConvTranspose2d(inner, outer, 2, 2)
        corners = None if how == "nearest" else how == "bilinear"
        return nn.Sequential(
            nn.Upsample(scale_factor=2, mode=how, align_corners=corners),
            nn.Conv2d(inner, outer, 1),
        )

    def forward(self, x: Any) -> Any:
        one = self.one(x)
        two = self.two(F.max_pool2d(one, 2))
        y = self.up2(self.low(F.max_pool2d(two, 2)))
        high, wide = two.shape[2] - y.shape[2], two.shape[3] - y.shape[3]
        y = F.pad(y, [wide // 2, wide - wide // 2, high // 2, high - high // 2])
        y = self.three(clew.cat([two, y], 1))
        return self.out(self.four(clew.cat([one, self.up1(y)], 1))).sigmoid()


class Bert(nn.Module):
    """One layer, over tokens, segments and a mask of padding."""

    def __init__(self, attention: str) -> None:
        super().__init__()
        self.attention = attention
        self.tokens, self.places = nn.Embedding(30, 16, padding_idx=0), nn.Embedding(32, 16)
        self.segments, self.norm = nn.Embedding(2, 16), nn.LayerNorm(16, eps=1e-12)
        self.query, self.key, self.value, self.mixed = (nn.Linear(16, 16) for _ in range(4))
        self.middle, self.last = nn.LayerNorm(16), nn.LayerNorm(16)
        self.mlp = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16))
        self.pooled = nn.Linear(16, 16)
        self.register_buffer("position_ids", clew.arange(32).expand((1, -1)))

    def forward(self, ids: Any, mask: Any, segments: Any) -> Any:
        size, length = ids.size()
        x = self.tokens(ids) + self.places(self.position_ids[:, :length])
        x = self.norm(x + self.segments(segments))
        hidden = (1.0 - mask[:, None, None, :].to(x.dtype)) * clew.finfo(x.dtype).min

        def heads(t: Any) -> Any:
            return t.view(*t.shape[:-1], 4, 4).permute(0, 2, 1, 3)

        q, k, v = heads(self.query(x)), heads(self.key(x)), heads(self.value(x))
        if self.attention == "matmul":
            weights = F.softmax(q @ k.transpose(-1, -2) / math.sqrt(4) + hidden, dim=-1)
            y = weights @ v
        elif self.attention == "bool":
            y = F.scaled_dot_product_attention(q, k, v, mask[:, None, None, :].bool())
        else:
            y = F.scaled_dot_product_attention(q, k, v, hidden.expand(size, 1, length, length))
        y = self.mixed(y.permute(0, 2, 1, 3).contiguous().view(size, length, 16))
        x = self.middle(x + y)
        x = self.last(x + self.mlp(x))
        return x, self.pooled(x[:, 0]).tanh()


class VAE(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(1, 4, 3, 2, 1), nn.ReLU(), nn.Conv2d(4, 8, 3, 2, 1), nn.Flatten()
        )
        self.both = nn.Linear(128, 8)
        self.decoder = nn.Sequential(
            nn.Linear(4, 128), nn.Unflatten(1, (8, 4, 4)), nn.ReLU(),
            nn.ConvTranspose2d(8, 4, 3, 2, 1, output_padding=1), nn.ReLU(),
            nn.ConvTranspose2d(4, 1, 4, 2, 1), nn.Sigmoid(),
        )  # fmt: skip
        self.noise = 0.0

    def forward(self, x: Any) -> Any:
        mean, log = self.both(self.encoder(x)).chunk(2, 1)
        z = mean + self.noise * clew.randn_like(log) * clew.exp(0.5 * log)
        distance = -0.5 * clew.sum(1 + log - mean.pow(2) - log.exp(), dim=1)
        return self.decoder(z), z, distance


class MobileNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.Hardswish(True))
        self.gate = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(8, 8, 1), nn.Hardsigmoid())
        self.depth = nn.Sequential(nn.Conv2d(8, 8, 3, 1, 1, groups=8), nn.ReLU6())

    def forward(self, x: Any) -> Any:
        x = self.depth(self.stem(x))
        return (x * self.gate(x)).mean([2, 3])


class DenseNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 7, 2, 3)
        self.layers = nn.ModuleList([nn.Conv2d(8 + 4 * n, 4, 3, 1, 1) for n in range(3)])
        self.out = nn.Sequential(nn.BatchNorm2d(20), nn.ReLU(), nn.AvgPool2d(2, 2))

    def forward(self, x: Any) -> Any:
        found = [F.max_pool2d(self.stem(x), 3, 2, 1, ceil_mode=True)]
        for layer in self.layers:
            found.append(layer(clew.cat(found, 1)))
        return self.out(clew.cat(found, 1))


class ConvNeXt(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem, self.depth = nn.Conv2d(3, 8, 4, 4), nn.Conv2d(8, 8, 7, padding=3, groups=8)
        self.norm, self.scale = nn.LayerNorm(8, eps=1e-6), nn.Parameter(clew.full((8,), 0.3))
        self.mlp = nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 8))

    def forward(self, x: Any) -> Any:
        x = self.stem(x)
        y = self.scale * self.mlp(self.norm(self.depth(x).permute(0, 2, 3, 1)))
        return x + y.permute(0, 3, 1, 2)


class Translator(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.out = nn.Embedding(20, 16), nn.Linear(16, 20)
        self.layers = nn.Transformer(16, 4, 1, 1, 32, batch_first=True)

    def forward(self, source: Any, target: Any) -> Any:
        later = nn.Transformer.generate_square_subsequent_mask(target.shape[1])
        padding = source == 0
        y = self.layers(
            self.tokens(source), self.tokens(target), tgt_mask=later,
            src_key_padding_mask=padding, memory_key_padding_mask=padding,
        )  # fmt: skip
        return self.out(y)


class Recurrent(nn.Module):
    """An encoder and a decoder that looks back at what was read."""

    def __init__(self, kind: Any) -> None:
        super().__init__()
        self.tokens, self.out = nn.Embedding(20, 8), nn.Linear(16, 20)
        self.reads, self.writes = kind(8, 8, batch_first=True), kind(8, 8, batch_first=True)

    def forward(self, source: Any, target: Any) -> Any:
        memory, state = self.reads(self.tokens(source))
        y, _ = self.writes(self.tokens(target), state)
        weights = F.softmax(clew.bmm(y, memory.transpose(1, 2)), -1)
        return self.out(clew.cat([y, weights @ memory], -1))


def _tokens(*shape: int) -> Any:
    return clew.randint(1, 20, shape)


def _text(size: int, length: int) -> tuple[Any, ...]:
    mask = clew.ones(size, length, dtype=clew.long)
    mask[0, length - 2 :] = 0
    return clew.randint(0, 30, (size, length)), mask, clew.randint(0, 2, (size, length))


def _image(channels: int) -> Callable[..., tuple[Any, ...]]:
    return lambda size, *sides: (clew.randn(size, channels, *sides),)


BATCH, IMAGE = {0: "n"}, {0: "n", 2: "high", 3: "wide"}
TEXT = [{0: "n", 1: "length"}] * 3
PAIR = [{0: "n", 1: "from"}, {0: "n", 1: "to"}]


def _pair(size: int, one: int, two: int) -> tuple[Any, ...]:
    return _tokens(size, one), _tokens(size, two)


# How a model is made; its inputs by their sizes, those sizes, others, which of them may change.
MODELS: dict[str, tuple[Any, Any, Any, Any, Any]] = {
    "efficientnet": (EfficientNet, _image(3), (2, 32, 32), (3, 16, 48), [IMAGE]),
    "unet bilinear": (lambda: UNet("bilinear"), _image(3), (1, 16, 24), (2, 32, 8), [IMAGE]),
    "unet nearest": (lambda: UNet("nearest"), _image(3), (1, 16, 24), (2, 32, 8), [IMAGE]),
    "unet bicubic": (
        lambda: UNet("bicubic", lambda size: nn.GroupNorm(2, size)), _image(3), (1, 18, 24),
        (2, 18, 24), [BATCH],
    ),
    "unet transposed": (
        lambda: UNet("transposed", nn.InstanceNorm2d), _image(3), (1, 16, 24), (2, 32, 8), [IMAGE]
    ),
    "bert": (lambda: Bert("matmul"), _text, (2, 7), (3, 11), TEXT),
    "bert bool mask": (lambda: Bert("bool"), _text, (2, 7), (3, 11), TEXT),
    "bert float mask": (lambda: Bert("float"), _text, (2, 7), (3, 11), TEXT),
    "vae": (VAE, _image(1), (2, 16, 16), (5, 16, 16), [BATCH]),
    "mobilenet": (MobileNet, _image(3), (2, 16, 16), (3, 24, 16), [IMAGE]),
    "densenet": (DenseNet, _image(3), (2, 32, 32), (3, 32, 32), [BATCH]),
    "convnext": (ConvNeXt, _image(3), (2, 32, 32), (3, 16, 32), [BATCH | {2: "high"}]),
    "transformer": (Translator, _pair, (2, 6, 5), (3, 8, 7), PAIR),
    "seq2seq gru": (lambda: Recurrent(nn.GRU), _pair, (2, 6, 5), (3, 8, 7), PAIR),
    "seq2seq lstm": (lambda: Recurrent(nn.LSTM), _pair, (2, 6, 5), (3, 8, 7), PAIR),
}  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_architectures(name: str) -> None:
    make, draw, sizes, others, changing = MODELS[name]
    clew.manual_seed(0)
    model, inputs = make().eval(), draw(*sizes)
    names = [f"x{n}" for n in range(len(inputs))]
    file = io.BytesIO()
    clew.onnx.export(model, inputs, file, dynamo=False, input_names=names)
    session = onnxruntime.InferenceSession(file.getvalue())
    found = session.run(None, {n: x.numpy() for n, x in zip(names, inputs, strict=True)})
    agree(lambda *_: [clew.from_numpy(each) for each in found], model, *inputs)
    dims: dict[str, Any] = {}
    shapes = tuple(
        {dim: dims.setdefault(size, clew.export.Dim(size)) for dim, size in each.items()}
        for each in changing
    )
    program = clew.onnx.export(model, inputs, dynamic_shapes=shapes)
    for each in (inputs, draw(*others)):
        agree(program, model, *each)


def test_noise_is_drawn_anew() -> None:
    clew.manual_seed(0)
    model, x = VAE().eval(), clew.randn(2, 1, 16, 16)
    model.noise = 1.0
    program = clew.onnx.export(model, x, dynamic_shapes=({0: clew.export.Dim("n")},))
    kinds = [node.op_type for node in program.model_proto.graph.node]
    assert kinds.count("RandomNormalLike") == 1
    same = program(clew.zeros(400, 1, 16, 16))[1]
    assert same.std(0).min() > 0.5


def test_modes_are_left_as_they_were() -> None:
    model = nn.Sequential(nn.Dropout(), nn.Sequential(nn.Dropout()))
    model[1].eval()
    clew.onnx.export(model, clew.ones(2))
    assert [each.training for each in model.modules()] == [True, True, False, False]
