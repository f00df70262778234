"""nn.utils.parametrize, compared with PyTorch's."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import clew
from tests.trained_layers import names
from tests.twice import raised, twice


def classes(lib: Any) -> dict[str, Any]:
    """Parametrizations as users write them."""

    class Symmetric(lib.nn.Module):
        def forward(self, x: Any) -> Any:
            return x.triu() + x.triu(1).transpose(-1, -2)

    class Exponential(lib.nn.Module):
        def forward(self, x: Any) -> Any:
            return x.exp()

        def right_inverse(self, y: Any) -> Any:
            return y.log()

    class Sum(lib.nn.Module):
        def forward(self, a: Any, b: Any) -> Any:
            return a + 2 * b

        def right_inverse(self, y: Any) -> Any:
            return y / 2, y / 4

    class Free(lib.nn.Module):
        def __init__(self, forward: Any, right_inverse: Any = None) -> None:
            super().__init__()
            self.compute = forward
            if right_inverse is not None:
                self.right_inverse = right_inverse

        def forward(self, *args: Any) -> Any:
            return self.compute(*args)

    return {kind.__name__: kind for kind in (Symmetric, Exponential, Sum, Free)}


def tools(lib: Any) -> Any:
    parametrize = lib.nn.utils.parametrize
    return parametrize, parametrize.register_parametrization, classes(lib)


# ---------------------------------------------------------------- registering and removing


@pytest.mark.parametrize("kinds", ["Symmetric", "Exponential", "Sum", "Exponential Exponential",
                                   "Sum Symmetric", "Symmetric Symmetric Exponential"])  # fmt: skip
@pytest.mark.parametrize("leave", [True, False])
def test_register_train_remove(kinds: str, leave: bool) -> None:
    def scenario(lib: Any) -> Any:
        parametrize, register, known = tools(lib)
        layer = lib.nn.Linear(3, 3)
        layer.weight.data.uniform_(0.5, 1.5)
        weight = layer.weight
        for kind in kinds.split():
            assert register(layer, "weight", known[kind]()) is layer
        first = names(layer), layer.weight
        optimizer = lib.optim.SGD(layer.parameters(), lr=0.1)
        layer(lib.ones(2, 3)).square().sum().backward()
        optimizer.step()
        grads = [p.grad for p in layer.parameters()]
        second = layer(lib.ones(2, 3)), layer.weight
        if "Sum" in kinds and not leave:
            return first, grads, raised(parametrize.remove_parametrizations, layer, "weight", leave)
        removed = parametrize.remove_parametrizations(layer, "weight", leave)
        identity = (removed is layer, layer.weight is weight, type(layer) is lib.nn.Linear)
        return first, grads, second, identity, names(layer), layer.weight, layer.weight.is_leaf

    twice(scenario)()


@twice
def test_registered_twice_on_one_module(lib: Any) -> Any:
    parametrize, register, known = tools(lib)
    layer = lib.nn.Linear(3, 3)
    register(layer, "weight", known["Symmetric"]())
    register(layer, "bias", known["Free"](lambda x: x * 2))
    seen = [names(layer), layer.weight, layer.bias, parametrize.is_parametrized(layer, "bias")]
    kinds = parametrize.type_before_parametrizations(layer).__name__
    parametrize.remove_parametrizations(layer, "weight")
    seen += [names(layer), layer.weight, layer.bias, parametrize.is_parametrized(layer, "weight")]
    parametrize.remove_parametrizations(layer, "bias")
    seen += [names(layer), layer.bias, hasattr(layer, "parametrizations")]
    return seen, kinds, parametrize.is_parametrized(layer)


@twice
def test_buffers_and_frozen_parameters(lib: Any) -> Any:
    parametrize, register, known = tools(lib)
    norm = lib.nn.BatchNorm1d(3)
    register(norm, "running_var", known["Exponential"]())
    seen = [names(norm), norm.running_var]
    parametrize.remove_parametrizations(norm, "running_var")
    seen += [names(norm), norm.running_var, isinstance(norm.running_var, lib.nn.Parameter)]
    frozen = lib.nn.Linear(2, 2).requires_grad_(False)
    register(frozen, "weight", known["Sum"]())
    seen += [names(frozen), [p.requires_grad for p in frozen.parameters()]]
    parametrize.remove_parametrizations(frozen, "weight")
    return seen, names(frozen), isinstance(frozen.weight, lib.nn.Parameter)


@twice
def test_assigning(lib: Any) -> Any:
    _, register, known = tools(lib)
    layer = lib.nn.Linear(2, 2)
    layer.weight.data.fill_(1.0)
    register(layer, "weight", known["Exponential"]())
    original = layer.parametrizations.weight.original
    layer.weight = lib.tensor([[1.0, 2.0], [3.0, 4.0]])
    register(layer, "weight", known["Free"](lambda x: x + 1, lambda y: y - 1))
    seen = [layer.weight, original, layer.parametrizations.weight.original is original]
    layer.weight = lib.full((2, 2), 3.0)
    seen += [layer.weight, original]
    pair = register(lib.nn.Linear(2, 2), "weight", known["Sum"]())
    pair.weight = lib.ones(2, 2)
    return seen, pair.weight, dict(pair.state_dict())


@twice
def test_training_mode_follows_the_module(lib: Any) -> Any:
    _, register, known = tools(lib)
    layer = lib.nn.Linear(2, 2).eval()
    register(layer, "weight", known["Symmetric"]())
    first = layer.parametrizations.weight[0].training
    layer.train()
    return first, layer.parametrizations.weight[0].training


@twice
def test_state_dicts_load_into_the_same_parametrizations(lib: Any) -> Any:
    _, register, known = tools(lib)

    def build() -> Any:
        layer = register(lib.nn.Linear(2, 2), "weight", known["Sum"]())
        return register(layer, "bias", known["Free"](lambda x: x * 3))

    one, other = build(), build()
    message = repr(other.load_state_dict(one.state_dict()))
    plain = lib.nn.Linear(2, 2)
    return (
        message, other.weight, other.bias,
        raised(plain.load_state_dict, one.state_dict()),
        raised(one.load_state_dict, plain.state_dict()),
        other.double().weight.dtype == lib.float64,
    )  # fmt: skip


@pytest.mark.parametrize("norm", ["weight_norm", "spectral_norm", "orthogonal"])
@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_recurrent_layers(kind: str, norm: str) -> None:
    def scenario(lib: Any) -> Any:
        layer = getattr(lib.nn, kind)(2, 3)
        x = lib.randn(4, 1, 2)
        getattr(lib.nn.utils.parametrizations, norm)(layer, "weight_hh_l0")
        out = layer(x)[0]
        out.sum().backward()
        grads = {name: p.grad for name, p in layer.named_parameters()}
        lib.nn.utils.parametrize.remove_parametrizations(layer, "weight_hh_l0")
        return out, grads, layer(x)[0], list(layer.state_dict())

    twice(scenario)()


def test_parametrized_recurrent_layers_can_be_copied() -> None:
    """torch's copies have lost the weight, or cannot be made."""
    layer = clew.nn.utils.parametrizations.weight_norm(clew.nn.LSTM(2, 3), "weight_hh_l0")
    x = clew.randn(4, 1, 2)
    for _ in range(2):
        replica = copy.deepcopy(layer)
        assert clew.equal(replica(x)[0], layer(x)[0])
    replica.parametrizations.weight_hh_l0.original0.data.mul_(2)
    assert not clew.equal(replica(x)[0], layer(x)[0])


