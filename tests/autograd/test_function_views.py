"""Views, marks and tangents of custom functions, under both libraries."""

from __future__ import annotations

from typing import Any

from tests.twice import outcome, raised, twice


def function(torch: Any, forward: Any, jvp: Any = None, backward: Any = None) -> Any:
    """A custom function made of these; `forward` and `jvp` get the context first."""

    class Made(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *args: Any) -> Any:
            return forward(ctx, *args)

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            return backward(ctx, *grads) if backward else grads[0]

        @staticmethod
        def jvp(ctx: Any, *tangents: Any) -> Any:
            return jvp(ctx, *tangents)

    return Made.apply


def dirty(ctx: Any, x: Any) -> Any:
    ctx.mark_dirty(x)
    return x.mul_(2)


def unmarked(ctx: Any, x: Any) -> Any:
    out = x * 2
    ctx.mark_non_differentiable(out)
    return out


def pure(ctx: Any, x: Any) -> Any:
    ctx._is_pure_view = True
    return x[:2]


RETURNED: dict[str, Any] = {
    "view": lambda ctx, x: x[:2],
    "input": lambda ctx, x: x,
    "view and another": lambda ctx, x: (x[:2], x * 2),
    "view and a number": lambda ctx, x: (x[:2], 3),
    "view and integers": lambda ctx, x: (x[:2], x.long()),
    "view of a copy": lambda ctx, x: x.clone()[:2],
    "view of a copy and another": lambda ctx, x: (x.clone()[:2], x * 2),
    "pure view": pure,
    "no view": lambda ctx, x: x * 2,
}


@twice
def test_writing_to_what_a_function_returned(torch: Any) -> Any:
    def write(name: str, requires_grad: bool, added: Any) -> Any:
        x = torch.arange(3.0)
        x = x.requires_grad_().clone() if requires_grad else x
        out = function(torch, RETURNED[name])(x)
        out = out[0] if isinstance(out, tuple) else out
        out += added
        return out.detach(), out.requires_grad, x.detach()

    leaf = torch.ones(1, requires_grad=True)
    return {
        name: [
            outcome(write, name, True, 2.0, words=60),
            outcome(write, name, False, 2.0, words=60),
            outcome(write, name, False, leaf, words=60),
        ]
        for name in RETURNED
    }


@twice
def test_views_returned_without_grad(torch: Any) -> Any:
    x = torch.ones(3, requires_grad=True)
    found: list[Any] = []
    for name in ("view", "input"):
        with torch.no_grad():
            out = function(torch, RETURNED[name])(x)
        found += [out.requires_grad, out.is_leaf, out._base is x, out is x]
        found.append(raised(out.zero_, words=40))
    return found


@twice
def test_functions_that_write_to_views(torch: Any) -> Any:
    def base() -> Any:
        return torch.ones(3, requires_grad=True).clone()

    def and_another(ctx: Any, x: Any) -> Any:
        return dirty(ctx, x), x + 1

    def not_an_input(ctx: Any, x: Any) -> Any:
        out = x.clone().view_as(x)
        ctx.mark_dirty(out)
        return out

    return [
        raised(function(torch, and_another), base().view(3), words=30),
        raised(function(torch, not_an_input), base(), words=12),
        function(torch, and_another)(base())[0].detach(),
        raised(function(torch, lambda ctx, x: pure(ctx, x).mul(2) and (x, x)), base(), words=6),
    ]


