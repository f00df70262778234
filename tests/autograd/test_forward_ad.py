"""Forward mode: tangents through operations, views, writes, custom functions and backward."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from tests.twice import raised, twice


def vector(torch: Any, *values: float, grad: bool = False) -> Any:
    return torch.tensor(values, dtype=torch.float64, requires_grad=grad)


def push(torch: Any, function: Any, *pairs: Any) -> Any:
    """Value and tangent of a function at duals made of (value, tangent) pairs."""
    fwad = torch.autograd.forward_ad
    with fwad.dual_level():
        duals = [x if t is None else fwad.make_dual(x, t) for x, t in pairs]
        out = fwad.unpack_dual(function(*duals))
        tangent = None if out.tangent is None else out.tangent.detach().clone()
        return out.primal.detach().clone(), tangent


FUNCTIONS = {
    "elementwise": lambda torch, x: (x.sin() * x.exp() + x**3) / (1 + x * x),
    "reduction": lambda torch, x: x.sum() * x.mean() + x.prod(),
    "max": lambda torch, x: x.max() * x.amin(),
    "softmax": lambda torch, x: x.softmax(0) + x.log_softmax(0),
    "logsumexp": lambda torch, x: x.logsumexp(0),
    "norm": lambda torch, x: x.norm() + (x * x).sqrt().sum(),
    "cat": lambda torch, x: torch.cat([x, x * 2, torch.ones(1).double()]),
    "stack": lambda torch, x: torch.stack([x, x.flip(0)]).cumsum(1),
    "where": lambda torch, x: torch.where(x > 1, x * x, x),
    "index": lambda torch, x: x[torch.tensor([0, 0, 2])] * x[1],
    "gather": lambda torch, x: x.gather(0, torch.tensor([2, 1, 1])),
    "sort": lambda torch, x: x.sort(descending=True)[0] * torch.arange(3),
    "views": lambda torch, x: x.reshape(3, 1).t().expand(2, 3)[:, 1:].squeeze(),
    "unbind": lambda torch, x: x.unbind(0)[1] * x.chunk(3)[2],
    "outer": lambda torch, x: x.unsqueeze(1) * x.unsqueeze(0),
    "matmul": lambda torch, x: (x.unsqueeze(1) * x) @ x,
    "comparison": lambda torch, x: (x > 1).double() * x,
    "std": lambda torch, x: x.std() + x.var(),
    "clone": lambda torch, x: x.clone().detach() * x,
    "constant": lambda torch, x: torch.ones(2).double(),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_tangents(name: str) -> None:
    def scenario(torch: Any) -> Any:
        x, t = vector(torch, 0.5, 2.0, 1.5), vector(torch, 1.0, -1.0, 0.25)
        return push(torch, lambda x: FUNCTIONS[name](torch, x), (x, t))

    twice(scenario)()


@twice
def test_several_inputs(torch: Any) -> Any:
    x, w, t = vector(torch, 1.0, 2.0), vector(torch, 3.0, 4.0), vector(torch, 5.0, 6.0)
    scale = torch.tensor(2.0).double()
    return [
        push(torch, lambda x, w: x * w + w.exp(), (x, t), (w, t * 2)),
        push(torch, lambda x, w: x * w, (x, t), (w, None)),
        push(torch, lambda x, w: x - w, (x, None), (w, t)),
        push(torch, lambda x, s: x / s, (x, t), (scale, scale * 3)),
        push(torch, lambda x, w: torch.maximum(x, w), (x, t), (w, t * 2)),
        push(torch, lambda x, w: torch.lerp(x, w, 0.3), (x, t), (w, t * 2)),
    ]


@twice
def test_complex(torch: Any) -> Any:
    z = torch.tensor([1 + 2j, 3 - 1j], dtype=torch.complex128)
    t = torch.tensor([1j, 2 + 1j], dtype=torch.complex128)
    return [
        push(torch, lambda z: z * z, (z, t)),
        push(torch, lambda z: z.exp() * z.conj(), (z, t)),
        push(torch, lambda z: z.abs(), (z, t)),
        push(torch, lambda z: z.real * z.imag, (z, t)),
    ]


# ---------------------------------------------------------------- writes


@twice
def test_in_place(torch: Any) -> Any:
    x, t = vector(torch, 1.0, 2.0, 3.0), vector(torch, 4.0, 5.0, 6.0)

    def whole(x: Any) -> Any:
        y = x * 2
        y.mul_(x)
        y += x
        return y

    def into_constant(x: Any) -> Any:
        y = torch.zeros(3).double()
        y.add_(x)
        return y

    def overwritten(x: Any) -> Any:
        y = x * 2
        y.zero_()
        return y + x

    def copied(x: Any) -> Any:
        y = torch.zeros(3).double()
        y.copy_(x * x)
        return y

    return [push(torch, f, (x, t)) for f in (whole, into_constant, overwritten, copied)]


@twice
def test_in_place_on_views(torch: Any) -> Any:
    x, t = vector(torch, 1.0, 2.0, 3.0), vector(torch, 4.0, 5.0, 6.0)

    def through_view(x: Any) -> Any:
        y = x * 1
        y[:2].mul_(x[0])
        return y

    def assigned(x: Any) -> Any:
        y = x * 1
        y[1] = 7.0
        y[2] = x[0] * x[1]
        return y

    def view_sees_base(x: Any) -> Any:
        y = x * 1
        view = y[1:]
        y.mul_(3)
        return view * 1

    def constant_base(x: Any) -> Any:
        y = torch.zeros(4).double()
        y[1:] = x
        return y * 2

    return [push(torch, f, (x, t)) for f in (through_view, assigned, view_sees_base, constant_base)]


@twice
def test_view_of_a_dual_shares_its_tangent(torch: Any) -> Any:
    fwad = torch.autograd.forward_ad
    with fwad.dual_level():
        dual = fwad.make_dual(vector(torch, 1.0, 2.0), vector(torch, 3.0, 4.0))
        part = dual[1:]
        found = fwad.unpack_dual(part).tangent
        return found.clone(), fwad.unpack_dual(dual.detach()).tangent


# ---------------------------------------------------------------- levels


@twice
def test_make_and_unpack(torch: Any) -> Any:
    fwad = torch.autograd.forward_ad
    x, t = vector(torch, 1.0, 2.0), vector(torch, 3.0, 4.0)
    with fwad.dual_level():
        dual = fwad.make_dual(x, t)
        primal, tangent = fwad.unpack_dual(dual)
        plain = fwad.unpack_dual(x)
        result = [primal, tangent is t, plain.tangent, plain.primal is x, dual is x]
        y = dual * 2
        inside = fwad.unpack_dual(y).tangent.clone()
    with fwad.dual_level():
        after = fwad.unpack_dual(y).tangent, fwad.unpack_dual(dual).tangent
    return result, inside, after, type(fwad.unpack_dual).__name__


@twice
def test_level_errors(torch: Any) -> Any:
    fwad = torch.autograd.forward_ad
    x, t = vector(torch, 1.0, 2.0), vector(torch, 3.0, 4.0)

    def nested() -> None:
        with fwad.dual_level(), fwad.dual_level():
            pass

    outside = [
        raised(fwad.make_dual, x, t, words=4),
        raised(fwad.exit_dual_level, words=4),
        raised(nested, words=5),
    ]
    with fwad.dual_level():
        inside = [
            raised(fwad.make_dual, x, t[:1], words=3),
            raised(fwad.make_dual, torch.ones(2, dtype=torch.int64), t, words=4),
            raised(fwad.make_dual, x, torch.ones(2, dtype=torch.int64), words=4),
            raised(fwad.make_dual, x, t.float(), words=0) != "nothing raised",
        ]
    return outside, inside, fwad.unpack_dual(x).tangent


@twice
def test_enter_and_exit(torch: Any) -> Any:
    fwad = torch.autograd.forward_ad
    level = fwad.enter_dual_level()
    dual = fwad.make_dual(vector(torch, 1.0), vector(torch, 2.0))
    found = fwad.unpack_dual(dual * 3).tangent.clone()
    fwad.exit_dual_level(level=level)
    return level, found


@twice
def test_error_inside_closes_the_level(torch: Any) -> Any:
    fwad = torch.autograd.forward_ad
    try:
        with fwad.dual_level():
            raise ValueError("inside")
    except ValueError:
        pass
    return push(torch, lambda x: x * 2, (vector(torch, 1.0), vector(torch, 2.0)))


@twice
def test_no_grad_does_not_stop_tangents(torch: Any) -> Any:
    fwad = torch.autograd.forward_ad
    with torch.no_grad(), fwad.dual_level():
        dual = fwad.make_dual(vector(torch, 1.0), vector(torch, 2.0))
        return fwad.unpack_dual(dual * 3).tangent.clone()


# ---------------------------------------------------------------- with backward


@twice
def test_forward_over_reverse(torch: Any) -> Any:
    fwad = torch.autograd.forward_ad
    x, t = vector(torch, 1.0, 2.0, grad=True), vector(torch, 3.0, 4.0)
    with fwad.dual_level():
        dual = fwad.make_dual(x, t)
        y = (dual**3).sum() + dual[0] * dual[1]
        (g,) = torch.autograd.grad(y, dual, create_graph=True)
        return g.detach().clone(), fwad.unpack_dual(g).tangent.detach().clone()


@twice
def test_reverse_over_forward(torch: Any) -> Any:
    fwad = torch.autograd.forward_ad
    x, t = vector(torch, 1.0, 2.0, grad=True), vector(torch, 3.0, 4.0, grad=True)
    with fwad.dual_level():
        out = fwad.unpack_dual((fwad.make_dual(x, t) ** 3).sin())
        found = torch.autograd.grad(out.tangent.sum(), [x, t])
    return found, out.primal.requires_grad


@twice
def test_gradient_of_value_and_tangent(torch: Any) -> Any:
    fwad = torch.autograd.forward_ad
    x, t = vector(torch, 1.0, 2.0, grad=True), vector(torch, 3.0, 4.0)
    with fwad.dual_level():
        out = fwad.unpack_dual(fwad.make_dual(x, t).exp())
        (out.primal.sum() + out.tangent.sum()).backward()
    return x.grad


# ---------------------------------------------------------------- custom functions


def scaled(torch: Any, results: Any) -> Any:
    class Scaled(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, w: Any, factor: float) -> Any:
            ctx.factor = factor
            ctx.save_for_forward(x, w)
            return x * w * factor

        @staticmethod
        def jvp(ctx: Any, x_t: Any, w_t: Any, nothing: Any) -> Any:
            return results(ctx, x_t, w_t, nothing)

    return Scaled.apply


@twice
def test_custom_jvp(torch: Any) -> Any:
    x, w, t = vector(torch, 1.0, 2.0), vector(torch, 3.0, 4.0), vector(torch, 5.0, 6.0)
    seen: list[Any] = []

    def rule(ctx: Any, x_t: Any, w_t: Any, nothing: Any) -> Any:
        seen.append((w_t, nothing))
        x, w = ctx.saved_tensors
        return (x_t * w + x * w_t) * ctx.factor

    apply = scaled(torch, rule)
    both = push(torch, lambda x, w: apply(x, w, 2.0), (x, t), (w, t))
    one = push(torch, lambda x, w: apply(x, w, 2.0), (x, t), (w, None))
    return both, one, seen[1]


@twice
def test_custom_function_with_several_outputs(torch: Any) -> Any:
    class Split(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2, x.sum(), "text"

        @staticmethod
        def jvp(ctx: Any, t: Any) -> Any:
            return t * 2, t.sum(), None

    x, t = vector(torch, 1.0, 2.0), vector(torch, 3.0, 4.0)
    first = push(torch, lambda x: Split.apply(x)[0], (x, t))
    return first, push(torch, lambda x: Split.apply(x)[1], (x, t))


@twice
def test_what_make_dual_refuses(torch: Any) -> Any:
    forward_ad = torch.autograd.forward_ad
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(torch.ones(2), torch.ones(2))
        return [
            raised(forward_ad.make_dual, torch.ones(2), dual, words=15),
            raised(forward_ad.make_dual, dual, torch.ones(2), words=16),
            raised(torch.igamma, dual, dual, words=18),
            raised(lambda: torch.add(dual, 1, out=torch.ones(2)), words=6),
            raised(lambda: torch.add(torch.ones(2), 1, out=dual), words=6),
        ]


@twice
def test_tangents_lie_as_their_primals(torch: Any) -> Any:
    forward_ad = torch.autograd.forward_ad
    long = torch.arange(6.0)
    pairs = {
        "same": (torch.ones(2, 3), torch.ones(2, 3)),
        "transposed": (torch.ones(2, 3), torch.arange(6.0).reshape(3, 2).t()),
        "part": (long[1:5].detach(), torch.arange(4.0)),
        "empty": (torch.ones(1).as_strided((0,), (1,), 1), torch.ones(1).as_strided((0,), (1,), 2)),
        "complex": (torch.ones(2) * 1j, torch.arange(2.0) + 0j),
        "conjugate": ((torch.ones(2) * 1j).conj(), torch.arange(2.0) * 1j),
    }
    found: dict[str, Any] = {}
    with forward_ad.dual_level():
        for name, (primal, tangent) in pairs.items():
            dual = forward_ad.make_dual(primal, tangent)
            unpacked = forward_ad.unpack_dual(dual).tangent
            found[name] = unpacked is tangent, unpacked.stride(), unpacked.resolve_conj()
        part = forward_ad.make_dual(*pairs["part"]).as_strided((6,), (1,), 0)
        found["around"] = forward_ad.unpack_dual(part).tangent
    return found


@twice
def test_detach_drops_tangents(torch: Any) -> Any:
    forward_ad = torch.autograd.forward_ad
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(torch.ones(2), torch.ones(2))
        copy = dual.clone()
        copy.detach_()
        return [
            forward_ad.unpack_dual(each * 2).tangent is None for each in (dual, dual.detach(), copy)
        ]


@twice
def test_powers_of_negative_numbers_with_complex_exponents(torch: Any) -> Any:
    base = torch.tensor([-2.0, 3.0, -0.5], dtype=torch.float64, requires_grad=True)
    exponent = torch.tensor([1 + 1j, 0.5j, 2 - 1j], dtype=torch.complex128, requires_grad=True)
    outs = [torch.pow(base, exponent), torch.pow(-2.0, exponent), torch.pow(base, 2 + 1j)]
    return [
        torch.autograd.grad(
            torch.view_as_real(out).sum(), [base, exponent], allow_unused=True, retain_graph=True
        )
        for out in outs
    ]


@twice
def test_batch_norm_of_running_statistics_with_tangents(torch: Any) -> Any:
    forward_ad, x, mean, var = torch.autograd.forward_ad, torch.ones(3, 2), *torch.ones(2, 2)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(mean, torch.ones(2))
        plain = torch.nn.functional.batch_norm(x, dual, var)
        x = forward_ad.make_dual(x, x)
        return (
            forward_ad.unpack_dual(plain).tangent,
            raised(torch.nn.functional.batch_norm, x, dual, var),
        )


# An affine operation, and the shapes of what is added and of the factors.
AFFINE = {
    "addmm": (lambda torch, *given: torch.addmm(*given), (3,), (2, 4), (4, 3)),
    "addmm scaled": (
        lambda torch, *given: torch.addmm(*given, beta=0.5, alpha=-2), (2, 1), (2, 4), (4, 3),
    ),
    "addmv": (lambda torch, *given: torch.addmv(*given, alpha=3), (2,), (2, 4), (4,)),
    "addr": (lambda torch, *given: torch.addr(*given, beta=2), (2, 3), (2,), (3,)),
    "addbmm": (lambda torch, *given: torch.addbmm(*given), (2, 3), (5, 2, 4), (5, 4, 3)),
    "baddbmm": (
        lambda torch, *given: torch.baddbmm(*given, beta=0), (5, 2, 3), (5, 2, 4), (5, 4, 3),
    ),
    "conv": (
        lambda torch, b, x, w: torch.nn.functional.conv1d(x, w, b), (2,), (1, 3, 6), (2, 3, 3),
    ),
    "conv transposed": (
        lambda torch, b, x, w: torch.nn.functional.conv_transpose1d(x, w, b), (2,), (1, 3, 6),
        (3, 2, 3),
    ),
}  # fmt: skip


@twice
def test_affine_operations_with_some_tangents(torch: Any) -> Any:
    torch.manual_seed(0)
    found = {}
    for kind, name in itertools.product((torch.float64, torch.complex128), AFFINE):
        function, *shapes = AFFINE[name]
        values = [torch.randn(shape, dtype=kind) for shape in shapes]
        tangents = [torch.randn(shape, dtype=kind) for shape in shapes]
        for chosen in itertools.product([False, True], repeat=3):
            pairs = zip(values, [t if c else None for t, c in zip(tangents, chosen)])
            out = push(torch, lambda *duals, f=function: f(torch, *duals), *pairs)
            found[f"{kind} {name} {chosen}"] = out
    return found
