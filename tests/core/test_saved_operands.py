"""What backward finds overwritten: the same operands and results as in PyTorch."""

from __future__ import annotations

import pytest

from tests.statements import assert_agree

# Formulas of an operation that save a result, or an operand of several of them, always save it.
WHICHEVER_REQUIRES_GRAD = [
    ("T.pow(a, b)", "y"),
    ("T.pow(b, a)", "y"),
    ("T.copysign(a, b)", "y"),
    ("T.copysign(b, a)", "y"),
    ("T.ldexp(a, b)", "y"),
    ("T.addcdiv(a, b, c)", "c"),
    ("T.addcdiv(a, b, c)", "b"),
    ("T.lerp(b, c, a)", "b"),
    ("T.lerp(b, c, a)", "a"),
    ("T.addcmul(a, b, c)", "c"),
    ("T.div(a, b)", "b"),
    ("T.div(b, a)", "b"),
    ("T.hypot(a, b)", "y"),
    ("T.atan2(b, a)", "b"),
    ("F.binary_cross_entropy_with_logits(b, a)", "a"),
    ("F.prelu(b, a)", "a"),
    # Only their shapes are needed.
    ("a.cummax(0).values", "a"),
    ("b.index_add(0, T.tensor([0, 1]), a)", "a"),
    ("b.index_copy(0, T.tensor([0, 1]), a)", "a"),
    ("F.pad(a[None, None], (1, 1), 'circular')", "a"),
    ("F.pad(a[None, None], (1, 1), 'replicate')", "a"),
]
LOSSES = ["mse_loss", "smooth_l1_loss", "l1_loss", "soft_margin_loss"]
DTYPES = ["float64", "bfloat16", "int64", "bool"]


@pytest.mark.parametrize(("call", "overwritten"), WHICHEVER_REQUIRES_GRAD)
def test_overwritten_operands(call: str, overwritten: str) -> None:
    assert_agree(f"""
        a, b, c = T.ones(2, requires_grad=True), T.full((2,), 2.0), T.full((2,), 3.0)
        y = {call}
        with T.no_grad(): {overwritten}.zero_()
        y.sum().backward()
        a.grad
    """)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("overwritten", ["a", "b"])
def test_losses_save_what_they_were_given(loss: str, dtype: str, overwritten: str) -> None:
    assert_agree(f"""
        x, b = T.ones(2, 2, requires_grad=True), T.ones(2, 2, dtype=T.{dtype})
        a = x * 2
        y = F.{loss}(a, b)
        y.dtype, y.grad_fn.name()
        y.backward(retain_graph=True)
        x.grad
        with T.no_grad(): {overwritten}.zero_()
        y.backward()
    """)


@pytest.mark.parametrize("dtype", ["float64", "bfloat16"])
def test_logits_of_another_dtype_than_the_target(dtype: str) -> None:
    assert_agree(f"""
        x, t = T.ones(2, requires_grad=True), T.ones(2, dtype=T.{dtype})
        y = F.binary_cross_entropy_with_logits(x, t)
        y.dtype, y.grad_fn.name()
        y.backward()
        x.grad
        F.binary_cross_entropy_with_logits(x, T.ones(2, dtype=T.complex64))
    """)


@pytest.mark.parametrize("call", ["xlogy_", "copysign_", "mul_", "div_", "atan2_", "pow_"])
def test_in_place_forms_save_what_was_there_before(call: str) -> None:
    """Also where only the other operand requires grad, and of the result what was written."""
    assert_agree(f"""
        b = T.tensor([0.5, 2.0], requires_grad=True)
        x = T.tensor([3.0, -1.0])
        x.{call}(b).sum().backward()
        b.grad
        y = b * 2
        y.{call}(T.tensor([1.5, 2.5]))
        y.mul_(2)
        y.sum().backward()
    """)


def test_operands_of_inference_mode_are_refused_before_the_write() -> None:
    assert_agree("""
        x = T.ones(2, requires_grad=True) * 2
        with T.inference_mode(): b = T.full((2,), 3.0)
        x.mul_(b)
        x /= b
        x.pow_(b)
        x, x._version
        x.copy_(b)
        x, x._version
    """)


def test_without_a_gradient_what_was_saved_must_still_be_there() -> None:
    """The norm of order 0 gives none, and backward goes on."""
    assert_agree("""
        x = T.ones(2, requires_grad=True)
        y = T.copysign(x, x)
        y[y > 0] = 3
        T.norm(y, 0, dim=-1).backward()
        y = F.normalize(x, dim=-1)
        z = y.norm(0, dim=-1)
        y.sum().backward()
        z.backward()
        with T.no_grad(): v = x.view(-1)
        T.autograd.grad(v, v)
        v.backward()
    """)


SHAPES = [
    ("(4, 4, 4)", "(2, 1, 4, 2)"), ("(2, 4, 4)", "(2, 4, 2)"), ("(3, 1, 4, 4)", "(2, 4, 2)"),
    ("(1, 4, 4)", "(2, 4, 2)"), ("(2, 3, 4, 4)", "(3, 4, 2)"), ("(2, 3, 4, 4)", "(1, 1, 4, 2)"),
    ("(2, 3, 4, 4)", "(2, 3, 4, 2)"), ("(2, 3, 4, 4)", "(4, 2)"),
]  # fmt: skip


@pytest.mark.parametrize("written", ["a", "b"])
@pytest.mark.parametrize(("left", "right"), SHAPES)
def test_factors_that_a_product_repeats(left: str, right: str, written: str) -> None:
    """PyTorch multiplies a copy of those that it cannot view as a batch."""
    assert_agree(f"""
        x, y = T.ones{left}.requires_grad_(), T.full({right}, 2.0, requires_grad=True)
        a, b = x * 1, y * 1
        z = a @ b
        {written}.neg_().shape
        z.sum().backward()
        x.grad, y.grad
    """)
