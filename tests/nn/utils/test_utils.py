"""nn.utils: clipping, parameters as a vector, norms by hooks, fusion, functional calls."""

from __future__ import annotations

import copy
import inspect
import math
import sys
from typing import Any

import pytest
import torch
import torch.func

import clew
from clew.nn.utils import stateless
from tests.twice import raised, twice


def functional_call(lib: Any) -> Any:
    return torch.func.functional_call if lib is torch else stateless._functional_call


def module_of(lib: Any, name: str) -> Any:
    """A submodule of nn.utils whose name a function of the same name hides."""
    return sys.modules[f"{lib.__name__}.nn.utils.{name}"]


def test_every_public_name_exists_with_the_same_arguments() -> None:
    for name in torch.nn.utils.__all__:
        theirs, ours = getattr(torch.nn.utils, name), getattr(clew.nn.utils, name)
        if inspect.isfunction(theirs):
            for (key, its), mine in zip(
                inspect.signature(theirs).parameters.items(),
                inspect.signature(ours).parameters.values(),
                strict=True,
            ):
                assert (mine.name, mine.default, mine.kind) == (key, its.default, its.kind), name


# ---------------------------------------------------------------- clipping


def with_gradients(lib: Any, *grads: Any, dtype: str = "float32") -> list[Any]:
    parameters = []
    for grad in grads:
        tensor = lib.tensor(grad, dtype=getattr(lib, dtype))
        parameters.append(lib.nn.Parameter(lib.zeros_like(tensor)))
        parameters[-1].grad = tensor
    return parameters


NORMS = [2, 2.0, 1, 0.5, 0, -1, -2.0, 3, math.inf, -math.inf, "inf", "2"]


@pytest.mark.parametrize("foreach", [None, True, False])
@pytest.mark.parametrize("max_norm", [0, 0.5, 3.0, 100, -1.0, "2"])
@pytest.mark.parametrize("norm_type", NORMS)
def test_clip_grad_norm(norm_type: Any, max_norm: Any, foreach: Any) -> None:
    def scenario(lib: Any) -> Any:
        parameters = with_gradients(lib, [[3.0, -4.0], [0.5, 1.5]], [2.0], [-1.0, 6.0])
        parameters.insert(1, lib.nn.Parameter(lib.ones(2)))  # without a gradient
        kept = [parameter.grad for parameter in parameters]
        total = lib.nn.utils.clip_grad_norm_(parameters, max_norm, norm_type, foreach=foreach)
        in_place = all(a is b.grad for a, b in zip(kept, parameters, strict=True))
        return total, total.requires_grad, [p.grad for p in parameters], in_place

    twice(scenario)()


@twice
def test_clip_forms_of_parameters(lib: Any) -> Any:
    clip = lib.nn.utils.clip_grad_norm_
    seen = []
    for form in (tuple, iter, lambda p: (each for each in p), lambda p: p[0]):
        parameters = with_gradients(lib, [3.0, 4.0], [12.0])
        seen.append((clip(form(parameters), 1.0), [p.grad for p in parameters]))
    bare = lib.nn.Parameter(lib.ones(2))
    empty = [clip([], 1.0), clip((p for p in ()), 1.0), clip(iter([]), 1.0), clip([bare], 1.0)]
    mixed = with_gradients(lib, [3.0]) + with_gradients(lib, [4.0], dtype="float64")
    return seen, empty, clip(mixed, 1.0), [p.grad for p in mixed]


@twice
def test_clip_with_nonfinite_gradients(lib: Any) -> Any:
    clip = lib.nn.utils.clip_grad_norm_
    results = []
    for bad in (math.inf, math.nan, -math.inf):
        for kind in (2, math.inf, 1):
            parameters = with_gradients(lib, [1.0, bad], [2.0])
            results.append(raised(clip, parameters, 1.0, kind, error_if_nonfinite=True, words=12))
            results.append([p.grad for p in parameters])
            results.append((clip(parameters, 1.0, kind), [p.grad for p in parameters]))
    return results


