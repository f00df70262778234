"""nn.functional where the table of ops does not reach: random masks, in-place forms, names of
nodes, warnings, running statistics, multi-head attention, composite arguments."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as theirs

import clew
import clew.nn.functional as ours
from tests import oracle


def _both(call: Callable[[Any, Any], Any], seed: int = 0) -> tuple[Any, Any]:
    """`call(library, functional)` in clew and in torch, with the same random stream."""
    clew.manual_seed(seed)
    torch.manual_seed(seed)
    return call(clew, ours), call(torch, theirs)


def _leaf(*shape: int, dtype: torch.dtype = torch.float64) -> tuple[Any, torch.Tensor]:
    made = torch.randn(shape, dtype=dtype, generator=torch.Generator().manual_seed(3))
    return oracle.to_clew(made).requires_grad_(), made.requires_grad_()


# ---------------------------------------------------------------- random numbers


DROPOUTS = (
    "dropout",
    "dropout1d",
    "dropout2d",
    "dropout3d",
    "alpha_dropout",
    "feature_alpha_dropout",
)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("inplace", [False, True])
@pytest.mark.parametrize("p", [0.0, 0.3, 0.5, 1.0])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("name", DROPOUTS)
def test_dropout_has_torchs_masks_and_gradient(
    name: str, dtype: torch.dtype, p: float, inplace: bool
) -> None:
    x, y = _leaf(3, 4, 5, dtype=dtype)
    clew.manual_seed(5)
    torch.manual_seed(5)
    a = getattr(ours, name)(x * 1, p, True, inplace)
    b = getattr(theirs, name)(y * 1, p, True, inplace)
    oracle.assert_same(a, b)
    a.sum().backward()
    b.sum().backward()
    oracle.assert_same(x.grad, y.grad)
    oracle.assert_same(clew.rand(3), torch.rand(3))


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", DROPOUTS)
def test_dropout_is_the_identity_in_evaluation(name: str) -> None:
    x, y = _leaf(2, 3, 4)
    clew.manual_seed(0)
    torch.manual_seed(0)
    oracle.assert_same(getattr(ours, name)(x, 0.5, False), getattr(theirs, name)(y, 0.5, False))
    assert np.array_equal(getattr(ours, name)(x, 0.5, False).detach().numpy(), x.detach().numpy())
    oracle.assert_same(clew.rand(3), torch.rand(3))


def test_dropout_draws_in_memory_order() -> None:
    a, b = _both(lambda lib, f: f.dropout(lib.ones(4, 3).t(), 0.3))
    oracle.assert_same(a, b)


@pytest.mark.parametrize("p", [-0.1, 1.5])
@pytest.mark.parametrize("name", DROPOUTS)
def test_dropout_refuses_what_is_no_probability(name: str, p: float) -> None:
    with pytest.raises(ValueError, match="dropout probability has to be between 0 and 1"):
        getattr(ours, name)(clew.ones(2, 3, 4), p)
    with pytest.raises(RuntimeError, match="dropout probability has to be between 0 and 1"):
        clew.dropout(clew.ones(2), p, True)


@pytest.mark.parametrize(
    "call",
    [
        lambda lib, f: f.rrelu(lib.linspace(-2, 2, 20), training=True),
        lambda lib, f: f.rrelu(lib.linspace(-2, 2, 20).clone(), training=True, inplace=True),
        lambda lib, f: f.gumbel_softmax(lib.linspace(-2, 2, 24).reshape(4, 6), 0.5),
        lambda lib, f: f.gumbel_softmax(lib.linspace(-2, 2, 24).reshape(4, 6), hard=True, dim=0),
        lambda lib, f: f.scaled_dot_product_attention(
            *(lib.linspace(-1, 1, 48).reshape(2, 2, 4, 3) for _ in range(3)), dropout_p=0.4
        ),
    ],
)  # fmt: skip
def test_random_functions_draw_as_torch(call: Callable[[Any, Any], Any]) -> None:
    a, b = _both(call)
    oracle.assert_same(a, b)


# ---------------------------------------------------------------- in place


IN_PLACE = [
    ("relu", {}), ("relu6", {}), ("elu", {"alpha": 0.7}), ("selu", {}), ("celu", {"alpha": 1.3}),
    ("silu", {}), ("mish", {}), ("hardtanh", {}), ("hardsigmoid", {}), ("hardswish", {}),
    ("leaky_relu", {"negative_slope": 0.2}), ("rrelu", {}), ("threshold", {"threshold": 0.1,
                                                                            "value": 2.0}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "options"), IN_PLACE)
def test_inplace_argument(name: str, options: dict[str, Any]) -> None:
    x, y = _leaf(4, 5)
    a, b = x * 1, y * 1
    result = getattr(ours, name)(a, inplace=True, **options)
    assert result is a
    expected = getattr(theirs, name)(b, inplace=True, **options)
    assert result.grad_fn.name() == expected.grad_fn.name()
    oracle.assert_same(result, expected)
    result.pow(2).sum().backward()
    expected.pow(2).sum().backward()
    oracle.assert_same(x.grad, y.grad)


@pytest.mark.parametrize(
    "name", ["relu_", "elu_", "selu_", "celu_", "hardtanh_", "leaky_relu_", "rrelu_"]
)
def test_functions_named_in_place(name: str) -> None:
    x, y = _leaf(4, 5)
    a, b = x.detach(), y.detach()
    assert getattr(ours, name)(a) is a
    getattr(theirs, name)(b)
    oracle.assert_same(a, b)


@pytest.mark.parametrize(("name", "argument"), [("elu", "alpha"), ("leaky_relu", "negative_slope")])
def test_in_place_with_a_negative_slope_has_no_gradient(name: str, argument: str) -> None:
    x, _ = _leaf(3)
    with pytest.raises(RuntimeError, match=r"In-place .* backward calculation"):
        getattr(ours, name)(x * 1, inplace=True, **{argument: -1.0}).sum().backward()


def test_overwriting_the_result_of_relu_is_noticed_and_that_of_silu_is_not() -> None:
    x, _ = _leaf(3)
    out = ours.relu(x)
    out.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()
    out = ours.silu(x)
    out.add_(1)
    out.sum().backward()


@pytest.mark.parametrize("name", ["layer_norm", "batch_norm", "group_norm"])
def test_overwriting_a_normalised_result_is_allowed(name: str) -> None:
    x, y = _leaf(4, 6)
    arguments = {"layer_norm": ((6,),), "batch_norm": (None, None), "group_norm": (2,)}[name]
    options = {"training": True} if name == "batch_norm" else {}
    for module, leaf in ((ours, x), (theirs, y)):
        out = getattr(module, name)(leaf, *arguments, **options)
        out.mul_(2)
        out.pow(2).sum().backward()
    oracle.assert_same(x.grad, y.grad)


# ---------------------------------------------------------------- names of nodes


def _chain(node: Any, depth: int = 3) -> Any:
    if node is None or depth == 0:
        return None
    name = node.name().removeprefix("torch::autograd::")
    return name, [_chain(n, depth - 1) for n, _ in node.next_functions if n is not None]


NODES: list[Callable[[Any, Any, Any], Any]] = [
    lambda lib, f, x: f.gelu(x),
    lambda lib, f, x: f.selu(x),
    lambda lib, f, x: f.softplus(x),
    lambda lib, f, x: f.logsigmoid(x),
    lambda lib, f, x: f.softmax(x, -1),
    lambda lib, f, x: f.softmin(x, -1),
    lambda lib, f, x: f.cross_entropy(x, lib.tensor([0, 1, 2, 3])),
    lambda lib, f, x: f.nll_loss(x.reshape(2, 2, 2, 3), lib.zeros(2, 2, 3, dtype=lib.int64)),
    lambda lib, f, x: f.mse_loss(x, x.detach()),
    lambda lib, f, x: f.l1_loss(x, x.detach()),
    lambda lib, f, x: f.smooth_l1_loss(x, x.detach()),
    lambda lib, f, x: f.binary_cross_entropy_with_logits(x, x.detach()),
    lambda lib, f, x: f.soft_margin_loss(x, x.detach()),
    lambda lib, f, x: f.layer_norm(x, (6,)),
    lambda lib, f, x: f.batch_norm(x, None, None, training=True),
    lambda lib, f, x: f.group_norm(x, 2),
    lambda lib, f, x: f.dropout(x, 0.5),
    lambda lib, f, x: f.embedding(lib.tensor([1, 2]), x),
    lambda lib, f, x: f.embedding_bag(lib.tensor([[1, 2]]), x),
    lambda lib, f, x: f.linear(x, lib.ones(3, 6, dtype=x.dtype), lib.ones(3, dtype=x.dtype)),
    lambda lib, f, x: f.linear(x, lib.ones(3, 6, dtype=x.dtype)),
    lambda lib, f, x: f.linear(
        x.reshape(2, 2, 6), lib.ones(3, 6, dtype=x.dtype), lib.ones(3, dtype=x.dtype)
    ),
    lambda lib, f, x: f.scaled_dot_product_attention(*[x.reshape(1, 2, 2, 6)] * 3),
    lambda lib, f, x: f.pdist(x),
    lambda lib, f, x: f.prelu(x, lib.ones(1, dtype=x.dtype)),
    lambda lib, f, x: f.glu(x),
]


@pytest.mark.parametrize("call", NODES, ids=range(len(NODES)))
def test_nodes_are_named_as_in_torch(call: Callable[[Any, Any, Any], Any]) -> None:
    x, y = _leaf(4, 6)
    mine, reference = call(clew, ours, x).grad_fn, call(torch, theirs, y).grad_fn
    assert _chain(mine, 2) == _chain(reference, 2)


# ---------------------------------------------------------------- statistics and tables


@pytest.mark.parametrize("momentum", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_batch_norm_updates_running_statistics(dtype: torch.dtype, momentum: float) -> None:
    x, y = _leaf(5, 3, 4, dtype=dtype)
    stats = [torch.rand(3, dtype=dtype), torch.rand(3, dtype=dtype) + 0.5]
    mine = oracle.to_clew([s.clone() for s in stats])
    versions = [s._version for s in mine]
    a = ours.batch_norm(x, *mine, training=True, momentum=momentum)
    b = theirs.batch_norm(y, *stats, training=True, momentum=momentum)
    oracle.assert_same(a, b)
    for one, other in zip(mine, stats, strict=True):
        oracle.assert_same(one, other)
        assert not one.requires_grad
    assert [s._version for s in mine] != versions


def test_instance_norm_updates_running_statistics() -> None:
    x, y = _leaf(2, 3, 4)
    stats = [torch.zeros(3, dtype=torch.float64), torch.ones(3, dtype=torch.float64)]
    mine = oracle.to_clew([s.clone() for s in stats])
    oracle.assert_same(ours.instance_norm(x, *mine), theirs.instance_norm(y, *stats))
    for one, other in zip(mine, stats, strict=True):
        oracle.assert_same(one, other)


@pytest.mark.parametrize("norm_type", [1.0, 2.0])
def test_embedding_renormalises_the_rows_it_reads(norm_type: float) -> None:
    x, y = _leaf(6, 3)
    a, b = x.detach(), y.detach()
    indices = torch.tensor([[1, 2], [2, 5]])
    oracle.assert_same(
        ours.embedding(oracle.to_clew(indices), a, max_norm=0.7, norm_type=norm_type),
        theirs.embedding(indices, b, max_norm=0.7, norm_type=norm_type),
    )
    oracle.assert_same(a, b)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_binary_cross_entropy_with_weights(reduction: str) -> None:
    x, y = _leaf(3, 4)
    target = torch.rand(3, 4, dtype=torch.float64)
    weight, positive = torch.rand(4, dtype=torch.float64), torch.rand(4, dtype=torch.float64) + 1
    t, w, p = oracle.to_clew((target, weight, positive))
    a = ours.binary_cross_entropy_with_logits(x, t, w, reduction=reduction, pos_weight=p)
    b = theirs.binary_cross_entropy_with_logits(
        y, target, weight, reduction=reduction, pos_weight=positive
    )
    oracle.assert_same(a, b)
    a = a + ours.binary_cross_entropy(x.sigmoid(), t, w, reduction=reduction)
    b = b + theirs.binary_cross_entropy(y.sigmoid(), target, weight, reduction=reduction)
    a.sum().backward()
    b.sum().backward()
    oracle.assert_same(x.grad, y.grad)


def test_embedding_bag_scales_by_frequency() -> None:
    """By definition: torch's own kernel divides by the counts of other indices."""
    weight = clew.ones(5, 2, dtype=clew.float64, requires_grad=True)
    indices, offsets = clew.tensor([1, 1, 3]), clew.tensor([0, 2])
    bags = ours.embedding_bag(indices, weight, offsets, mode="sum", scale_grad_by_freq=True)
    bags.sum().backward()
    assert weight.grad.tolist() == [[0, 0], [1, 1], [0, 0], [1, 1], [0, 0]]


