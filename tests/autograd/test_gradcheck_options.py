"""What `gradcheck` checks, in which words it says so, and how often it runs the function."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

import clew
from tests.twice import raised, twice

FAST = pytest.mark.parametrize("fast", [False, True])


def leaf(torch: Any, *values: complex, dtype: str = "float64") -> Any:
    return torch.tensor(values, dtype=getattr(torch, dtype), requires_grad=True)


def function(torch: Any, backward: Any = None, jvp: Any = None, forward: Any = None) -> Any:
    """A custom function that doubles its inputs, with rules of the caller's."""
    rules = {
        "forward": forward or (lambda ctx, x: x * 2),
        "backward": backward or (lambda ctx, g: g * 2),
        "jvp": jvp or (lambda ctx, t: t * 2),
    }
    namespace = {name: staticmethod(rule) for name, rule in rules.items()}
    return type("Doubled", (torch.autograd.Function,), namespace).apply


def shifted(base: Any = lambda x: x.clone(), by: complex = 0.1) -> Any:
    """A function whose gradient a hook falsifies."""

    def func(x: Any) -> Any:
        y = base(x)
        y.register_hook(lambda g: g + by)
        return y

    return func


def said(check: Any, *args: Any, lines: int = 1, **kwargs: Any) -> Any:
    """The first lines of what a call raises, with all their words."""
    try:
        return check(*args, **kwargs)
    except Exception as error:
        kinds = [kind.__name__ for kind in type(error).__mro__]
        return "GradcheckError" in kinds, str(error).split("\n")[:lines]


# ---------------------------------------------------------------- mismatches


@FAST
def test_words_of_a_mismatch(fast: bool) -> None:
    def scenario(torch: Any) -> Any:
        check = torch.autograd.gradcheck
        x, z = leaf(torch, 1.0, 2.0), leaf(torch, 1 + 2j, 3 - 1j, dtype="complex128")
        wrong_jvp = function(torch, jvp=lambda ctx, t: t * 3)
        options = {"fast_mode": fast, "lines": 1 if fast else 4}
        return [
            said(check, shifted(), (x,), **options),
            said(check, lambda n, x: shifted()(x), (3.0, x), **options),
            said(check, lambda a, x: shifted()(x), (x.detach(), x), **options),
            said(check, lambda x: (x * 2, shifted()(x)), (x,), **options),
            said(check, shifted(), (z,), **options),
            said(check, shifted(lambda x: torch.complex(x, x)), (x,), **options),
            said(check, shifted(lambda z: z.real * 1.0), (z,), **options),
            said(check, wrong_jvp, (x,), check_forward_ad=True, **options),
            said(check, wrong_jvp, (z,), check_forward_ad=True, **options),
            said(check, lambda a, b: a * b, (x, x), check_forward_ad=True, **options),
            said(check, lambda x: x * float("nan"), (x,), **options),
        ]

    twice(scenario)()


@twice
def test_fast_mode_shows_the_jacobians_of_slow_mode(torch: Any) -> Any:
    x = leaf(torch, 1.0, 2.0)

    def cancels(x: Any) -> Any:
        """The vectors of fast mode weigh the elements so that only their errors remain."""
        y = x.clone()
        skew = torch.tensor([1.0004, 0.9996], dtype=torch.float64)
        y.register_hook(lambda g: None if g is None else g * skew)
        weights = torch.tensor([1000.0, -306.3456], dtype=torch.float64)
        return (y * weights).sum()

    texts = []
    for func in (shifted(), cancels):
        with pytest.raises(RuntimeError) as caught:
            torch.autograd.gradcheck(func, (x,), fast_mode=True)
        text = str(caught.value)
        texts.append(text[text.index("Numerical:") :].split("This means")[0].split("  backward")[0])
    return [text.strip() for text in texts], torch.autograd.gradcheck(cancels, (x,))


