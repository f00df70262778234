"""Errors that say what happened: both lines of a conflict, the cause, and what to write instead."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import clew

F = clew.nn.functional


def message(function: Callable[[], Any], kind: type[Exception] = RuntimeError) -> str:
    with pytest.raises(kind) as caught:
        function()
    return str(caught.value)


def line_of(mark: str) -> str:
    """`test_error_messages.py:N` for the only line of this file that ends with `# mark`."""
    lines = inspect.getsource(inspect.getmodule(line_of)).splitlines()
    numbers = [n for n, line in enumerate(lines, 1) if line.endswith(f"# {mark}")]
    assert len(numbers) == 1, f"{mark}: {numbers}"
    return f"test_error_messages.py:{numbers[0]}"


def leaf(*values: float) -> Any:
    return clew.tensor(values, dtype=clew.float64, requires_grad=True)


# ---------------------------------------------------------------- overwritten before backward


def test_overwritten_by_augmented_assignment() -> None:
    h = leaf(1.0, 2.0) * 1
    y = h.sin()  # saved by sin
    h += 1  # overwritten by +=
    text = message(y.sum().backward)
    assert text.startswith("one of the variables needed for gradient computation has been modified")
    assert line_of("saved by sin") in text and line_of("overwritten by +=") in text
    assert "SinBackward0" in text and "`add_`" in text and "x = x + y" in text


def test_overwritten_by_slice_assignment() -> None:
    h = leaf(1.0, 2.0) * 1
    y = h * h  # saved by mul
    h[0] = 0.0  # overwritten by slice
    text = message(y.sum().backward)
    assert line_of("saved by mul") in text and line_of("overwritten by slice") in text


def test_overwritten_by_relu() -> None:
    h = leaf(1.0, 2.0) * 1
    y = h.exp()  # saved by exp
    y.relu_()  # overwritten by relu_
    y = y * 1
    text = message(y.sum().backward)
    assert line_of("saved by exp") in text and line_of("overwritten by relu_") in text
    assert "`relu_`" in text and "x = x.relu(...)" in text


def test_overwritten_by_an_update_between_forward_and_backward() -> None:
    w, x = leaf(1.0, 2.0), leaf(3.0, 4.0)
    loss = (w * x).sum()  # saved by the forward
    with clew.no_grad():
        w -= 0.1  # overwritten by the update
    text = message(loss.backward)
    assert line_of("saved by the forward") in text and line_of("overwritten by the update") in text


def test_overwritten_through_a_view() -> None:
    h = leaf(1.0, 2.0, 3.0) * 1
    y = h.cos()  # saved by cos
    h[1:].zero_()  # overwritten through a view
    text = message(y.sum().backward)
    assert line_of("saved by cos") in text and line_of("overwritten through a view") in text


def test_needed_line_and_versions_are_given() -> None:
    h = leaf(1.0) * 1
    y = h.sin()
    h.mul_(2)
    h.mul_(2)
    loss = y.sum()
    with pytest.raises(
        RuntimeError, match=r"is at version 2; expected version 0 instead"
    ) as caught:
        loss.backward()  # needed by backward
    assert line_of("needed by backward") in str(caught.value)


# ---------------------------------------------------------------- no history: five programs


def no_grad_program() -> Any:
    w = leaf(1.0)
    with clew.no_grad():  # entered no_grad
        return (w * 2).sum()


def frozen_program() -> Any:
    w = leaf(1.0)
    w.requires_grad_(False)  # frozen here
    return (w * 2).sum()


def detached_program() -> Any:
    w = leaf(1.0)
    return (w * 2).detach().sum()  # detached here


def number_program() -> Any:
    w = leaf(1.0)
    value = (w * 2).sum().item()  # left here
    return clew.tensor(value) * 2


def numpy_program() -> Any:
    w = leaf(1.0)
    array = (w * 2).detach().numpy()  # array left here
    return clew.from_numpy(array).sum()


def argmax_program() -> Any:
    w = leaf(1.0, 2.0)
    return w.argmax().double() * 2  # not differentiable


def unused_program() -> Any:
    return (clew.ones(2) * 2).sum()


PROGRAMS: dict[str, tuple[Callable[[], Any], str, str]] = {
    "no_grad": (no_grad_program, "computed under `no_grad`", "entered no_grad"),
    "frozen": (frozen_program, "frozen", "frozen here"),
    "detached": (detached_program, r"`detach\(\)` cut", "detached here"),
    "number": (number_program, r"made it from numbers.*\.?item\(\)", "left here"),
    "argmax": (argmax_program, "`argmax` has no derivative", "not differentiable"),
    "unused": (unused_program, "Nothing that it was computed from", ""),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_history_is_diagnosed(name: str) -> None:
    program, words, mark = PROGRAMS[name]
    text = message(program().backward)
    assert text.startswith("element 0 of tensors does not require grad and does not have a grad_fn")
    assert re.search(words, text, re.DOTALL), text
    if mark:
        assert line_of(mark) in text
    assert "Setting requires_grad on the loss itself hides this error" in text


def test_numpy_round_trip_is_diagnosed() -> None:
    text = message(numpy_program().backward)
    assert line_of("array left here") in text and "numpy()" in text


@pytest.mark.parametrize("grad_mode", [True, False])
@pytest.mark.parametrize("first", [True, False])
def test_a_cut_is_told_before_data_that_came_from_numbers(first: bool, grad_mode: bool) -> None:
    w = leaf(2.0)
    value = clew.tensor((w * 2).item())
    hidden = (w * 2).detach()  # the cut that is told
    with clew.set_grad_enabled(grad_mode):
        loss = (value * hidden if first else hidden * value).sum()
    assert line_of("the cut that is told") in message(loss.backward)


def test_a_decorated_function_is_named_by_its_decorator() -> None:
    w = leaf(2.0)

    @clew.no_grad()  # the decorator
    def evaluate() -> Any:
        return (w * 2).sum()

    @clew.inference_mode()  # the other decorator
    def evaluate_fast() -> Any:
        return (w * 2).sum()

    assert line_of("the decorator") in message(evaluate().backward)
    assert line_of("the other decorator") in message(evaluate_fast().backward)


def test_diagnoses_differ() -> None:
    texts = [message(program().backward).split("\n")[1] for program, _, _ in PROGRAMS.values()]
    first_words = {" ".join(text.split()[:5]) for text in texts}
    assert len(first_words) == len(PROGRAMS)


# ---------------------------------------------------------------- backward a second time


def test_graph_built_outside_the_loop() -> None:
    w = leaf(1.0, 2.0)
    shared = w.exp()  # built before the loop
    (shared * 2).sum().backward()  # first backward
    text = message((shared * 2).sum().backward)
    assert text.startswith("Trying to backward through the graph a second time")
    assert "ExpBackward0" in text and line_of("built before the loop") in text
    assert line_of("first backward") in text and "move it into the loop" in text


def test_state_of_a_recurrent_network() -> None:
    w, state = leaf(0.5, 0.5), clew.zeros(2, dtype=clew.float64)

    def step(state: Any) -> Any:
        return (w * state + 1).tanh()  # the recurrent step

    state = step(state)
    state.sum().backward()
    state = step(state)
    text = message(state.sum().backward)
    assert "TanhBackward0" in text and line_of("the recurrent step") in text
    assert "detach" in text


def test_two_losses_over_one_graph() -> None:
    w = leaf(0.5, 0.5)
    hidden = w.sigmoid()  # the shared part
    (hidden * 2).sum().backward()
    text = message((hidden * hidden).sum().backward)
    assert "SigmoidBackward0" in text and line_of("the shared part") in text
    assert "(loss1 + loss2).backward()" in text


def test_retain_graph_is_named_last() -> None:
    w = leaf(0.5)
    loss = w.exp()
    loss.backward()
    text = message(loss.backward)
    assert text.index("move it into the loop") < text.index("rarely what is")


# ---------------------------------------------------------------- why_no_grad


def test_why_non_leaf() -> None:
    w = leaf(1.0)
    hidden = w * 2  # made a non-leaf
    hidden.sum().backward()
    text = clew.why_no_grad(hidden)
    assert text.startswith("non-leaf: MulBackward0") and line_of("made a non-leaf") in text
    assert "retain_grad" in text


def test_why_frozen() -> None:
    assert clew.why_no_grad(clew.ones(2)).startswith("frozen: requires_grad is False")
    w = leaf(1.0).requires_grad_(False)  # frozen for good
    assert line_of("frozen for good") in clew.why_no_grad(w)


def test_why_not_yet_backward() -> None:
    w = leaf(1.0)
    loss = w.exp()  # first use
    text = clew.why_no_grad(w)
    assert text.startswith("not yet backward") and line_of("first use") in text
    loss.backward()
    assert clew.why_no_grad(w).startswith("has a gradient")


def test_why_cleared() -> None:
    w = leaf(1.0)
    w.exp().backward()  # filled it
    w.grad = None
    text = clew.why_no_grad(w)
    assert text.startswith("cleared") and line_of("filled it") in text


def test_backward_inside_backward_counts_as_one() -> None:
    w, x = leaf(1.0), leaf(2.0)
    y = clew.utils.checkpoint.checkpoint(clew.exp, x, use_reentrant=True)
    (y * w).backward()
    w.grad = x.grad = None
    assert clew.why_no_grad(w).startswith("cleared")
    assert clew.why_no_grad(x).startswith("cleared")


def test_why_unreached() -> None:
    used, forgotten = leaf(1.0), leaf(2.0)
    used.exp().backward()
    assert clew.why_no_grad(forgotten).startswith("unreached: no operation")


@pytest.mark.parametrize("keep", [True, False])
def test_why_unreached_names_the_cut(keep: bool) -> None:
    w, head = leaf(1.0), leaf(2.0)
    hidden = w.exp()
    features = hidden.detach()  # the cut
    if not keep:
        del hidden
    (features * head).sum().backward()  # the backward that missed
    text = clew.why_no_grad(w)
    assert text.startswith("unreached")
    assert "`detach()`" in text and line_of("the cut") in text and "ExpBackward0" in text
    assert line_of("the backward that missed") in text


def test_why_unreached_under_no_grad() -> None:
    w, head = leaf(1.0), leaf(2.0)
    with clew.no_grad():  # the mode that cut
        features = w.exp()
    w.sin()
    (features * head).sum().backward()
    text = clew.why_no_grad(w)
    assert text.startswith("unreached") and line_of("the mode that cut") in text


def test_why_a_cut_tensor_has_none() -> None:
    w = leaf(1.0)
    text = clew.why_no_grad((w * 2).data)  # read through data
    assert text.startswith("cut: `.data`") and line_of("read through data") in text


def test_reading_grad_of_a_non_leaf_names_its_line() -> None:
    hidden = leaf(1.0) * 2  # became a non-leaf
    with pytest.warns(UserWarning, match="not a leaf Tensor") as caught:
        assert hidden.grad is None
    assert line_of("became a non-leaf") in str(caught[0].message)


def test_leaf_in_place_refuses_the_wrong_fix() -> None:
    w = leaf(1.0)
    text = message(lambda: w.sub_(0.1))
    assert text.startswith("a leaf Variable that requires grad is being used in an in-place")
    assert "torch.no_grad()" in text and "p = p - lr * p.grad" in text
    assert "test_error_messages.py" in text


# ---------------------------------------------------------------- shapes and dtypes


SHAPE_ERRORS: dict[str, tuple[Callable[[], Any], tuple[str, ...]]] = {
    "add": (lambda: clew.ones(2, 3) + clew.ones(2, 4), ("add", "[2, 3]", "[2, 4]", "dimension 1")),
    "mul": (
        lambda: clew.ones(2, 3).mul(clew.ones(4, 1, 5)), ("mul", "[2, 3]", "[4, 1, 5]", "dimension")
    ),
    "where": (
        lambda: clew.where(clew.ones(2, dtype=clew.bool), clew.ones(3), clew.ones(3)),
        ("where", "[2]", "[3]"),
    ),
    "matmul": (lambda: clew.ones(2, 3) @ clew.ones(4, 5), ("2x3", "4x5")),
    "linear": (lambda: F.linear(clew.ones(2, 3), clew.ones(5, 4)), ("2x3", "4x5")),
    "in-place": (lambda: clew.ones(2).add_(clew.ones(3, 2)), ("[2]", "[3, 2]")),
    "view": (lambda: clew.ones(6).view(4, 2), ("[4, 2]", "6")),
    "cat": (lambda: clew.cat([clew.ones(2, 3), clew.ones(2, 4)]), ("3", "4")),
}  # fmt: skip


@pytest.mark.parametrize("name", SHAPE_ERRORS)
def test_shape_errors(name: str) -> None:
    call, parts = SHAPE_ERRORS[name]
    text = message(call)
    for part in (*parts, "test_error_messages.py"):
        assert part in text, f"{part!r} is not in {text!r}"


def test_dtype_error_names_both() -> None:
    text = message(lambda: clew.ones(2, 2) @ clew.ones(2, 2, dtype=clew.float64))
    assert "float" in text and "double" in text and "test_error_messages.py" in text


def test_in_place_dtype() -> None:
    text = message(lambda: clew.ones(2, dtype=clew.int64).add_(0.5))
    assert text.startswith("result type Float can't be cast") and "test_error_messages.py" in text


def test_non_scalar_backward_gives_the_shape() -> None:
    text = message((leaf(1.0, 2.0) * 2).backward)
    assert "[2]" in text and ".sum()" in text and "test_error_messages.py" in text


# ---------------------------------------------------------------- writes behind the engine's back


def warning(call: Callable[[], Any]) -> str:
    """The text of the one warning that a call gives: PyTorch lets these writes pass silently."""
    with pytest.warns(UserWarning) as caught:
        call()
    (only,) = caught
    return str(only.message)


def test_write_through_data_is_caught() -> None:
    h = leaf(1.0, 2.0) * 1
    y = h.sin()  # saved before data
    h.data.mul_(2)  # written through data
    text = warning(y.sum().backward)
    assert line_of("saved before data") in text and line_of("written through data") in text


def test_write_through_detach_is_caught() -> None:
    h = leaf(1.0, 2.0) * 1
    y = h.sin()
    h.detach().zero_()  # written through detach
    assert line_of("written through detach") in message(y.sum().backward)


@pytest.mark.parametrize("when", ["before saving", "after saving"])
def test_write_through_numpy_is_caught(when: str) -> None:
    h = clew.ones(3, dtype=clew.float64)
    w = leaf(1.0, 2.0, 3.0)
    if when == "before saving":
        array = h.numpy()
        y = (w * h).sum()
    else:
        y = (w * h).sum()
        array = h.numpy()
    array[0] = 100.0
    text = warning(y.backward)
    assert "behind autograd's back" in text and "numpy" in text


def test_write_to_the_source_array_is_caught() -> None:
    array = np.ones(3)
    h, w = clew.from_numpy(array), leaf(1.0, 2.0, 3.0)
    y = (w * h).sum()
    array[0] = 100.0
    assert "behind autograd's back" in warning(y.backward)


def test_unwritten_arrays_do_no_harm() -> None:
    h, w = clew.ones(3, dtype=clew.float64), leaf(1.0, 2.0, 3.0)
    array = h.numpy()
    y = (w * h).sum()
    assert array.sum() == 3.0
    y.backward()
    assert w.grad.tolist() == [1.0] * 3


# ---------------------------------------------------------------- kinks, second derivatives


@pytest.mark.parametrize(
    ("function", "slope"),
    [
        (lambda x: x.abs(), 0.0),
        (lambda x: x.relu(), 0.0),
        (lambda x: x.norm(), 0.0),
        (lambda x: x.sign(), 0.0),
        (lambda x: x.clamp(min=0.0), 1.0),
        (lambda x: clew.maximum(x, -x), 0.0),
    ],
)
def test_kinks_have_finite_documented_slopes(function: Any, slope: float) -> None:
    x = leaf(0.0)
    function(x).sum().backward()
    assert x.grad.item() == slope


def test_operations_without_derivative_say_so() -> None:
    text = message(lambda: leaf(1.0, 2.0).argmax().double().backward())
    assert "`argmax` has no derivative" in text