@twice
def test_clip_deprecated_name_and_pieces(lib: Any) -> Any:
    utils = lib.nn.utils
    parameters = with_gradients(lib, [3.0, 4.0], [12.0])
    grads = [p.grad for p in parameters]
    pieces = utils.get_total_norm(grads), utils.get_total_norm(grads[0], 1.0)
    pieces += utils.get_total_norm([]), utils.get_total_norm(iter(grads), math.inf)
    utils.clip_grads_with_norm_(parameters, 6.5, pieces[0])
    copies = [grad.clone() for grad in grads]
    return pieces, copies, utils.clip_grad_norm(parameters, 1.0), grads


@twice
def test_clip_grad_value(lib: Any) -> Any:
    parameters = with_gradients(lib, [3.0, -4.0, 0.1], [math.inf, math.nan])
    clip = lib.nn.utils.clip_grad_value_
    clip(parameters, "2")
    first = [p.grad.clone() for p in parameters]
    clip(parameters[0], 1, foreach=False)
    return first, parameters[0].grad, raised(clip, parameters, "two")


@twice
def test_clip_gradients_that_have_a_history(lib: Any) -> Any:
    x = lib.nn.Parameter(lib.tensor([2.0, 3.0]))
    (x**3).sum().backward(create_graph=True)
    total = lib.nn.utils.clip_grad_norm_(x, 1.0)
    return (
        total,
        total.requires_grad,
        x.grad.detach(),
        raised(lib.nn.utils.clip_grad_norm_, [x], 1.0, "largest"),
    )


# ---------------------------------------------------------------- parameters as a vector


@twice
def test_parameters_as_vector(lib: Any) -> Any:
    model = lib.nn.Sequential(lib.nn.Linear(2, 3), lib.nn.Linear(3, 1, bias=False))
    vector = lib.nn.utils.parameters_to_vector(model.parameters())
    (vector * lib.arange(float(vector.numel()))).sum().backward()
    new = lib.arange(float(vector.numel())) / 10
    lib.nn.utils.vector_to_parameters(new, model.parameters())
    after = [p.detach().clone() for p in model.parameters()]
    new[0] = 50.0
    return vector, [p.grad for p in model.parameters()], after, model[0].weight


@twice
def test_parameters_as_vector_errors(lib: Any) -> Any:
    utils = lib.nn.utils
    return (
        raised(utils.parameters_to_vector, []),
        raised(utils.parameters_to_vector, [lib.ones(2, 3).t()]),
        raised(utils.vector_to_parameters, [1.0], [lib.ones(1)]),
        raised(utils.vector_to_parameters, lib.ones(2), [lib.ones(3)], words=5),
        raised(utils.vector_to_parameters, lib.ones(5), [lib.ones(3)]),
    )


# ---------------------------------------------------------------- normalizations by hooks

LAYERS: dict[str, Any] = {
    "linear": (lambda nn: nn.Linear(4, 3), (5, 4)),
    "conv1d": (lambda nn: nn.Conv1d(2, 3, 2), (2, 2, 5)),
    "conv2d": (lambda nn: nn.Conv2d(2, 4, 3, groups=2), (2, 2, 4, 5)),
    "transposed": (lambda nn: nn.ConvTranspose2d(2, 3, 2), (2, 2, 3, 3)),
}


def three_steps(lib: Any, layer: Any, shape: Any) -> Any:
    """Three steps of training, an evaluation, and what the layer consists of after each."""
    optimizer = lib.optim.SGD(layer.parameters(), lr=0.1)
    seen: list[Any] = []
    for _ in range(3):
        optimizer.zero_grad()
        out = layer(lib.randn(*shape))
        (out * lib.randn(out.shape)).sum().backward()
        optimizer.step()
        seen.append((out, {name: p.grad.clone() for name, p in layer.named_parameters()}))
    layer.eval()
    seen.append(layer(lib.ones(*shape)))
    return seen, {name: t.clone() for name, t in layer.state_dict().items()}, repr(layer)


@pytest.mark.parametrize("dim", [0, 1, -1, None, -2])
@pytest.mark.parametrize("kind", LAYERS)
def test_weight_norm(kind: str, dim: Any) -> None:
    def scenario(lib: Any) -> Any:
        make, shape = LAYERS[kind]
        layer = lib.nn.utils.weight_norm(make(lib.nn), dim=dim)
        steps = three_steps(lib, layer, shape)
        before = layer(lib.ones(*shape))
        removed = lib.nn.utils.remove_weight_norm(layer)
        same = lib.allclose(before, layer(lib.ones(*shape)), atol=1e-6)
        return steps, removed is layer, list(layer.state_dict()), same, layer.weight

    twice(scenario)()


