"""`Size`, and other small things that programs ask of tensors, under both libraries."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np

from tests.twice import outcome, raised, twice


class Anything:
    def __add__(self, other: Any) -> int:
        return 42

    __radd__ = __add__


@twice
def test_sizes(lib: Any) -> Any:
    size = lib.Size
    return [
        size([1, 2]) + Anything(), Anything() + size([1]), raised(lambda: size([1]) + [2]),
        raised(lambda: [2] + size([1]), words=3), size([1]) + (2,), (2,) + size([1]), size([1]) * 2,
        2 * size([1]), raised(lambda: size([1]) * 2.0, words=0), raised(lambda: size([1]) + "a"),
        raised(lambda: size([1]) + (1.5,)), raised(size, lib.ones(3)), size(lib.ones(3).long()),
        raised(size, [1.5]), raised(size, "ab"), size([lib.tensor(3)]), size(), size({3}),
        raised(size, 3), size(range(3)), size([True])[0] is True, raised(lambda: size([1]) + None),
        isinstance(size([1, 2])[:1], size), pickle.loads(pickle.dumps(size([1, 2]))),
    ]  # fmt: skip


@twice
def test_reversed_and_deleted(lib: Any) -> Any:
    return [
        reversed(lib.arange(4)), reversed(lib.arange(6).view(2, 3)), reversed(lib.tensor(3)),
        raised(lib.ones(2).__delitem__, 0), raised(lib.arange(3).apply_, lambda k: "a", words=0),
        raised(lib.set_num_threads, 2**65), raised(lib.set_num_threads, 1.5),
        raised(lib.set_num_threads, -1, words=4), raised(lib.ones(2).as_subclass, int),
        raised(lib.ones(2).as_subclass, "a"), lib.ones(2).int().type(lib.Tensor).dtype.itemsize,
        raised(lambda: type("Own", (lib.FloatTensor,), {})), raised(lib.randn, ["a"], words=20),
        raised(lib.zeros, [2, "a"], words=20), raised(lib.zeros, "a", words=20),
        raised(lib.use_deterministic_algorithms, 1), raised(lib.dot, lib.ones(1), words=20),
        lib.add(True, True), lib.mul(2, 3), lib.sub(5, 2.5), lib.true_divide(1, 2),
    ]  # fmt: skip


@twice
def test_dimensions_that_are_no_integers(lib: Any) -> Any:
    x = lib.ones(2)
    return [
        raised(getattr(x, name), *args, words=12)
        for name, args in (
            ("unflatten", ("a", (1, 2))), ("unsqueeze", ("a",)), ("select", ("a", 0)),
            ("cumsum", ("a",)), ("transpose", ("a", 1)), ("chunk", (2, "a")), ("unbind", ("a",)),
            ("argmax", ("a",)), ("flatten", ("a",)),
        )
    ]  # fmt: skip


@twice
def test_scalars_of_tensors_with_history_warn(lib: Any) -> Any:
    x = lib.tensor(2.0, requires_grad=True)
    return [float(x), int(x), complex(x)]


@twice
def test_scalars_do_not_warn_without_grad(lib: Any) -> Any:
    x = lib.tensor(2.0, requires_grad=True)
    with lib.no_grad():
        return [float(x), x.item(), float(x.detach())]


@twice
def test_list_of_arrays_warns(lib: Any) -> Any:
    return lib.tensor([np.array([0.0]), np.array([1.0])])


@twice
def test_default_tensor_type_warns(lib: Any) -> Any:
    return lib.set_default_tensor_type(lib.FloatTensor)


@twice
def test_functions_are_pickled_by_name(lib: Any) -> Any:
    functions = (lib.tanh, lib.add, lib.sum, lib.absolute, lib.where, lib.relu)
    return [
        (pickle.loads(pickle.dumps(each)) is each, copy.deepcopy(each) is each)
        for each in functions
    ]


@twice
def test_index_errors(lib: Any) -> Any:
    seen = []
    for shape, dim in (((3,), 0), ((2, 3), 0), ((2, 3), 1), ((3, 0), 0), ((0, 3), 0), ((0,), 0)):
        for index in ([0, 5], [-1]):
            found = raised(lib.index_select, lib.ones(shape), dim, lib.tensor(index), words=10)
            seen.append(found)
    x = lib.arange(4)
    return [
        *seen, raised(x.__setitem__, x > -1, lib.tensor([1.0, 2.0, 3.0])),
        raised(x.__setitem__, x > -1, lib.tensor([1.0, 2.0, 3.0, 4.0])),
        raised(lib.unravel_index, lib.tensor(0.5), (2, 2)),
        raised(lib.unravel_index, lib.tensor([1]), (1, 2.0)),
        outcome(lambda: lib.ones(5).expand(1, 1, 5).stride()),
        outcome(lambda: lib.ones(5).expand(2, 1, 5).stride()),
        raised(lib.broadcast_shapes, (2, -1)),
        raised(lib.broadcast_shapes, 1.5), raised(lib.tensor(1).unflatten, 0, [1], words=5),
        raised(lib.ones(4).unflatten, 0, (-1, -1)),
        raised(lib.tensor_split, lib.ones(3), lib.tensor([1.0]), words=10),
    ]  # fmt: skip


@twice
def test_sizes_in_a_list_that_will_not_be_read(lib: Any) -> Any:
    class Unreadable(list[Any]):
        def __iter__(self) -> Any:
            raise RuntimeError("not to be called")

        __len__ = __iter__

    shape: list[Any] = Unreadable()
    shape.append("a")
    return raised(lib.randn, shape, words=20), raised(lib.zeros, shape, words=20)
