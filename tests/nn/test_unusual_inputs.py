"""Layers and functions at their borders: nothing in a batch, one too many, numbers out of range."""

from __future__ import annotations

import itertools
from collections import namedtuple
from typing import Any

import pytest

from tests.twice import outcome, raised, twice

Pair = namedtuple("Pair", "first second")


@twice
def test_empty_batches(m: Any) -> Any:
    nn, F, seen = m.nn, m.nn.functional, []
    x = m.zeros(4, 0, 8, requires_grad=True)
    layers = [
        lambda: nn.MultiheadAttention(8, 2)(x, x, x)[0],
        lambda: nn.TransformerEncoderLayer(8, 2)(x),
        lambda: nn.TransformerDecoderLayer(8, 2)(x, m.zeros(5, 0, 8)),
        *(lambda kind=kind: kind(8, 4)(x)[0] for kind in (nn.RNN, nn.LSTM, nn.GRU)),
    ]
    for layer in layers:
        out = layer()
        out.sum().backward()
        seen.append(out.shape)
    for reduction in ("none", "sum", "mean"):
        scores, target = m.zeros(2, 3, 5, 0), m.zeros(2, 5, 0, dtype=m.long)
        seen.append(F.nll_loss(scores, target, reduction=reduction))
    return seen


@twice
def test_convolution_without_input_channels_has_no_channels(m: Any) -> Any:
    """As if the filters were none."""
    with pytest.warns(UserWarning, match="zero-element"):
        conv = m.nn.Conv1d(0, 8, 2, stride=2)
    seen = []
    for shape in ((2, 0, 15), (0, 15)):
        x = m.zeros(shape, requires_grad=True)
        y = conv(x)
        seen += [y, y.grad_fn.name()]
        y.abs().sum().backward()
        seen += [x.grad, conv.weight.grad, conv.bias.grad]
    return seen


@twice
def test_where_the_last_bag_ends(m: Any) -> Any:
    F, seen = m.nn.functional, []
    table, input = m.arange(20.0).reshape(10, 2), m.tensor([0, 1, 2, 3, 4])
    for mode in ("sum", "mean", "max"):
        for padding in (None, 7):
            for end in (3, 5, 1, 9):
                if mode == "mean" and padding is None and end not in (3, 5):
                    continue
                if mode == "sum" and padding is None and end == 1:
                    continue  # the words that torch finds depend on its number of threads
                bags = m.tensor([0, 3, end])
                options = {"mode": mode, "padding_idx": padding, "include_last_offset": True}
                seen.append(outcome(lambda: F.embedding_bag(input, table, bags, **options)))  # noqa: B023  # called at once
    rows = m.tensor([[1, 2, 4, 5], [4, 3, 2, 9]])
    seen.append(F.embedding_bag(rows, table, include_last_offset=True))
    for padding in (None, 0):
        bad = m.tensor([1, -1])
        seen.append(raised(F.embedding_bag, bad, table, m.tensor([0]), padding_idx=padding))
    return seen


@twice
def test_settings_of_recurrent_layers(m: Any) -> Any:
    seen = []
    for kind, settings in itertools.product(
        (m.nn.RNN, m.nn.GRU, m.nn.LSTM),
        (
            {"bias": 0}, {"bias": "True"}, {"bias": None}, {"batch_first": 1}, {"input_size": 3.0},
            {"hidden_size": "5"}, {"input_size": 0}, {"hidden_size": -1}, {"num_layers": 0},
        ),
    ):  # fmt: skip
        seen.append(raised(lambda: kind(**{"input_size": 3, "hidden_size": 5} | settings)))  # noqa: B023  # called at once
    return seen


@twice
def test_an_epsilon_that_leaves_no_variance(m: Any) -> Any:
    seen = []
    for eps, training in itertools.product((-1.0, -0.0, 0, 0.0, 1), (True, False)):
        norm = m.nn.BatchNorm1d(3, eps=eps).train(training)
        seen += [outcome(norm, m.ones(2, 3)), outcome(norm, m.ones(1, 3))]
        images = m.arange(24.0).reshape(2, 3, 2, 2)
        seen.append(outcome(m.nn.BatchNorm2d(3, eps=eps).train(training), images))
    return seen


