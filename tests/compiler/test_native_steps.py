"""Train steps as native segments: how many there are; they leave what eager steps leave."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import clew
from clew import nn
from clew.compiler import program
from clew.compiler.native.segments import Segment
from clew.nn import functional as F
from tests.compiler.test_native import Poisoned, assert_same

Network = Callable[[], nn.Module]


def mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 4))


def dropped() -> nn.Module:
    return nn.Sequential(
        nn.Linear(6, 16), nn.GELU(), nn.Dropout(0.3), nn.Unflatten(1, (4, 2, 2)), nn.Dropout2d(0.2),
        nn.Flatten(), nn.Linear(16, 4),
    )  # fmt: skip


class Attending(nn.Module):
    """Attention over three places, with dropout, after an earlier place or a mask."""

    def __init__(self, is_causal: bool) -> None:
        super().__init__()
        self.is_causal = is_causal
        self.embed, self.mix, self.out = nn.Linear(2, 24), nn.Linear(8, 8), nn.Linear(8, 4)
        self.norm, self.drop = nn.LayerNorm(8), nn.Dropout(0.1)
        self.mask = clew.ones(3, 3, dtype=clew.bool).tril(1)
        self.mask[2] = False

    def forward(self, x: clew.Tensor) -> clew.Tensor:
        parts = self.embed(x.view(8, 3, 2)).split(8, dim=2)
        q, k, v = (each.view(8, 3, 2, 4).transpose(1, 2) for each in parts)
        mixed = F.scaled_dot_product_attention(
            q, k, v, None if self.is_causal else self.mask, dropout_p=0.2, is_causal=self.is_causal
        )
        mixed = self.mix(mixed.transpose(1, 2).reshape(8, 3, 8))
        result: clew.Tensor = self.out(self.norm(self.drop(mixed)).mean(1))
        return result


def images(*layers: nn.Module, features: int) -> nn.Module:
    """Eight images of 6 numbers, enlarged to 3 channels of 24 by 24, through some layers."""
    return nn.Sequential(
        nn.Linear(6, 3 * 36), nn.Unflatten(1, (3, 6, 6)), nn.Upsample(scale_factor=4), *layers,
        nn.Flatten(), nn.Linear(features, 4),
    )  # fmt: skip


def pooled() -> nn.Module:
    return images(
        nn.Conv2d(3, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(6, 8, 3, stride=2, bias=False), nn.MaxPool2d(3, 2, padding=1),
        nn.Conv2d(8, 128, 1), nn.AvgPool2d(2, stride=1), features=512,
    )  # fmt: skip


def by_winograd() -> nn.Module:
    return images(
        nn.Conv2d(3, 16, 3, padding=1), nn.Conv2d(16, 16, 3, padding=1, bias=False), nn.ReLU(),
        nn.Conv2d(16, 16, 3, padding=1), nn.AdaptiveAvgPool2d(2), features=64,
    )  # fmt: skip


def normalized() -> nn.Module:
    """By groups whose channels are long, by groups whose channels are short."""
    return images(
        nn.Conv2d(3, 8, 3), nn.GroupNorm(4, 8), nn.SiLU(), nn.MaxPool2d(6),
        nn.GroupNorm(2, 8), nn.GroupNorm(1, 8, affine=False), features=72,
    )  # fmt: skip


def lines() -> nn.Module:
    return nn.Sequential(
        nn.Linear(6, 64 * 6), nn.Unflatten(1, (64, 6)), nn.Conv1d(64, 32, 3, padding=1), nn.Tanh(),
        nn.ConvTranspose1d(32, 32, 2, stride=2), nn.Conv1d(32, 16, 3, dilation=2),
        nn.Flatten(), nn.Linear(128, 4),
    )  # fmt: skip


def loss_of(model: nn.Module, x: clew.Tensor, y: clew.Tensor) -> clew.Tensor:
    return F.cross_entropy(model(x), y)


def clipped(model: nn.Module) -> None:
    nn.utils.clip_grad_norm_(model.parameters(), 0.1)


def clipped_by_value(model: nn.Module) -> None:
    nn.utils.clip_grad_value_(model.parameters(), 0.01)


def scaled_and_noted(model: nn.Module) -> None:
    """Through a view of a gradient, and with a look at another one."""
    grads = [each.grad for each in model.parameters()]
    grads[0][1:].mul_(0.5)
    grads[1].add_(grads[1].mean())
    grads[2].sub_(grads[2] * 0.1)


def untouched(model: nn.Module) -> None:
    return None


class Case:
    """A network, what is done to its gradients, how often it goes backward, and the segments."""

    def __init__(
        self, network: Network, change: Callable[[nn.Module], None] = untouched,
        backwards: int = 1, clears: bool = True, segments: int = 1,
    ) -> None:  # fmt: skip
        self.network, self.change, self.backwards = network, change, backwards
        self.clears, self.segments = clears, segments

    def run(self, wrap: Any) -> list[Any]:
        """Everything that some steps leave."""
        clew.manual_seed(0)
        model = self.network()
        optimizer = clew.optim.AdamW(model.parameters(), lr=0.01, eps=0.1)

        def step(x: clew.Tensor, y: clew.Tensor) -> clew.Tensor:
            if self.clears:
                optimizer.zero_grad()
            for _ in range(self.backwards):
                loss = loss_of(model, x, y)
                loss.backward()
            self.change(model)
            optimizer.step()
            return loss.detach()

        run, seen = wrap(step), []
        for _ in range(6):
            seen.append(run(clew.randn(8, 6), clew.randint(0, 4, (8,))))
            tensors = [*model.parameters(), *[each.grad for each in model.parameters()]]
            seen.append([each.detach().clone() for each in tensors])
            seen.append([each._version for each in tensors])
        return [*seen, clew.rand(1)]


CASES = {
    "clipping": Case(mlp, clipped),
    "clipping by value": Case(mlp, clipped_by_value),
    "two backwards": Case(mlp, backwards=2),
    "accumulation": Case(mlp, clears=False),
    "accumulation and clipping": Case(mlp, clipped, backwards=2, clears=False),
    "dropout": Case(dropped),
    "causal attention with dropout": Case(lambda: Attending(True), clipped),
    "masked attention with dropout": Case(lambda: Attending(False)),
    "convolution and pooling": Case(pooled),
    "winograd": Case(by_winograd),
    "group norm": Case(normalized),
    "convolution of lines": Case(lines),
    "views of gradients": Case(mlp, scaled_and_noted, segments=2),
}


def segments(compiled: Any) -> list[Segment]:
    """The native segments of the program that was captured last."""
    return [each for each in compiled.events[-1].trace.running.items if isinstance(each, Segment)]


@pytest.fixture(params=[1, 2])
def _threads(request: pytest.FixtureRequest) -> Iterator[None]:
    before = clew.get_num_threads()
    clew.set_num_threads(request.param)
    yield
    clew.set_num_threads(before)


@pytest.mark.usefixtures("_threads")
@pytest.mark.parametrize("name", CASES)
def test_a_step_leaves_what_an_eager_one_leaves(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case, made = CASES[name], []

    def compiled(step: Any) -> Any:
        made.append(clew.compile(step))
        return made[0]

    expected = case.run(lambda step: step)
    monkeypatch.setattr(program, "np", Poisoned())
    assert_same(case.run(compiled), expected)
    assert [event.problem for event in made[0].events] == [None] * len(made[0].events)
    assert len(segments(made[0])) == case.segments


@pytest.mark.usefixtures("_threads")
@pytest.mark.parametrize("size", [(), (5,), (6, 7)])
def test_batch_norm_by_running_statistics(size: tuple[int, ...]) -> None:
    clew.manual_seed(0)
    kind = (nn.BatchNorm1d, nn.BatchNorm1d, nn.BatchNorm2d)[len(size)]
    model = nn.Sequential(kind(4), kind(4, affine=False))
    model(clew.randn(8, 4, *size) * 3 + 1)
    model.eval()
    compiled = clew.compile(lambda x: model(x * 2) + 1)
    with clew.no_grad():
        for _ in range(3):
            x = clew.randn(8, 4, *size)
            assert_same(compiled(x), model(x * 2) + 1)
    assert len(compiled.events[-1].trace.running.items) == 1


@pytest.mark.usefixtures("_threads")
def test_infinities_reach_only_their_windows() -> None:
    clew.manual_seed(0)
    layer = nn.Conv2d(16, 16, 3, padding=1)

    def step(x: clew.Tensor) -> tuple[clew.Tensor, ...]:
        layer.zero_grad()
        out = layer(x)
        out.square().sum().backward()
        return out.detach(), layer.weight.grad * 1, layer.bias.grad * 1

    compiled = clew.compile(step)
    for number in (0.0, 1.0, float("inf"), float("nan"), 2.0):
        x = clew.randn(4, 16, 18, 18)
        x[1, 3, 7, 7] = number
        right = step(x)
        clew.testing.assert_close(compiled(x), right, rtol=1e-4, atol=1e-2, equal_nan=True)
        assert right[0].isfinite().sum() >= right[0].numel() - 9 * 16
    assert segments(compiled)


def test_an_error_leaves_what_comes_after_it_as_it_was() -> None:
    def run(wrap: Any) -> list[Any]:
        clew.manual_seed(0)
        model, seen = nn.Linear(6, 4), []
        count = clew.zeros(3)

        def step(x: clew.Tensor, y: clew.Tensor) -> clew.Tensor:
            count.add_(1)
            loss = loss_of(model, x, y)
            loss.backward()
            count.mul_(2)
            model.weight.grad.mul_(0.5)
            return loss.detach()

        train = wrap(step)
        for number in range(6):
            y = clew.randint(0, 4, (8,))
            if number in (3, 4):
                y[2] = 7
            try:
                seen.append(train(clew.randn(8, 6), y))
            except IndexError as error:
                seen.append(str(error).splitlines()[0])
            grads = [each.grad.clone() for each in model.parameters()]
            seen.append([*grads, count.clone()])
        return seen

    for mine, right in zip(run(clew.compile), run(lambda step: step), strict=True):
        if isinstance(right, str):
            assert mine == right
        else:
            assert_same(mine, right)


def test_draws_go_on_where_the_stream_stands() -> None:
    def run(wrap: Any) -> list[Any]:
        clew.manual_seed(3)
        drop, seen = wrap(lambda x: F.dropout(x.t() * 2, 0.5) * F.dropout(x.t() + 1, 0.3)), []
        for number in range(6):
            if number == 2:
                kept = clew.get_rng_state()
            elif number == 4:
                clew.set_rng_state(kept)
            elif number == 5:
                clew.manual_seed(9)
            seen += [drop(clew.ones(7, 100)).tolist(), clew.get_rng_state().tolist()]
        return seen

    made: list[Any] = []
    assert run(lambda drop: made.append(clew.compile(drop)) or made[0]) == run(lambda drop: drop)
    (segment,) = segments(made[0])
    assert segment.draws
