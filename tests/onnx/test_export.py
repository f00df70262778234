"""Exported models, run by onnxruntime: they give what clew gives, for other sizes too."""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import clew
from clew import nn
from clew.nn import functional as F

onnx = pytest.importorskip("onnx", reason="onnx is not installed (extra `onnx`)")
onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")


class CNN(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.one = nn.Conv2d(3, 8, 3, padding=1)
        self.two = nn.Conv2d(8, 16, 3, stride=2, groups=2)
        self.out = nn.Linear(16, 5)

    def forward(self, x: Any) -> Any:
        x = F.max_pool2d(F.relu(self.one(x)), 2)
        x = F.adaptive_avg_pool2d(F.relu(self.two(x)), 1).flatten(1)
        return self.out(x)


class Block(nn.Module):
    def __init__(self, inner: int, outer: int, stride: int) -> None:
        super().__init__()
        self.one = nn.Conv2d(inner, outer, 3, stride, 1, bias=False)
        self.norm = nn.BatchNorm2d(outer)
        self.skip = nn.Conv2d(inner, outer, 1, stride, bias=False)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x: Any) -> Any:
        y = self.norm(self.one(x))
        y += self.skip(x)
        return self.relu(y)


class ResNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, 8, 7, 2, 3, bias=False), nn.BatchNorm2d(8), nn.ReLU(inplace=True),
            nn.MaxPool2d(3, 2, 1),
        )  # fmt: skip
        self.blocks = nn.Sequential(Block(8, 8, 1), Block(8, 16, 2))
        self.out = nn.Linear(16, 5)

    def forward(self, x: Any) -> Any:
        return self.out(self.blocks(self.stem(x)).mean((2, 3)))


class Recurrent(nn.Module):
    def __init__(self, kind: type[Any], **options: Any) -> None:
        super().__init__()
        self.layers = kind(4, 6, 2, batch_first=True, **options)
        self.out = nn.Linear(12 if options.get("bidirectional") else 6, 3)

    def forward(self, x: Any) -> Any:
        y, _ = self.layers(x)
        return self.out(y[:, -1]), y


class GPT(nn.Module):
    def __init__(self, flash: bool) -> None:
        super().__init__()
        self.flash = flash
        self.tokens, self.places = nn.Embedding(17, 12), nn.Embedding(16, 12)
        self.norm, self.last = nn.LayerNorm(12), nn.LayerNorm(12)
        self.qkv, self.proj = nn.Linear(12, 36), nn.Linear(12, 12)
        self.mlp = nn.Sequential(nn.Linear(12, 48), nn.GELU(), nn.Linear(48, 12))
        self.head = nn.Linear(12, 17, bias=False)
        self.register_buffer("mask", clew.tril(clew.ones(16, 16)).view(1, 1, 16, 16))

    def forward(self, idx: Any) -> Any:
        size, length = idx.shape
        x = self.tokens(idx) + self.places(clew.arange(length))
        parts = self.qkv(self.norm(x)).split(12, dim=2)
        q, k, v = (each.view(size, length, 3, 4).transpose(1, 2) for each in parts)
        if self.flash:
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            scores = (q @ k.transpose(-2, -1)) * (1 / math.sqrt(4))
            scores = scores.masked_fill(self.mask[:, :, :length, :length] == 0, -math.inf)
            y = F.softmax(scores, dim=-1) @ v
        x = x + self.proj(y.transpose(1, 2).contiguous().view(size, length, 12))
        return self.head(self.last(x + self.mlp(x)))


def mlp() -> Any:
    return nn.Sequential(
        nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 8), nn.Tanh(), nn.Dropout(0.5), nn.Linear(8, 3),
        nn.Softmax(-1),
    )  # fmt: skip


def tokens(*shape: int) -> Any:
    return clew.randint(0, 17, shape)


# How a model is made, its inputs, their size, and another one.
MODELS: dict[str, tuple[Any, Any, tuple[int, ...], tuple[int, ...]]] = {
    "mlp": (mlp, clew.randn, (4, 6), (9, 6)),
    "cnn": (CNN, clew.randn, (2, 3, 12, 12), (5, 3, 12, 12)),
    "resnet": (ResNet, clew.randn, (1, 3, 32, 32), (3, 3, 32, 32)),
    "lstm": (lambda: Recurrent(nn.LSTM), clew.randn, (2, 5, 4), (3, 8, 4)),
    "gru": (lambda: Recurrent(nn.GRU), clew.randn, (2, 5, 4), (3, 8, 4)),
    "both ways": (
        lambda: Recurrent(nn.LSTM, bidirectional=True), clew.randn, (2, 5, 4), (3, 8, 4)
    ),
    "gpt": (lambda: GPT(False), tokens, (2, 7), (3, 16)),
    "gpt flash": (lambda: GPT(True), tokens, (1, 7), (3, 4)),
}  # fmt: skip


