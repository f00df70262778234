"""The text of tensors against PyTorch's, character for character."""

import math
from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch._tensor_str import get_printoptions as torch_get_printoptions
from torch._tensor_str import printoptions as torch_printoptions
from torch.autograd import forward_ad

from clew.core import printing

FLOATS = ("float16", "bfloat16", "float32", "float64")
COMPLEX = ("complex64", "complex128")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
DTYPES = (*FLOATS, *COMPLEX, *INTEGERS, "bool")

# Values around the bounds at which PyTorch changes notation, or that round up to a longer text.
LANDMARKS = (0.0, -0.0, 1.0, -1.0, 999.0, 1000.0, 1001.0, 1e8, 1e8 + 8, 1e-4, 9.99e-5, 0.5)
ROUNDING = (0.99999, 99999.99999, 1000.5, 123456.0, math.inf, -math.inf, math.nan, 0.00015, -2.5)


@pytest.fixture(autouse=True)
def _default_options() -> Iterator[None]:
    yield
    printing.set_printoptions(profile="default")
    torch.set_printoptions(profile="default")


def numpy_dtype(name: str) -> np.dtype[Any]:
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


def to_torch(array: np.ndarray) -> torch.Tensor:
    if array.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def ours(array: np.ndarray, **metadata: Any) -> str:
    return printing.format_tensor(array, dtype_name=str(array.dtype), **metadata)


def make(values: Any, dtype: str = "float32") -> np.ndarray:
    with np.errstate(over="ignore"):
        return np.array(values).astype(numpy_dtype(dtype))


def float_values(size: int) -> st.SearchStrategy[list[float]]:
    """Lists of one character each: integers, one magnitude, many magnitudes, or landmarks."""

    def scaled(exponent: int) -> st.SearchStrategy[list[float]]:
        mantissas = st.floats(-10, 10, allow_nan=False)
        return st.lists(mantissas.map(lambda m: m * 10.0**exponent), min_size=size, max_size=size)

    whole = st.integers(-(10**9), 10**9) | st.integers(-20, 20)
    element_kinds = (
        whole.map(float),
        st.builds(lambda m, e: m * 10.0**e, st.floats(-10, 10), st.integers(-41, 38)),
        st.floats(width=32) | st.floats(),
        st.sampled_from(LANDMARKS),
        st.sampled_from(LANDMARKS + ROUNDING),
        st.sampled_from((0.0, -0.0, math.inf, -math.inf, math.nan)),
    )
    return st.one_of(
        st.integers(-41, 38).flatmap(scaled),
        *(st.lists(kind, min_size=size, max_size=size) for kind in element_kinds),
    )


@st.composite
def arrays(draw: st.DrawFn) -> np.ndarray:
    name = draw(st.sampled_from(DTYPES))
    ndim = draw(st.integers(0, 5))
    longest = (1, 40, 9, 5, 4, 3)[ndim]
    sizes = st.integers(1, longest) | st.integers(0, longest)
    shape = tuple(draw(st.lists(sizes, min_size=ndim, max_size=ndim)))
    size = math.prod(shape)
    if name == "bool":
        values: Any = draw(st.lists(st.booleans(), min_size=size, max_size=size))
    elif name in INTEGERS:
        bounds = np.iinfo(name)
        small = st.integers(max(bounds.min, -20), 20)
        element = small | st.integers(bounds.min, bounds.max)
        values = draw(st.lists(element, min_size=size, max_size=size))
    elif name in COMPLEX:
        values = np.empty(size, np.complex128)
        values.real = draw(float_values(size))
        values.imag = draw(float_values(size))
    else:
        values = np.array(draw(float_values(size)), np.float64)
    with np.errstate(all="ignore"):
        return (
            np.array(values, dtype=None if name not in INTEGERS else name)
            .astype(numpy_dtype(name))
            .reshape(shape)
        )


OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "precision": st.integers(0, 12),
        "threshold": st.sampled_from((-1, 0, 1, 5, 20, 100, math.inf)),
        "edgeitems": st.integers(0, 5),
        "linewidth": st.sampled_from((0, 1, 10, 20, 33.5, 40, 79, 81, 120, 200)),
        "sci_mode": st.sampled_from((True, False, None)),
        "profile": st.sampled_from(("default", "short", "full", "SHORT")),
    },
)