@FAST
def test_tolerances(fast: bool) -> None:
    """The smallest `atol` that lets an error pass, to two percent."""

    def scenario(torch: Any) -> Any:
        def passes(func: Any, x: Any, atol: float, **options: Any) -> bool:
            text = raised(
                torch.autograd.gradcheck, func, (x,), atol=atol, rtol=0, fast_mode=fast, words=99,
                check_undefined_grad=False, **options,
            )  # fmt: skip
            return "ismatch" not in str(text)

        def smallest(func: Any, x: Any, **options: Any) -> float:
            return next(n for n in range(200) if passes(func, x, 0.02 * 1.02**n, **options))

        x, z = leaf(torch, 1.0, 2.0), leaf(torch, 1 + 2j, 3 - 1j, dtype="complex128")
        off = torch.tensor([0.1, 0.0], dtype=torch.float64)
        jvp = function(torch, jvp=lambda ctx, t: t * 2 + off)
        forward = {"check_forward_ad": True, "check_backward_ad": False}
        return [
            smallest(shifted(), x),
            smallest(lambda z: shifted(by=0.1 + 0.2j)(z).real * 1.0, z),
            smallest(lambda z: shifted(by=0.1j)(z).real * 1.0, z),
            smallest(jvp, x, **forward),
        ]

    twice(scenario)()


# ---------------------------------------------------------------- outputs


@FAST
def test_outputs(fast: bool) -> None:
    def scenario(torch: Any) -> Any:
        x = leaf(torch, 1.0, 2.0)

        def check(func: Any, **options: Any) -> Any:
            return said(torch.autograd.gradcheck, func, (x,), fast_mode=fast, **options)

        return [
            check(lambda x: ()),
            check(lambda x: [x * 2, x]),
            check(lambda x: (x * 2, (x * 3).detach())),
            check(lambda x: (x * 2, x.argmax())),
            check(lambda x: x.argmax()),
            check(lambda x: (x * 3).detach()),
            check(lambda x: (x * 3).detach(), check_forward_ad=True),
            check(lambda x: (x * 2, None)),
            check(lambda x: (x * 2, 3.0)),
            check(lambda x: {"a": x}),
            check(lambda x: x > 0),
            check(lambda x: x[:0]),
            check(lambda x: torch.cat([x, x]) if (x >= 1).all() else x),
            check(lambda x: x.float() if (x >= 1).all() else x),
            torch.no_grad()(lambda: check(lambda x: x * 2))(),
        ]

    twice(scenario)()


def test_an_output_without_gradient_before_one_with_a_wrong_one() -> None:
    """PyTorch stumbles here, or shows the Jacobian of another output."""
    x = leaf(clew, 1.0, 2.0)
    for fast in (False, True):
        with pytest.raises(RuntimeError, match=r"(?s)umerical:.*1\.0000.*nalytical:.*1\.1000"):
            clew.autograd.gradcheck(lambda x: (x.argmax(), shifted()(x)), (x,), fast_mode=fast)


@twice
def test_inputs(torch: Any) -> Any:
    check = torch.autograd.gradcheck
    x = leaf(torch, 1.0, 2.0)
    empty = torch.zeros(0, 3, dtype=torch.float64, requires_grad=True)
    columns = torch.arange(6, dtype=torch.float64).reshape(2, 3).t().requires_grad_()
    retains = x * 2
    retains.retain_grad()
    plain = x * 2
    return [
        said(check, lambda x: x * 2, (1,)),
        said(check, lambda: x, ()),
        said(check, lambda x: x * 2, {"x": x}),
        said(check, lambda x: x * 2, (x.expand(3, 2),), raise_exception=False),
        check(lambda x: x * 2, (torch.ones(1, dtype=torch.float64).expand(1).requires_grad_(),)),
        check(lambda x: x * 2, (empty,)),
        check(lambda x: x * 2, (columns,)),
        check(lambda x: x * 3, (retains,), check_batched_grad=True, fast_mode=True),
        check(lambda x: x * 3, (plain,), check_batched_grad=True),
        plain.retains_grad,
        plain.grad is None,
        check(lambda x: x * 3, (x,), masked=True),
    ]


def test_batched_gradients_leave_retained_ones_alone() -> None:
    x = leaf(clew, 1.0, 2.0)
    y = x * 2
    y.retain_grad()
    rows = clew.ones(3, 2, dtype=clew.float64)
    for _ in range(2):
        (found,) = clew.autograd.grad(y * 3, x, rows, is_grads_batched=True, retain_graph=True)
        assert found.tolist() == [[6.0, 6.0]] * 3 and y.grad is None
    (y * 3).sum().backward()
    assert y.grad.tolist() == [3.0, 3.0]


# ---------------------------------------------------------------- properties of gradients