@twice
def test_weight_norm_of_other_parameters(lib: Any) -> Any:
    nn = lib.nn
    layer = nn.utils.weight_norm(nn.utils.weight_norm(nn.Linear(3, 2)), "bias")
    out = layer(lib.ones(1, 3))
    out.sum().backward()
    recurrent = nn.utils.weight_norm(nn.LSTM(3, 2), "weight_hh_l0")
    result = recurrent(lib.ones(4, 1, 3))[0]
    result.sum().backward()
    recurrent.weight_hh_l0_g.data.mul_(2)
    again = recurrent(lib.ones(4, 1, 3))[0]
    grads = {name: p.grad for name, p in recurrent.named_parameters()}
    nn.utils.remove_weight_norm(recurrent, "weight_hh_l0")
    return out, [p.grad for p in layer.parameters()], list(layer.state_dict()), result, grads, (
        again, recurrent(lib.ones(4, 1, 3))[0], sorted(recurrent.state_dict())
    )  # fmt: skip


@twice
def test_weight_norm_errors(lib: Any) -> Any:
    nn = lib.nn
    norm, layer = nn.utils.weight_norm, nn.utils.weight_norm(nn.Linear(2, 3))
    return (
        raised(norm, layer, words=20),
        raised(norm, nn.Linear(2, 3), "scale"),
        raised(norm, nn.Linear(2, 3, bias=False), "bias"),
        raised(norm, nn.LazyLinear(3), words=20),
        raised(norm, nn.Linear(2, 3), dim=5),
        raised(nn.utils.remove_weight_norm, nn.Linear(2, 3)),
        [type(hook).__name__ for hook in layer._forward_pre_hooks.values()],
    )


@pytest.mark.parametrize("options", [{}, {"n_power_iterations": 3}, {"dim": 1, "eps": 1e-3}])
@pytest.mark.parametrize("kind", LAYERS)
def test_spectral_norm(kind: str, options: dict[str, Any]) -> None:
    def scenario(lib: Any) -> Any:
        make, shape = LAYERS[kind]
        layer = lib.nn.utils.spectral_norm(make(lib.nn), **options)
        steps = three_steps(lib, layer, shape)
        metadata = dict(layer.state_dict()._metadata)
        before = layer(lib.ones(*shape))
        removed = lib.nn.utils.remove_spectral_norm(layer)
        same = lib.allclose(before, layer(lib.ones(*shape)), atol=1e-6)
        hooks = len(layer._state_dict_hooks), len(layer._forward_pre_hooks)
        return steps, metadata, removed is layer, list(layer.state_dict()), same, hooks

    twice(scenario)()


@twice
def test_spectral_norm_errors(lib: Any) -> Any:
    nn = lib.nn
    norm, layer = nn.utils.spectral_norm, nn.utils.spectral_norm(nn.Linear(2, 3))
    hook = module_of(lib, "spectral_norm").SpectralNormStateDictHook(
        next(iter(layer._forward_pre_hooks.values()))
    )
    layer._register_state_dict_hook(hook)
    return (
        raised(norm, layer, words=20),
        raised(layer.state_dict),
        raised(norm, nn.Linear(2, 3), n_power_iterations=0),
        raised(norm, nn.Linear(2, 3), "scale"),
        raised(norm, nn.Linear(2, 3, bias=False), "bias", words=20),
        raised(norm, nn.LazyLinear(3), words=20),
        raised(nn.utils.remove_spectral_norm, nn.Linear(2, 3)),
    )