@twice
def test_a_bound_of_similarity_that_a_dtype_cannot_hold(m: Any) -> Any:
    F, seen = m.nn.functional, []
    dtypes = (m.float16, m.bfloat16, m.float32, m.float64, m.int64)
    for first, second in itertools.product(dtypes, repeat=2):
        for bound in (1e-8, 1e5, 1e24, 1e39):
            x, y = m.full((3, 2), 2.0).to(first), m.full((3, 2), 2.0).to(second)
            seen.append(outcome(F.cosine_similarity, x, y, 0, bound))
    return seen


@twice
def test_arguments_out_of_range(m: Any) -> Any:
    F, nn, one = m.nn.functional, m.nn, m.ones(2)
    infinite, nan = float("inf"), float("nan")
    seen = [
        raised(F.softshrink, one.to(dtype), bound)
        for dtype in (m.float16, m.bfloat16, m.float32, m.float64)
        for bound in (-1.0, 65507.0, 1e39, infinite, nan)
    ]
    for bounds in ((infinite, 0.3), (0.1, infinite), (nan, 0.3), (0.1, -infinite), (0.5, 0.3)):
        seen.append(raised(F.rrelu, one, *bounds))
    none = m.tensor([], dtype=m.long)
    seen += [
        raised(F.ctc_loss, m.rand(0, 0, 4), none, none, none),
        raised(F.cross_entropy, m.ones(3, 4), m.ones(3, 4), label_smoothing=1.2),
        raised(F.multi_margin_loss, m.ones(0), m.zeros(10).long()),
        raised(F.multilabel_margin_loss, m.ones(0), m.zeros(10).long()),
        raised(F.cosine_similarity, one, one, 0, -1.0),
        raised(F.interpolate, m.ones(1, 1, 4, 4), scale_factor=1e20),
        raised(F.pixel_shuffle, m.ones(1, 4, 2, 2), 545460846592),
        raised(F.fold, m.randn(1, 12, 12), (4, 5), (2, 2), 8, words=4),
        raised(nn.HuberLoss, delta="wide"),
        raised(m.batch_norm_update_stats, m.rand(0, 1), m.rand(1), m.rand(1), 0.0),
        raised(nn.utils.rnn.pad_packed_sequence, nn.utils.rnn.PackedSequence(m.zeros(0, 3), none)),
    ]
    for to in (("cpu", True), (None, True), ("cpu", m.float64, True)):
        seen.append(outcome(lambda: nn.Linear(2, 2).to(*to).weight.dtype))  # noqa: B023  # called at once
    return seen


@twice
def test_cells_with_weights_of_other_sizes(m: Any) -> Any:
    seen, x, h = [], m.ones(4, 8), m.ones(4, 16)
    for name, gates in (("lstm", 4), ("gru", 3), ("rnn_relu", 1), ("rnn_tanh", 1)):
        cell, state = getattr(m, f"{name}_cell"), (h, h) if name == "lstm" else h
        rows = gates * 16
        seen.append(raised(cell, x, state, m.ones(rows + 1, 8), m.ones(rows, 16)))
        seen.append(raised(cell, x, state, m.ones(rows, 8), m.ones(rows + 1, 16)))
    return seen


@twice
def test_gaussian_losses_that_broadcast(m: Any) -> Any:
    F, input = m.nn.functional, m.arange(6.0).reshape(2, 3)
    seen = []
    for shape in ((2, 3), (2, 1), (2,), (1, 3), (1, 1), (3,)):
        variance = m.full(shape, 0.5)
        seen.append(
            outcome(lambda: F.gaussian_nll_loss(input, m.ones(2, 3), variance, reduction="none"))  # noqa: B023  # called at once
        )
    for shape in ((2, 1), (1, 3)):
        seen.append(F.gaussian_nll_loss(input, m.ones(shape), m.ones(2, 3)))
    return seen


@twice
def test_functional_activations_with_out(m: Any) -> Any:
    F, x = m.nn.functional, m.arange(-4.0, 4.0).reshape(2, 4)
    seen = []
    for name in ("softplus", "softshrink", "logsigmoid", "gelu"):
        out = m.empty(0)
        result = getattr(F, name)(x, out=out)
        seen += [out, result is out]
    return seen


@twice
def test_distances_of_order_zero_between_nans(m: Any) -> Any:
    points = m.tensor([[1.0, float("nan")], [2.0, 3.0], [1.0, 3.0], [float("inf"), 3.0]])
    return m.nn.functional.pdist(points, p=0.0), m.cdist(points, points, p=0.0)