@FAST
def test_absent_gradients(fast: bool) -> None:
    def scenario(torch: Any) -> Any:
        x = leaf(torch, 1.0, 2.0)

        def refuses_none(x: Any) -> Any:
            def hook(g: Any) -> None:
                if g is None:
                    raise RuntimeError("there is no gradient")

            y = x.clone()
            y.register_hook(hook)
            return y

        def unmaterialized(ctx: Any, x: Any) -> Any:
            ctx.set_materialize_grads(False)
            return x * 2

        ones = torch.ones(2, dtype=torch.float64)
        makes_ones = function(
            torch, lambda ctx, g: ones if g is None else g * 2, forward=unmaterialized
        )
        asks_none = function(
            torch, lambda ctx, g: g.nothing if g is None else g * 2, forward=unmaterialized
        )
        check = torch.autograd.gradcheck
        return [
            said(check, func, (x,), fast_mode=fast, **options)
            for func in (refuses_none, makes_ones, asks_none)
            for options in ({}, {"check_undefined_grad": False}, {"raise_exception": False})
        ]

    twice(scenario)()


@twice
def test_absent_gradients_of_one_of_two_outputs(torch: Any) -> Any:
    seen: list[Any] = []

    def forward(ctx: Any, x: Any) -> Any:
        ctx.set_materialize_grads(False)
        return x * 2, x * 3

    def backward(ctx: Any, a: Any, b: Any) -> Any:
        seen.append([None if g is None else g.tolist() for g in (a, b)])
        parts = [g * n for g, n in ((a, 2), (b, 3)) if g is not None]
        return sum(parts[1:], parts[0]) if parts else None

    func = function(torch, backward, forward=forward)
    x = leaf(torch, 1.0)
    return torch.autograd.gradcheck(func, (x,)), seen


@FAST
def test_absent_tangents(fast: bool) -> None:
    def scenario(torch: Any) -> Any:
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            ctx.set_materialize_grads(False)
            return x * 2 + y * 3

        def jvp(ctx: Any, a: Any, b: Any) -> Any:
            if a is None:
                return b * 3 + 1
            return a * 2 if b is None else a * 2 + b * 3

        func = function(torch, lambda ctx, g: (g * 2, g * 3), jvp, forward)
        x, y = leaf(torch, 1.0, 2.0), leaf(torch, 5.0, 6.0)
        check = torch.autograd.gradcheck
        options = {"check_forward_ad": True, "fast_mode": fast}
        found = said(check, func, (x, y), **options)
        # (PyTorch shows the pieces of this sentence as a tuple.)
        return [
            found[0],
            "Mismatch in tangent values for output with index" in found[1][0],
            "tensor([1.9187, 2.3062]" in found[1][0],
            check(func, (x, y), check_undefined_grad=False, **options),
        ]

    twice(scenario)()


@FAST
def test_batched_gradients(fast: bool) -> None:
    def scenario(torch: Any) -> Any:
        x, w = leaf(torch, 1.0, 2.0), leaf(torch, 3.0, 4.0)
        count = [0]
        at = 0

        def sometimes(ctx: Any, g: Any) -> Any:
            count[0] += 1
            return g * (2.5 if count[0] == at else 2)

        def draws(ctx: Any, g: Any) -> Any:
            torch.randn_like(g)
            return g * 2

        check = torch.autograd.gradcheck
        forward = {
            "check_forward_ad": True, "check_backward_ad": False,
            "check_batched_forward_grad": True, "check_undefined_grad": False, "fast_mode": fast,
        }  # fmt: skip
        backward = {"check_batched_grad": True, "check_undefined_grad": False, "fast_mode": fast}
        results = []
        for at in (2, 3, 4, 5, 6, 7):
            for func, options in (
                (function(torch, sometimes), backward),
                (function(torch, jvp=sometimes), forward),
            ):
                count[0] = 0
                results.append((at, said(check, func, (x,), **options)))
        for func, options in (
            (function(torch, draws), backward), (function(torch, jvp=draws), forward)
        ):  # fmt: skip
            words = raised(check, func, (x,), words=24, **options)
            results.append(words)
            results.append(check(func, (x,), raise_exception=False, **options))
        results.append(check(lambda x, w: (x * w, w.exp()), (x, w), **backward))
        results.append(check(lambda x, w: (x * w, w.exp()), (x, w), **forward))
        results.append(check(lambda x, n: (x * n, x + 1), (x, 2), **forward))
        return results

    twice(scenario)()


