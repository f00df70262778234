"""Linear, Bilinear, Identity, Flatten, Unflatten, and lazy layers."""

from __future__ import annotations

import copy
import pickle
import warnings
from typing import Any

import pytest

import clew
from tests.twice import raised, twice


@twice
def test_the_same_seed_gives_the_same_layers(t: Any) -> Any:
    t.manual_seed(3)
    layers = [
        t.nn.Linear(7, 5), t.nn.Linear(3, 4, bias=False), t.nn.Bilinear(2, 3, 4),
        t.nn.Linear(2, 2, dtype=t.float64), t.nn.Bilinear(2, 3, 1, bias=False),
    ]  # fmt: skip
    return [list(layer.state_dict().items()) for layer in layers], t.rand(2)


@twice
def test_linear(t: Any) -> Any:
    m = t.nn.Linear(3, 2)
    x = t.arange(12.0).reshape(2, 2, 3).requires_grad_()
    out = m(x)
    out.sum().backward()
    m.reset_parameters()
    return out, x.grad, m.weight.grad, m.bias.grad, m.weight, m(t.ones(3)), repr(m), m.extra_repr()


@twice
def test_layers_print(t: Any) -> Any:
    nn = t.nn
    layers = [
        nn.Linear(2, 3, bias=False), nn.Bilinear(1, 2, 3), nn.Identity(5, unused=1), nn.Flatten(),
        nn.Flatten(0, 1), nn.Unflatten(1, (2, 2)), nn.Unflatten(1, t.Size([2, 2])),
        nn.modules.linear.NonDynamicallyQuantizableLinear(2, 2),
    ]  # fmt: skip
    return [repr(layer) for layer in layers]


@twice
def test_flatten_and_unflatten(t: Any) -> Any:
    x = t.arange(24.0).reshape(2, 3, 4)
    nn = t.nn
    wrong = [(1, 2), ("x", 3), (1, (2, 2.5)), (1, "ab")]
    return (
        nn.Flatten()(x), nn.Flatten(0)(x), nn.Flatten(0, 1)(x), nn.Unflatten(2, (2, 2))(x),
        nn.Unflatten(-1, [2, 2])(x), nn.Identity()(x),
        [raised(nn.Unflatten, *arguments, words=20) for arguments in wrong],
    )  # fmt: skip


@twice
def test_bilinear(t: Any) -> Any:
    m = t.nn.Bilinear(2, 3, 4)
    out = m(t.ones(5, 2), t.arange(15.0).reshape(5, 3))
    out.sum().backward()
    return out, m.weight.grad, m.bias.grad, raised(t.nn.Bilinear, 0, 1, 1, words=20)


@twice
def test_empty_linear(t: Any) -> Any:
    return t.nn.Linear(0, 3)(t.ones(2, 0))


# -- lazy ----------------------------------------------------------------------------------------


@twice
def test_lazy_linear_becomes_linear(t: Any) -> Any:
    t.manual_seed(3)
    m = t.nn.LazyLinear(3)
    weight = m.weight
    before = [repr(m), repr(weight), repr(m.bias), t.nn.parameter.is_lazy(weight)]
    before += [isinstance(weight, t.nn.Parameter), isinstance(weight, t.nn.UninitializedParameter)]
    out = m(t.ones(2, 5))
    after = [repr(m), type(m).__name__, type(weight).__name__, weight is m.weight]
    after += [sorted(m.__dict__), len(m._forward_pre_hooks), len(m._load_state_dict_pre_hooks)]
    return before, after, out, weight, m.bias


@twice
def test_uninitialized_parameters_cannot_be_used(t: Any) -> Any:
    m = t.nn.LazyLinear(3, bias=False)
    return (
        raised(lambda: m.weight.shape, words=20),
        raised(lambda: m.weight + 1, words=7),
        raised(lambda: t.mm(m.weight, m.weight), words=7),
        raised(m.share_memory, words=20),
        repr(m.state_dict()),
        raised(t.nn.Linear(2, 3, bias=False).load_state_dict, m.state_dict(), words=8),
    )


