"""Activations, normalisations and dropout as layers, compared with torch's."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import pytest
import torch

import clew
from tests.layers import Case, case, check, check_class, check_state_dicts, check_subclasses
from tests.oracle import assert_same, to_clew
from tests.twice import raised, twice

MODULES = ("activation", "batchnorm", "instancenorm", "normalization", "dropout")
CLASSES = [
    (module, name)
    for module in MODULES
    for name in getattr(torch.nn.modules, module).__all__
    if name != "MultiheadAttention"
]
BASES = [
    ("batchnorm", "_NormBase"),
    ("batchnorm", "_BatchNorm"),
    ("batchnorm", "_LazyNormBase"),
    ("instancenorm", "_InstanceNorm"),
    ("dropout", "_DropoutNd"),
]

ACTIVATIONS = [
    case("Threshold", 0.1, 20.0, on=(3, 4)),
    case("Threshold", 0.1, 20, True, on=(3, 4)),
    case("ReLU", on=(3, 4)),
    case("ReLU", True, on=(3, 4)),
    case("RReLU", on=(3, 4)),
    case("RReLU", 0.2, 0.6, inplace=True, on=(3, 4)),
    case("Hardtanh", on=(3, 4)),
    case("Hardtanh", -0.5, 2, True, on=(3, 4)),
    case("Hardtanh", min_value=-0.5, max_value=0.7, on=(3, 4)),
    case("ReLU6", on=(3, 4)),
    case("ReLU6", inplace=True, on=(3, 4)),
    case("Sigmoid", on=(3, 4)),
    case("Hardsigmoid", on=(3, 4)),
    case("Hardsigmoid", True, on=(3, 4)),
    case("Tanh", on=(3, 4)),
    case("SiLU", on=(3, 4)),
    case("SiLU", inplace=True, on=(3, 4)),
    case("Mish", on=(3, 4)),
    case("Mish", True, on=(3, 4)),
    case("Hardswish", on=(3, 4)),
    case("Hardswish", True, on=(3, 4)),
    case("ELU", on=(3, 4)),
    case("ELU", 0.5, True, on=(3, 4)),
    case("CELU", on=(3, 4)),
    case("CELU", 0.5, True, on=(3, 4)),
    case("SELU", on=(3, 4)),
    case("SELU", True, on=(3, 4)),
    case("GLU", on=(3, 4)),
    case("GLU", 0, on=(4, 3)),
    case("GELU", on=(3, 4)),
    case("GELU", "tanh", on=(3, 4)),
    case("Hardshrink", on=(3, 4)),
    case("Hardshrink", 1, on=(3, 4)),
    case("LeakyReLU", on=(3, 4)),
    case("LeakyReLU", 0.2, True, on=(3, 4)),
    case("LogSigmoid", on=(3, 4)),
    case("Softplus", on=(3, 4)),
    case("Softplus", 2, 1.0, on=(3, 4)),
    case("Softshrink", on=(3, 4)),
    case("Softshrink", 0.1, on=(3, 4)),
    case("PReLU", on=(3, 4)),
    case("PReLU", 4, 0.1, on=(3, 4, 2)),
    case("Softsign", on=(3, 4)),
    case("Tanhshrink", on=(3, 4)),
    case("Softmin", on=(3, 4)),
    case("Softmin", dim=0, on=(3, 4)),
    case("Softmax", on=(3, 4)),
    case("Softmax", on=(2, 3, 4)),
    case("Softmax", dim=-1, on=(3, 4)),
    case("Softmax2d", on=(2, 3, 4, 4)),
    case("Softmax2d", on=(3, 4, 4)),
    case("LogSoftmax", on=(3, 4)),
    case("LogSoftmax", 1, on=(3, 4)),
]

NORMS = [
    case("BatchNorm1d", 3, on=(4, 3)),
    case("BatchNorm1d", 3, on=(4, 3, 5)),
    case("BatchNorm1d", 3, eps=0.01, momentum=0.4, on=(4, 3)),
    case("BatchNorm1d", 3, momentum=None, on=(4, 3)),
    case("BatchNorm1d", 3, momentum=0.0, on=(4, 3)),
    case("BatchNorm1d", 3, affine=False, on=(4, 3)),
    case("BatchNorm1d", 3, track_running_stats=False, on=(4, 3)),
    case("BatchNorm1d", 3, affine=False, track_running_stats=False, on=(4, 3)),
    case("BatchNorm1d", 3, bias=False, on=(4, 3)),
    case("BatchNorm2d", 3, on=(2, 3, 4, 4)),
    case("BatchNorm2d", 3, 1e-3, 0.5, False, True, on=(2, 3, 4, 4)),
    case("BatchNorm3d", 2, on=(2, 2, 3, 2, 2)),
    case("SyncBatchNorm", 3, on=(4, 3)),
    case("SyncBatchNorm", 3, momentum=None, affine=False, on=(4, 3, 2, 2)),
    case("LazyBatchNorm1d", on=(4, 3)),
    case("LazyBatchNorm1d", affine=False, track_running_stats=False, on=(4, 3)),
    case("LazyBatchNorm2d", bias=False, on=(2, 3, 4, 4)),
    case("LazyBatchNorm3d", momentum=None, on=(2, 2, 3, 2, 2)),
    case("InstanceNorm1d", 3, on=(4, 3, 5)),
    case("InstanceNorm1d", 3, on=(3, 5)),
    case("InstanceNorm1d", 2, on=(4, 3, 5)),
    case("InstanceNorm1d", 3, affine=True, on=(4, 3, 5)),
    case("InstanceNorm1d", 3, affine=True, bias=False, on=(4, 3, 5)),
    case("InstanceNorm1d", 3, track_running_stats=True, on=(4, 3, 5)),
    case("InstanceNorm1d", 3, track_running_stats=True, momentum=None, on=(4, 3, 5)),
    case("InstanceNorm2d", 3, 1e-3, 0.3, True, True, on=(2, 3, 4, 4)),
    case("InstanceNorm2d", 3, affine=True, on=(3, 4, 4)),
    case("InstanceNorm3d", 2, on=(2, 2, 3, 2, 2)),
    case("InstanceNorm3d", 2, affine=True, on=(2, 3, 2, 2)),
    case("LazyInstanceNorm1d", on=(4, 3, 5)),
    case("LazyInstanceNorm2d", affine=False, on=(2, 3, 4, 4)),
    case("LazyInstanceNorm3d", track_running_stats=False, on=(2, 2, 3, 2, 2)),
    case("LayerNorm", 4, on=(3, 4)),
    case("LayerNorm", (3, 4), 1e-3, on=(2, 3, 4)),
    case("LayerNorm", [4], elementwise_affine=False, on=(3, 4)),
    case("LayerNorm", 4, bias=False, on=(3, 4)),
    case("GroupNorm", 2, 4, on=(3, 4, 5)),
    case("GroupNorm", 1, 4, eps=0.1, on=(3, 4)),
    case("GroupNorm", 4, 4, affine=False, on=(3, 4, 2, 2)),
    case("GroupNorm", 2, 4, bias=False, on=(3, 4, 5)),
    case("RMSNorm", 4, on=(3, 4)),
    case("RMSNorm", (3, 4), 1e-3, on=(2, 3, 4)),
    case("RMSNorm", 4, elementwise_affine=False, on=(3, 4)),
    case("LocalResponseNorm", 3, on=(2, 5, 4, 4)),
    case("LocalResponseNorm", 2, 0.5, 0.6, 2.0, on=(2, 5, 4)),
]

DROPOUTS = [
    case("Dropout", on=(5, 4)),
    case("Dropout", 0.2, True, on=(5, 4)),
    case("Dropout", 0, on=(5, 4)),
    case("Dropout", 1, on=(5, 4)),
    case("Dropout1d", 0.4, on=(3, 4, 5)),
    case("Dropout1d", on=(4, 5)),
    case("Dropout2d", 0.4, on=(3, 4, 2, 2)),
    case("Dropout2d", 0.4, inplace=True, on=(3, 4, 2, 2)),
    case("Dropout2d", on=(3, 4)),
    case("Dropout3d", 0.4, on=(3, 4, 2, 2, 2)),
    case("AlphaDropout", on=(5, 4)),
    case("AlphaDropout", 0.2, True, on=(5, 4)),
    case("FeatureAlphaDropout", on=(3, 4, 5)),
    case("FeatureAlphaDropout", 0.2, inplace=True, on=(3, 4, 5)),
]

CASES = [*ACTIVATIONS, *NORMS, *DROPOUTS]
WITH_STATE = [each for each in [*ACTIVATIONS, *NORMS] if each.name == "PReLU" or each in NORMS]


@pytest.mark.parametrize("layer", CASES, ids=str)
def test_layer(layer: Case) -> None:
    check(layer)


@pytest.mark.parametrize("layer", WITH_STATE, ids=str)
@pytest.mark.filterwarnings("ignore:Lazy modules", "ignore:input's size")
def test_state_dicts_load_both_ways(layer: Case) -> None:
    check_state_dicts(layer)


@pytest.mark.parametrize(("module", "name"), CLASSES)
def test_class(module: str, name: str) -> None:
    check_class(module, name)


def test_every_class_has_a_case() -> None:
    assert {name for _, name in CLASSES} == {"CrossMapLRN2d", *(each.name for each in CASES)}


def test_attention_is_found_among_activations() -> None:
    assert clew.nn.modules.activation.MultiheadAttention is clew.nn.MultiheadAttention


def test_subclasses() -> None:
    check_subclasses([*CLASSES, *BASES])


# -- batch norm: statistics and their state -------------------------------------------------


@twice
def test_momentum_none_averages_all_batches(lib: Any) -> Any:
    layer = lib.nn.BatchNorm1d(2, momentum=None)
    for scale in (1.0, 2.0, 3.0):
        layer(scale * lib.arange(6.0).reshape(3, 2))
    return layer.running_mean, layer.running_var, layer.num_batches_tracked


@twice
def test_evaluation_does_not_track(lib: Any) -> Any:
    layer = lib.nn.BatchNorm1d(2).eval()
    layer(lib.arange(6.0).reshape(3, 2))
    return layer.state_dict()["num_batches_tracked"], layer.running_mean


@twice
def test_statistics_switched_off_later(lib: Any) -> Any:
    layer = lib.nn.BatchNorm1d(2)
    layer.track_running_stats = False
    x = lib.arange(6.0).reshape(3, 2)
    return layer(x), layer.eval()(x), layer.running_mean, layer.num_batches_tracked


@twice
def test_buffers_removed_later(lib: Any) -> Any:
    layer = lib.nn.BatchNorm1d(2)
    layer.running_mean = layer.running_var = None
    return layer.eval()(lib.arange(6.0).reshape(3, 2)), list(layer.state_dict())


@twice
def test_reset_running_stats_and_parameters(lib: Any) -> Any:
    layer = lib.nn.BatchNorm1d(2)
    layer(lib.arange(6.0).reshape(3, 2))
    layer.reset_running_stats()
    cleared = [each.clone() for each in layer.buffers()]
    with lib.no_grad():
        layer.weight.mul_(3)
        layer.bias.add_(1)
    layer.reset_parameters()
    return cleared, list(layer.parameters()), list(layer.buffers())


@twice
def test_state_dict_without_num_batches_tracked(lib: Any) -> Any:
    """Version 1 had none; a newer one without it is incomplete."""
    old = lib.nn.BatchNorm1d(2)
    old(lib.arange(6.0).reshape(3, 2))
    state = old.state_dict()
    del state["num_batches_tracked"]
    new = lib.nn.BatchNorm1d(2)
    refused = raised(new.load_state_dict, state, words=9)
    state._metadata = None
    report = new.load_state_dict(state)
    return refused, list(report), new.num_batches_tracked, new.running_mean, list(state)


@twice
def test_statistics_of_old_instance_norms(lib: Any) -> Any:
    plain = lib.nn.InstanceNorm1d(2)
    statistics = {"running_mean": lib.zeros(2), "running_var": lib.ones(2)}
    refused = raised(plain.load_state_dict, statistics, words=20)
    tracking = lib.nn.InstanceNorm1d(2, track_running_stats=True)
    report = tracking.load_state_dict(statistics)
    return refused, sorted(statistics), list(report), tracking.num_batches_tracked


@twice
def test_dtype_of_normalisations(lib: Any) -> Any:
    seen = []
    for layer in (
        lib.nn.BatchNorm1d(2, dtype=lib.float64, device="cpu"),
        lib.nn.LazyBatchNorm1d(dtype=lib.float64),
        lib.nn.LayerNorm(2, dtype=lib.float64),
        lib.nn.GroupNorm(1, 2, dtype=lib.float64),
        lib.nn.RMSNorm(2, dtype=lib.float64),
        lib.nn.PReLU(2, dtype=lib.float64),
    ):
        layer(lib.arange(6.0, dtype=lib.float64).reshape(3, 2))
        seen.append([str(each.dtype) for each in layer.state_dict().values()])
    return seen


@twice
def test_lazy_state(lib: Any) -> Any:
    layer = lib.nn.LazyBatchNorm2d()
    before = [list(layer.state_dict()), layer.has_uninitialized_params()]
    layer.load_state_dict(lib.nn.BatchNorm2d(3).state_dict())
    loaded = [type(layer).__name__, layer.has_uninitialized_params(), layer.weight]
    layer(lib.ones(2, 3, 2, 2))
    return before, loaded, type(layer).__name__, layer.num_batches_tracked


@twice
def test_convert_sync_batchnorm(lib: Any) -> Any:
    nn = lib.nn
    model = nn.Sequential(
        nn.BatchNorm1d(3), nn.Sequential(nn.BatchNorm1d(3, affine=False), nn.ReLU()),
        nn.InstanceNorm1d(3), nn.BatchNorm1d(3, bias=False, momentum=None).eval(),
    )  # fmt: skip
    weight = model[0].weight
    converted = nn.SyncBatchNorm.convert_sync_batchnorm(model)
    alone = nn.SyncBatchNorm.convert_sync_batchnorm(nn.BatchNorm2d(2), "group")
    return (
        repr(converted), converted is model, converted[0].weight is weight,
        list(converted.state_dict()), [each.training for each in converted.modules()],
        alone.process_group, repr(alone), converted(lib.arange(24.0).reshape(2, 3, 4)),
    )  # fmt: skip


@twice
def test_copies_and_modes(lib: Any) -> Any:
    layer = lib.nn.BatchNorm1d(2)
    other = copy.deepcopy(layer)
    layer(lib.arange(6.0).reshape(3, 2))
    double = layer.double()
    return (
        other.running_mean, double.running_mean, double.num_batches_tracked,
        double(lib.arange(6.0, dtype=lib.float64).reshape(3, 2)),
    )  # fmt: skip


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 9])
def test_across_maps(size: int) -> None:
    """Forward as torch's, whose gradient is not the derivative of its forward: ours is."""
    torch.manual_seed(0)
    x = torch.randn(2, 6, 2, 1, dtype=torch.float64)
    theirs, mine = (lib.nn.CrossMapLRN2d(size, 0.5, 0.6, 2) for lib in (torch, clew))
    given = to_clew(x).clone().requires_grad_()
    assert repr(mine) == repr(theirs)
    assert_same(mine(given).detach(), theirs(x))
    assert clew.autograd.gradcheck(mine, (given,))