@twice
def test_random_numbers_in_batched_gradients(torch: Any) -> Any:
    func = function(torch, lambda ctx, g: g * 2 + 0 * torch.rand_like(g))
    x = leaf(torch, 1.0, 2.0)
    rows = torch.ones(3, 2, dtype=torch.float64)
    return raised(torch.autograd.grad, func(x), x, rows, is_grads_batched=True, words=15)


# ---------------------------------------------------------------- how often things run


@FAST
def test_calls(fast: bool) -> None:
    """How often the function runs, and where; which random numbers the check takes."""

    def scenario(torch: Any) -> Any:
        calls: list[Any] = []

        def func(x: Any) -> Any:
            calls.append((x.requires_grad, torch.is_grad_enabled(), torch.view_as_real(x * 1j)))
            return x * 2

        forward = {"check_forward_ad": True, "check_backward_ad": False}
        results = []
        for x in (leaf(torch, 1.0, 2.0), leaf(torch, 1 + 2j, 3 - 1j, dtype="complex128")):
            for options in (
                {}, {"check_undefined_grad": False}, forward, {"check_forward_ad": True},
                {**forward, "check_undefined_grad": False},
                {**forward, "check_batched_forward_grad": not x.is_complex()},
                {"check_batched_grad": True},
            ):  # fmt: skip
                calls.clear()
                torch.manual_seed(3)
                torch.autograd.gradcheck(func, (x,), fast_mode=fast, **options)
                seen = [
                    (needs, mode) if options.get("check_batched_forward_grad") else call
                    for call in calls
                    for needs, mode in [call[:2]]
                ]
                results.append((len(calls), seen, torch.rand(1)))
        return results

    twice(scenario)()


@FAST
def test_cotangents_and_tangents(fast: bool) -> None:
    def scenario(torch: Any) -> Any:
        seen: list[Any] = []

        def forward(ctx: Any, x: Any, y: Any) -> Any:
            return x * 2, y * 3

        def backward(ctx: Any, g: Any, h: Any) -> Any:
            seen.append(("backward", g.clone(), h.clone()))
            return g * 2, h * 3

        def jvp(ctx: Any, s: Any, t: Any) -> Any:
            seen.append(("jvp", s.clone(), t.clone()))
            return s * 2, t * 3

        func = function(torch, backward, jvp, forward)
        x, y = leaf(torch, 1.0, 2.0), leaf(torch, 1.0, 2.0, 3.0)
        torch.autograd.gradcheck(func, (x, y), fast_mode=fast, check_forward_ad=True)
        z = leaf(torch, 1 + 2j, 3 - 1j, dtype="complex128")
        torch.autograd.gradcheck(func, (z, y), fast_mode=fast, check_forward_ad=True)
        return seen

    twice(scenario)()


@twice
def test_functions_that_ask_for_the_dual_level(torch: Any) -> Any:
    forward_ad = import_module(f"{torch.__name__}.autograd.forward_ad")

    def wrong(x: Any, y: Any) -> Any:
        if forward_ad._current_level >= 0:
            primal, tangent = forward_ad.unpack_dual(y)
            y = forward_ad.make_dual(primal, tangent * 1.1)
        return x + y, y

    check = torch.autograd.gradcheck
    x, y = leaf(torch, 1.0, 2.0), leaf(torch, 3.0, 4.0)
    z = leaf(torch, 1 + 2j, 3 - 1j, dtype="complex128")
    return [
        said(check, wrong, given, check_forward_ad=True, fast_mode=fast, lines=1 if fast else 3)
        for given in ((x, y), (z, y), (z, z.detach().clone().requires_grad_()))
        for fast in (False, True)
    ]


@twice
def test_tangents_of_parts_of_complex_numbers(torch: Any) -> Any:
    forward_ad = import_module(f"{torch.__name__}.autograd.forward_ad")
    z = torch.tensor([[1 + 2j, 3 - 1j]], dtype=torch.complex128)
    tangent = torch.tensor([[5.0, 6.0]], dtype=torch.float64)
    results = []
    with forward_ad.dual_level():
        for part in (z.real, z.imag, z.t().imag.t(), torch.view_as_real(z)[..., 1]):
            dual = forward_ad.make_dual(part, tangent)
            out = forward_ad.unpack_dual((dual * 2)[:, 1:])
            results.append((out.primal, out.tangent))
    return results