# ---------------------------------------------------------------- warnings


WARNING: list[Callable[[Any, Any], Any]] = [
    lambda lib, f: f.mse_loss(lib.ones(2, 3), lib.ones(())),
    lambda lib, f: f.l1_loss(lib.ones(2, 3), lib.ones(())),
    lambda lib, f: f.mse_loss(lib.ones(2), lib.ones(2), size_average=False),
    lambda lib, f: f.mse_loss(lib.ones(2), lib.ones(2), reduce=False),
    lambda lib, f: f.softmax(lib.ones(2, 3)),
    lambda lib, f: f.log_softmax(lib.ones(2, 3, 4)),
    lambda lib, f: f.softmin(lib.ones(3)),
    lambda lib, f: f.kl_div(lib.ones(3), lib.ones(3)),
    lambda lib, f: f.dropout2d(lib.ones(2, 3)),
    lambda lib, f: f.dropout2d(lib.ones(2, 3, 4)),
    lambda lib, f: f.dropout3d(lib.ones(2, 3)),
    lambda lib, f: f.gumbel_softmax(lib.ones(2, 3), eps=1e-3),
]


@pytest.mark.parametrize("call", WARNING, ids=range(len(WARNING)))
def test_warns_as_torch(call: Callable[[Any, Any], Any]) -> None:
    texts = []
    for library, functional in ((clew, ours), (torch, theirs)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            call(library, functional)
        texts.append([(w.category, str(w.message)) for w in caught])
        assert all(w.filename == __file__ for w in caught) or library is torch
    assert texts[0] == texts[1]


# ---------------------------------------------------------------- multi-head attention


def _attention_arguments(
    query: Any, key: Any, value: Any, parts: dict[str, Any], **options: Any
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    positional = (
        query, key, value, 6, 2, parts["in_weight"], parts["in_bias"], options.pop("bias_k", None),
        options.pop("bias_v", None), options.pop("add_zero_attn", False),
        options.pop("dropout_p", 0.0), parts["out_weight"], parts["out_bias"],
    )  # fmt: skip
    return positional, options


def _parts() -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    shapes = {"in_weight": (18, 6), "in_bias": (18,), "out_weight": (6, 6), "out_bias": (6,)}
    return {
        name: torch.randn(shape, dtype=torch.float64, generator=generator)
        for name, shape in shapes.items()
    }


CAUSAL = torch.ones(4, 4).triu(1).bool()
ATTENTION_OPTIONS: list[dict[str, Any]] = [
    {},
    {"need_weights": False},
    {"average_attn_weights": False},
    {"add_zero_attn": True},
    {"attn_mask": CAUSAL},
    {"attn_mask": CAUSAL, "need_weights": False},
    {"attn_mask": CAUSAL, "is_causal": True, "need_weights": False},
    {"attn_mask": torch.randn(6, 4, 4, dtype=torch.float64)},
    {"key_padding_mask": torch.tensor([[False, False, True, True]] * 3)},
    {"key_padding_mask": torch.tensor([[False, True, True, False]] * 3), "attn_mask": CAUSAL,
     "need_weights": False},
    {"bias_k": torch.randn(1, 1, 6, dtype=torch.float64),
     "bias_v": torch.randn(1, 1, 6, dtype=torch.float64)},
    {"dropout_p": 0.3},
    {"dropout_p": 0.3, "training": False},
    {"dropout_p": 0.3, "need_weights": False},
]  # fmt: skip


@pytest.mark.parametrize("options", ATTENTION_OPTIONS, ids=range(len(ATTENTION_OPTIONS)))
def test_multi_head_attention(options: dict[str, Any]) -> None:
    x, y = _leaf(4, 3, 6)
    mine, reference = oracle.to_clew(dict(options)), dict(options)
    parts = _parts()
    torch.manual_seed(2)
    args, kwargs = _attention_arguments(y, y, y, parts, **reference)
    expected = theirs.multi_head_attention_forward(*args, **kwargs)
    clew.manual_seed(2)
    args, kwargs = _attention_arguments(x, x, x, oracle.to_clew(parts), **mine)
    actual = ours.multi_head_attention_forward(*args, **kwargs)
    oracle.assert_same(actual, expected)
    actual[0].pow(2).sum().backward()
    expected[0].pow(2).sum().backward()
    oracle.assert_same(x.grad, y.grad)


def test_multi_head_attention_without_a_batch_and_with_other_keys() -> None:
    x, y = _leaf(4, 6)
    parts = _parts()
    memory = torch.randn(5, 6, dtype=torch.float64)
    args, kwargs = _attention_arguments(y, memory, memory, parts)
    expected = theirs.multi_head_attention_forward(*args, **kwargs)
    args, kwargs = _attention_arguments(x, *[oracle.to_clew(memory)] * 2, oracle.to_clew(parts))
    oracle.assert_same(ours.multi_head_attention_forward(*args, **kwargs), expected)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"attn_mask": torch.ones(3, 4).bool()}, "The shape of the 2D attn_mask"),
        ({"attn_mask": torch.ones(5, 4, 4).bool()}, "The shape of the 3D attn_mask"),
        ({"is_causal": True}, "Need attn_mask if specifying the is_causal hint"),
    ],
)
def test_multi_head_attention_refuses(options: dict[str, Any], error: str) -> None:
    x, _ = _leaf(4, 3, 6)
    args, kwargs = _attention_arguments(
        x, x, x, oracle.to_clew(_parts()), **oracle.to_clew(options)
    )
    with pytest.raises(RuntimeError, match=error):
        ours.multi_head_attention_forward(*args, **kwargs)