@twice
def test_lazy_layers_load_convert_and_copy(t: Any) -> Any:
    source = t.nn.Linear(4, 3)
    m = t.nn.LazyLinear(3)
    twins = [copy.deepcopy(m), pickle.loads(pickle.dumps(m))]
    m.double()
    dtypes = [str(m.weight.dtype), str(m.bias.dtype)]
    m.float().load_state_dict(source.state_dict())
    loaded = [m.weight.shape, repr(m)]
    out = m(t.ones(1, 4))
    twins = [(twin(t.ones(1, 2)).shape, repr(twin)) for twin in twins]
    return dtypes, loaded, out, repr(m), twins


@twice
def test_lazy_modules_in_a_chain(t: Any) -> Any:
    m = t.nn.Sequential(t.nn.LazyLinear(4), t.nn.LazyLinear(2, bias=False))
    m(t.ones(3, 5))
    return repr(m), [list(p.shape) for p in m.parameters()]


@twice
def test_own_lazy_modules(t: Any) -> Any:
    class Own(t.nn.modules.lazy.LazyModuleMixin, t.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = t.nn.UninitializedParameter()
            self.b = t.nn.UninitializedBuffer()

        def forward(self, x: Any) -> Any:
            return x * self.w + self.b

    m = Own()
    seen = [raised(m, t.ones(1), words=6), repr(m.b), list(m._buffers), list(m._parameters)]
    Own.initialize_parameters = lambda self, x: None
    seen.append(raised(Own(), t.ones(1), words=7))

    def initialize(self: Any, x: Any) -> None:
        self.w.materialize(x.shape)
        self.b.materialize(x.shape)
        with t.no_grad():
            self.w.fill_(2)
            self.b.fill_(3)

    Own.initialize_parameters = initialize
    m = Own()
    out = m(t.ones(2))
    out.sum().backward()
    return seen, out, m.w.grad, type(m).__name__, list(m.state_dict()), type(m.b).__name__


# -- parameters that are none --------------------------------------------------------------------


def _attribute(make: Any) -> list[warnings.WarningMessage]:
    """What assigning `make(self)` in `__init__` warns of."""

    class Own(clew.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = clew.nn.Linear(2, 2)
            self.attribute = make(self)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        Own()
    return caught


def _fresh() -> Any:
    return clew.nn.Parameter(clew.randn(4))


@pytest.mark.parametrize(
    "make",
    [
        lambda self: _fresh() * 0.1,
        lambda self: _fresh().to(clew.float64),
        lambda self: _fresh().view(2, 2),
        lambda self: _fresh().view(2, 2).t(),
        lambda self: _fresh().mul(2).double().view(2, 2),
        lambda self: clew.randn(3, requires_grad=True) * 0.1,
    ],
)
def test_a_lost_parameter_is_reported_at_its_line(make: Any) -> None:
    (warning,) = _attribute(make)
    assert warning.category is UserWarning
    assert "self.attribute" in str(warning.message) and "will not be trained" in str(
        warning.message
    )
    assert warning.filename == __file__
    with open(__file__) as source:
        assert source.readlines()[warning.lineno - 1].strip() == "self.attribute = make(self)"


_held = _fresh()


@pytest.mark.parametrize(
    "make",
    [
        lambda self: _fresh(),
        lambda self: _fresh().to(clew.float32),
        lambda self: clew.randn(3),
        lambda self: clew.randn(3, requires_grad=True),
        lambda self: self.layer.weight.view(-1),
        lambda self: self.layer.weight * 2,
        lambda self: _fresh() * self.layer.bias.sum(),
        lambda self: _held * 2,
        lambda self: _held.view(2, 2),
        lambda self: _fresh().detach() * 2,
        lambda self: 3,
    ],
)
def test_no_false_alarm(make: Any) -> None:
    assert not _attribute(make)


def test_no_alarm_outside_init() -> None:
    m = clew.nn.Identity()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        m.cache = _fresh() * 2