# -- errors and warnings ---------------------------------------------------------------------

CALLS: dict[str, Any] = {
    "batch_norm_1d": lambda lib: lib.nn.BatchNorm1d(3)(lib.ones(3)),
    "batch_norm_1d_of_4d": lambda lib: lib.nn.BatchNorm1d(3)(lib.ones(3, 3, 3, 3)),
    "batch_norm_2d": lambda lib: lib.nn.BatchNorm2d(3)(lib.ones(3, 3)),
    "batch_norm_3d": lambda lib: lib.nn.BatchNorm3d(3)(lib.ones(3, 3)),
    "batch_of_one": lambda lib: lib.nn.BatchNorm1d(3)(lib.ones(1, 3)),
    "channels": lambda lib: lib.nn.BatchNorm1d(4)(lib.ones(2, 3)),
    "base_of_batch_norms": lambda lib: lib.nn.modules.batchnorm._BatchNorm(3)(lib.ones(2, 3)),
    "lazy_batch_norm": lambda lib: lib.nn.LazyBatchNorm2d()(lib.ones(2, 2)),
    "sync_1d": lambda lib: lib.nn.SyncBatchNorm(3)(lib.ones(3)),
    "sync_empty": lambda lib: lib.nn.SyncBatchNorm(3)(lib.ones(2, 0)),
    "instance_norm_1d": lambda lib: lib.nn.InstanceNorm1d(3)(lib.ones(3)),
    "instance_norm_2d": lambda lib: lib.nn.InstanceNorm2d(3)(lib.ones(2, 4)),
    "instance_norm_3d": lambda lib: lib.nn.InstanceNorm3d(3)(lib.ones(2, 4)),
    "instance_channels": lambda lib: lib.nn.InstanceNorm2d(3, affine=True)(lib.ones(2, 4, 5, 5)),
    "instance_channels_unbatched": lambda lib: lib.nn.InstanceNorm2d(3, affine=True)(
        lib.ones(4, 5, 5)
    ),
    "instance_of_one": lambda lib: lib.nn.InstanceNorm1d(3)(lib.ones(2, 3, 1)),
    "groups": lambda lib: lib.nn.GroupNorm(2, 3),
    "no_groups": lambda lib: lib.nn.GroupNorm(0, 3),
    "group_channels": lambda lib: lib.nn.GroupNorm(2, 4)(lib.ones(2, 6)),
    "group_1d": lambda lib: lib.nn.GroupNorm(2, 4)(lib.ones(4)),
    "layer_norm": lambda lib: lib.nn.LayerNorm(3)(lib.ones(2, 4)),
    "rms_norm": lambda lib: lib.nn.RMSNorm(3)(lib.ones(2, 4)),
    "local_response_1d": lambda lib: lib.nn.LocalResponseNorm(2)(lib.ones(2)),
    "across_maps_2d": lambda lib: lib.nn.CrossMapLRN2d(2)(lib.ones(2, 3)),
    "dropout_above_1": lambda lib: lib.nn.Dropout(1.5),
    "dropout_below_0": lambda lib: lib.nn.Dropout2d(-0.1),
    "dropout_of_a_word": lambda lib: lib.nn.Dropout("a"),
    "rrelu_bounds": lambda lib: lib.nn.RReLU(0.5, 0.1)(lib.ones(2)),
    "hardtanh_bounds": lambda lib: lib.nn.Hardtanh(2, 1),
    "softmax2d": lambda lib: lib.nn.Softmax2d()(lib.ones(2, 3)),
    "prelu_channels": lambda lib: lib.nn.PReLU(2)(lib.ones(3, 3)),
    "gelu_approximation": lambda lib: lib.nn.GELU("sinh")(lib.ones(2)),
    "glu_of_odd": lambda lib: lib.nn.GLU()(lib.ones(2, 3)),
    "relu_of_a_list": lambda lib: lib.nn.ReLU()([1.0]),
    "unknown_argument": lambda lib: lib.nn.Sigmoid(inplace=True),
    "inplace_on_a_leaf": lambda lib: lib.nn.ReLU(True)(lib.ones(2, requires_grad=True)),
}