@settings(max_examples=400, deadline=None)
@given(arrays())
def test_default_options(array: np.ndarray) -> None:
    assert ours(array) == repr(to_torch(array))


@settings(max_examples=700, deadline=None)
@given(arrays(), OPTIONS, st.sampled_from(FLOATS), st.sampled_from(("no", "leaf", "computed")))
def test_any_options_and_metadata(
    array: np.ndarray, options: dict[str, Any], default_float: str, grad: str
) -> None:
    tensor = to_torch(array)
    metadata: dict[str, Any] = {"default_float_name": default_float}
    if grad != "no" and (tensor.is_floating_point() or tensor.is_complex()):
        tensor = tensor.requires_grad_()
        metadata["requires_grad"] = True
        if grad == "computed":
            tensor = tensor.clone()
            metadata["grad_fn_name"] = "CloneBackward0"
    torch.set_default_dtype(getattr(torch, default_float))
    try:
        with torch_printoptions(**options):
            expected = repr(tensor)
    finally:
        torch.set_default_dtype(torch.float32)
    with printing.printoptions(**options):
        assert ours(array, **metadata) == expected


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "shape",
    [(1000,), (1001,), (40, 30), (4, 5, 60), (2, 300, 2), (7, 7, 7, 7), (1, 1200), (1200, 1)],
)
def test_summary_of_large_tensors(dtype: str, shape: tuple[int, ...]) -> None:
    values = np.random.default_rng(0).normal(size=shape) * 40
    array = np.abs(values).astype(numpy_dtype(dtype))
    assert ours(array) == repr(to_torch(array))


@pytest.mark.parametrize("shape", [(), (1,), (5,), (6,), (7,), (6, 7), (7, 6), (6, 6), (5, 1, 8)])
@pytest.mark.parametrize("edgeitems", [0, 1, 3])
@pytest.mark.parametrize("sci_mode", [True, False])
def test_edges_kept(shape: tuple[int, ...], edgeitems: int, sci_mode: bool) -> None:
    array = make(np.arange(math.prod(shape)).reshape(shape) * 1e9 + 1e9)
    options: dict[str, Any] = {"threshold": 0, "edgeitems": edgeitems, "sci_mode": sci_mode}
    with torch_printoptions(**options):
        expected = repr(to_torch(array))
    with printing.printoptions(**options):
        assert ours(array) == expected


def test_width_of_a_summary_ignores_hidden_values() -> None:
    array = np.ones(2000, np.float32)
    array[1000] = 1e-30
    assert ours(array) == "tensor([1., 1., 1.,  ..., 1., 1., 1.])" == repr(to_torch(array))


def test_non_contiguous_and_read_only_arrays() -> None:
    base = np.arange(3000, dtype=np.float64).reshape(50, 60)
    view = base.T[::2, ::-3]
    assert ours(view) == repr(torch.from_numpy(view.copy()))
    wide = np.broadcast_to(np.float32(2.5), (40, 40))
    assert ours(wide) == repr(torch.full((40, 40), 2.5))


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (make([1, 2]), "tensor([1., 2.])"),
        (make([[4.5, 4.5]]), "tensor([[4.5000, 4.5000]])"),
        (make(3, "int64"), "tensor(3)"),
        (make([True, False], "bool"), "tensor([ True, False])"),
        (make([1.5], "float64"), "tensor([1.5000], dtype=torch.float64)"),
        (make([], "int64"), "tensor([], dtype=torch.int64)"),
        (np.zeros((0, 3), np.float32), "tensor([], size=(0, 3))"),
        (make([1 - 0.5j], "complex64"), "tensor([1.-0.5000j])"),
    ],
)
def test_known_texts(array: np.ndarray, expected: str) -> None:
    assert ours(array) == expected == repr(to_torch(array))


@pytest.mark.parametrize("dtype", [*FLOATS, *COMPLEX])
@pytest.mark.parametrize("bound", [1e8, 1e-4, 1e3, 1.0])
def test_notation_changes_at_the_same_values(bound: float, dtype: str) -> None:
    # Neighbours are taken in the dtype itself, so that each side of a bound is one step from it.
    nearest = np.array(min(bound, 6e4) if dtype == "float16" else bound)
    base = nearest.astype("float64" if dtype in COMPLEX else numpy_dtype(dtype))
    below, above = (np.nextafter(base, base.dtype.type(end)) for end in (0, np.inf))
    for value in (below, base, above):
        for partner in (1.0, 1.5, 0.5, 1e-3, float(value)):
            array = make([float(value), partner], dtype)
            assert ours(array) == repr(to_torch(array))