@twice
def test_spectral_norm_state_dicts(lib: Any) -> Any:
    """Also those of the first version, which had the normalized weight and no second vector."""
    nn = lib.nn
    layer = nn.utils.spectral_norm(nn.Linear(3, 5))
    layer(lib.randn(2, 3))
    layer(lib.randn(2, 3))
    present = copy.deepcopy(dict(layer.state_dict()))
    target = nn.utils.spectral_norm(nn.Linear(3, 5))
    target.load_state_dict(layer.state_dict())
    results = [target.eval()(lib.ones(1, 3))]
    target = nn.utils.spectral_norm(nn.Linear(3, 5))
    results += [repr(target.load_state_dict(present)), target.eval()(lib.ones(1, 3))]
    old = {name: tensor for name, tensor in present.items() if name != "weight_v"}
    old["weight"] = layer.weight.detach().clone()
    target = nn.utils.spectral_norm(nn.Linear(3, 5))
    results += [repr(target.load_state_dict(old)), target.eval()(lib.ones(1, 3))]
    results += [target.weight_v, sorted(old)]
    del old["weight"]
    return results, raised(target.load_state_dict, old), target.load_state_dict(old, strict=False)


def test_a_layer_loads_as_an_ordinary_one_after_removal() -> None:
    layer = clew.nn.utils.remove_spectral_norm(clew.nn.utils.spectral_norm(clew.nn.Linear(3, 2)))
    other = clew.nn.Linear(3, 2)
    layer.load_state_dict(dict(other.state_dict()))
    assert clew.equal(layer.weight, other.weight)


# ---------------------------------------------------------------- fusion


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("kind", ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d",
                                  "ConvTranspose2d", "ConvTranspose3d"])  # fmt: skip
def test_fuse_conv(kind: str, bias: bool, affine: bool) -> None:
    def scenario(lib: Any) -> Any:
        nn, dims = lib.nn, int(kind[-2])
        conv = getattr(nn, kind)(2, 3, 2, bias=bias)
        norm = getattr(nn, f"BatchNorm{dims}d")(3, affine=affine)
        norm(conv(lib.randn(4, 2, *(4,) * dims) * 2))
        if affine:
            nn.init.normal_(norm.weight)
            nn.init.normal_(norm.bias)
        conv.eval()
        norm.eval()
        fused = nn.utils.fuse_conv_bn_eval(conv, norm, transpose="Transpose" in kind)
        x = lib.randn(2, 2, *(4,) * dims)
        agrees = lib.allclose(fused(x), norm(conv(x)), atol=1e-5)
        return fused(x), agrees, fused is conv, dict(fused.state_dict()), [
            (type(p).__name__, p.requires_grad, p.is_leaf) for p in fused.parameters()
        ]  # fmt: skip

    twice(scenario)()


@pytest.mark.parametrize("features", [3, 1])
@pytest.mark.parametrize("bias", [True, False])
def test_fuse_linear(bias: bool, features: int) -> None:
    def scenario(lib: Any) -> Any:
        nn = lib.nn
        linear, norm = nn.Linear(2, 3, bias=bias), nn.BatchNorm1d(features)
        nn.init.normal_(norm.weight)
        norm.running_mean.uniform_()
        fused = nn.utils.fuse_linear_bn_eval(linear.eval(), norm.eval())
        return fused(lib.ones(4, 2)), dict(fused.state_dict())

    twice(scenario)()


@twice
def test_fuse_errors_and_dtypes(lib: Any) -> Any:
    nn, utils = lib.nn, lib.nn.utils
    linear, conv = nn.Linear(2, 3).eval(), nn.Conv2d(2, 3, 1).eval()
    without = {"track_running_stats": False}
    failures = (
        raised(utils.fuse_linear_bn_eval, linear, nn.BatchNorm1d(3), words=3),
        raised(utils.fuse_linear_bn_eval, linear, nn.BatchNorm1d(4).eval(), words=30),
        raised(utils.fuse_linear_bn_eval, linear, nn.BatchNorm1d(3, **without).eval(), words=9),
        raised(utils.fuse_conv_bn_eval, nn.Conv2d(2, 3, 1), nn.BatchNorm2d(3).eval(), words=3),
        raised(utils.fuse_conv_bn_eval, conv, nn.BatchNorm2d(3, **without).eval(), words=9),
        raised(utils.fuse_conv_bn_eval, conv, nn.BatchNorm2d(4).eval()),
    )
    zeros, ones = lib.zeros(3), lib.ones(3)
    half = lib.randn(3, 2, 1, 1).half().requires_grad_()
    pairs = [
        utils.fuse_conv_bn_weights(half, None, zeros, ones, 1e-5, None, None),
        utils.fuse_conv_bn_weights(half.float(), zeros.double(), zeros, ones, 0.1, ones, None),
        utils.fuse_linear_bn_weights(half[..., 0, 0], zeros.double(), zeros, ones, 0.1, ones, ones),
    ]
    return failures, pairs, [[str(t.dtype) for t in pair] for pair in pairs]


