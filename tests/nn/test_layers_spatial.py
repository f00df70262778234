"""Convolution, pooling, padding, resizing and embedding layers, each compared with PyTorch's."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
import torch

import clew
from tests.layers import Case, build, case, check_class, check_state_dicts, signature
from tests.oracle import assert_same
from tests.twice import raised, twice

# Both libraries say it; neither result depends on it.
pytestmark = pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel lengths")

L, HW, DHW = (2, 4, 9), (2, 4, 8, 7), (2, 4, 5, 6, 5)
SHAPES = {1: L, 2: HW, 3: DHW}


def in_each_dimension(name: str, *args: Any, **kwargs: Any) -> list[Case]:
    """The 1d, 2d and 3d layer, with a batch and without."""
    return [
        Case(f"{name}{dims}d", args, (shape,), kwargs)
        for dims, full in SHAPES.items()
        for shape in (full, full[1:])
    ]


CONVOLUTIONS = [
    *in_each_dimension("Conv", 4, 6, 3),
    *in_each_dimension("Conv", 4, 6, 3, stride=2, padding=1, dilation=2, groups=2, bias=False),
    *in_each_dimension("Conv", 4, 4, 2, padding="same", dilation=3),
    *in_each_dimension("Conv", 4, 4, 2, padding="valid", stride=2),
    *in_each_dimension("Conv", 4, 2, 3, padding=2, padding_mode="circular"),
    *in_each_dimension("Conv", 4, 2, 3, padding=1, padding_mode="reflect"),
    *in_each_dimension("Conv", 4, 2, 4, padding="same", padding_mode="replicate"),
    case("Conv2d", 4, 8, (3, 2), on=HW, stride=(2, 1), padding=(0, 3), dilation=(1, 2)),
    case("Conv2d", 4, 8, [3, 2], on=HW, padding=(1, 2), padding_mode="reflect"),
    case("Conv2d", 4, 8, 3, on=HW, groups=4, bias=None),
    case("Conv2d", 4, 8, 1, 1, 0, 1, 2, False, "zeros", on=HW),
    *in_each_dimension("ConvTranspose", 4, 6, 3),
    *in_each_dimension("ConvTranspose", 4, 2, 3, 2, 1, 1, 2, False, 2),
    case("ConvTranspose2d", 4, 6, (3, 2), on=HW, stride=(2, 3), output_padding=(1, 2)),
    case("ConvTranspose2d", 4, 6, 3, on=[HW, [18, 16]], stride=2),
    case("ConvTranspose2d", 4, 6, 3, on=[HW, [2, 6, 18, 15]], stride=2),
    case("ConvTranspose1d", 4, 6, 3, on=[L, [27]], stride=3, dilation=1),
    case("ConvTranspose1d", 4, 6, 3, on=[L, [31]], stride=3, dilation=3),
    case("ConvTranspose3d", 4, 2, 2, on=[DHW, [11, 12, 10]], stride=2),
    *in_each_dimension("LazyConv", 6, 3),
    *in_each_dimension("LazyConv", 6, 3, stride=2, padding=1, groups=2, bias=False),
    *in_each_dimension("LazyConvTranspose", 6, 3),
    *in_each_dimension("LazyConvTranspose", 6, 3, 2, 1, 1, 2, False),
]

POOLINGS = [
    *in_each_dimension("MaxPool", 2),
    *in_each_dimension("MaxPool", 3, 2, 1, dilation=2, ceil_mode=True),
    *in_each_dimension("MaxPool", 3, return_indices=True, padding=1),
    case("MaxPool2d", (2, 3), on=HW, stride=(1, 2), padding=(1, 0)),
    *in_each_dimension("AvgPool", 2),
    *in_each_dimension("AvgPool", 3, 2, 1, True, False),
    case("AvgPool2d", (2, 3), on=HW, divisor_override=5),
    case("AvgPool3d", (2, 3, 1), (2, 1, 1), on=DHW, divisor_override=2),
    *in_each_dimension("LPPool", 2, 3),
    *in_each_dimension("LPPool", 3.5, 2, stride=1, ceil_mode=True),
    *in_each_dimension("AdaptiveMaxPool", 3),
    *in_each_dimension("AdaptiveMaxPool", 2, return_indices=True),
    *in_each_dimension("AdaptiveAvgPool", 3),
    *in_each_dimension("AdaptiveAvgPool", 1),
    case("AdaptiveMaxPool2d", (None, 3), on=HW),
    case("AdaptiveAvgPool2d", (2, None), on=HW),
    case("AdaptiveAvgPool3d", (2, None, 1), on=DHW),
    case("FractionalMaxPool2d", 2, on=HW, output_size=3),
    case("FractionalMaxPool2d", (2, 3), on=HW, output_size=(4, 2), return_indices=True),
    case("FractionalMaxPool2d", 3, on=HW, output_ratio=(0.5, 0.6)),
    case("FractionalMaxPool2d", 3, on=HW[1:], output_ratio=0.5),
    case("FractionalMaxPool3d", 2, on=DHW, output_size=3),
    case("FractionalMaxPool3d", 2, on=DHW, output_ratio=0.5, return_indices=True),
]

PADDINGS = [
    *in_each_dimension("ConstantPad", 2, 3.5),
    *in_each_dimension("ConstantPad", 1, value=-1),
    *in_each_dimension("ZeroPad", 1),
    *in_each_dimension("ReflectionPad", 2),
    *in_each_dimension("ReplicationPad", 3),
    *in_each_dimension("CircularPad", 2),
    case("ConstantPad1d", (3, 1), 0.5, on=L),
    case("ConstantPad2d", (3, -1, 0, 2), 0.5, on=HW),
    case("ZeroPad2d", (-1, -1, 1, 0), on=HW),
    case("ReflectionPad2d", [1, 2, 3, 0], on=HW),
    case("ReplicationPad3d", (1, 2, 3, 0, 1, 1), on=DHW),
    case("CircularPad3d", (1, 2, 3, 0, 1, 1), on=DHW),
]

RESIZINGS = [
    case("Upsample", on=L, scale_factor=2),
    case("Upsample", 5, on=HW),
    case("Upsample", (5, 11), on=HW, mode="bilinear"),
    case("Upsample", on=HW, scale_factor=(2, 1.5), mode="bicubic", align_corners=True),
    case("Upsample", on=DHW, scale_factor=1.7, mode="trilinear"),
    case("Upsample", on=HW, scale_factor=1.7, recompute_scale_factor=True),
    case("Upsample", None, 2.0, "linear", False, on=L),
    case("Upsample", 4, mode="area", on=HW),
    case("UpsamplingNearest2d", on=HW, scale_factor=2),
    case("UpsamplingNearest2d", (3, 9), on=HW),
    case("UpsamplingBilinear2d", on=HW, scale_factor=3),
    case("UpsamplingBilinear2d", 6, on=HW),
    case("PixelShuffle", 2, on=HW),
    case("PixelShuffle", 3, on=(9, 2, 2)),
    case("PixelUnshuffle", 2, on=(2, 1, 4, 6)),
    case("ChannelShuffle", 2, on=HW),
    case("Unfold", 3, on=HW),
    case("Unfold", (2, 3), (1, 2), 1, (2, 1), on=HW),
    case("Fold", (4, 5), (2, 3), on=(2, 12, 9)),
    case("Fold", 6, 2, on=(12, 9), stride=2),
    case("Fold", (4, 5), 3, 1, 1, 2, on=(2, 18, 6)),
]

TOKENS = np.array([[1, 0, 4], [4, 4, 2]])
FLAT, STARTS = np.array([1, 0, 4, 4, 4, 2]), np.array([0, 1, 4])

TABLES = [
    case("Embedding", 5, 3, on=TOKENS),
    case("Embedding", 5, 3, on=TOKENS, padding_idx=4),
    case("Embedding", 5, 3, -1, on=TOKENS.astype(np.int32)),
    case("Embedding", 5, 3, on=TOKENS, max_norm=1.0, norm_type=1.0),
    case("Embedding", 5, 3, on=TOKENS, scale_grad_by_freq=True),
    case("Embedding", 5, 3, on=np.array(2), _freeze=True),
    case("EmbeddingBag", 5, 3, on=TOKENS),
    case("EmbeddingBag", 5, 3, on=[FLAT, STARTS], mode="sum", padding_idx=-1),
    case("EmbeddingBag", 5, 3, on=[FLAT, STARTS], mode="max"),
    case("EmbeddingBag", 5, 3, 1.0, 3.0, on=[FLAT, STARTS]),
    case("EmbeddingBag", 5, 3, on=[FLAT, STARTS, (6,)], mode="sum"),
    case("EmbeddingBag", 5, 3, on=[FLAT, np.array([0, 2, 6])], include_last_offset=True),
    case("EmbeddingBag", 5, 3, on=[FLAT, STARTS], scale_grad_by_freq=True, mode="mean"),
]

DISTANCES = [
    case("CosineSimilarity", on=[(4, 3), (4, 3)]),
    case("CosineSimilarity", on=[(4, 3, 2), (4, 3, 1)], dim=2, eps=1e-2),
    case("PairwiseDistance", on=[(4, 3), (4, 3)]),
    case("PairwiseDistance", 1.5, 1e-3, True, on=[(4, 3), (3,)]),
]

CASES = [*CONVOLUTIONS, *POOLINGS, *PADDINGS, *RESIZINGS, *TABLES, *DISTANCES]


def seeded(library: Any, case: Case) -> Any:
    library.manual_seed(0)
    return build(library, case)


def make_inputs(library: Any, case: Case) -> list[Any]:
    numbers = np.random.default_rng(1)
    made: list[Any] = []
    for given in case.inputs:
        if isinstance(given, tuple):
            values = numbers.normal(size=given)
            made.append(library.from_numpy(values).requires_grad_())
        else:
            made.append(
                library.from_numpy(given.copy()) if isinstance(given, np.ndarray) else given
            )
    return made


def run(library: Any, module: Any, case: Case) -> dict[str, Any]:
    """What a forward and a backward show, in float64 so that small differences count."""
    module.double()
    inputs = make_inputs(library, case)
    library.manual_seed(2)
    outputs = module(*inputs)
    first = outputs[0] if isinstance(outputs, tuple) else outputs
    factors = np.random.default_rng(3).normal(size=tuple(first.shape))
    if first.requires_grad:
        (first * library.from_numpy(factors)).sum().backward()
    leaves = [x for x in inputs if getattr(x, "requires_grad", False)]
    return {
        "outputs": outputs,
        "gradients of inputs": [leaf.grad for leaf in leaves],
        "gradients of parameters": {name: p.grad for name, p in module.named_parameters()},
        "next random number": library.rand(1),
    }


def settings(module: Any) -> dict[str, Any]:
    """The plain attributes that users read off a layer."""
    kinds = (int, float, str, tuple, list, type(None))
    return {name: value for name, value in sorted(vars(module).items()) if isinstance(value, kinds)}


def parents(kind: type) -> list[str]:
    """The names of all classes that PyTorch has above this one, nearest first."""
    return [base.__name__ for base in kind.__mro__ if base is not object]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_layer(case: Case) -> None:
    theirs, ours = seeded(torch, case), seeded(clew, case)
    assert repr(ours) == repr(theirs)
    if not case.name.startswith("Lazy"):
        assert_same(dict(ours.state_dict()), dict(theirs.state_dict()))
        for name, value in theirs.state_dict().items():
            np.testing.assert_array_equal(ours.state_dict()[name].numpy(), value.numpy())
    assert_same(run(clew, ours, case), run(torch, theirs, case))
    # A lazy layer has its parameters, and another class, from here on.
    assert type(ours).__name__ == type(theirs).__name__
    assert repr(ours) == repr(theirs)
    assert settings(ours) == settings(theirs)
    assert_same(dict(ours.state_dict()), dict(theirs.state_dict()))


@pytest.mark.parametrize("case", {case.name: case for case in CASES}.values(), ids=str)
def test_copies_compute_the_same(case: Case) -> None:
    module = seeded(clew, case)
    run(clew, module, case)
    module.zero_grad()
    expected = run(clew, copy.deepcopy(module), case)
    again = run(clew, pickle.loads(pickle.dumps(module)), case)
    for name, values in expected.items():
        for one, other in zip(flat(values), flat(again[name]), strict=True):
            np.testing.assert_array_equal(one.detach().numpy(), other.detach().numpy())


def flat(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [x for item in value.values() for x in flat(item)]
    if isinstance(value, (list, tuple)):
        return [x for item in value for x in flat(item)]
    return [] if value is None else [value]


WITH_STATE = [
    case("Conv2d", 4, 6, 3, on=HW),
    case("Conv3d", 4, 6, 3, on=DHW, groups=2, bias=False),
    case("ConvTranspose1d", 4, 6, 3, on=L),
    case("LazyConv2d", 6, 3, on=HW),
    case("LazyConvTranspose2d", 6, 3, on=HW),
    case("Embedding", 5, 3, on=TOKENS, padding_idx=0),
    case("EmbeddingBag", 5, 3, on=TOKENS),
]


@pytest.mark.parametrize("case", WITH_STATE, ids=str)
def test_state_dicts_load_both_ways(case: Case) -> None:
    check_state_dicts(case)


@twice
def test_lazy_layers_take_shapes_from_a_state_dict(module: Any) -> Any:
    nn = module.nn
    lazy = nn.LazyConv2d(6, 3)
    report = lazy.load_state_dict(nn.Conv2d(4, 6, 3).state_dict())
    return str(report), dict(lazy.state_dict()), lazy(module.ones(4, 3, 3)), repr(lazy)


NAMES = sorted({case.name for case in CASES} | {f"MaxUnpool{dims}d" for dims in SHAPES})


@pytest.mark.parametrize("name", NAMES)
def test_class(name: str) -> None:
    theirs, ours = getattr(torch.nn, name), getattr(clew.nn, name)
    check_class(theirs.__module__.rpartition(".")[2], name)
    assert [base for base in parents(ours) if base in parents(theirs)] == parents(theirs)


@pytest.mark.parametrize("name", ["Embedding", "EmbeddingBag"])
def test_signature_of_from_pretrained(name: str) -> None:
    ours, theirs = (getattr(nn, name).from_pretrained for nn in (clew.nn, torch.nn))
    assert signature(ours) == signature(theirs)


@pytest.mark.parametrize("name", NAMES)
def test_wrong_arguments_are_reported_under_the_name_of_the_class(name: str) -> None:
    theirs, ours = (raised(getattr(nn, name), kernel=3, words=20) for nn in (torch.nn, clew.nn))
    assert ours == theirs


BASES = {
    "conv": ["_ConvNd", "_ConvTransposeNd", "_LazyConvXdMixin"],
    "pooling": [
        "_MaxPoolNd",
        "_MaxUnpoolNd",
        "_AvgPoolNd",
        "_LPPoolNd",
        "_AdaptiveMaxPoolNd",
        "_AdaptiveAvgPoolNd",
    ],
    "padding": ["_CircularPadNd", "_ConstantPadNd", "_ReflectionPadNd", "_ReplicationPadNd"],
}


@pytest.mark.parametrize(
    ("file", "name"), [(file, name) for file, names in BASES.items() for name in names]
)
def test_base_classes_are_where_users_look_for_them(file: str, name: str) -> None:
    theirs = getattr(getattr(torch.nn.modules, file), name)
    ours = getattr(getattr(clew.nn.modules, file), name)
    below = {kind for kind in NAMES if issubclass(getattr(torch.nn, kind), theirs)}
    assert below
    assert {kind for kind in NAMES if issubclass(getattr(clew.nn, kind), ours)} == below


@pytest.mark.parametrize("name", ["MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d"])
@pytest.mark.parametrize("sized", [True, False])
def test_unpooling(name: str, sized: bool) -> None:
    shape = (2, 3, 4, 6, 8)[: 2 + int(name[-2])]
    results = []
    for library in (torch, clew):
        values = np.random.default_rng(0).normal(size=shape).astype(np.float32)
        x = library.from_numpy(values).requires_grad_()
        pool = getattr(library.nn, name.replace("Unpool", "Pool"))(2, return_indices=True)
        unpool = getattr(library.nn, name)(2)
        pooled, indices = pool(x)
        size = {"output_size": x.shape} if sized else {}
        restored = unpool(pooled * 2, indices, **size)
        (restored**2).sum().backward()
        results.append((repr(unpool), vars(unpool)["stride"], restored, x.grad))
    assert_same(results[1], results[0])


@twice
def test_fixed_samples_of_fractional_pooling_are_a_buffer(module: Any) -> Any:
    samples = module.rand(2, 4, 2)
    pool = module.nn.FractionalMaxPool2d(2, output_size=3, _random_samples=samples)
    return dict(pool.state_dict()), pool(module.rand(2, 4, 8, 8)), repr(pool)


@twice
def test_pretrained_embeddings(module: Any) -> Any:
    table = module.arange(12.0).reshape(4, 3)
    nn = module.nn
    frozen = nn.Embedding.from_pretrained(table, padding_idx=-1)
    trained = nn.Embedding.from_pretrained(table, freeze=False, max_norm=2.0)
    bag = nn.EmbeddingBag.from_pretrained(table, mode="sum", padding_idx=1)
    tokens = module.tensor([[0, 3], [1, 1]])
    shared = frozen.weight.data_ptr() == table.data_ptr()
    return (
        [(repr(m), m.weight.requires_grad, m.padding_idx) for m in (frozen, trained, bag)],
        frozen(tokens),
        bag(tokens),
        trained(tokens),
        trained.weight,
        table,
        shared,
        nn.EmbeddingBag.from_pretrained(table, freeze=False).weight.requires_grad,
    )


@twice
def test_reset_parameters_draws_again(module: Any) -> Any:
    nn = module.nn
    layers = [
        nn.Conv1d(2, 3, 2),
        nn.ConvTranspose2d(2, 3, 2, bias=False),
        nn.Embedding(3, 2, padding_idx=1),
        nn.EmbeddingBag(3, 2, padding_idx=0),
    ]
    for layer in layers:
        layer.reset_parameters()
    return [dict(layer.state_dict()) for layer in layers]


@twice
def test_dtype_and_device(module: Any) -> Any:
    nn = module.nn
    return (
        dict(nn.Conv2d(2, 3, 2, device="cpu", dtype=module.float64).state_dict()),
        dict(nn.ConvTranspose1d(2, 3, 2, dtype=module.float64).state_dict()),
        dict(nn.Embedding(2, 3, dtype=module.float64).state_dict()),
        dict(nn.EmbeddingBag(2, 3, device="cpu", dtype=module.float16).state_dict()),
        dict(nn.Conv1d(2, 3, 1, dtype=module.bfloat16).state_dict()),
        dict(nn.Conv1d(2, 3, 1, dtype=module.complex64).state_dict()),
    )


@twice
def test_layers_without_channels(module: Any) -> Any:
    return (
        dict(module.nn.Conv2d(0, 3, 2).state_dict())["weight"],
        dict(module.nn.Conv2d(3, 0, 2).state_dict()),
    )


@twice
def test_padding_of_the_input_as_numbers(module: Any) -> Any:
    nn = module.nn
    return (
        nn.Conv2d(1, 1, (2, 5), padding="same", dilation=(3, 1))._reversed_padding_repeated_twice,
        nn.Conv2d(1, 1, 2, padding="valid")._reversed_padding_repeated_twice,
        nn.Conv3d(1, 1, 2, padding=(1, 2, 3))._reversed_padding_repeated_twice,
        repr(nn.Conv2d(1, 1, 2, padding="same")),
        repr(nn.Conv2d(1, 1, (2,))),
    )


@twice
def test_subclasses_override_the_convolution_itself(module: Any) -> Any:
    class Standardized(module.nn.Conv2d):
        def forward(self, input: Any) -> Any:
            weight = self.weight - self.weight.mean((1, 2, 3), keepdim=True)
            return self._conv_forward(input, weight, self.bias)

    class Plain(module.nn.modules.conv._ConvNd):
        def __init__(self) -> None:
            super().__init__(2, 3, (3,), (1,), (1,), (1,), False, (0,), 1, True, "zeros")

    return Standardized(2, 3, 2)(module.ones(1, 2, 3, 3)), dict(Plain().state_dict()), repr(Plain())


@twice
def test_lazy_layers_before_their_first_input(module: Any) -> Any:
    layer = module.nn.LazyConv2d(4, 3, padding=1)
    before = (repr(layer), list(layer.state_dict()), layer.has_uninitialized_params())
    layer.reset_parameters()
    layer(module.zeros(3, 5, 5))
    return before, repr(layer), layer.weight, layer.bias, type(layer).__name__


# ---------------------------------------------------------------- errors


@twice
def test_errors_of_convolutions(module: Any) -> Any:
    nn, image = module.nn, module.zeros(1, 4, 5, 5)
    upward = nn.ConvTranspose2d(4, 2, 3, stride=2)
    return (
        raised(nn.Conv1d, 3, 4, 3, groups=0),
        raised(nn.Conv1d, 3, 4, 3, groups=2, words=5),
        raised(nn.Conv1d, 4, 3, 3, groups=2, words=5),
        raised(nn.Conv1d, 3, 4, 3, padding="some", words=4),
        raised(nn.Conv1d, 3, 4, 3, padding="same", stride=2, words=7),
        raised(nn.Conv1d, 3, 4, 3, padding_mode="mirror", words=5),
        raised(nn.ConvTranspose2d, 4, 2, 3, padding_mode="circular", words=8),
        raised(nn.LazyConvTranspose2d, 2, 3, padding_mode="circular", words=8),
        raised(upward, image, [3], words=14),
        raised(upward, image, [1, 2, 3], words=14),
        raised(upward, image, [9, 9], words=15),
        raised(upward, image, [11, 13], words=20),
        raised(upward, image[0], [4, 11, 13], words=15),
        raised(nn.LazyConv2d(4, 3), module.zeros(3, 3), words=8),
        raised(nn.LazyConv2d(4, 3, groups=3), image, words=5),
        raised(nn.Conv2d(3, 4, 3), image, words=4),
    )


@twice
def test_errors_of_pooling(module: Any) -> Any:
    nn = module.nn
    return (
        raised(nn.FractionalMaxPool2d, 3, words=12),
        raised(nn.FractionalMaxPool3d, 3, words=12),
        raised(nn.FractionalMaxPool2d, 3, 2, 0.5, words=9),
        raised(nn.FractionalMaxPool2d, 3, None, 1.5, words=9),
        raised(nn.FractionalMaxPool3d, 3, output_ratio=(0.5, 0.5, 1), words=11),
        raised(nn.MaxPool2d(2), module.zeros(3, 3), words=1),
    )


@twice
def test_errors_of_padding(module: Any) -> Any:
    nn = module.nn
    return (
        raised(nn.CircularPad1d(1), module.zeros(3), words=8),
        raised(nn.CircularPad2d(1), module.zeros(3, 3), words=8),
        raised(nn.CircularPad3d(1), module.zeros(3, 3, 3), words=8),
        raised(nn.ReflectionPad1d(4), module.zeros(1, 3), words=4),
    )


@twice
def test_errors_of_tables(module: Any) -> Any:
    nn, table = module.nn, module.zeros(3, 4)
    results = []
    for kind in (nn.Embedding, nn.EmbeddingBag):
        results += [
            raised(kind, 3, 4, padding_idx=3, words=5),
            raised(kind, 3, 4, padding_idx=-4, words=5),
            raised(kind, 3, 5, _weight=table, words=9),
            raised(kind.from_pretrained, table[0], words=7),
            raised(kind.from_pretrained, table, padding_idx=9, words=5),
            raised(kind(3, 4), module.tensor([[3]]), words=4),
        ]
    bag = nn.EmbeddingBag(3, 4, mode="median")
    return [*results, repr(bag), raised(bag, module.tensor([[1]]), words=9)]


@twice
def test_padding_that_no_machine_has_memory_for(t: Any) -> Any:
    x = t.zeros(1, 1, 8)
    layers = (t.nn.Conv1d(1, 1, 3, padding=2**62), t.nn.ConvTranspose1d(1, 1, 3, padding=2**63 - 5))
    return [raised(layer, x, words=12) for layer in layers]
