"""`gradcheck` and `gradgradcheck`: right functions pass, wrong ones are caught and explained."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import clew
from clew.autograd import gradcheck, gradgradcheck
from clew.autograd.gradcheck import GradcheckError
from tests.twice import raised, twice, vector


def wrong(torch: Any, factor: float = 2.5) -> Any:
    """Squares its input, and says that the slope is `factor * x`."""

    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return g * factor * x

        @staticmethod
        def jvp(ctx: Any, t: Any) -> Any:
            raise NotImplementedError("no forward mode")

    return Wrong.apply


@pytest.mark.parametrize("options", [
    {}, {"fast_mode": True}, {"check_forward_ad": True}, {"check_batched_grad": True},
    {"check_grad_dtypes": True}, {"check_undefined_grad": False}, {"check_backward_ad": False,
    "check_forward_ad": True, "check_undefined_grad": False}, {"eps": 1e-5, "atol": 1e-4},
])  # fmt: skip
def test_right_functions_pass(options: dict[str, Any]) -> None:
    def scenario(torch: Any) -> Any:
        check = torch.autograd.gradcheck
        x, w = vector(torch, 0.5, -1.5, 2.0), vector(torch, 1.0, 2.0, 3.0)
        return [
            check(lambda x: x.sin() * x, (x,), **options),
            check(lambda x, w: (x * w, w.exp()), (x, w), **options),
            check(lambda x: x.sum(), x, **options),
            check(lambda x, w, c: x * w * c, (x, w.detach(), 3.0), **options),
            check(torch.exp, [x], **options),
        ]

    twice(scenario)()


@twice
def test_wrong_functions_are_caught(torch: Any) -> Any:
    check, bad = torch.autograd.gradcheck, wrong(torch)
    x = vector(torch, 0.5, -1.5)
    return [
        raised(check, bad, (x,), words=8),
        check(bad, (x,), raise_exception=False),
        check(bad, (x,), raise_exception=False, fast_mode=True),
        check(bad, (x,), raise_exception=False, atol=100.0),
        check(wrong(torch, 2.0), (x,)),
    ]


@twice
def test_complex_functions(torch: Any) -> Any:
    z = torch.tensor([1 + 2j, -0.5 + 1j], dtype=torch.complex128, requires_grad=True)
    check = torch.autograd.gradcheck
    return [
        check(lambda z: z * z, (z,)),
        check(lambda z: z.abs(), (z,)),
        check(lambda z: z.conj() * z.exp(), (z,)),
        check(lambda z: z * z, (z,), fast_mode=True),
        check(lambda x: x * torch.tensor(1j, dtype=torch.complex128), (vector(torch, 1.0, 2.0),)),
    ]


@twice
def test_argument_errors(torch: Any) -> Any:
    check = torch.autograd.gradcheck
    x = vector(torch, 1.0, 2.0)
    plain = torch.ones(2, dtype=torch.float64)
    return [
        raised(check, torch.exp, (plain,), words=10),
        raised(check, torch.exp, (x,), check_backward_ad=False, words=8),
        raised(
            check, torch.exp, (x,), check_forward_ad=True, check_backward_ad=False,
            check_batched_grad=True, check_undefined_grad=False, words=4,
        ),
        raised(check, torch.exp, (x,), check_batched_forward_grad=True, words=4),
        raised(check, torch.exp, (x.detach().expand(3, 2).requires_grad_(),), words=8),
    ]  # fmt: skip


@twice
def test_undefined_gradients(torch: Any) -> Any:
    class Careless(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.set_materialize_grads(False)
            return x * 2, x * 3

        @staticmethod
        def backward(ctx: Any, a: Any, b: Any) -> Any:
            return a * 2 + b * 3

    x = vector(torch, 1.0)
    return raised(torch.autograd.gradcheck, Careless.apply, (x,), words=0) != "nothing raised"


@twice
def test_output_that_loses_its_history(torch: Any) -> Any:
    x = vector(torch, 1.0, 2.0)
    return [
        raised(torch.autograd.gradcheck, lambda x: (x * 2).detach(), (x,), words=0),
        torch.autograd.gradcheck(lambda x: (x * 2, torch.ones(2).double()), (x,)),
    ]


@twice
def test_nondeterminism(torch: Any) -> Any:
    class Noisy(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * (2 + torch.rand(1, dtype=torch.float64) * 1e-7)

    x = vector(torch, 1.0, 2.0)
    check = torch.autograd.gradcheck
    return [
        raised(check, Noisy.apply, (x,), words=4),
        check(Noisy.apply, (x,), nondet_tol=1e-6),
    ]


@twice
def test_backward_that_ignores_its_gradient(torch: Any) -> Any:
    class Ignores(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.sum()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return torch.ones(2, dtype=torch.float64)

    return raised(torch.autograd.gradcheck, Ignores.apply, (vector(torch, 1.0, 2.0),), words=4)


# ---------------------------------------------------------------- second derivatives


@twice
def test_gradgradcheck(torch: Any) -> Any:
    check = torch.autograd.gradgradcheck
    x, w = vector(torch, 0.5, -1.5), vector(torch, 1.0, 2.0)
    return [
        check(lambda x: x.sin() * x, (x,)),
        check(lambda x, w: (x * w, w.exp()), (x, w)),
        check(lambda x: x**3, (x,), torch.ones(2, dtype=torch.float64, requires_grad=True)),
        check(lambda x: x**3, (x,), gen_non_contig_grad_outputs=True),
        check(lambda x: x**3, (x,), fast_mode=True),
        check(lambda x: x**3, (x,), check_fwd_over_rev=True),
    ]


@twice
def test_gradgradcheck_catches(torch: Any) -> Any:
    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return g * 3 * (x.detach() ** 2)

    x = vector(torch, 0.5, -1.5)
    return [
        torch.autograd.gradcheck(Wrong.apply, (x,)),
        torch.autograd.gradgradcheck(Wrong.apply, (x,), raise_exception=False),
    ]


# ---------------------------------------------------------------- what clew adds


def test_float32_is_refused_where_the_step_is_lost() -> None:
    x = clew.tensor([1000.0, 2.0], requires_grad=True)
    with (
        pytest.warns(UserWarning, match="not a double precision"),
        pytest.raises(GradcheckError, match=r"x \+ eps == x"),
    ):
        gradcheck(lambda x: x * 0, (x,))


def test_float32_with_a_large_step_is_checked() -> None:
    x = clew.tensor([1.0, 2.0], requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert gradcheck(lambda x: x * x, (x,), eps=1e-2, atol=1e-2)
        assert not gradcheck(wrong(clew), (x,), eps=1e-2, atol=1e-2, raise_exception=False)


def test_mismatch_names_node_line_and_element() -> None:
    bad = wrong(clew)
    with pytest.raises(GradcheckError) as caught:
        gradcheck(bad, (vector(clew, 0.0, 4.0),))
    text = str(caught.value)
    assert "WrongBackward" in text and "test_gradcheck.py" in text
    assert "element (1,)" in text


def test_kinks_are_pointed_out() -> None:
    with pytest.raises(GradcheckError, match="kink"):
        gradcheck(clew.relu, (vector(clew, 0.0, 1.0),))


def test_inputs_are_restored() -> None:
    x = vector(clew, 0.1, 0.2)
    gradcheck(lambda x: x.exp(), (x,))
    assert x.tolist() == [0.1, 0.2] and x.grad is None


def test_gradgradcheck_of_a_linear_function() -> None:
    assert gradgradcheck(lambda x: x * 2, (vector(clew, 1.0, 2.0),))