@twice
def test_statistics_of_another_dtype(m: Any) -> Any:
    seen = []
    for kind, given in ((m.float32, m.float64), (m.float64, m.float32)):
        layer = m.nn.InstanceNorm2d(5, track_running_stats=True, dtype=kind)
        x = m.arange(160.0, dtype=given).reshape(2, 5, 4, 4)
        kinds = layer(x).dtype, layer.running_mean.dtype
        parts = layer(x), layer.running_mean, layer.running_var, layer.eval()(x)
        seen += [kinds, [each.float() for each in parts]]
    rms = m.nn.functional.rms_norm(m.ones(2, 5), (5,), m.ones(5, dtype=m.float32))
    return seen, rms


@twice
def test_channel_shuffles_and_statistics(m: Any) -> Any:
    x = m.arange(24.0).reshape(2, 4, 1, 3)
    mean, variance = m.zeros(4), m.ones(4)
    found = m.batch_norm_update_stats(x, mean, variance, 0.1)
    return m.native_channel_shuffle(x, 2), found, mean, variance


@twice
def test_weights_are_drawn_alike_in_every_format(m: Any) -> Any:
    seen = []
    for kind, last in ((m.nn.Conv2d, m.channels_last), (m.nn.Conv3d, m.channels_last_3d)):
        conv = kind(3, 6, 3).to(memory_format=last)
        m.manual_seed(1)
        conv.reset_parameters()
        seen += [conv.weight.detach(), conv.weight.stride()]
    return seen


@twice
def test_hooks_see_named_tuples_and_aliases(m: Any) -> Any:
    """A named tuple stays one; of an input and its detached alias only one is followed."""

    class Model(m.nn.Module):  # type: ignore[misc]  # either library's
        def forward(self, a: Any, b: Any) -> Any:
            return Pair(a * 2, (b + a).sum())

    seen: list[Any] = []
    model = Model()
    model.register_full_backward_hook(
        lambda module, inputs, outputs: seen.append([g is None for g in inputs + outputs])
    )
    x = m.ones(2, requires_grad=True)
    for arguments in ((x, x.detach()), (x.detach(), x)):
        out = model(*arguments)
        seen.append(type(out).__name__)
        (out.first.sum() + out.second).backward()
    handle = model.register_forward_hook(lambda *_: None)
    seen += [x.grad, len(handle.hooks_dict_ref()), handle.id in handle.hooks_dict_ref()]
    handle.remove()
    return [*seen, len(handle.hooks_dict_ref())]


@twice
def test_buffers_assigned_where_something_is(m: Any) -> Any:
    class Own(m.nn.Module):  # type: ignore[misc]  # either library's
        def register_buffer(self, name: str, value: Any) -> None:
            super().register_buffer(name, value, True)

    module = m.nn.Module()
    module.size = 5
    own = Own()
    own.mean = m.nn.Buffer(m.ones(2))
    return raised(setattr, module, "size", m.nn.Buffer(m.ones(2)), words=2), list(own.state_dict())


@twice
def test_lazy_modules_load_from_lazy_ones(m: Any) -> Any:
    first, second = m.nn.LazyLinear(3), m.nn.LazyLinear(3)
    first.load_state_dict(second.state_dict())
    parameter = m.nn.UninitializedParameter()
    parameter.materialize(10)
    return first.has_uninitialized_params(), parameter.shape


@twice
def test_functional_call_of_a_module_in_itself(m: Any) -> Any:
    module = m.nn.Sequential(m.nn.Linear(1, 1))
    weight, bias, x = m.tensor([[2.0]]), m.tensor([3.0]), m.ones(1, 1)
    missing = raised(m.func.functional_call, module, {}, x, strict=True, words=20)
    module[0].__dict__["_modules"]["up"] = module
    given = {"0.up.0.weight": weight, "0.bias": bias}
    return m.func.functional_call(module, given, x, tie_weights=False), missing


@twice
def test_masks_of_unbatched_attention(m: Any) -> Any:
    layer = m.nn.MultiheadAttention(4, 4)
    q = m.ones(4, 4)
    mask = m.zeros(5, 4, 4, dtype=m.bool)
    return raised(layer, q, q, q, attn_mask=mask, words=11)


@twice
def test_a_layer_norm_over_no_dimensions(t: Any) -> Any:
    return raised(t.nn.LayerNorm(()), t.zeros(()))
