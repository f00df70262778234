"""MultiheadAttention and the Transformer: the same numbers as PyTorch for the same seed."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import clew
from clew import nn
from tests.twice import raised, twice


def outcome(lib: Any, model: Any, inputs: list[Any], result: Any) -> Any:
    """Results, gradients, and the state that they came from."""
    parts = result if isinstance(result, tuple) else (result,)
    outs = [part for part in parts if part is not None]
    sum((out * lib.randn(out.shape)).sum() for out in outs).backward()
    grads = [each.grad for each in [*inputs, *model.parameters()]]
    return result, grads, dict(model.state_dict())


def quietly() -> None:
    """torch tells what it does about nested tensors: that has a test of its own."""
    warnings.filterwarnings("ignore", "enable_nested_tensor is True")
    warnings.filterwarnings("ignore", "The PyTorch API of nested tensors")


def padding(lib: Any, *lengths: int, size: int) -> Any:
    return lib.arange(size)[None] >= lib.tensor(lengths)[:, None]


# -- MultiheadAttention --------------------------------------------------------------------

ATTENTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "batch first": {"batch_first": True},
    "other sizes": {"kdim": 5, "vdim": 6},
    "without bias": {"bias": False},
    "bias_kv": {"add_bias_kv": True},
    "zero_attn": {"add_zero_attn": True, "add_bias_kv": True},
    "dropout": {"dropout": 0.3},
    "dropout, batch first": {"dropout": 0.3, "batch_first": True},
}


def attention_inputs(lib: Any, model: Any, batched: bool) -> list[Any]:
    sizes = [(3, model.embed_dim), (5, model.kdim), (5, model.vdim)]
    if not batched:
        shapes = [(length, width) for length, width in sizes]
    elif model.batch_first:
        shapes = [(2, length, width) for length, width in sizes]
    else:
        shapes = [(length, 2, width) for length, width in sizes]
    return [lib.randn(*shape, requires_grad=True) for shape in shapes]


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("batched", [True, False])
@pytest.mark.parametrize("settings", ATTENTIONS)
def test_attention(settings: str, batched: bool, need_weights: bool) -> None:
    def scenario(lib: Any) -> Any:
        model = lib.nn.MultiheadAttention(8, 2, **ATTENTIONS[settings])
        inputs = attention_inputs(lib, model, batched)
        trained = outcome(lib, model, inputs, model(*inputs, need_weights=need_weights))
        model.eval()
        with lib.no_grad():
            return trained, model(*inputs, need_weights=need_weights), repr(model)

    twice(scenario)()


@pytest.mark.parametrize("mask", ["none", "bool", "float", "per head", "causal"])
@pytest.mark.parametrize("hidden", ["none", "bool", "float"])
@pytest.mark.parametrize("training, need_weights", [(True, True), (True, False), (False, False)])
def test_attention_masks(training: bool, need_weights: bool, hidden: str, mask: str) -> None:
    def scenario(lib: Any) -> Any:
        model = lib.nn.MultiheadAttention(8, 2, dropout=0.2, batch_first=True).train(training)
        x = lib.randn(3, 4, 8, requires_grad=True)
        future = lib.ones(4, 4, dtype=lib.bool).triu(1)
        attn_mask = {
            "none": None,
            "bool": future,
            "float": lib.randn(4, 4),
            "per head": future.expand(6, 4, 4),
            "causal": lib.nn.Transformer.generate_square_subsequent_mask(4),
        }[mask]
        pad = padding(lib, 4, 2, 1, size=4)
        key_padding_mask = {"none": None, "bool": pad, "float": pad * -2.0}[hidden]
        result = model(
            x, x, x, key_padding_mask=key_padding_mask, attn_mask=attn_mask,
            need_weights=need_weights, average_attn_weights=False, is_causal=mask == "causal",
        )  # fmt: skip
        return outcome(lib, model, [x], result)

    twice(scenario)()


@twice
def test_attention_to_another_sequence(lib: Any) -> Any:
    model = lib.nn.MultiheadAttention(8, 4, dropout=0.1)
    query, memory = lib.randn(3, 2, 8), lib.randn(5, 2, 8)
    return model(query, memory, memory), model(query, memory, memory, need_weights=False)


@twice
def test_attention_errors(lib: Any) -> Any:
    attention = lib.nn.MultiheadAttention
    model, x = attention(8, 2), lib.randn(5, 3, 8)
    ints = lib.zeros(3, 5, dtype=lib.int64)
    return [
        raised(attention, 8, 3),
        raised(attention, 0, 3, words=12),
        raised(model, x[0, 0], x, x, words=13),
        raised(model, x, x[0], x, words=13),
        raised(model, x, x, x, key_padding_mask=ints, words=8),
        raised(model, x, x, x, attn_mask=lib.zeros(5, 5, dtype=lib.int32), words=8),
        raised(model, x, x, x, attn_mask=lib.zeros(4, 5), words=12),
        raised(model, x, x, x, attn_mask=lib.zeros(2, 5, 5), words=12),
        raised(model, x, x, x, key_padding_mask=lib.zeros(5, 3).bool(), words=8),
        raised(model, lib.randn(5, 3, 9), x, x, words=8),
        raised(model, x, x, x, is_causal=True, words=7),
    ]


# -- layers --------------------------------------------------------------------------------

LAYERS: dict[str, dict[str, Any]] = {
    "plain": {},
    "norm first": {"norm_first": True, "activation": "gelu"},
    "batch first": {"batch_first": True, "bias": False, "layer_norm_eps": 1e-3},
    "module": {"activation": "module", "batch_first": True, "dropout": 0.0},
    "tanh": {"activation": "tanh", "norm_first": True, "batch_first": True},
}


def layer_settings(lib: Any, name: str) -> dict[str, Any]:
    settings = {"dim_feedforward": 16, "dropout": 0.25, **LAYERS[name]}
    named = {"module": lib.nn.GELU(), "tanh": lib.tanh}
    if settings.get("activation") in named:
        settings["activation"] = named[settings["activation"]]
    return settings


@pytest.mark.parametrize("mask", ["none", "causal", "bool", "padded", "both"])
@pytest.mark.parametrize("settings", LAYERS)
def test_encoder_layer(settings: str, mask: str) -> None:
    def scenario(lib: Any) -> Any:
        model = lib.nn.TransformerEncoderLayer(8, 2, **layer_settings(lib, settings))
        x = lib.randn(4, 4, 8, requires_grad=True)
        causal = lib.nn.Transformer.generate_square_subsequent_mask(4)
        masks = {
            "none": (),
            "causal": (causal, None, True),
            "bool": (causal != 0,),
            "padded": (None, padding(lib, 4, 3, 2, 1, size=4)),
            "both": (causal != 0, padding(lib, 4, 3, 2, 1, size=4)),
        }[mask]
        trained = outcome(lib, model, [x], model(x, *masks))
        with lib.no_grad():
            return trained, model.eval()(x, *masks), model(x[0]), repr(model)

    twice(scenario)()


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("settings", LAYERS)
def test_decoder_layer(settings: str, masked: bool) -> None:
    def scenario(lib: Any) -> Any:
        model = lib.nn.TransformerDecoderLayer(8, 2, **layer_settings(lib, settings))
        x, memory = (lib.randn(4, 4, 8, requires_grad=True) for _ in range(2))
        masks: dict[str, Any] = {}
        if masked:
            pad = padding(lib, 4, 3, 2, 1, size=4)
            future = lib.ones(4, 4, dtype=lib.bool).triu(1)
            masks = {
                "tgt_mask": future,
                "memory_mask": future.flip(1),
                "tgt_key_padding_mask": pad,
                "memory_key_padding_mask": pad & False,
            }
        trained = outcome(lib, model, [x, memory], model(x, memory, **masks))
        with lib.no_grad():
            return trained, model.eval()(x, memory, **masks), repr(model)

    twice(scenario)()


@twice
def test_layer_errors(lib: Any) -> Any:
    layer = lib.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    x = lib.randn(2, 3, 8)
    return [
        raised(lib.nn.TransformerEncoderLayer, 8, 2, activation="x"),
        raised(layer, x, is_causal=True, words=7),
        raised(layer, x, src_key_padding_mask=lib.zeros(2, 3, dtype=lib.int8), words=8),
        raised(layer, lib.randn(8), words=13),
        layer(x, lib.zeros(3, 3), lib.zeros(2, 3, dtype=lib.bool)).shape,
    ]


@twice
def test_activation_numbers(lib: Any) -> Any:
    n = lib.nn
    choices = ["relu", "gelu", n.ReLU(), n.GELU(), n.functional.gelu, lib.tanh]
    layers = [n.TransformerEncoderLayer(8, 2, 16, activation=each) for each in choices]
    return [layer.activation_relu_or_gelu for layer in layers]


# -- stacks --------------------------------------------------------------------------------


def encoder(lib: Any, norm: bool, **settings: Any) -> Any:
    quietly()
    options = {"batch_first": True, **settings}
    nested = options.pop("enable_nested_tensor", True)
    layer = lib.nn.TransformerEncoderLayer(8, options.pop("nhead", 2), 16, **options)
    last = lib.nn.LayerNorm(8) if norm else None
    model = lib.nn.TransformerEncoder(layer, 2, last, enable_nested_tensor=nested)
    if norm:
        lib.nn.init.normal_(model.norm.bias)
    return model


@pytest.mark.parametrize("norm", [False, True])
def test_encoder_trained(norm: bool) -> None:
    def scenario(lib: Any) -> Any:
        model = encoder(lib, norm)
        x = lib.randn(3, 5, 8, requires_grad=True)
        pad = padding(lib, 5, 3, 1, size=5)
        return outcome(lib, model, [x], model(x, src_key_padding_mask=pad)), repr(model)

    twice(scenario)()


@pytest.mark.parametrize("norm", [False, True])
@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"norm_first": True},
        {"bias": False},
        {"activation": "gelu"},
        {"nhead": 1},
        {"enable_nested_tensor": False},
    ],
)
def test_padded_rows_in_evaluation(settings: dict[str, Any], grad: bool, norm: bool) -> None:
    """Zero where PyTorch leaves the padding out, and computed where it does not."""

    def scenario(lib: Any) -> Any:
        model = encoder(lib, norm, **settings).eval()
        x = lib.randn(3, 5, 8)
        pad = padding(lib, 4, 3, 1, size=5)
        causal = lib.nn.Transformer.generate_square_subsequent_mask(5)
        with lib.set_grad_enabled(grad):
            return [
                model(x, src_key_padding_mask=pad),
                model(x, src_key_padding_mask=lib.zeros(3, 5).masked_fill(pad, -lib.inf)),
                model(x, src_key_padding_mask=pad.flip(1)),
                model(x, src_key_padding_mask=pad & False),
                model(x, mask=causal != 0, src_key_padding_mask=pad),
                model(x[0], src_key_padding_mask=pad[0]),
                model(x, causal),
            ]

    twice(scenario)()


@twice
def test_frozen_encoder_leaves_padding_out(lib: Any) -> Any:
    model = encoder(lib, True).eval().requires_grad_(False)
    return model(lib.randn(3, 5, 8), src_key_padding_mask=padding(lib, 5, 3, 1, size=5))


def test_nested_tensor_warnings() -> None:
    def scenario(lib: Any) -> Any:
        layer = lib.nn.TransformerEncoderLayer
        choices = [
            layer(8, 2, 16),
            layer(8, 2, 16, batch_first=True),
            layer(8, 2, 16, batch_first=True, norm_first=True),
            layer(8, 2, 16, batch_first=True, bias=False),
            layer(8, 2, 16, batch_first=True, activation=lib.tanh),
            layer(9, 3, 16, batch_first=True),
            lib.nn.Linear(1, 1),
        ]
        texts = []
        for choice in choices:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                model = lib.nn.TransformerEncoder(choice, 1)
            texts.append((model.use_nested_tensor, [str(each.message) for each in caught]))
        return texts

    twice(scenario)()


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("norm_first", [False, True])
def test_transformer(norm_first: bool, batch_first: bool) -> None:
    def scenario(lib: Any) -> Any:
        quietly()
        model = lib.nn.Transformer(
            8, 2, 2, 2, 16, batch_first=batch_first, norm_first=norm_first, activation="gelu"
        )
        src, tgt = lib.randn(4, 4, 8, requires_grad=True), lib.randn(4, 4, 8, requires_grad=True)
        pad = padding(lib, 4, 3, 2, 1, size=4)
        causal = model.generate_square_subsequent_mask(4)
        masks = {
            "tgt_mask": causal,
            "src_key_padding_mask": pad * -1e9,
            "tgt_key_padding_mask": (pad & False).float(),
            "memory_key_padding_mask": pad,
        }
        trained = outcome(lib, model, [src, tgt], model(src, tgt, **masks))
        model.eval()
        with lib.no_grad():
            plain = model(src, tgt), model(src, tgt, tgt_mask=causal), model(src[0], tgt[0])
        return trained, plain, repr(model), causal

    twice(scenario)()


@twice
def test_custom_parts(lib: Any) -> Any:
    class Twice(lib.nn.Module):
        def forward(self, x: Any, *others: Any, **masks: Any) -> Any:
            return x * 2

    model = lib.nn.Transformer(8, 2, 1, 1, 16, custom_encoder=Twice(), custom_decoder=Twice())
    x = lib.randn(3, 2, 8)
    return model(x, x + 1), list(model.state_dict())


@twice
def test_causal_masks(lib: Any) -> Any:
    mask = lib.nn.Transformer.generate_square_subsequent_mask
    return mask(3), mask(1), mask(2, dtype=lib.float64)


@twice
def test_transformer_errors(lib: Any) -> Any:
    quietly()
    first = lib.nn.Transformer(8, 2, 1, 1, 16, batch_first=True)
    second = lib.nn.Transformer(8, 2, 1, 1, 16)
    return [
        raised(first, lib.randn(2, 3, 8), lib.randn(3, 3, 8), words=10),
        raised(first, lib.randn(2, 3, 8), lib.randn(2, 3, 7), words=12),
        raised(first, lib.randn(3, 7), lib.randn(3, 7), words=12),
        raised(second, lib.randn(2, 3, 8), lib.randn(3, 4, 8), words=10),
    ]


# -- derivatives ---------------------------------------------------------------------------


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("name", ["Encoder", "Decoder"])
def test_gradients_of_gradients(name: str, norm_first: bool) -> None:
    clew.manual_seed(0)
    kind = getattr(nn, f"Transformer{name}Layer")
    layer = kind(4, 2, 4, dropout=0.0, activation="gelu", norm_first=norm_first).double()
    x = clew.randn(3, 2, 4, dtype=clew.float64, requires_grad=True)
    mask = nn.Transformer.generate_square_subsequent_mask(3, dtype=clew.float64)
    memory = [clew.randn(2, 2, 4, dtype=clew.float64)] if name == "Decoder" else []
    hint = {"is_causal" if name == "Encoder" else "tgt_is_causal": True}
    weights = list(layer.parameters())

    def run(x: Any, *_: Any) -> Any:
        return layer(x, *memory, mask, **hint)

    assert clew.autograd.gradcheck(run, (x, *weights), fast_mode=True)
    assert clew.autograd.gradgradcheck(run, (x, *weights), fast_mode=True)


def test_forward_mode() -> None:
    clew.manual_seed(0)
    layer = nn.TransformerEncoderLayer(4, 2, 4, dropout=0.0).double()
    x = clew.randn(3, 2, 4, dtype=clew.float64, requires_grad=True)
    assert clew.autograd.gradcheck(layer, (x,), check_forward_ad=True, fast_mode=True)