def test_fuse_linear_with_a_norm_that_has_no_weight() -> None:
    linear, norm = clew.nn.Linear(2, 3).eval(), clew.nn.BatchNorm1d(3, affine=False).eval()
    x = clew.randn(4, 2)
    fused = clew.nn.utils.fuse_linear_bn_eval(linear, norm)
    assert clew.allclose(fused(x), norm(linear(x)), atol=1e-6)


# ---------------------------------------------------------------- memory formats, skip_init


@twice
def test_memory_formats(lib: Any) -> Any:
    nn, utils = lib.nn, lib.nn.utils
    model = nn.Sequential(nn.Conv2d(4, 3, 3), nn.Sequential(nn.ConvTranspose2d(3, 4, 2)),
                          nn.Conv3d(2, 3, 2), nn.Linear(2, 2))  # fmt: skip
    weight = model[0].weight
    convert2, convert3 = (getattr(utils, f"convert_conv{n}d_weight_memory_format") for n in (2, 3))
    first = convert2(model, lib.channels_last)
    seen = [p.stride() for p in model.parameters()]
    convert3(model, lib.channels_last_3d)
    after = [p.stride() for p in model.parameters()]
    plain = convert2(model, lib.contiguous_format)[0].weight.stride()
    return (
        first is model, weight is model[0].weight, seen, after, plain,
        model[0](lib.ones(1, 4, 5, 5)), raised(convert2, nn.Conv2d(2, 3, 1), lib.channels_last_3d),
    )  # fmt: skip


@twice
def test_skip_init(lib: Any) -> Any:
    skip = lib.nn.utils.skip_init

    class Deviceless(lib.nn.Module):
        pass

    layer = skip(lib.nn.Linear, 2, out_features=3, device="cpu", dtype=lib.float64)
    shapes = [
        (name, p.shape, str(p.dtype), p.requires_grad) for name, p in layer.named_parameters()
    ]
    return (
        repr(layer), shapes, lib.rand(3), raised(skip, Deviceless), raised(skip, lib.ones, 2),
        raised(skip, int),
    )  # fmt: skip


# ---------------------------------------------------------------- functional calls