# ---------------------------------------------------------------- errors


@twice
def test_errors_of_the_first_parametrization(lib: Any) -> Any:
    parametrize, register, known = tools(lib)
    free = known["Free"]

    def on_linear(*functions: Any, **options: Any) -> Any:
        return raised(
            register, lib.nn.Linear(3, 3), "weight", free(*functions), words=22, **options
        )

    def same(x: Any) -> Any:
        return x

    return [
        raised(register, lib.nn.Linear(3, 3), "scale", free(same), words=20),
        raised(register, lib.nn.Linear(3, 3), "weight", same),
        raised(register, lib.nn.Linear(3, 3, bias=False), "bias", free(same)),
        on_linear(lambda x: 3),
        on_linear(lambda x: x.double()),
        on_linear(lambda x: x[0]),
        on_linear(lambda x: x[0], unsafe=True),
        on_linear(lambda x: x.double(), unsafe=True),
        on_linear(same, lambda y: 3),
        on_linear(same, lambda y: (y, 3)),
        on_linear(same, lambda y: y.double()),
        on_linear(same, lambda y: y[0]),
        raised(parametrize.ParametrizationList, [], lib.ones(1)),
        raised(parametrize.remove_parametrizations, lib.nn.Linear(3, 3), "weight", words=12),
    ]


