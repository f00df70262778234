"""Mistakes in custom functions: each one raises or warns, and says where."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import clew
from tests.custom_functions import cube, function
from tests.twice import leaf, raised, twice

# ---------------------------------------------------------------- mistakes in backward


def returning(torch: Any, result: Any) -> Any:
    class Returns(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, w: Any) -> Any:
            return x * w

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return result(g)

    return Returns


@twice
def test_wrong_gradients(torch: Any) -> Any:
    x, w = leaf(torch, [1.0, 2.0]), leaf(torch, [3.0, 4.0])

    def run(result: Any, second: Any = w) -> Any:
        return raised(returning(torch, result).apply(x, second).sum().backward, words=10)

    return [
        run(lambda g: g),
        run(lambda g: (g, g, g)),
        run(lambda g: (g, g, None)),
        run(lambda g: (g[:1].expand(3), g)),
        run(lambda g: (g, g), second=2.0),
        run(lambda g: (g, None), second=2.0),
    ]


@twice
def test_gradient_of_a_wrong_type(torch: Any) -> Any:
    x, w = leaf(torch, [1.0, 2.0]), leaf(torch, [3.0, 4.0])
    out = returning(torch, lambda g: (g, 3.0)).apply(x, w)
    return raised(out.sum().backward, words=4)


@twice
def test_missing_methods(torch: Any) -> Any:
    class NoForward(torch.autograd.Function):
        pass

    class NoBackward(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

    x = leaf(torch, [1.0])
    return [
        raised(NoForward.apply, x, words=5),
        raised(NoBackward.apply(x).backward, words=8),
        raised(lambda: NoBackward()(x), words=5),
    ]


@twice
def test_once_differentiable(torch: Any) -> Any:
    class Once(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x**2

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return g * 2 * x

    x = leaf(torch, [1.0, 2.0])
    Once.apply(x).sum().backward()
    (g,) = torch.autograd.grad(Once.apply(x).sum(), x, create_graph=True)
    return x.grad, g.detach(), g.requires_grad, raised(g.sum().backward, words=8)


@twice
def test_vjp_is_another_name_for_backward(torch: Any) -> Any:
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def vjp(ctx: Any, g: Any) -> Any:
            return g * 2

    class Both(Twice):
        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g

    x = leaf(torch, [1.0])
    Twice.apply(x).backward()
    return x.grad, raised(Both.apply(x).backward, words=5)


# ---------------------------------------------------------------- silent mistakes, made loud


def writes_and_copies(ctx: Any, x: Any) -> Any:
    x.mul_(2)
    return x * 1


@pytest.mark.parametrize(
    ("forward", "is_leaf"),
    [
        (lambda ctx, x: x.mul_(2), True),
        (lambda ctx, x: x.mul_(2), False),
        (writes_and_copies, True),
    ],
)
def test_undeclared_write_raises(forward: Any, is_leaf: bool) -> None:
    apply = function(clew, forward, lambda ctx, g: g * 2)
    x = clew.ones(2, requires_grad=True)
    y = x if is_leaf else x * 1
    with pytest.raises(RuntimeError, match=r"modified its input 0 in place without ctx\.mark_dir"):
        apply(y)
    with pytest.raises(RuntimeError, match=r"`mul_` at .*test_custom_function_mistakes\.py:\d+"):
        apply(y)


def test_a_result_of_another_operation_that_is_used_up_warns() -> None:
    """As scratch memory: its gradient is right as long as nobody else uses it."""
    apply = function(clew, writes_and_copies, lambda ctx, g: g * 2)
    x = leaf(clew, [1.0, 2.0])
    with pytest.warns(UserWarning, match=r"`mul_` at .*without ctx\.mark_dirty"):
        apply(x * 3).sum().backward()
    assert x.grad.tolist() == [6.0, 6.0]


@twice
def test_writes_that_need_no_declaration(torch: Any) -> Any:
    def counts(ctx: Any, x: Any, running: Any) -> Any:
        running.mul_(0.9).add_(x * 0.1)
        ctx.save_for_backward(x)
        return x * x

    apply = function(torch, counts, lambda ctx, g: (g * 2 * ctx.saved_tensors[0], None))
    x, running = leaf(torch, [1.0, 2.0]), torch.zeros(2, dtype=torch.float64)
    apply(x, running).sum().backward()
    with torch.no_grad():
        doubled = function(torch, writes_and_copies, lambda ctx, g: g)(x * 1)
    return x.grad, running, doubled


def test_returned_buffer_that_was_not_declared_warns() -> None:
    apply = function(clew, lambda ctx, x, buffer: buffer.add_(x), lambda ctx, g: (g, None))
    with pytest.warns(UserWarning, match=r"input 1 in place.*without ctx\.mark_dirty"):
        apply(leaf(clew, [1.0]), clew.zeros(1, dtype=clew.float64))


@twice
def test_marks_on_the_wrong_tensor(torch: Any) -> Any:
    def run(mark: str, pick: Any) -> Any:
        def forward(ctx: Any, x: Any) -> Any:
            out = x * 2
            getattr(ctx, mark)(pick(x, out))
            return out

        return raised(function(torch, forward, lambda ctx, g: g * 2), leaf(torch, [1.0]), words=4)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # both warn of what follows, each once in a process
        on_output = run("mark_dirty", lambda x, out: out)
    return [
        on_output,
        run("mark_dirty", lambda x, out: 3),
        run("mark_dirty", lambda x, out: None),
        run("mark_dirty", lambda x, out: x),
        run("mark_non_differentiable", lambda x, out: 3),
        run("set_materialize_grads", lambda x, out: 3),
        run("save_for_backward", lambda x, out: [x]),
    ]


def test_marking_what_is_no_input_warns() -> None:
    def forward(ctx: Any, x: Any) -> Any:
        out = x * 2
        ctx.mark_dirty(out)
        return out

    with pytest.warns(UserWarning, match="received a tensor that was not an input"):
        function(clew, forward, lambda ctx, g: g * 2)(leaf(clew, [1.0]))


def test_marking_what_is_no_output_warns() -> None:
    def forward(ctx: Any, x: Any, marked: Any) -> Any:
        out = x * 2
        ctx.mark_non_differentiable(marked(x, out))
        return out, out + 1

    apply = function(clew, forward, lambda ctx, g, h: (g * 2 + h * 2, None))
    for marked in (lambda x, out: x, lambda x, out: out.clone()):
        with pytest.warns(UserWarning, match="received a tensor that forward did not return"):
            apply(leaf(clew, [1.0]), marked)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first, second = apply(leaf(clew, [1.0]), lambda x, out: out)
    assert not first.requires_grad and second.requires_grad


@twice
def test_inputs_marked_and_returned(torch: Any) -> Any:
    def forward(ctx: Any, x: Any, dirty: bool) -> Any:
        if dirty:
            x.mul_(2)
            ctx.mark_dirty(x)
        ctx.mark_non_differentiable(x)
        return x

    seen = []
    for dirty in (False, True):
        y = leaf(torch, [1.0, 2.0]) * 1
        out = function(torch, forward, lambda ctx, g: (g, None))(y, dirty)
        seen.append((out is y, out.requires_grad, out.grad_fn is None, y.requires_grad, out))
    return seen


def test_marks_of_several_calls_add_up() -> None:
    def forward(ctx: Any, x: Any, y: Any) -> Any:
        ctx.mark_dirty(x)
        ctx.mark_dirty(y)
        return x.mul_(2), y.mul_(3)

    apply = function(clew, forward, lambda ctx, g, h: (g * 2, h * 3))
    x = leaf(clew, [1.0])
    a, b = x * 1, x * 1
    apply(a, b)
    (a + b).backward()
    assert x.grad.tolist() == [5.0]


# ---------------------------------------------------------------- tensors as attributes


@pytest.mark.parametrize("pick", [lambda x, out: x, lambda x, out: [out], lambda x, out: x + out])
def test_attribute_overwritten_before_backward_raises(pick: Any) -> None:
    kept = []

    def forward(ctx: Any, x: Any) -> Any:
        out = x * 2
        ctx.kept = pick(x, out)
        kept.extend([x, out, ctx.kept])
        return out

    x = leaf(clew, [1.0, 2.0])
    out = function(clew, forward, lambda ctx, g: g)(x * 1)
    target = kept[2][0] if isinstance(kept[2], list) else kept[2]
    target.mul_(2)
    with pytest.raises(RuntimeError, match=r"modified by an inplace\n? ?operation.*ctx\.kept"):
        out.sum().backward()


def test_overwritten_buffer_as_attribute_warns() -> None:
    def forward(ctx: Any, x: Any, mask: Any) -> Any:
        ctx.mask = mask
        return x * mask

    x, mask = leaf(clew, [1.0, 2.0]), clew.ones(2, dtype=clew.float64)
    out = function(clew, forward, lambda ctx, g: (g * ctx.mask, None))(x, mask)
    mask.zero_()
    with pytest.warns(UserWarning, match=r"`ctx\.mask` of CustomBackward was overwritten.*`zero_`"):
        out.sum().backward()


@twice
def test_attributes_that_backward_writes(torch: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.total = torch.zeros(2, dtype=torch.float64)
        ctx.x = x
        return x * 2

    def backward(ctx: Any, g: Any) -> Any:
        ctx.total.add_(g)
        return ctx.total * ctx.x

    x = leaf(torch, [1.0, 2.0])
    out = function(torch, forward, backward)(x)
    out.sum().backward()
    out.sum().backward()
    return x.grad


@twice
def test_saved_tensors_after_they_were_freed(torch: Any) -> Any:
    def run(save: bool, read: bool) -> Any:
        def forward(ctx: Any, x: Any) -> Any:
            if save:
                ctx.save_for_backward(x)
            return x * 2

        def backward(ctx: Any, g: Any) -> Any:
            return g * 2 * (len(ctx.saved_tensors) if read else 1)

        x = leaf(torch, [1.0])
        out = function(torch, forward, backward)(x)
        out.sum().backward()
        again = raised(out.sum().backward, words=9)
        return again, raised(lambda: out.grad_fn.saved_tensors, words=9), x.grad

    return [run(save, read) for save in (True, False) for read in (True, False)]


@twice
def test_gradients_of_a_wrong_kind(torch: Any) -> Any:
    def run(x: Any, result: Any) -> Any:
        out = function(torch, lambda ctx, x: x * 2, lambda ctx, g: result(g))(x)
        return raised(out.abs().sum().backward, words=9), x.grad

    z = torch.tensor([1 + 1j], requires_grad=True)
    return [
        run(leaf(torch, [1.0]), lambda g: g * 1j),
        run(leaf(torch, [1.0]), lambda g: g.long()),
        run(leaf(torch, [1.0]), lambda g: g > 0),
        run(leaf(torch, [1.0, 2.0]), lambda g: g.sum()),
        run(z, lambda g: torch.ones(1, dtype=torch.int64)),
        run(z, lambda g: g.real),
    ]


def test_gradient_shared_with_another_path_must_not_be_written() -> None:
    apply = function(clew, lambda ctx, x: x * 2, lambda ctx, g: g.mul_(2))
    x, w = leaf(clew, [1.0, 2.0]), leaf(clew, [1.0, 2.0])
    other = w * 1  # older than the function's node: its gradient waits while backward writes
    out = (apply(x) + other) * 3
    with pytest.raises(RuntimeError, match=r"same memory.*\n.*\n  Write to a clone"):
        out.sum().backward()


def test_written_gradient_warns() -> None:
    class Writes(clew.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g.mul_(2)

    x, w = leaf(clew, [1.0]), leaf(clew, [1.0])
    out = Writes.apply(x) + w
    with pytest.warns(UserWarning, match=r"wrote to the gradient.*`mul_`.*test_custom_function"):
        out.backward()


def test_list_of_outputs_warns() -> None:
    class Many(clew.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return [x * 2, x * 3]

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            return grads[0] * 2 + grads[1] * 3

    with pytest.warns(UserWarning, match="returned a list of tensors"):
        Many.apply(leaf(clew, [1.0]))


def test_random_mask_does_not_warn() -> None:
    class Mask(clew.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            mask = clew.rand(2)
            ctx.save_for_backward(mask)
            ctx.scale = clew.ones(2)
            return x * mask

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * ctx.saved_tensors[0] * ctx.scale

    x = clew.ones(2, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clew.autograd.grad(Mask.apply(x).sum(), x, create_graph=True)


def test_graph_built_by_enable_grad_in_backward_is_kept() -> None:
    Cube = cube(clew)
    x = leaf(clew, [2.0])
    assert clew.autograd.gradcheck(Cube.apply, (x,))
    assert clew.autograd.gradgradcheck(Cube.apply, (x,))


def test_wrong_number_of_gradients_names_the_line() -> None:
    x, w = leaf(clew, [1.0]), leaf(clew, [2.0])
    out = returning(clew, lambda g: g).apply(x, w)
    with pytest.raises(
        RuntimeError, match=r"incorrect number.*\n.*test_custom_function_mistakes\.py:\d+"
    ):
        out.backward()