def tied(lib: Any) -> Any:
    class Tied(lib.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a = lib.nn.Linear(2, 2, bias=False)
            self.b = lib.nn.Linear(2, 2, bias=False)
            self.b.weight = self.a.weight
            self.register_buffer("scale", lib.ones(2))
            self.extra = lib.zeros(2)

        def forward(self, x: Any, times: Any = 1) -> Any:
            return self.b(self.a(x)) * self.scale * times + self.extra

    return Tied()


@twice
def test_functional_call(lib: Any) -> Any:
    call, model, x = functional_call(lib), tied(lib), lib.ones(1, 2)
    own, buffer, extra = model.a.weight, model.scale, model.extra
    w = lib.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    results = [
        call(model, {"a.weight": w}, (x,)),
        call(model, {"b.weight": w}, x),
        call(model, {"a.weight": w, "b.weight": w}, (x,), {"times": 3}),
        call(model, {"a.weight": w}, kwargs={"x": x}),
        call(model, {"a.weight": w}, (x,), tie_weights=False),
        call(model, {"a.weight": w, "b.weight": w * 2}, (x,), tie_weights=False),
        call(model, {"b.weight": w, "scale": x[0] * 2}, (x,), strict=True),
        call(model, ({"a.weight": w}, {"scale": x[0] * 2}), (x,)),
        call(model, [{"a.weight": w}, {}], (x,)),
        call(model, {"unknown": w, "extra": w[0]}, (x,)),
        call(model, {}, (x,)),
    ]
    sum(result.sum() for result in results).backward()
    untouched = (
        model.a.weight is own and model.b.weight is own and model.scale is buffer
        and model.extra is extra and not hasattr(model, "unknown")
    )  # fmt: skip
    return results, w.grad, own.grad, untouched, list(model.state_dict())


@twice
def test_functional_call_errors(lib: Any) -> Any:
    call, model, x, w = functional_call(lib), tied(lib), lib.ones(1, 2), lib.ones(2, 2)
    names = list(model.state_dict())
    own = list(model.state_dict(keep_vars=True).values())
    failures = [
        raised(call, model, {"a.weight": w, "b.weight": w * 2}, (x,), words=20),
        raised(call, model, {"unknown": w}, (x,), strict=True),
        raised(call, model, {"a.weight": w}, (x,), strict=True),
        raised(call, model, ({"a.weight": w}, {"a.weight": w}), (x,), words=12),
        raised(call, model, ({"a.weight": w}, 3), (x,), words=20),
        raised(call, model, 3, (x,), words=18),
        raised(call, model, {"a.weight": 3}, (x,), words=9),
        raised(call, model, {"scale": x[0], "a": w}, (x,)),
        raised(call, model, {"scale": x[0], "c.weight": w}, (x,)),
        raised(call, model, {"scale": x[0], "training": w}, (x,)),
        raised(call, model, {"scale": x[0], "a.weight.more": w}, (x,), words=3),
        raised(call, model, {"a.weight": w}),
        raised(call, model, {"a.weight": w}, (lib.ones(3),), words=1),
    ]
    same = all(a is b for a, b in zip(own, model.state_dict(keep_vars=True).values(), strict=True))
    return failures, same, names == list(model.state_dict())


@twice
def test_functional_call_lists_unexpected_and_missing_names(lib: Any) -> Any:
    with pytest.raises(RuntimeError) as caught:
        functional_call(lib)(tied(lib), {"unknown": lib.ones(1)}, lib.ones(1, 2), strict=True)
    return str(caught.value).split("\n")[:3]


@twice
def test_functional_call_writes_to_the_given_buffers(lib: Any) -> Any:
    class Counter(lib.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("count", lib.zeros(1))

        def forward(self, x: Any) -> Any:
            self.count = self.count + 1
            return x + self.count

    counter, given = Counter(), {"count": lib.ones(1)}
    results = [functional_call(lib)(counter, given, lib.ones(1)) for _ in range(2)]
    norm = lib.nn.BatchNorm1d(2)
    buffers = {name: buffer.clone() for name, buffer in norm.named_buffers()}
    functional_call(lib)(norm, buffers, lib.tensor([[1.0, 2.0], [3.0, 7.0]]))
    return results, counter.count, given, buffers, dict(norm.state_dict())


@twice
def test_functional_call_of_special_modules(lib: Any) -> Any:
    """A missing bias can be given, and so can what a parametrization computes from."""
    nn, call = lib.nn, functional_call(lib)
    layer = nn.Linear(2, 2, bias=False)
    given = call(layer, {"bias": nn.Parameter(lib.ones(2))}, lib.ones(1, 2))
    normed = nn.utils.parametrizations.spectral_norm(nn.Linear(2, 2)).eval()
    original = normed.parametrizations.weight.original
    w = lib.tensor([[1.0, 2.0], [0.0, 3.0]], requires_grad=True)
    out = call(normed, {"parametrizations.weight.original": w}, lib.ones(1, 2))
    out.sum().backward()
    same = normed.parametrizations.weight.original is original
    added = call(layer, {"fresh": nn.Parameter(lib.ones(2))}, lib.ones(1, 2))
    return given, layer.bias, out, w.grad, same, added, list(layer.state_dict())


@twice
def test_functional_call_in_its_old_place(lib: Any) -> Any:
    model = tied(lib)
    old = lib.nn.utils.stateless.functional_call
    return old(model, {"a.weight": lib.ones(2, 2)}, lib.ones(1, 2)), raised(
        old, model, {"a.weight": lib.ones(2, 2)}, lib.ones(1, 2), strict=True
    )


def test_errors_of_functional_calls_name_the_line_of_the_user() -> None:
    with pytest.raises(RuntimeError, match=r"test_utils\.py"):
        stateless._functional_call(tied(clew), {}, clew.ones(1, 2), strict=True)
