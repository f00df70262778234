"""Calls by other names of arguments, by Python's types for dtypes, and that no form takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import clew
from tests import oracle

Call = Callable[[Any], Any]


def agree(call: Call, words: int = 0) -> None:
    """Both libraries give the same result, or raise alike with the same first words."""
    expected, refusal = oracle.outcome(call, torch)
    actual, error = oracle.outcome(call, clew)
    if refusal is not None:
        oracle.assert_same_error(error, refusal, words)
        return
    if error is not None:
        raise error
    oracle.assert_same(actual, expected)


def square(t: Any) -> Any:
    return t.tensor([[4.0, 1.0], [1.0, 3.0]], dtype=t.float64)


BY_NAME: dict[str, Call] = {
    "eigvalsh": lambda t: t.linalg.eigvalsh(input=square(t)),
    "cond": lambda t: t.linalg.cond(input=square(t)),
    "norm": lambda t: t.linalg.norm(input=square(t), ord=1),
    "matrix_norm": lambda t: t.linalg.matrix_norm(input=square(t)),
    "matrix_power": lambda t: t.linalg.matrix_power(input=square(t), n=2),
    "matrix_rank": lambda t: t.linalg.matrix_rank(input=square(t)),
    "pinv": lambda t: t.linalg.pinv(input=square(t)),
    "tensorinv": lambda t: t.linalg.tensorinv(input=square(t), ind=1),
    "tensorsolve": lambda t: t.linalg.tensorsolve(input=square(t), other=square(t)[0]),
    "lstsq": lambda t: t.linalg.lstsq(input=square(t), b=square(t)).solution,
    "solve_triangular": lambda t: t.linalg.solve_triangular(
        input=square(t), B=square(t), upper=True
    ),
    "cholesky_inverse": lambda t: t.cholesky_inverse(input=square(t)),
    "cholesky_solve": lambda t: t.cholesky_solve(input=square(t), input2=square(t)),
    "cholesky_solve method": lambda t: square(t).cholesky_solve(input2=square(t)),
    "hsplit": lambda t: t.hsplit(input=t.arange(6), sections=2),
    "vsplit": lambda t: t.vsplit(t.arange(6).reshape(3, 2), indices=[1]),
    "dsplit": lambda t: t.arange(8).reshape(2, 2, 2).dsplit(sections=2),
}


@pytest.mark.parametrize("name", BY_NAME)
def test_names_of_pytorch_for_arguments_that_its_documentation_calls_otherwise(name: str) -> None:
    agree(BY_NAME[name])


def reduced(name: str, kind: type) -> Call:
    arguments = (0,) if name.startswith("cum") else ()
    return lambda t: getattr(t, name)(t.ones(2, 2), *arguments, dtype=kind)


@pytest.mark.parametrize("kind", [float, int, bool, complex])
@pytest.mark.parametrize(
    "name", ["sum", "mean", "prod", "cumsum", "cumprod", "nansum", "nanmean", "norm"]
)
def test_python_types_are_dtypes_of_reductions(name: str, kind: type) -> None:
    agree(reduced(name, kind))


@pytest.mark.parametrize("kind", [float, int, bool, complex])
def test_python_types_are_dtypes_elsewhere(kind: type) -> None:
    for library in (torch, clew):
        assert library.can_cast(float, library.int64) is False
    agree(lambda t: t.promote_types(kind, t.float32))
    agree(lambda t: t.can_cast(kind, t.float32))
    agree(lambda t: t.ones(2, 4).view(kind))
    agree(lambda t: t.linalg.vector_norm(t.ones(2), dtype=kind))
    agree(lambda t: t.masked.sum(t.ones(2), dtype=kind))


def test_modules_are_converted_to_python_types() -> None:
    agree(lambda t: t.nn.Linear(2, 2).to(float).weight.dtype)
    agree(lambda t: t.nn.Linear(2, 2).to(dtype=int), words=3)


X = "t.ones(2, 2)"
NO_FORM = (
    f"t.addmm({X}, 2, {X}, beta=1)",
    f"t.addmm({X}, {X}, {X}, alpha='a', beta=1)",
    f"t.addmm({X}, {X}, {X}, alpha=[0.5], beta=1)",
    f"t.addmm({X}, {X}, {X}, 0.5, 0.5)",
    f"t.addmv({X}, {X}, {X}[0], alpha='1')",
    "t.add(1)",
    f"t.add(None, {X}, alpha=2)",
    f"t.mul('a', {X})",
    "t.add()",
    f"t.add({X}, 'a')",
    f"t.add({X}, {X}, bogus=1)",
    "t.bitwise_and(2, 3)",
    f"t.eq({X}, 'a')",
    f"{X}.eq('a')",
    f"{X}.add('a')",
    f"{X}.mul(None)",
    f"{X}.pow(None)",
    "t.sum()",
    f"t.sum({X}, 'a')",
    f"t.sum({X}, bogus=1)",
    f"t.topk({X}, 1, bogus=1)",
    f"t.topk({X}, t.tensor(1.))",
    "t.topk(1, bogus=1)",
    f"t.topk({X})",
    f"t.cat([{X}], 2**63)",
    f"t.cat([{X}], dim=t.tensor(1.))",
    f"t.transpose({X}, 2**63, 0)",
    f"t.cov({X}, 1, 2)",
    "t.dropout('a', 0.5, True)",
    "t.linalg.det('a')",
    f"t.linalg.cond({X}, 1, 2, 3, 4)",
    "t.fft.fft('a')",
    f"t.cholesky({X}, upper=1)",
    f"t.cholesky_solve({X}, {X}, upper='a')",
    f"t.as_strided({X}, 1, [1])",
    f"t.as_strided({X}, [1], t.tensor([1]))",
    f"{X}.as_strided(1, [1])",
    "t.nn.functional.conv1d(t.ones(1, 1, 3), t.ones(1, 1, 2), t.ones(1).half())",
    "t.nn.functional.conv1d(t.ones(1, 1, 3), t.ones(1, 1, 2), t.ones(1).long())",
    "t.nn.functional.conv1d(t.ones(1, 1, 3), t.ones(1, 1, 2), t.ones(1).byte())",
)


@pytest.mark.parametrize("call", NO_FORM)
def test_calls_that_no_form_takes_are_refused_in_the_same_words(call: str) -> None:
    agree(eval(f"lambda t: {call}"), words=4)


def test_the_argument_that_is_wrong_is_named_below() -> None:
    with pytest.raises(TypeError, match=r"(?s)expected one of.*argument 'mat1'.*test_forms_of"):
        clew.addmm(clew.ones(2, 2), None, clew.ones(2, 2), beta=1)


def test_out_names_the_function_as_it_is_called() -> None:
    agree(lambda t: t.cholesky(t.eye(2, requires_grad=True), out=t.zeros(2, 2)), words=1)
    agree(lambda t: t.linalg.qr(t.eye(2, requires_grad=True), out=(t.eye(2), t.eye(2))), words=1)


@pytest.mark.parametrize("driver", ["gels", "GELS", "GelsY"])
def test_lstsq_by_gels_has_no_cutoff_and_drivers_no_case(driver: str) -> None:
    rows = np.random.default_rng(0).standard_normal((4, 3))
    rcond = 0.9 if driver.lower() == "gels" else None
    agree(lambda t: t.linalg.lstsq(t.tensor(rows), t.tensor(rows[:, :2]), rcond, driver=driver)[0])


def test_weights_of_losses_without_dimensions() -> None:
    agree(
        lambda t: t.nn.functional.binary_cross_entropy(
            t.tensor(0.25), t.tensor(1.0), weight=t.tensor(3.0), reduction="none"
        )
    )


def test_tolerances_may_be_tensors() -> None:
    agree(lambda t: t.allclose(t.ones(2), t.ones(2), rtol=t.tensor(0.5)))
    agree(lambda t: t.isclose(t.ones(2), t.zeros(2), atol=t.tensor(0.5)))


def test_a_mean_asked_for_in_one_dtype_does_not_go_to_an_out_of_another() -> None:
    for made, asked in (("float64", "float32"), ("float32", "float32"), ("float16", "float32")):
        agree(
            lambda t, made=made, asked=asked: t.mean(
                t.ones(2, 2), 0, dtype=getattr(t, asked), out=t.zeros(2, dtype=getattr(t, made))
            ),
            words=12,
        )


def test_no_differences_are_taken_along_any_dimension() -> None:
    agree(lambda t: t.diff(t.ones(2), n=0, dim=5))


@pytest.mark.parametrize(
    "call",
    [
        "t.linalg.norm(t.eye(2), out=t.zeros((), requires_grad=True))",
        "t.linalg.cond(t.eye(2), out=t.zeros((), requires_grad=True))",
        "t.linalg.tensorinv(t.eye(2), 1, out=t.zeros(2, 2, requires_grad=True))",
        "t.quantile(t.ones(3), 0.5, out=t.zeros((), requires_grad=True))",
        "t.nanquantile(t.ones(3), 0.5, out=t.zeros((), requires_grad=True))",
    ],
)
def test_functions_made_of_others_write_to_no_leaf(call: str) -> None:
    agree(eval(f"lambda t: {call}"), words=8)


READ = (
    "F.hardtanh(x, {n}, 2.0)",
    "F.hardtanh(x, -1.0, max_val={n})",
    "F.threshold(x, {n}, 0.0)",
    "F.leaky_relu(x, {n})",
    "F.elu(x, {n})",
    "F.celu(x, {n})",
    "F.softplus(x, {n})",
    "F.cosine_similarity(x, x, dim=1, eps={n})",
    "F.pdist(x, p={n})",
    "F.normalize(x, p={n})",
    "F.pairwise_distance(x, x + 1, p={n})",
    "F.avg_pool2d(x[None], 1, divisor_override={i})",
    "F.batch_norm(x, t.zeros(2), t.ones(2), training=True, momentum={n})",
    "F.batch_norm(x, t.zeros(2), t.ones(2), eps={n})",
    "F.layer_norm(x, (2,), eps={n})",
    "F.dropout(x, {n}, training=False)",
    "F.alpha_dropout(x, {n}, training=False)",
    "F.huber_loss(x, x + 1, delta={n})",
    "F.smooth_l1_loss(x, x + 1, beta={n})",
    "F.cross_entropy(x, t.tensor([0, 1]), label_smoothing={n})",
    "t.rot90(x, {i})",
    "t.rot90(x, {i}, dims=(1, 0))",
    "t.roll(x, {i}, 0)",
    "t.diag(x, {i})",
    "t.topk(x, {i})",
    "t.chunk(x, {i})",
    "t.repeat_interleave(x, {i})",
    "t.clamp(x, {n}, 2.0)",
    "t.lerp(x, x + 1, {n})",
    "t.norm(x, {n})",
    "t.cdist(x, x + 1, p={n})",
    "t.nan_to_num(x, {n})",
    "t.logit(x, {n})",
    "t.histc(x, {i})",
    "t.signal.windows.gaussian(3, std={n})",
    "t.signal.windows.exponential(3, tau={n})",
    "t.full((2,), {n})",
    "t.arange(0, 2, {n})",
    "t.linspace(0, 1, {i})",
)


@pytest.mark.parametrize("call", READ)
def test_numbers_are_read_from_tensors_without_dimensions(call: str) -> None:
    for number, count in (("t.tensor(0.5)", "t.tensor(1)"), ("np.float32(0.5)", "np.int64(1)")):
        written = call.format(n=number, i=count)
        names = {"np": np}
        agree(
            eval(
                "lambda t: (lambda F, x: " + written + ")"
                "(t.nn.functional, t.tensor([[0.25, 0.5], [0.75, 1.0]]))",
                names,
            )
        )


MISTAKES = (
    "t.index_add(t.zeros(1, 5, 5), 2, t.arange(5), t.zeros(5, 5))",
    "t.index_reduce(t.zeros(1, 5, 5), -1, t.arange(5), t.zeros(5, 5), 'prod')",
    "t.index_reduce(t.zeros(5), 0, t.arange(5), t.zeros(5), None)",
    "t.scatter_reduce(t.zeros(5), 0, t.arange(5), t.zeros(5), 1)",
    "t.zeros(5).scatter_reduce(0, t.arange(5), t.zeros(5), 1)",
    "t.nn.functional.pad(t.zeros(1, 3), (1, 1), None)",
    "t.nn.functional.interpolate(t.zeros(1, 3, 3), 2, mode='bogus', align_corners=True)",
    "t.nn.functional.interpolate(t.zeros(1, 3, 3), 2, mode='area', align_corners=True)",
    "t.nn.functional.dropout(t.zeros(3), float('nan'))",
    "t.movedim(t.zeros(1, 3), 1, (0, 1))",
    "t.ones(3).cumsum_(0, dtype=t.float64)",
    "t.ones(3).cumprod_(0, dtype=t.float16)",
    "t.ones(3).cumsum_(0, dtype=t.float32)",
    "t.cumsum(t.ones(3), 0, dtype='float32')",
    "t.sum(t.ones(3), 0, dtype=1)",
    "t.clamp_min(t.zeros(3), None)",
    "t.clamp_max(t.zeros(3), None)",
    "t.logspace(0, 1, 3, None)",
    "t.zeros(3, requires_grad=True).scatter(0, t.tensor([0]), t.ones(1), reduce='add').sum()"
    ".backward()",
)


@pytest.mark.parametrize("call", MISTAKES)
def test_mistakes_have_the_type_and_the_words_of_pytorch(call: str) -> None:
    agree(eval(f"lambda t: {call}"), words=4)


def test_the_limits_of_hardtanh_are_rounded_before_they_are_looked_at() -> None:
    agree(lambda t: t.nn.functional.hardtanh(t.arange(3, dtype=t.uint8), -0.5, 1.5))


OF_METHODS = (
    "x.all(dim=1.5, keepdim=True)",
    "x.any(dim=1.5)",
    "x.sum(dim='a')",
    "x.sum('a', True)",
    "x.mean('a')",
    "x.amax(dim=0, keepdim=1)",
    "x.amax(dim='a')",
    "x.argmax(dim=t.tensor(1.))",
    "x.argmax(dim=t.tensor([1]))",
    "x.cumsum(t.tensor(1.))",
    "x.max('a')",
    "x.max('a', True)",
    "x.max(t.tensor(0))",
    "x.max(0, keepdim=1)",
    "x.std('a')",
    "x.softmax(t.tensor(1.))",
    "x.transpose(t.tensor(1.), 0)",
    "x.all(t.tensor([1]))",
    "x.tril(True)",
    "t.all(x, t.tensor([1]))",
    "t.softmax(x, t.tensor([1]))",
    "t.max(x, 'a')",
)


@pytest.mark.parametrize("call", OF_METHODS)
def test_methods_name_themselves(call: str) -> None:
    agree(eval(f"lambda t: (lambda x: {call})(t.ones(2, 2))"), words=2)
