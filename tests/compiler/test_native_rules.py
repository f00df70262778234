"""Operations inside of segments: values and gradients are those of eager, and no Python is left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import clew
from clew import nn
from clew.compiler import program
from clew.compiler.graph import ACCUMULATE, CALL, CHECK, VIEW
from clew.compiler.native.segments import Segment
from clew.nn import functional as F
from tests.compiler.test_native import Poisoned

INDEX, PLACES = clew.tensor([1, 0, 3, 2, 1]), clew.tensor([[0, -1], [7, 2]])
MASK = clew.arange(8 * 32).reshape(8, 32) % 3 == 0
PIXELS = clew.arange(4 * 6).reshape(4, 6) % 10
CLASSES = clew.tensor([3, 999, -100, 0, 7, 3, 500, 12])
NORM, NORM_OF_ROWS = nn.BatchNorm2d(3).eval(), nn.BatchNorm1d(32).eval()
COUNTS = clew.arange(32) % 5


def joined(parts: Any) -> Any:
    """A sum in which every part has another weight."""
    return sum((each * (number + 1)).square().sum() for number, each in enumerate(parts))


# A function of float32 numbers and the shapes of what it takes.
CASES: dict[str, tuple[Callable[..., Any], Any]] = {
    "rows": (lambda x: x[INDEX], [(8, 32)]),
    "columns": (lambda x: x[:, INDEX], [(8, 32)]),
    "places": (lambda x: x[PLACES, INDEX[:2]], [(8, 32)]),
    "places of matrices": (lambda x: x[:, PLACES, INDEX[:2]], [(2, 8, 4, 3)]),
    "index_select": (lambda x: x.index_select(1, INDEX), [(8, 32, 3)]),
    "gather": (lambda x: x.gather(0, INDEX[:, None].expand(5, 32)), [(8, 32)]),
    "gather of rows": (lambda x: x.gather(1, PIXELS.reshape(8, 3)), [(8, 32)]),
    "index_add": (lambda x, y: x.index_add(0, INDEX, y), [(8, 32), (5, 32)]),
    "scatter_add": (lambda x, y: x.scatter_add(1, PIXELS, y), [(4, 10), (4, 6)]),
    "embedding": (lambda x: F.embedding(INDEX, x, padding_idx=1), [(8, 32)]),
    "split": (lambda x: joined(x.split(3)), [(8, 32)]),
    "one part of a split": (lambda x: x.chunk(2, 1)[1], [(8, 32)]),
    "unbind": (lambda x: joined(x.unbind(1)[1:]), [(8, 5)]),
    "cat": (lambda x, y: clew.cat([x, y, x], 1), [(8, 3), (8, 4)]),
    "stack": (lambda x, y: clew.stack([x, y, x], -1), [(8, 3), (8, 3)]),
    "slices": (lambda x: x[2:6, 3:20:2], [(8, 32)]),
    "diagonal": (lambda x: x.diagonal(1, 0, 2), [(8, 3, 6)]),
    "padding": (lambda x: F.pad(x, (1, -2, -1, 3), value=0.5), [(2, 8, 6)]),
    "flip": (lambda x: x.flip(0, 1) * x, [(8, 32)]),
    "roll": (lambda x: x.roll(-3, 1) * x.roll(5), [(8, 32)]),
    "repeat": (lambda x: x.repeat(2, 1, 1), [(8, 32)]),
    "pixel_shuffle": (lambda x: F.pixel_unshuffle(F.pixel_shuffle(x, 2), 4), [(2, 8, 6, 4)]),
    "triangles": (lambda x: x.tril(1) * 2 + x.triu(-2), [(3, 8, 5)]),
    "lengths": (lambda x: (x.norm(), x.norm(dim=1), x.norm(dim=(0, 2))), [(8, 3, 4)]),
    "other norms": (lambda x: (x.norm(1, dim=1), x.norm(float("inf"), dim=0).detach()), [(8, 32)]),
    "normalize": (lambda x, y: F.cosine_similarity(F.normalize(x), y), [(8, 32), (8, 32)]),
    "deviations": (lambda x: (x.var(1), x.std(), x.var(0, keepdim=True)), [(8, 32)]),
    "logsumexp": (lambda x: (x.logsumexp(1), x.logsumexp(0, True)), [(8, 32)]),
    "extremes": (lambda x: x * x.detach().amax(1, True) + x.detach().min(), [(8, 32)]),
    "largest": (lambda x: (x.max(1)[0], x.min(0, keepdim=True)[0]), [(8, 32)]),
    "largest of matrices": (lambda x: x.max(1).values * 2, [(4, 5, 6)]),
    "places of the largest": (
        lambda x: x * x.argmax(0).float() + (x.argmin().float() + x.argmax(1, True).float()),
        [(8, 32)],
    ),
    "nearest": (lambda x: F.interpolate(x, scale_factor=2), [(2, 3, 5, 6)]),
    "bilinear": (
        lambda x: F.interpolate(x, (7, 3), mode="bilinear", align_corners=True), [(2, 3, 5, 6)],
    ),
    "convolution of groups": (
        lambda x, w, b: F.conv2d(x, w, b, 2, 1, groups=2),
        [(8, 6, 33, 32), (8, 3, 3, 2), (8,)],
    ),
    "depthwise convolution": (
        lambda x, w: F.conv2d(x, w, padding=2, dilation=2, groups=32),
        [(4, 32, 16, 16), (32, 1, 3, 3)],
    ),
    "transposed convolution of groups": (
        lambda x, w, b: F.conv_transpose2d(x, w, b, 2, 1, 1, 3),
        [(4, 6, 25, 24), (6, 2, 3, 3), (6,)],
    ),
    "huber loss": (lambda x: F.huber_loss(x, x.detach().flip(0), delta=0.7), [(8, 32)]),
    "many classes": (lambda x: F.cross_entropy(x, CLASSES), [(8, 1000)]),
    "many classes with weights": (
        lambda x: F.nll_loss(x, CLASSES, clew.linspace(0, 1, 1000), reduction="sum"), [(8, 1000)],
    ),
    "many classes, each loss": (
        lambda x: F.cross_entropy(x, CLASSES, reduction="none"), [(8, 1000)],
    ),
    "classes of pixels": (
        lambda x: F.cross_entropy(x, PIXELS.reshape(2, 3, 4), ignore_index=3), [(2, 10, 3, 4)],
    ),
    "classes of places with weights": (
        lambda x: F.cross_entropy(x, PIXELS, clew.linspace(0, 2, 10), reduction="none"),
        [(4, 10, 6)],
    ),
    "batch norm of images in evaluation": (lambda x: NORM(x), [(4, 3, 5, 6)]),
    "batch norm in evaluation": (lambda x: NORM_OF_ROWS(x), [(8, 32)]),
    "losses of pairs": (lambda x, y: F.mse_loss(x, y, reduction="none"), [(8, 32), (8, 32)]),
    "losses of logits": (
        lambda x: F.binary_cross_entropy_with_logits(x, MASK.float(), reduction="none"), [(8, 32)],
    ),
    "other types": (lambda x: (x.double() * MASK.double() + COUNTS.double()).float(), [(8, 32)]),
    "rows added up": (lambda x: (x.sum((0, 2)), x.sum(0)), [(3000, 2, 3)]),
}  # fmt: skip


def gradients(function: Any, inputs: list[clew.Tensor]) -> list[clew.Tensor]:
    """The results of a function, and the gradients of their sums with weights."""
    leaves = [each.detach().requires_grad_() for each in inputs]
    outs = function(*[each * 1.0 for each in leaves])
    outs = list(outs) if isinstance(outs, tuple) else [outs]
    used = [each for each in outs if each.requires_grad]
    total = joined(each.sin() for each in used)
    return [*[each.detach() for each in outs], *clew.autograd.grad(total, leaves)]


@pytest.fixture(params=[1, 2])
def _threads(request: pytest.FixtureRequest) -> Iterator[None]:
    before = clew.get_num_threads()
    clew.set_num_threads(request.param)
    yield
    clew.set_num_threads(before)


def in_python(compiled: Any) -> list[Any]:
    """What is left of the program that was captured last besides its segments."""
    free = (VIEW, ACCUMULATE, CALL, CHECK, "")
    items = compiled.events[-1].trace.running.items
    left = [each for each in items if not isinstance(each, Segment)]
    return [each for each in left if getattr(each, "kind", "") not in free]


@pytest.mark.usefixtures("_threads")
@pytest.mark.parametrize("name", CASES)
def test_an_operation_and_its_gradient_are_native(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    function, shapes = CASES[name]
    clew.manual_seed(0)
    given = [[clew.randn(*shape) for shape in shapes] for _ in range(3)]
    right = [gradients(function, inputs) for inputs in given]
    compiled = clew.compile(lambda *inputs: gradients(function, list(inputs)))
    monkeypatch.setattr(program, "np", Poisoned())
    for inputs, expected in zip(given, right, strict=True):
        clew.testing.assert_close(compiled(*inputs), expected, rtol=1e-5, atol=1e-5)
    assert [event.problem for event in compiled.events] == [None]
    assert not in_python(compiled)


DRAWS: dict[str, Callable[[clew.Tensor], clew.Tensor]] = {
    "randn_like": lambda x: x * clew.randn_like(x),
    "rand_like": lambda x: x * clew.rand_like(x),
    "randn": lambda x: x * clew.randn(5, 7),
    "rand": lambda x: x * clew.rand(5, 7),
    "all": lambda x: F.dropout(clew.randn(64) * clew.rand(64), 0.4).sum() + x * clew.randn(5, 7),
}  # fmt: skip


@pytest.mark.parametrize("name", DRAWS)
def test_random_numbers_are_those_of_eager_calls(name: str) -> None:
    def run(wrap: Any) -> list[Any]:
        clew.manual_seed(5)
        draw = wrap(lambda x: DRAWS[name](x * 2) + 1)
        seen = [draw(clew.ones(5, 7)).tolist() for _ in range(4)]
        return [*seen, clew.rand(2).tolist(), clew.get_rng_state().tolist()]

    made: list[Any] = []
    right = run(lambda draw: draw)
    found = run(lambda draw: made.append(clew.compile(draw)) or made[0])
    assert found[4:] == right[4:]
    np.testing.assert_allclose(found[:4], right[:4], rtol=1e-5, atol=1e-6)
    assert not in_python(made[0])


def test_few_numbers_and_other_generators_are_drawn_by_python() -> None:
    own = clew.Generator()

    def draw(x: clew.Tensor) -> Any:
        few, others = clew.randn(3), clew.randn(32, generator=own)
        return x * 2 + few.sum() + others.sum() + clew.randn(16, dtype=clew.float64).sum().float()

    def run(wrap: Any) -> Any:
        clew.manual_seed(1), own.manual_seed(2)
        step = wrap(draw)
        return [step(clew.ones(2)).tolist() for _ in range(3)], clew.rand(2).tolist()

    assert run(clew.compile) == run(lambda function: function)


def test_what_is_no_number_is_the_largest_and_the_smallest() -> None:
    compiled = clew.compile(lambda x: ((x * 2).argmax(1), (x * 2).argmin(1)))
    for number in (0.0, float("nan"), float("inf"), -float("inf")):
        x = clew.tensor([[1.0, 3.0, number, 3.0], [number] * 4, [2.0, 1.0, 1.0, number]])
        clew.testing.assert_close(compiled(x), ((x * 2).argmax(1), (x * 2).argmin(1)))
    assert not in_python(compiled)


@pytest.mark.parametrize("classes", [32, 1000])
def test_a_class_outside_raises_whatever_the_number_of_classes(classes: int) -> None:
    target = clew.tensor([0, 5, 31, 7])
    compiled = clew.compile(lambda x: F.cross_entropy(x * 2, target))
    for _ in range(3):
        compiled(clew.ones(4, classes))
    assert not in_python(compiled)
    for wrong in (classes, -1, 2**32 + 1):
        target[1] = wrong
        with pytest.raises(IndexError, match=f"Target {wrong} is out of bounds"):
            compiled(clew.ones(4, classes))


@pytest.mark.parametrize("wrong", [8, -9, 2**40])
def test_an_index_outside_raises_as_it_does_eagerly(wrong: int) -> None:
    index, total = clew.tensor([1, -1, 3]), clew.zeros(2)

    def step(x: clew.Tensor) -> clew.Tensor:
        picked = (x * 2)[index]
        total.add_(1.0)
        return picked * 3

    compiled = clew.compile(step)
    for _ in range(3):
        compiled(clew.ones(8, 2))
    assert not in_python(compiled) and total.tolist() == [3, 3]
    index[1] = wrong
    with pytest.raises(IndexError, match=f"index {wrong} is out of bounds for dimension 0 with"):
        compiled(clew.ones(8, 2))
    assert total.tolist() == [3, 3]
    index[1] = 7
    assert clew.equal(compiled(clew.ones(8, 2)), clew.full((3, 2), 6.0))


def test_masks_pick_as_many_elements_as_are_true() -> None:
    mask, total = clew.tensor([True, False, True]), clew.zeros(3)

    def step(x: clew.Tensor) -> clew.Tensor:
        total.add_(1.0)
        return (x * 2)[mask] + 1

    compiled = clew.compile(step)
    x = clew.tensor([1.0, 2.0, 3.0])
    for now in ([True, False, True], [False, True, True], [True, True, True], [False] * 3):
        mask.copy_(clew.tensor(now))
        assert compiled(x).tolist() == [2 * each + 1 for each, yes in zip(x.tolist(), now) if yes]
    assert total.tolist() == [4.0] * 3