def agree(program: Any, model: Any, *inputs: Any) -> None:
    with clew.no_grad():
        wanted = model(*inputs)
    found = program(*inputs)
    for one, two in zip(found, wanted if isinstance(wanted, tuple) else (wanted,), strict=True):
        assert one.shape == two.shape
        np.testing.assert_allclose(one.numpy(), two.numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", MODELS)
def test_models(name: str) -> None:
    clew.manual_seed(0)
    make, draw, shape, other = MODELS[name]
    model, x = make(), draw(*shape)
    fixed = clew.onnx.export(model, x)
    agree(fixed, model.eval(), x)
    changing = {d: f"size{d}" for d, (a, b) in enumerate(zip(shape, other, strict=True)) if a != b}
    program = clew.onnx.export(
        model.train(), (x,), input_names=["x"], output_names=["y"], dynamic_axes={"x": changing}
    )
    assert model.training
    for each in (x, draw(*other)):
        agree(program, model.eval(), each)
    first = program.model_proto.graph.input[0]
    assert first.name == "x"
    assert [d.dim_param for d in first.type.tensor_type.shape.dim if d.dim_param] == [
        *changing.values()
    ]


def test_both_ways_to_call(tmp_path: Path) -> None:
    model, x = mlp(), clew.randn(4, 6)
    path = tmp_path / "model.onnx"
    assert clew.onnx.export(model, x, path, dynamo=False, opset_version=18) is None
    file = io.BytesIO()
    clew.onnx.export(model, (x,), file, dynamic_shapes=({0: clew.export.Dim("batch")},))
    for source in (str(path), file.getvalue()):
        session = onnxruntime.InferenceSession(source)
        (found,) = session.run(None, {session.get_inputs()[0].name: x.numpy()})
        np.testing.assert_allclose(found, model.eval()(x).detach().numpy(), rtol=1e-5)
    names = {each.name for each in onnx.load(path).graph.initializer}
    assert {"0.weight", "0.bias", "5.weight"} <= names


OPERATIONS: dict[str, Callable[[Any], Any]] = {
    "arithmetic": lambda x: (x + 1) * 2 - x / 3 + x**2 - 1,
    "functions": lambda x: x.abs().sqrt().exp().log() + x.sin() - x.sigmoid().tanh(),
    "comparison": lambda x: clew.where(x > 0, x, -x).masked_fill(x < -1, 2.0),
    "clamped": lambda x: x.clamp(-0.5, 0.5) + F.relu6(x) + x.clamp_min(0.1),
    "activations": lambda x: F.silu(x) + F.leaky_relu(x, 0.2) + F.elu(x) + F.gelu(x),
    "approximate": lambda x: F.gelu(x, approximate="tanh") + F.softplus(x),
    "reduced": lambda x: x.sum(1) + x.mean(1) + x.amax(1) + x.logsumexp(1),
    "softmax": lambda x: x.softmax(0) + x.log_softmax(1),
    "shapes": lambda x: x.t().reshape(-1).view(4, 3).unsqueeze(0).squeeze(0).permute(1, 0),
    "parts": lambda x: clew.cat([x[1:], x[:1]], 0) + x[:, 1].unsqueeze(1),
    "split": lambda x: clew.stack(x.chunk(2, 1), 0).sum(0),
    "triangle": lambda x: x.tril() + x.triu(1),
    "padded": lambda x: F.pad(x, (1, 2), value=3.0),
    "converted": lambda x: (x > 0).float() + x.to(clew.int64).to(clew.float32),
    "chosen": lambda x: x.argmax(1),
    "index": lambda x: x.index_select(1, clew.tensor([0, 2])),
    "pooled": lambda x: F.avg_pool2d(x.view(1, 1, 3, 4), 2, stride=1),
    "transposed": lambda x: F.conv_transpose2d(x.view(1, 1, 3, 4), clew.ones(1, 2, 2, 2), stride=2),
    "summed": lambda x: x.cumsum(1),
    "matrix": lambda x: x @ x.t(),
}


class Of(nn.Module):
    def __init__(self, function: Callable[[Any], Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Any) -> Any:
        return self.function(x)


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations(name: str) -> None:
    clew.manual_seed(1)
    model, x = Of(OPERATIONS[name]), clew.randn(3, 4)
    agree(clew.onnx.export(model, x), model, x)


def test_what_cannot_be_written() -> None:
    with pytest.raises(clew.onnx.OnnxExporterError, match="linalg_inv_ex has no ONNX form"):
        clew.onnx.export(Of(clew.linalg.inv), clew.eye(2))
    branching = Of(lambda x: x.sum(0) if x.shape[0] > 3 else x.exp().sum(0))
    with pytest.raises(clew.onnx.OnnxExporterError, match="other operations for other sizes"):
        clew.onnx.export(branching, clew.ones(4, 2), dynamic_axes={"x": {0: "n"}})
    scaled = Of(lambda x: x * (1 / x.shape[0]))
    with pytest.raises(clew.onnx.OnnxExporterError, match="in one run and"):
        clew.onnx.export(scaled, clew.ones(4, 2), dynamic_axes={"x": {0: "n"}})
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        clew.onnx.export(mlp(), clew.ones(1, 6), colour="blue")