@pytest.mark.parametrize("name", CALLS)
def test_error(name: str) -> None:
    twice(lambda lib: raised(CALLS[name], lib))()


@pytest.mark.parametrize(
    ("shape", "advice"),
    [
        ((2, 4, 5, 5), "dimension 1 of its input [2, 4, 5, 5] is 4, and must be num_features=3"),
        ((3, 5, 5), "input.unsqueeze(0) adds it"),
    ],
)
def test_batch_norm_says_what_is_wrong(shape: tuple[int, ...], advice: str) -> None:
    model = clew.nn.Sequential(clew.nn.ReLU(), clew.nn.BatchNorm2d(3))
    with pytest.raises((RuntimeError, ValueError)) as caught:
        model(clew.ones(shape))
    assert "in module 1: BatchNorm2d(3, " in str(caught.value)
    assert advice in str(caught.value)


WARNING_CALLS: list[Any] = [
    lambda: clew.nn.Hardtanh(min_value=-2.0),
    lambda: clew.nn.Softmax()(clew.ones(2, 3)),
    lambda: clew.nn.Softmin()(clew.ones(2, 3)),
    lambda: clew.nn.InstanceNorm1d(2)(clew.ones(2, 3, 4)),
    lambda: clew.nn.Dropout2d()(clew.ones(2, 3)),
    lambda: clew.nn.functional.softmax(clew.ones(2, 3)),
]