TANGENTS: list[tuple[Any, Any, bool]] = [
    (lambda c, x: (x * 2, x * 3), lambda c, t: t, False),
    (lambda c, x: x * 2, lambda c, t: (t, t), False),
    (lambda c, x: x * 2, lambda c, t: 3, False),
    (lambda c, x: x * 2, lambda c, t: t.repeat(2), False),
    (lambda c, x: x * 2, lambda c, t: t[:], False),
    (lambda c, x: x[:1], lambda c, t: t[:1], False),
    (lambda c, x: x[:1], lambda c, t: t[:1].clone(), False),
    (lambda c, x: x[:1], lambda c, t: t.clone()[:1], False),
    (lambda c, x: x[:1], lambda c, t: t.clone()[:1], True),
    (lambda c, x: x, lambda c, t: t.view_as(t), False),
    (lambda c, x: x, lambda c, t: t, False),
    (dirty, lambda c, t: t.mul_(2), False),
    (dirty, lambda c, t: t * 2, False),
    (dirty, lambda c, t: t, False),
    (dirty, lambda c, t: None, False),
    (unmarked, lambda c, t: t, False),
    (unmarked, lambda c, t: None, False),
    (lambda c, x: x.long(), lambda c, t: t, False),
    (lambda c, x: (x * 2, "text"), lambda c, t: (t, None), False),
]


@twice
def test_tangents_that_jvp_returns(torch: Any) -> Any:
    from_dual = torch.autograd.forward_ad

    def run(forward: Any, jvp: Any, viewed: bool) -> Any:
        with from_dual.dual_level():
            dual = from_dual.make_dual(torch.tensor([2.0, 3.0]), torch.ones(2))
            out = function(torch, forward, jvp)(dual.view_as(dual) if viewed else dual)
            outs = out if isinstance(out, tuple) else (out,)
            return [
                from_dual.unpack_dual(each).tangent
                for each in outs
                if isinstance(each, torch.Tensor)
            ]

    return [outcome(run, *each, words=25) for each in TANGENTS]


@twice
def test_what_jvp_finds_saved(torch: Any) -> Any:
    seen = []

    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * 2

    def keeps(ctx: Any, x: Any) -> Any:
        ctx.save_for_forward(x, x)
        return x * 2

    def jvp(ctx: Any, tangent: Any) -> Any:
        seen.append(len(ctx.saved_tensors))
        return tangent * 2

    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(torch.ones(2), torch.ones(2))
        function(torch, forward, jvp)(dual)
        function(torch, keeps, jvp)(dual)
    return seen


@twice
def test_boxed_gradients(torch: Any) -> Any:
    kinds = []

    class Boxed(torch.autograd.Function):
        boxed_grads_call = True

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2, x * 3

        @staticmethod
        def backward(ctx: Any, grads: Any) -> Any:
            kinds.append(type(grads))
            first, second = grads
            grads.clear()
            return first * 2 + second * 3

    x = torch.ones(2, requires_grad=True)
    a, b = Boxed.apply(x)
    (a + 2 * b).sum().backward()
    Boxed.apply(x)[1].sum().backward()
    return x.grad, kinds


@twice
def test_arguments_by_name_and_by_default(torch: Any) -> Any:
    class Power(torch.autograd.Function):
        @staticmethod
        def forward(x: Any, exponent: Any = 3) -> Any:
            return x**exponent

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.count = len(inputs)
            ctx.save_for_backward(inputs[0])

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 3 * ctx.saved_tensors[0] ** 2, None

    def sum_of(ctx: Any, x: Any, y: Any) -> Any:
        return x + y

    class Sum(torch.autograd.Function):
        forward = staticmethod(sum_of)

    x = torch.tensor(2.0, requires_grad=True)
    Power.apply(x).backward()
    y = torch.ones(1)
    return [
        x.grad,
        raised(Sum.apply, y, bad=y, words=20),
        raised(Sum.apply, y, y, y=y, words=20),
        raised(lambda: Sum.apply(y=y), words=20),
        Sum.apply(y, y=y),
    ]


@twice
def test_gradients_of_outputs_that_are_no_tensors(torch: Any) -> Any:
    seen = []

    def backward(ctx: Any, *grads: Any) -> Any:
        seen.append([grad is None for grad in grads])
        return grads[1]

    def forward(ctx: Any, x: Any) -> Any:
        return "text", x * 2, None, x + 1

    x = torch.ones(2, requires_grad=True)
    function(torch, forward, backward=backward)(x)[1].sum().backward()
    return seen, x.grad