@twice
def test_errors_of_a_further_parametrization(lib: Any) -> Any:
    _, register, known = tools(lib)
    free, results = known["Free"], []
    for functions in (
        (lambda x: 3,),
        (lambda x: x.double(),),
        (lambda x: x[0],),
        (lambda x: x, lambda y: 3),
        (lambda x: x, lambda y: y.double()),
        (lambda x: x, lambda y: y[0]),
    ):
        layer = register(lib.nn.Linear(3, 3), "weight", known["Symmetric"]())
        results.append(raised(register, layer, "weight", free(*functions), words=22))
        results.append(len(layer.parametrizations.weight))
        register(layer, "weight", free(*functions), unsafe=True)
        results.append((len(layer.parametrizations.weight), layer.parametrizations.weight.unsafe))
    return results


@twice
def test_errors_of_assigning(lib: Any) -> Any:
    _, register, known = tools(lib)
    free, answer = known["Free"], {}
    one = register(lib.nn.Linear(2, 2), "weight", free(lambda x: x, lambda y: answer.get(1, y)))
    two = register(
        lib.nn.Linear(2, 2), "weight", free(lambda a, b: a, lambda y: answer.get(2, (y, y)))
    )
    w, results = lib.ones(2, 2), []
    for answer[1] in (3, w.double(), (w,), w[0]):
        results.append(raised(setattr, one, "weight", w, words=12))
    for answer[2] in (3, w, (w,), (w, 3), (w, w.double())):
        results.append(raised(setattr, two, "weight", w, words=16))
    symmetric = register(lib.nn.Linear(2, 2), "weight", known["Symmetric"]())
    results.append(raised(setattr, symmetric, "weight", w, words=5))
    results.append(raised(setattr, symmetric, "weight", lib.nn.Parameter(w)))
    results.append(raised(delattr, symmetric, "weight", words=1))
    return results


def test_a_refused_parametrization_leaves_no_trace() -> None:
    _, register, known = tools(clew)
    layer = clew.nn.Linear(3, 3)
    before = layer.weight.detach().clone()
    with pytest.raises(ValueError, match="may not change the shape"):
        register(layer, "weight", known["Free"](lambda x: x, lambda y: y[0]))
    assert clew.equal(layer.weight, before)
    assert type(layer) is clew.nn.Linear


def test_an_attribute_error_inside_a_parametrization_is_not_hidden() -> None:
    _, register, known = tools(clew)
    layer = clew.nn.Linear(3, 3)
    register(layer, "weight", known["Free"](lambda x: x.unknown), unsafe=True)
    with pytest.raises(AttributeError, match="unknown"):
        layer(clew.ones(1, 3))
    with pytest.raises(AttributeError, match="no attribute 'scale'"):
        _ = layer.scale
    assert layer.bias is layer._parameters["bias"]


