"""Calls that are wrong in several ways: both libraries name the same mistake, and write nothing."""

from __future__ import annotations

from typing import Any

from tests.twice import outcome, raised, twice


def _sources(lib: Any) -> dict[str, Any]:
    return {"own": None, "other": lib.ones(3), "long": lib.ones(7), "double": lib.ones(3).double()}


@twice
def test_in_place_writes_at_indices(lib: Any) -> Any:
    # Not with indices that are out of range: PyTorch writes those before them, and then raises.
    indices = [lib.tensor([0, 1, 2]), lib.tensor([0, 1]), lib.ones(3)]
    seen: list[Any] = []
    for needs_grad in (False, True):
        for index in indices:
            for given in _sources(lib).values():
                for dim in (0, 4):
                    for name in ("index_copy_", "index_add_", "scatter_", "scatter_add_"):
                        x = lib.arange(3.0).requires_grad_(needs_grad)
                        source = x if given is None else given
                        seen += [raised(getattr(x, name), dim, index, source), x.tolist()]
            x = lib.arange(3.0).requires_grad_(needs_grad)
            seen += [raised(x.index_fill_, dim, index, 2j), raised(x.masked_fill_, index > 0, 2j)]
            seen += [raised(x.index_put_, (index,), x), x.tolist()]
    return seen


@twice
def test_assignments(lib: Any) -> Any:
    keys: list[Any] = [
        0, 9, -1, slice(1, None), slice(None), ..., None, True, lib.tensor(0), lib.tensor([0, 1]),
        lib.tensor([True, False, True]), lib.tensor([], dtype=lib.float32), [0, 2], (0, 0),
        (0, lib.tensor([1.0])), lib.tensor(1.0), (None, lib.tensor([0])),
    ]  # fmt: skip
    seen: list[Any] = []
    for shape in ((3,), (3, 3), ()):
        for needs_grad in (False, True):
            for key in keys:
                for value in (2.0, 2j, "own", "part", lib.ones(7), lib.ones(3).double()):
                    x = lib.ones(shape, requires_grad=needs_grad)
                    if value == "part" and not shape:
                        continue
                    what = x if value == "own" else x[0] if value == "part" else value
                    seen += [raised(x.__setitem__, key, what, words=4), x.tolist(), x._version]
    return seen


@twice
def test_reading_a_tensor_without_dimensions(lib: Any) -> Any:
    x = lib.tensor(1.5)
    keys: list[Any] = [
        0, 3, -1, slice(None), slice(1, None), (0, 0), (slice(None), 0), (..., 0), (None, 0),
        lib.tensor(0), lib.tensor([0]), [0], [0, 0], lib.tensor([True]), (True, 0), (0,), (3,),
        (slice(None),), (lib.tensor(0),), ([0],),
    ]  # fmt: skip
    return [raised(lambda: x[key], words=4) for key in keys]  # noqa: B023  # called at once


@twice
def test_changes_of_a_leafs_shape(lib: Any) -> Any:
    x = lib.ones(2, 2, 2, requires_grad=True)
    return [
        raised(x.t_), raised(x.squeeze_, 9), raised(x.unsqueeze_, 9), raised(x.transpose_, 0, 9),
        raised(x.as_strided_, (2,), (1, 1)), raised(lib.ones(2, requires_grad=True).fill_, x),
        raised(lib.ones(2, dtype=lib.complex64, requires_grad=True).abs_),
        raised(x.addcmul_, 1, x), raised(x.copy_, lib.ones(7)),
    ]  # fmt: skip


@twice
def test_results_that_cannot_be_stored(lib: Any) -> Any:
    seen: list[Any] = []
    for name in ("bitwise_or_", "fmod_", "remainder_", "floor_divide_", "atan2_"):
        for dtype in (lib.float64, lib.int64):
            for other in (2j, lib.ones(2), lib.ones(2, dtype=lib.complex64)):
                x = lib.ones(2, dtype=dtype)
                seen += [raised(getattr(x, name), other, words=1), x.tolist()]
    return seen


@twice
def test_out_of_functions_with_history(lib: Any) -> Any:
    x, out = lib.ones(2, 2, requires_grad=True), lib.ones(2, 2)
    calls = [
        (lib.exp, x), (lib.absolute, x), (lib.div, x, x), (lib.sum, x, 0), (lib.mm, x, x),
        (lib.cat, [x]), (lib.stack, [x]), (lib.pow, 2, x), (lib.cumsum, x, 0),
    ]  # fmt: skip
    return [
        [raised(function, *args, out=out) for function, *args in calls],
        raised(lib.zeros, 2, 2, out=x), raised(lib.cat, [x], out=x),
    ]  # fmt: skip


