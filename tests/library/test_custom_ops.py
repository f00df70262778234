"""Operations that programs define: custom_op, Library, their gradients, vmap and errors."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Sequence
from typing import Any

import pytest
import torch

import clew
from tests.twice import leaf, raised, twice


def cube(lib: Any, name: str) -> Any:
    """x ** 3 by NumPy, with its gradient."""

    def function(x, k=1.0):  # type: ignore[no-untyped-def]  # annotated below, by the library
        return lib.from_numpy(x.numpy() ** 3 * k)

    function.__annotations__ = {"x": lib.Tensor, "k": float, "return": lib.Tensor}
    op = lib.library.custom_op(name, function, mutates_args=())

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(inputs[0])
        ctx.k = inputs[1]

    def backward(ctx: Any, grad: Any) -> Any:
        return grad * 3 * ctx.saved_tensors[0] ** 2 * ctx.k, None

    op.register_autograd(backward, setup_context=setup_context)
    op.register_fake(lambda x, k=1.0: lib.empty_like(x))
    return op


@twice
def test_a_custom_operation_has_values_gradients_and_a_name(lib: Any) -> Any:
    op = cube(lib, "test_library_values::cube")
    x = leaf(lib, [1.0, -2.0, 3.0])
    y = op(x, k=2.0)
    y.sum().backward()
    found = lib.ops.test_library_values.cube
    return [
        y, x.grad, y.grad_fn.name(), str(op._opoverload._schema), repr(op), str(found),
        repr(found.default), found.default.name(), found(x.detach()), found.overloads(),
        lib.ops.test_library_values.cube.default is op._opoverload, hash(found.default) != 0,
    ]  # fmt: skip


@twice
def test_without_a_gradient_backward_says_so(lib: Any) -> Any:
    def double(x):  # type: ignore[no-untyped-def]  # annotated below, by the library
        return x * 2

    double.__annotations__ = {"x": lib.Tensor, "return": lib.Tensor}
    op = lib.library.custom_op("test_library_nograd::double", double, mutates_args=())
    y = op(leaf(lib, [1.0]))
    return [y, raised(lambda: y.sum().backward(), words=14)]


@twice
def test_wrong_arguments(lib: Any) -> Any:
    op = cube(lib, "test_library_wrong::cube")
    x = lib.ones(2)
    return [
        raised(lambda: op(1), words=13),
        raised(lambda: op(x, "a"), words=13),
        raised(lambda: op(), words=7),
        raised(lambda: lib.ops.test_library_wrong.nothing, words=4),
        raised(lambda: lib.ops.test_library_wrong.cube.nothing, words=9),
    ]


@twice
def test_results_share_no_memory_with_arguments(lib: Any) -> Any:
    def same(x):  # type: ignore[no-untyped-def]  # annotated below, by the library
        return x

    same.__annotations__ = {"x": lib.Tensor, "return": lib.Tensor}
    op = lib.library.custom_op("test_library_alias::same", same, mutates_args=())
    return raised(lambda: op(lib.ones(2)), words=2)


@twice
def test_an_argument_that_is_written_to(lib: Any) -> Any:
    def add_one(x, y):  # type: ignore[no-untyped-def]  # annotated below, by the library
        x.numpy()[:] += y.numpy()

    add_one.__annotations__ = {"x": lib.Tensor, "y": lib.Tensor, "return": None}
    op = lib.library.custom_op("test_library_write::add", add_one, mutates_args={"x"})
    x = lib.zeros(2)
    before = x._version
    result = op(x, lib.ones(2))
    return [result, x, x._version > before, str(op._opoverload._schema)]


@twice
def test_lists_of_tensors_and_several_results(lib: Any) -> Any:
    def sums(xs, n):  # type: ignore[no-untyped-def]  # annotated below, by the library
        return sum(x * n for x in xs), [x + 1 for x in xs]

    hints = {"xs": Sequence[lib.Tensor], "n": int | None}
    sums.__annotations__ = hints | {"return": tuple[lib.Tensor, list[lib.Tensor]]}
    op = lib.library.custom_op("test_library_lists::sums", sums, mutates_args=())

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.count, ctx.n = len(inputs[0]), inputs[1]

    def backward(ctx: Any, grad: Any, grads: Any) -> Any:
        return [grad * ctx.n + grads[i] for i in range(ctx.count)], None

    op.register_autograd(backward, setup_context=setup_context)
    one, other = leaf(lib, [1.0, 2.0]), leaf(lib, [3.0, 4.0])
    total, each = op([one, other], 3)
    (total.sum() + 10 * each[1].sum()).backward()
    return [total, each, one.grad, other.grad, str(op._opoverload._schema)]


@twice
def test_vmap_by_a_rule_and_by_a_loop(lib: Any) -> Any:
    op = cube(lib, "test_library_vmap::cube")
    x = lib.arange(6.0).reshape(2, 3)
    looped = lib.vmap(lambda row: op(row, 2.0))(x)
    calls = []

    def rule(info: Any, in_dims: Any, x: Any, k: Any) -> Any:
        calls.append((info.batch_size, in_dims))
        return op(x, k), in_dims[0]

    op.register_vmap(rule)
    return [looped, lib.vmap(lambda row: op(row, 2.0), in_dims=1)(x), calls]


@twice
def test_a_library_of_definitions(lib: Any) -> Any:
    # PyTorch warns that a second overload comes after the first was called.
    warnings.simplefilter("ignore")
    library = lib.library.Library("test_library_def", "FRAGMENT")
    name = library.define("scale(Tensor x, float k=2.0, *, int n=1) -> Tensor")
    missing = raised(lambda: lib.ops.test_library_def.scale(lib.ones(2)), words=3)
    library.impl(name, lambda x, k=2.0, *, n=1: x * k * n, "CPU")
    x = leaf(lib, [1.0, 2.0])
    y = lib.ops.test_library_def.scale(x, n=3)
    y.sum().backward()
    library.define("scale.other(Tensor x, Tensor y) -> (Tensor, Tensor)")
    library.impl("scale.other", lambda x, y: (x + y, x - y), "CPU")
    both = lib.ops.test_library_def.scale(lib.ones(1), lib.ones(1))
    return [
        name, missing, y, x.grad, both, lib.ops.test_library_def.scale.overloads(),
        str(lib.ops.test_library_def.scale.other), lib.ops.test_library_def.scale.other.name(),
        raised(lambda: library.define("scale(Tensor x) -> Tensor"), words=5),
        raised(lambda: lib.library.Library("test_library_def", "X")),
    ]  # fmt: skip


@twice
def test_define_impl_and_rules_by_name(lib: Any) -> Any:
    lib.library.define("test_library_names::twice", "(Tensor x) -> Tensor")

    @lib.library.impl("test_library_names::twice", "cpu")
    def twice_of(x: Any) -> Any:
        return x.detach() * 2

    lib.library.register_autograd("test_library_names::twice", lambda ctx, grad: grad * 2)
    x = leaf(lib, [1.0])
    lib.ops.test_library_names.twice(x).backward()
    return [x.grad, raised(lambda: lib.library.define("nonsense", "(Tensor x) -> Tensor"), words=0)]


@twice
def test_a_kernel_for_autograd_comes_first(lib: Any) -> Any:
    library = lib.library.Library("test_library_autograd", "FRAGMENT")
    library.define("f(Tensor x) -> Tensor")
    library.impl("f", lambda x: x * 3, "CPU")

    class Triple(lib.autograd.Function):  # type: ignore[misc, name-defined]  # of either library
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            with lib._C._AutoDispatchBelowAutograd():
                return lib.ops.test_library_autograd.f(x)

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 30

    library.impl("f", Triple.apply, "Autograd")
    x = leaf(lib, [1.0, 2.0])
    y = lib.ops.test_library_autograd.f(x)
    y.sum().backward()
    return [y, x.grad]


@twice
def test_infer_schema(lib: Any) -> Any:
    def function(x, a=1, b=2.5, c=None, d="s", *, e=True):  # type: ignore[no-untyped-def]  # below
        return x

    function.__annotations__ = {
        "x": lib.Tensor, "a": int, "b": float, "c": lib.Tensor | None, "d": str, "e": bool,
        "return": lib.Tensor,
    }  # fmt: skip

    def bare(x):  # type: ignore[no-untyped-def]  # its schema cannot be inferred
        return x

    infer = lib.library.infer_schema
    return [
        infer(function, mutates_args=()), infer(function, mutates_args={"x"}),
        raised(lambda: infer(bare, mutates_args=()), words=8),
    ]  # fmt: skip


def test_opcheck_finds_what_does_not_fit() -> None:
    op = cube(clew, "test_library_check::cube")
    x = leaf(clew, [1.0, 2.0])
    assert set(clew.library.opcheck(op, (x,)).values()) == {"SUCCESS"}
    op.register_fake(lambda x, k=1.0: clew.empty(1))
    with pytest.raises(clew.library.OpCheckError, match="test_faketensor failed"):
        clew.library.opcheck(op, (x,))
    op.register_autograd(lambda ctx, grad: (grad, None))
    found = clew.library.opcheck(op, (x,), raise_exception=False)
    assert isinstance(found["test_aot_dispatch_dynamic"], RuntimeError)


def test_aten_names_are_called_compared_and_pickled() -> None:
    for name, args in {
        "add": (torch.ones(2), torch.ones(2)),
        "mm": (torch.ones(2, 3), torch.ones(3, 2)),
        "t": (torch.arange(6.0).reshape(2, 3),),
        "slice": (torch.arange(6.0), 0, 1, 5, 2),
        "_softmax": (torch.arange(3.0), 0, False),
        "sum": (torch.arange(6.0).reshape(2, 3), [1], True),
        "convolution": (
            torch.arange(25.0).reshape(1, 1, 5, 5), torch.ones(1, 1, 3, 3), None, [1, 1], [0, 0],
            [1, 1], False, [0, 0], 1,
        ),
        "tanh_backward": (torch.ones(2), torch.full((2,), 0.5)),
        "nll_loss": (torch.tensor([[0.0, 1.0]]), torch.tensor([1]), None, 1, -100),
        "embedding": (torch.arange(6.0).reshape(3, 2), torch.tensor([2, 0])),
        "silu": (torch.arange(3.0),),
    }.items():  # fmt: skip
        expected = getattr(torch.ops.aten, name)(*args)
        given = [
            clew.tensor(a.numpy()) if isinstance(a, torch.Tensor) else a for a in args
        ]  # the same
        assert clew.allclose(getattr(clew.ops.aten, name)(*given), clew.tensor(expected.numpy())), (
            name
        )
    op = clew.ops.aten.mm.default
    assert pickle.loads(pickle.dumps(op)) is op
    assert {op: 1}[clew.ops.aten.mm.default] == 1
    with pytest.raises(NotImplementedError, match="Could not run 'aten::no_such_thing'"):
        clew.ops.aten.no_such_thing(clew.ones(1))