# ---------------------------------------------------------------- caching and copying


@twice
def test_cached(lib: Any) -> Any:
    parametrize, register, known = tools(lib)
    count: list[int] = []

    def counting(x: Any) -> Any:
        count.append(1)
        return x * 2

    layer = register(lib.nn.Linear(2, 2), "weight", known["Free"](counting), unsafe=True)
    seen = [layer.weight is layer.weight]
    with parametrize.cached():
        inside = layer.weight
        with parametrize.cached():
            seen.append(layer.weight is inside)
        seen.append(layer.weight is inside)
    with parametrize.cached():
        seen.append(layer.weight is inside)
    try:
        with parametrize.cached():
            raise KeyError
    except KeyError:
        seen.append(layer.weight is layer.weight)
    return seen, len(count)


@twice
def test_copies(lib: Any) -> Any:
    _, register, known = tools(lib)
    layer = register(lib.nn.Linear(2, 2), "weight", known["Symmetric"]())
    replica = copy.deepcopy(layer)
    same = lib.equal(replica.weight, layer.weight), isinstance(replica, lib.nn.Linear)
    with lib.no_grad():
        replica.parametrizations.weight.original.fill_(7.0)
    nested = copy.deepcopy(lib.nn.Sequential(layer, layer))
    return (
        same, layer.weight, replica.weight, names(replica), nested[0] is nested[1],
        raised(pickle.dumps, layer, words=9), raised(copy.copy, layer, words=9),
    )  # fmt: skip


def test_copies_can_be_parametrized_differently() -> None:
    """A class is shared by copies, and does not change when one of them does."""
    parametrize, register, known = tools(clew)
    layer = register(clew.nn.Linear(2, 2), "weight", known["Symmetric"]())
    replica = copy.deepcopy(layer)
    register(replica, "bias", known["Free"](lambda x: x * 2))
    assert layer.bias is layer._parameters["bias"]
    parametrize.remove_parametrizations(replica, "weight")
    parametrize.remove_parametrizations(replica, "bias")
    assert type(replica) is clew.nn.Linear
    assert clew.equal(layer.weight, layer.weight.T)
    assert parametrize.is_parametrized(layer, "weight")


def test_copies_report_their_own_path() -> None:
    _, register, known = tools(clew)
    model = clew.nn.Sequential(register(clew.nn.Linear(2, 2), "weight", known["Symmetric"]()))
    replica = copy.deepcopy(model)
    with pytest.raises(RuntimeError, match="in module 0: ParametrizedLinear"):
        replica(clew.ones(1, 3))


@twice
def test_classes_with_their_own_deepcopy(lib: Any) -> Any:
    _, register, known = tools(lib)

    class Own(lib.nn.Linear):
        def __deepcopy__(self, memo: Any) -> Any:
            return "mine"

    return copy.deepcopy(register(Own(2, 2), "weight", known["Symmetric"]()))


@twice
def test_transfer(lib: Any) -> Any:
    parametrize, register, known = tools(lib)
    transfer = parametrize.transfer_parametrizations_and_params
    source = register(lib.nn.Linear(2, 2), "weight", known["Symmetric"]())
    register(source, "weight", known["Free"](lambda x: x * 2))
    register(source, "bias", known["Sum"]())
    target = transfer(source, lib.nn.Linear(2, 2))
    weight_only = transfer(source, lib.nn.Linear(2, 2), "weight")
    empty = transfer(source, lib.nn.Module())
    shared = target.parametrizations.weight.original is source.parametrizations.weight.original
    pair = target.parametrizations.bias.original1 is source.parametrizations.bias.original1
    plain = lib.nn.Linear(2, 2)
    return (
        names(target), target.weight, target.bias, shared, pair, names(weight_only), names(empty),
        transfer(lib.nn.Linear(2, 2), plain) is plain, type(plain).__name__,
        raised(transfer, weight_only, plain, "bias"),
    )  # fmt: skip
