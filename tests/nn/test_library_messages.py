"""What modules, losses and optimizers say when a training program does not do what it seems to."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import clew
from clew import nn
from clew.nn import functional as F
from clew.utils.checkpoint import CheckpointError, checkpoint
from tests.twice import raised, twice


def line_of(mark: str) -> str:
    """`file.py:N` for the only line of this file that ends with `# mark`."""
    lines = inspect.getsource(inspect.getmodule(line_of)).splitlines()
    (number,) = [n for n, line in enumerate(lines, 1) if line.endswith(f"# {mark}")]
    return f"{Path(__file__).name}:{number}"


def message(function: Callable[..., Any], *args: Any, kind: type[Exception] = RuntimeError) -> str:
    with pytest.raises(kind) as caught:
        function(*args)
    return str(caught.value)


class Network(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 4), nn.Tanh())
        self.head = nn.Linear(4, 1)

    def forward(self, x: Any) -> Any:
        hidden = self.body(x)  # the body is called
        return self.head(hidden)  # the head is called


# -- overwritten before backward ----------------------------------------------------------------


def test_a_step_between_forward_and_backward_names_both_lines_and_the_module() -> None:
    model = Network()
    optimizer = clew.optim.SGD(model.parameters(), lr=0.1)
    x = clew.ones(2, 4)
    first, second = model(x).sum(), model(x).sum()
    first.backward()
    optimizer.step()  # the step
    text = message(second.backward)
    assert text.startswith("one of the variables needed for gradient computation has been modified")
    assert line_of("the step") in text and line_of("the head is called") in text
    assert "in module head" in text


def test_an_inplace_activation_names_the_module_whose_output_it_overwrote() -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.Sigmoid(), nn.ReLU(inplace=True))
    text = message(model(clew.ones(1, 3)).sum().backward)
    assert "by SigmoidBackward0" in text and "in module 1" in text
    assert "overwritten by `relu_`" in text


# -- no gradient --------------------------------------------------------------------------------


def test_why_a_parameter_has_no_gradient() -> None:
    model = Network()
    weight = model.body[0].weight
    loss = model(clew.ones(2, 4)).sum()
    assert clew.why_no_grad(weight).startswith("not yet")
    loss.backward()
    assert weight.grad is not None

    model.body.requires_grad_(False)  # the body is frozen
    model.zero_grad()
    model(clew.ones(2, 4)).sum().backward()
    frozen = clew.why_no_grad(weight)
    assert frozen.startswith("frozen") and line_of("the body is frozen") in frozen
    assert model.head.weight.grad is not None


def test_why_a_detached_body_has_no_gradient() -> None:
    model = Network()
    hidden = model.body(clew.ones(2, 4)).detach()  # the body is cut off
    model.head(hidden).sum().backward()
    text = clew.why_no_grad(model.body[0].weight)
    assert text.startswith("unreached") and "detach" in text
    assert line_of("the body is cut off") in text


def test_a_layer_in_a_list_is_no_parameter_of_the_optimizer() -> None:
    class Plain(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = [nn.Linear(2, 2)]

    text = message(clew.optim.SGD, Plain().parameters(), kind=ValueError)
    assert text.startswith("optimizer got an empty parameter list")
    assert "ModuleList" in text and Path(__file__).name in text


def test_a_used_up_generator_is_named_as_the_cause() -> None:
    parameters = Network().parameters()
    assert len(list(parameters)) == 4
    text = message(clew.optim.Adam, parameters, kind=ValueError)
    assert "may have been used up before" in text


def test_a_value_computed_from_a_parameter_is_reported_where_it_is_set() -> None:
    class Scaled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = nn.Parameter(clew.ones(3)) * 0.1  # no parameter

    with pytest.warns(UserWarning, match="`self.scale` of Scaled is not a parameter") as found:
        model = Scaled()
    assert list(model.parameters()) == []
    assert f"{Path(found[0].filename).name}:{found[0].lineno}" == line_of("no parameter")


# -- shapes that broadcast ----------------------------------------------------------------------


@pytest.mark.parametrize("loss", [nn.MSELoss, nn.L1Loss, nn.SmoothL1Loss, nn.HuberLoss])
def test_a_number_against_many_warns_at_the_users_line(loss: Any) -> None:
    with pytest.warns(UserWarning, match="Using a target size") as found:
        loss()(clew.zeros(8, 1), clew.tensor(1.0))  # the loss is computed
    assert str(found[0].message).startswith(
        "Using a target size (torch.Size([])) that is different to the input size "
        "(torch.Size([8, 1]))."
    )
    assert f"{Path(found[0].filename).name}:{found[0].lineno}" == line_of("the loss is computed")


def test_equal_shapes_do_not_warn() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nn.MSELoss()(clew.zeros(8, 1), clew.zeros(8, 1))


GAUSSIAN = partial(nn.GaussianNLLLoss(), var=1.0)
LOSSES: list[Any] = [
    nn.MSELoss(), nn.L1Loss(), nn.SmoothL1Loss(), nn.HuberLoss(), nn.KLDivLoss(reduction="sum"),
    nn.PoissonNLLLoss(), nn.HingeEmbeddingLoss(), nn.MultiLabelSoftMarginLoss(), GAUSSIAN,
    F.mse_loss, F.l1_loss, F.smooth_l1_loss, F.huber_loss, F.poisson_nll_loss,
    F.hinge_embedding_loss, F.multilabel_soft_margin_loss,
]  # fmt: skip


SHAPES: list[Any] = [
    ((8, 1), (8,), r"64 pairs.*\n  Write `target\.unsqueeze\(1\)`, or `input\.squeeze\(1\)`"),
    ((8,), (8, 1), r"64 pairs.*\n  Write `target\.squeeze\(1\)`, or `input\.unsqueeze\(1\)`"),
    ((2, 1, 4), (2, 4), r"16 pairs.*\n  Write `target\.unsqueeze\(1\)`"),
    ((8, 1), (1, 8), r"all pairs are meant.*torch\.broadcast_tensors\(input, target\)"),
    ((8, 3), (1, 3), r"target\.expand_as\(input\)"),
    ((8, 1), (8, 3), r"size of the last layer.*input\.expand_as\(target\)"),
]


# PyTorch documents that a Gaussian target may have a size of 1, which broadcasts.
@pytest.mark.parametrize(
    ("loss", "input", "target", "advice"),
    [(loss, *case) for loss in LOSSES for case in SHAPES if (loss, case) != (GAUSSIAN, SHAPES[4])],
)
def test_shapes_that_only_broadcasting_makes_equal_raise(
    loss: Any, input: Any, target: Any, advice: str
) -> None:
    x, y = clew.full(input, 0.5), clew.full(target, 0.5)
    with pytest.raises(ValueError, match=advice) as caught:
        loss(x, y)  # the shapes differ
    assert str(caught.value).startswith(
        f"Using a target size ({clew.Size(target)}) that is different to the input size "
        f"({clew.Size(input)})."
    )
    assert line_of("the shapes differ") in str(caught.value)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.filterwarnings("ignore:Using a target size")
def test_what_may_be_compared(loss: Any) -> None:
    """A single number with every shape, and what was broadcast by the program itself."""
    x = clew.linspace(0.1, 0.8, 8)
    whole = loss(x, clew.full((8,), 0.5))
    for target in (clew.tensor(0.5), clew.tensor([0.5])):
        clew.testing.assert_close(loss(x, target), whole)
    loss(*clew.broadcast_tensors(x.reshape(8, 1), x))
    loss(x.expand(3, 8), x.expand(3, 8))


@twice
def test_weights_that_would_enlarge_a_loss(torch: Any) -> Any:
    functional = torch.nn.functional
    logits, column = functional.binary_cross_entropy_with_logits, torch.full((8, 1), 0.5)
    return [
        raised(logits, column, column, weight=torch.ones(8), words=9),
        raised(logits, column, column, pos_weight=torch.ones(8), words=9),
        raised(functional.binary_cross_entropy, column, column, weight=torch.ones(8), words=9),
        raised(functional.soft_margin_loss, column, torch.ones(8), words=9),
        logits(torch.full((8, 3), 0.5), torch.full((8, 3), 0.5), pos_weight=torch.ones(3)),
    ]


# -- memory and checkpoints ---------------------------------------------------------------------


def test_the_memory_of_a_model_is_shown_by_module_and_line() -> None:
    loss = Network()(clew.ones(64, 4)).sum()
    rows = clew.memory_summary(loss).rows
    # The head's input is the output of the activation, which holds it already.
    assert {(row.module, row.op, row.bytes) for row in rows} == {
        ("body.0", "Addmm", 64 * 4 * 4),
        ("body.1", "Tanh", 64 * 4 * 4),
    }
    assert all(row.line.endswith(line_of("the body is called")) for row in rows)


def test_a_block_that_runs_in_another_mode_in_backward_is_reported() -> None:
    block = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), nn.Linear(4, 4))
    out = checkpoint(block, clew.ones(2, 4), use_reentrant=False)  # checkpointed here
    block.eval()
    text = message(out.sum().backward, kind=CheckpointError)
    assert line_of("checkpointed here") in text
    assert "train/eval mode" in text
    assert "Number of tensors saved during forward: 4" in text and "saved by `addmm`" in text


def transformer(checkpointed: bool) -> Any:
    clew.manual_seed(0)
    layers = nn.ModuleList([nn.TransformerEncoderLayer(16, 2, 32, dropout=0.1) for _ in range(3)])

    def forward(x: Any) -> Any:
        for layer in layers:
            x = checkpoint(layer, x, use_reentrant=False) if checkpointed else layer(x)
        return x

    return layers, forward


def test_a_checkpointed_transformer_has_the_gradients_of_the_plain_one() -> None:
    gradients = []
    for checkpointed in (False, True):
        layers, forward = transformer(checkpointed)
        clew.manual_seed(1)
        forward(clew.ones(5, 2, 16)).square().mean().backward()
        gradients.append({name: p.grad for name, p in layers.named_parameters()})
    plain, recomputed = gradients
    assert all(gradient is not None for gradient in recomputed.values())
    for name in plain:
        assert clew.equal(plain[name], recomputed[name]), name
