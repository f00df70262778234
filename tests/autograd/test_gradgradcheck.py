"""`gradgradcheck`, and the names of Jacobians that PyTorch keeps for old programs."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

from tests.autograd.test_gradcheck_options import FAST, function, leaf, said
from tests.twice import raised, twice

# ---------------------------------------------------------------- gradgradcheck


@FAST
def test_gradgradcheck(fast: bool) -> None:
    def scenario(torch: Any) -> Any:
        check = torch.autograd.gradgradcheck
        x, z = leaf(torch, 1.0, 2.0), leaf(torch, 1 + 2j, 3 - 1j, dtype="complex128")
        ones = torch.ones(2, dtype=torch.float64)
        options = {"fast_mode": fast}
        forward = {"check_rev_over_rev": False, "check_fwd_over_rev": True, **options}
        torch.manual_seed(1)
        return [
            said(check, lambda x: x**3, (x,), check_rev_over_rev=False, **options),
            said(check, lambda x: x**3, (x,), **forward),
            said(
                check, lambda x: x**3, (x,), check_undefined_grad=False, check_batched_grad=True,
                **forward,
            ),
            check(lambda x: x**3, (x,), check_undefined_grad=False, **forward),
            check(lambda x: x**3, (z,), check_fwd_over_rev=True, **options),
            check(lambda x: (x**3, x.argmax()), (x,), check_batched_grad=True, **options),
            check(lambda x: x**3, (x,), (ones,), **options),
            said(check, lambda x: (x**2, 3.0), (x,), **options),
            said(check, lambda x: x.detach() ** 2 * x, (x,), lines=5, **options),
            check(lambda x: x**3, (x,), gen_non_contig_grad_outputs=True, **options),
            check(lambda x: x**3, (z,), gen_non_contig_grad_outputs=True, **options),
            torch.rand(1),
        ]  # fmt: skip

    twice(scenario)()


# ---------------------------------------------------------------- deprecated names


@twice
def test_jacobians(torch: Any) -> Any:
    module = import_module(f"{torch.__name__}.autograd.gradcheck")
    numerical, analytical = module.get_numerical_jacobian, module.get_analytical_jacobian
    specific = module.get_numerical_jacobian_wrt_specific_input
    x, w = leaf(torch, 1.0, 2.0), leaf(torch, 3.0, 4.0)
    z = leaf(torch, 1 + 2j, dtype="complex128")
    other = torch.ones(2, requires_grad=True)

    def both(inputs: Any) -> Any:
        return inputs[0] * inputs[1], inputs[0] * 3

    noisy = function(torch, lambda ctx, g: g * torch.rand_like(g))
    return [
        sorted(module.__all__),
        numerical(both, (x, w)),
        numerical(both, (x, w), target=w, eps=1e-6),
        numerical(both, (x, w.detach())),
        numerical(lambda inputs: inputs[0].abs(), (z,)),
        specific(lambda x, w: (x * w, w * 2), 1, (x, w), (x * w, w * 2), 1e-6),
        raised(specific, lambda z: z * 2, 0, (z,), (z * 2,), 1e-6, words=9),
        analytical((x, w), x * w),
        analytical((x, 3, other), x * 2),
        analytical((x,), noisy(x))[1],
        analytical((x,), noisy(x), nondet_tol=2.0)[1],
        raised(numerical, both, (x, w), grad_out=2.0, words=14),
        raised(analytical, (x,), x * 2, grad_out=2.0, words=14),
        raised(numerical, lambda inputs: inputs[0] * 2, (z,), words=12),
        raised(analytical, (z,), z * 2, words=12),
    ]


@twice
def test_gradients_of_another_dtype(torch: Any) -> Any:
    x = leaf(torch, 1.0, 2.0)
    x.grad_dtype = torch.float32
    check = torch.autograd.gradcheck
    return [
        said(check, lambda x: x * 2, (x,)),
        check(lambda x: x * 2, (x,), check_grad_dtypes=True, raise_exception=False),
    ]


def test_float32_is_stepped_as_pytorch_does() -> None:
    def scenario(torch: Any) -> Any:
        x = leaf(torch, 1.0, 2.0, dtype="float32")
        return said(torch.autograd.gradcheck, lambda x: x * 3, (x,), lines=5)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        twice(scenario)()