@pytest.mark.parametrize("index", range(len(WARNING_CALLS)))
def test_warnings_point_to_the_users_line(index: int) -> None:
    function = WARNING_CALLS[index]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        function()
    assert [(each.filename, each.lineno) for each in caught] == [
        (__file__, function.__code__.co_firstlineno)
    ]


@twice
def test_cosine_similarity_of_numbers_and_its_result_written_to(torch: Any) -> Any:
    similarity = torch.nn.functional.cosine_similarity
    number = torch.tensor(2.0, requires_grad=True)
    alone = similarity(number, number, dim=-1)
    alone.backward()
    rows = torch.tensor([[1.0, 2.0], [3.0, -1.0]], requires_grad=True)
    result = similarity(rows, rows.flip(0))
    result[0] = 2
    result.sum().backward()
    return alone, number.grad, result, rows.grad


@twice
def test_glu_of_halves_is_rounded_as_pytorch_rounds_it(torch: Any) -> Any:
    torch.manual_seed(0)
    results = []
    for dtype in (torch.float16, torch.bfloat16):
        x = torch.randn(20, 16).to(dtype).requires_grad_()
        g = torch.randn(20, 8).to(dtype)
        results.append(torch.autograd.grad(torch.nn.functional.glu(x), x, g)[0].float().tolist())
    return results


@twice
def test_rms_norm_saves_its_weight_for_the_gradient_of_its_input(lib: Any) -> Any:
    seen = []
    for wanted in (False, True):
        layer = lib.nn.RMSNorm(3)
        out = layer(lib.tensor([[1.0, 2.0, 3.0]], requires_grad=wanted))
        with lib.no_grad():
            layer.weight.add_(1)
        seen += [out.grad_fn.name(), raised(out.sum().backward), layer.weight.grad]
    return seen