@twice
def test_reductions_to_the_dtype_of_out(lib: Any) -> Any:
    seen: list[Any] = []
    for dtype in (lib.bool, lib.int64, lib.float16, lib.float64):
        for x in (lib.tensor([1.7, 1.7]), lib.tensor([3, 4]), lib.tensor([True, True])):
            for function in (lib.sum, lib.prod):
                out = lib.zeros((), dtype=dtype)
                seen.append(outcome(lambda: function(x, 0, out=out)))  # noqa: B023  # at once
    return seen


@twice
def test_integers_have_no_gradient(lib: Any) -> Any:
    x = lib.ones(2, requires_grad=True)
    with lib.no_grad():
        allowed = lib.sum(x, dtype=lib.int32)
    return [
        allowed,
        [raised(getattr(x, name), 0, dtype=lib.int64) for name in ("sum", "prod", "cumsum")],
    ]


@twice
def test_backward_of_what_has_none(lib: Any) -> Any:
    x = lib.ones(3, requires_grad=True)
    results = [x // x, x // 2, lib.heaviside(x, x), x.unique(), x.unique_consecutive()]
    return [raised(each.sum().backward) for each in results]


@twice
def test_logical_writes_to_leaves(lib: Any) -> Any:
    seen: list[Any] = []
    for name in ("logical_not_", "logical_and_", "logical_or_", "logical_xor_"):
        x = lib.tensor([0.0, 2.0], requires_grad=True)
        others = () if name == "logical_not_" else (lib.tensor([1.0, 0.0]),)
        y = getattr(x, name)(*others)
        seen.append([y is x, x.tolist(), x._version, x.is_leaf, x.requires_grad])
    return seen


@twice
def test_gradients_that_keep_their_place_in_the_graph(lib: Any) -> Any:
    names = ("relu", "relu6", "hardtanh", "leaky_relu", "hardshrink", "softshrink")
    seen: list[Any] = []
    for name in names:
        x = lib.tensor([0.5, -2.0, 7.0], requires_grad=True)
        y = getattr(lib.nn.functional, name)(x)
        (grad,) = lib.autograd.grad(y, x, lib.ones(3), create_graph=True)
        seen.append([grad.requires_grad, lib.autograd.grad(grad.sum(), x)])
    return seen


@twice
def test_nodes_of_the_same_result(lib: Any) -> Any:
    x, one = lib.ones(4, 1, requires_grad=True), lib.tensor(1.5, requires_grad=True) * 2
    return [
        lib.sort(x, dim=0).values.grad_fn.name(), lib.sort(x, stable=True).values.grad_fn.name(),
        (lib.ones(4) @ x).grad_fn.name(), one.transpose(0, -1).grad_fn.name(), one.mT is one,
        x.view(x.dtype).requires_grad, x.view(x.dtype)._is_view(),
        lib.tensor([complex(float("inf"), 0), 1 + 1j]).sgn(),
    ]  # fmt: skip


@twice
def test_one_value_for_a_mask_is_converted(lib: Any) -> Any:
    seen: list[Any] = []
    for dtype in (lib.float32, lib.int64, lib.float16):
        for value in (lib.tensor([2.5]).double(), lib.tensor(2), lib.tensor([True])):
            x = lib.ones(3, dtype=dtype)
            x[x > 0] = value
            seen.append(x)
    base = lib.ones(2, requires_grad=True) * 2
    one = lib.tensor(3.0, dtype=lib.float64, requires_grad=True)
    base[base > 0] = one
    base.sum().backward()
    return [*seen, base, one.grad]


@twice
def test_a_lost_history_is_said_before_shapes_and_dtypes(lib: Any) -> Any:
    base = lib.ones(2, 2, requires_grad=True) * 2
    part = base.unbind(0)[0]
    base.mul_(2)
    calls: list[Any] = [
        lambda: part + lib.ones(3), lambda: part - True, lambda: part & 2.5,
        lambda: lib.fmax(part, 2j * lib.ones(2)), lambda: lib.stack([part, base]),
        lambda: lib.cat([part, base]), lambda: part == lib.ones(3), lambda: lib.add(part, "x"),
    ]  # fmt: skip
    return [raised(call, words=4) for call in calls]


@twice
def test_that_it_may_not_be_saved_is_said_before_shapes_and_dtypes(lib: Any) -> Any:
    with lib.inference_mode():
        fixed = lib.ones(2)
    x = lib.zeros(5, 4, requires_grad=True)
    z = lib.ones(2, dtype=lib.complex64, requires_grad=True)
    return [
        raised(lib.div, fixed, x), raised(lib.mul, fixed, x), raised(lib.add, fixed, x),
        raised(lib.fmax, fixed, z), raised(lambda: fixed & x),
    ]  # fmt: skip


@twice
def test_writes_to_tensors_of_inference_mode(lib: Any) -> Any:
    """What else is wrong comes first; and nothing is written."""
    with lib.inference_mode():
        whole, real = lib.ones(4, 4, dtype=lib.int64), lib.ones(4, 4)
    calls: list[Any] = [
        lambda: whole.__setitem__(lib.tensor([9]), 1), lambda: real.add_(lib.ones(3)),
        lambda: whole.__setitem__(whole > 0, lib.ones(2, 2, dtype=lib.int64)),
        lambda: whole.add_(1.5), lambda: whole.div_(2), lambda: real.expand(2, 4, 4).mul_(2),
        lambda: real.addcmul_(lib.ones(3), real), lambda: real.lerp_(lib.ones(3), 0.5),
        lambda: real.copy_(lib.ones(3)), lambda: real.bitwise_not_(), lambda: real.pow_(2j),
        lambda: real.atan2_(lib.ones(3)), lambda: real.unsqueeze_(9),
    ]  # fmt: skip
    return [raised(call, words=4) for call in calls] + [whole, real]


@twice
def test_halves_take_no_complex_numbers(lib: Any) -> Any:
    x = lib.ones(2, dtype=lib.float16)
    two = 2j * lib.ones((), dtype=lib.complex64)
    return [
        raised(getattr(x, name), value)
        for name in ("div_", "pow_", "mul_", "add_", "xlogy_", "floor_divide_")
        for value in (2j, two)
    ] + [raised(x.addcmul_, x, x, value=2j), raised(x.addcdiv_, x, x, value=2j)]


@twice
def test_a_leaf_is_said_before_a_lost_history(lib: Any) -> Any:
    x, w = lib.ones(2, requires_grad=True), lib.ones(2, requires_grad=True)
    part = x.unbind(0)[0]
    with lib.no_grad():
        x.mul_(2)
    return [raised(w.add_, part), raised(w.pow_, part), raised((w * 1).add_, part, words=4)]


@twice
def test_a_result_that_is_larger_is_said_before_that_there_is_none(lib: Any) -> Any:
    names = ("bitwise_and_", "gcd_", "hypot_", "igamma_", "remainder_", "atan2_", "floor_divide_")
    seen = []
    for dtype in (lib.float32, lib.int64, lib.complex64):
        target, larger = lib.ones(3, dtype=dtype), lib.ones(2, 3, dtype=dtype)
        seen += [raised(getattr(target, name), larger) for name in names]
    return seen


@twice
def test_masks_in_the_memory_that_is_written(lib: Any) -> Any:
    seen: list[Any] = []
    for value in (True, 2j, -1):
        x = lib.zeros(2, 2, dtype=lib.bool)
        for key in (x[0, 1:], (slice(None), x[0, :1]), x[0], x[:, 0], x, x[None]):
            seen += [raised(x.__setitem__, key, value), x.tolist()]
    return seen


@twice
def test_tables_of_complex_numbers(lib: Any) -> Any:
    table = lib.ones(1, 2, dtype=lib.complex64, requires_grad=True)
    embedding = lib.nn.functional.embedding
    indices = lib.tensor([0, 0, 1]), lib.tensor([0]), lib.ones(2)
    return [
        raised(embedding, index, weight)
        for index in indices
        for weight in (table, table[:0], table[0], table.detach())
    ]


@twice
def test_parameters_of_inference_tensors(lib: Any) -> Any:
    with lib.inference_mode():
        made = lib.ones(2) * 2
        inside = lib.nn.Parameter(made.detach())
    seen = [raised(lib.nn.Parameter, each) for each in (made, made.detach(), made.data)]
    fixed = lib.nn.Parameter(made, requires_grad=False)
    return [seen, inside.requires_grad, fixed.requires_grad, raised(lib.logcumsumexp, made, 3)]


@twice
def test_expanded_tensors_that_are_their_own_source(lib: Any) -> Any:
    x = lib.ones(2).expand(2, 2)
    index = lib.tensor([1, 0])
    places = lib.zeros(2, 2, dtype=lib.int64)
    return [
        raised(x.index_copy_, 0, index, x), raised(x.index_add_, 0, index, x),
        raised(x.scatter_, 0, places, x), raised(x.scatter_add_, 0, places, x),
        raised(x.index_copy_, 0, index, lib.ones(2, 2)), x.tolist(),
    ]  # fmt: skip


@twice
def test_sources_of_another_number_of_dimensions(lib: Any) -> Any:
    x, index = lib.ones(3, 3), lib.zeros(3, 3, dtype=lib.int64)
    sources = [lib.ones(9), lib.ones(()), lib.ones(3, 3, 3)]
    return [
        [raised(x.scatter, 1, index, each), raised(x.scatter_add, 1, index, each),
         raised(x.scatter_reduce, 1, index, each, "sum")]
        for each in sources
    ] + [raised(lib.slice_scatter, lib.ones(()), lib.ones(()), 0, 0, 1)]  # fmt: skip


@twice
def test_what_a_tensor_contains(lib: Any) -> Any:
    x = lib.ones(3)
    return (
        raised(x.__contains__, lib.ones(2)),
        raised(x.__contains__, "a"),
        [each in x for each in (1, 2, True, 1j, lib.ones(1), lib.ones(2, 3), float("nan"))],
    )
