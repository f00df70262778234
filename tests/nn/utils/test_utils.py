"""nn.utils: clipping, parameters as a vector, fusion, memory formats."""

from __future__ import annotations

import inspect
import math
from typing import Any

import pytest
import torch
import torch.func

import clew
from tests.twice import raised, twice


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


@twice
def test_an_empty_generator_clips_nothing(lib: Any) -> Any:
    return lib.nn.utils.clip_grad_norm_((each for each in ()), 1.0)