@pytest.mark.parametrize("linewidth", range(10, 75))
def test_several_suffixes_share_lines_as_they_fit(linewidth: int) -> None:
    array = make([1.5, 2.5, 3.5], "float64")
    tensor = to_torch(array).requires_grad_() * 1
    with torch_printoptions(linewidth=linewidth, edgeitems=0):
        expected = repr(tensor)
    with printing.printoptions(linewidth=linewidth, edgeitems=0):
        assert ours(array, grad_fn_name="MulBackward0") == expected


@pytest.mark.parametrize("length", range(1, 14))
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_suffixes_wrap_where_the_line_ends(length: int, dtype: str) -> None:
    array = make(np.arange(length) + 0.25, dtype)
    leaf = to_torch(array).requires_grad_()
    assert ours(array, requires_grad=True) == repr(leaf)
    name = "MulBackward0"
    assert ours(array, requires_grad=True, grad_fn_name=name) == repr(leaf * 1)


@pytest.mark.parametrize("shape", [(3,), (8,), (3, 3), (0,)])
def test_tangent(shape: tuple[int, ...]) -> None:
    array = np.full(shape, 0.3, np.float32)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(torch.from_numpy(array), torch.from_numpy(-array))
        assert ours(array, tangent=ours(-array)) == repr(dual)


def test_subclass_prefix_and_indent() -> None:
    class Marked(torch.Tensor):
        pass

    array = np.random.default_rng(1).normal(size=(9, 9)).astype(np.float32)
    assert ours(array, prefix="Marked(") == repr(torch.from_numpy(array).as_subclass(Marked))
    text = ours(make([[1.0], [2.0]]), prefix="name=tensor(", indent=2)
    assert text == "name=tensor([[1.],\n   [2.]])"


@pytest.mark.parametrize("requires_grad", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_parameter(requires_grad: bool, dtype: str) -> None:
    class Weight(torch.nn.Parameter):
        pass

    array = np.random.default_rng(2).normal(size=(3, 3)).astype(dtype)
    for subclass, name in ((torch.nn.Parameter, None), (Weight, "Weight")):
        text = printing.format_parameter(
            array, dtype_name=dtype, requires_grad=requires_grad, subclass_name=name
        )
        assert text == repr(subclass(torch.from_numpy(array), requires_grad))


@pytest.mark.filterwarnings("error")
def test_signalling_nan_prints_without_warning() -> None:
    array = np.array([0x7F800001], np.uint32).view(np.float32)
    assert ours(array) == "tensor([nan])"


def test_option_changes_follow_torch() -> None:
    steps: list[dict[str, Any]] = [
        {"sci_mode": True},
        {"precision": 2},
        {"profile": "full"},
        {"profile": "short", "precision": 7},
        {"profile": "FULL"},
        {"edgeitems": 1, "threshold": 9, "linewidth": 100, "sci_mode": False},
        {"profile": "default"},
    ]
    assert printing.get_printoptions() == torch_get_printoptions()
    for step in steps:
        printing.set_printoptions(**step)
        torch.set_printoptions(**step)
        assert printing.get_printoptions() == torch_get_printoptions(), step


def test_printoptions_restores_after_an_error() -> None:
    printing.set_printoptions(sci_mode=True, precision=3)
    before = printing.get_printoptions()
    with pytest.raises(KeyError), printing.printoptions(precision=1):
        assert printing.get_printoptions() == {**before, "precision": 1, "sci_mode": None}
        raise KeyError
    assert printing.get_printoptions() == before


def test_bad_options_are_refused() -> None:
    before = printing.get_printoptions()
    with pytest.raises(ValueError, match="edgeitems must not be negative, got -1"):
        printing.set_printoptions(edgeitems=-1)
    with pytest.raises(TypeError, match="unexpected keyword"), printing.printoptions(width=3):
        pass
    assert printing.get_printoptions() == before