# ---------------------------------------------------------------- fused and composed gradients


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    "call",
    [
        lambda x: ours.layer_norm(x, (6,), clew.ones(6, dtype=x.dtype) * 2),
        lambda x: ours.batch_norm(x, None, None, clew.ones(4, dtype=x.dtype) * 2, training=True),
        lambda x: ours.group_norm(x, 2, clew.ones(4, dtype=x.dtype) * 2),
        lambda x: ours.scaled_dot_product_attention(*[x.reshape(1, 2, 6, 6)] * 3, is_causal=True),
    ],
)  # fmt: skip
def test_gradient_is_the_same_with_and_without_a_graph(
    call: Callable[[Any], Any], dtype: torch.dtype
) -> None:
    x, _ = _leaf(3, 4, 6, dtype=dtype)
    (plain,) = clew.autograd.grad(call(x).pow(2).sum(), x)
    (graphed,) = clew.autograd.grad(call(x).pow(2).sum(), x, create_graph=True)
    assert graphed.requires_grad and not plain.requires_grad
    tolerance = 1e-5 if dtype == torch.float32 else 1e-12
    np.testing.assert_allclose(
        plain.numpy(), graphed.detach().numpy(), rtol=tolerance, atol=10 * tolerance
    )


def test_ctc_loss_has_no_second_derivative() -> None:
    x, _ = _leaf(5, 2, 4)
    loss = ours.ctc_loss(
        x.log_softmax(-1), clew.tensor([[1, 2], [1, 1]]), clew.tensor([5, 5]), clew.tensor([2, 2])
    )
    (grad,) = clew.autograd.grad(loss, x, create_graph=True)
    with pytest.raises(RuntimeError, match="derivative for aten::_ctc_loss_backward"):
        grad.pow(2).sum().backward()


def test_ctc_loss_refuses_targets_that_are_no_classes() -> None:
    x, _ = _leaf(5, 2, 4)
    with pytest.raises(RuntimeError, match="target 4 is not a class"):
        ours.ctc_loss(x, clew.tensor([[1, 4], [1, 1]]), clew.tensor([5, 5]), clew.tensor([2, 2]))


def test_linear_cross_entropy_is_its_parts() -> None:
    x, y = _leaf(4, 6)
    weight = torch.randn(5, 6, dtype=torch.float64)
    target = torch.tensor([0, 4, 2, 1])
    oracle.assert_same(
        ours.linear_cross_entropy(x, *oracle.to_clew([weight, target])),
        theirs.linear_cross_entropy(y, weight, target),
    )
