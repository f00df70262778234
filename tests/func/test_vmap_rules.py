"""vmap to the letter: random numbers, dimensions, shapes in place, custom rules, and refusals."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

import clew
from tests.twice import outcome, raised, twice


def numbers(m: Any, *shape: int) -> Any:
    count = 1
    for size in shape:
        count *= size
    return m.arange(float(count)).reshape(shape) + 0.5


# -- random numbers --------------------------------------------------------------------------------

Draw = Callable[[Any, Any, dict[str, Any]], Any]
DRAWS: dict[str, Draw] = {
    "rand": lambda m, x, k: m.rand(3, 3, **k),
    "randint": lambda m, x, k: m.randint(5, 100, (3, 3), **k),
    "normal": lambda m, x, k: m.normal(0.0, 1.0, (3, 3), **k),
    "randperm": lambda m, x, k: m.randperm(5, **k),
    "rand_like": lambda m, x, k: m.rand_like(x),
    "randn_like": lambda m, x, k: m.randn_like(x),
    "randint_like": lambda m, x, k: m.randint_like(x, 3, 20),
    "bernoulli": lambda m, x, k: m.bernoulli(x / 30, **k),
    "bernoulli_": lambda m, x, k: x.clone().bernoulli_(0.3, **k),
    "bernoulli_ of a tensor": lambda m, x, k: x.clone().bernoulli_(m.full((2, 3), 0.4), **k),
    "bernoulli_ of examples": lambda m, x, k: x.clone().bernoulli_(x / 30, **k),
    "into a shared tensor": lambda m, x, k: m.zeros(2, 3).bernoulli_(x / 30, **k),
    "normal_": lambda m, x, k: x.clone().normal_(**k),
    "random_": lambda m, x, k: x.clone().random_(50, **k),
    "normal of tensors": lambda m, x, k: m.normal(x, m.ones(2, 3), **k),
    "multinomial": lambda m, x, k: m.multinomial(x, 2, **k),
    "dropout": lambda m, x, k: m.nn.functional.dropout(x, 0.4),
    "alpha_dropout": lambda m, x, k: m.nn.functional.alpha_dropout(x, 0.4, training=True),
    "randn out=": lambda m, x, k: m.randn(3, out=m.zeros(3)),
    "normal out=": lambda m, x, k: m.normal(m.ones(3), m.ones(3), out=m.zeros(3)),
    "bernoulli out=": lambda m, x, k: m.bernoulli(x / 30, out=x),
}


@pytest.mark.parametrize("name", DRAWS)
def test_random_numbers(name: str) -> None:
    @twice
    def scenario(m: Any) -> Any:
        x, results = numbers(m, 4, 2, 3), []
        for own, randomness, dim in itertools.product(
            (False, True), ("same", "different", "error"), (0, -1, None)
        ):
            if own and "like" in name:
                continue
            given = {0: x, -1: x.movedim(0, -1).contiguous(), None: x[0]}[dim]
            m.manual_seed(0)
            options = {"generator": m.Generator().manual_seed(3)} if own else {}
            mapped = m.func.vmap(
                lambda x, _, options=options: DRAWS[name](m, x, options), (dim, 0),
                randomness=randomness,
            )  # fmt: skip
            results.append(outcome(mapped, given, m.zeros(4), words=9))
        return results

    scenario()


@twice
def test_the_same_numbers_for_all_chunks(m: Any) -> Any:
    results = []
    for dim, out_dim, size in itertools.product((0, 1, 2), (0, 1, 2), (1, 2, 3, 5)):
        m.manual_seed(0)
        add = m.func.vmap(lambda x: x + m.rand(2, 3), dim, out_dim, "same", chunk_size=size)
        results.append(add(numbers(m, 4, 2, 3).movedim(0, dim)))
    return results


@twice
def test_numbers_drawn_in_the_order_of_memory(m: Any) -> Any:
    turned = numbers(m, 2, 3, 4).movedim(-1, 0)
    results = []
    for draw in (
        lambda: m.bernoulli(turned, 0.5),
        lambda: m.nn.functional.dropout(turned, 0.4),
        lambda: m.nn.functional.dropout(numbers(m, 2, 3).expand(4, 2, 3), 0.4),
        lambda: m.rand_like(turned),
    ):
        m.manual_seed(0)
        results.append(draw())
    return results


# -- dimensions and structures ---------------------------------------------------------------------


@twice
def test_what_is_returned_as_it_was_given(m: Any) -> Any:
    x = numbers(m, 2, 3, 4)
    f = m.func.vmap
    return [
        f(lambda x: x)(x) is x, f(lambda x: x, 1, 1)(x) is x, f(lambda x: x, -1, -1)(x) is x,
        f(lambda x: x, 1, 2)(x) is x, f(f(lambda x: x, 1, 1), 2, 2)(x) is x,
        f(lambda x: x.contiguous(), 1, 1)(x) is x, f(lambda x: x.detach())(x) is x,
        f(lambda x: x.transpose(0, -1))(x[0, 0]).tolist(),
    ]  # fmt: skip


@twice
def test_structures_of_dimensions(m: Any) -> Any:
    x, y = numbers(m, 2, 3), numbers(m, 2, 3) + 1
    f = m.func.vmap
    calls: list[Callable[[], Any]] = [
        lambda: f(lambda z: z[0] + z[1], in_dims=([0],))([x, y]),
        lambda: f(lambda z: z[0] + z[1], in_dims=((0, 0),))([x, y]),
        lambda: f(lambda z: z[0] + z[1], in_dims=([0, 0],))((x, y)),
        lambda: f(lambda z: z[0] + z[1], in_dims=([0, None],))([x, y[0]]),
        lambda: f(lambda z: z["a"] + z["b"], in_dims=({"a": 0, "b": None},))({"a": x, "b": y[0]}),
        lambda: f(lambda x: [x, x], out_dims=(0, 1))(x),
        lambda: f(lambda x: (x, x), out_dims=[0, 1])(x),
        lambda: f(lambda x: (x, [x, x]), out_dims=(0, (1, 0)))(x),
        lambda: f(lambda x: (x, [x, x]), out_dims=(0, [1, 0]))(x),
        lambda: f(lambda x: x, out_dims=(1,))(x),
    ]
    return [outcome(call, words=4) for call in calls]


# -- shapes in place -------------------------------------------------------------------------------

TURNS: dict[str, Callable[[Any], Any]] = {
    "squeeze_": lambda y: y.squeeze_(),
    "squeeze_(0)": lambda y: y.squeeze_(0),
    "squeeze_((0, 2))": lambda y: y.squeeze_((0, 2)),
    "unsqueeze_(0)": lambda y: y.unsqueeze_(0),
    "unsqueeze_(-1)": lambda y: y.unsqueeze_(-1),
    "transpose_": lambda y: y.transpose_(0, 1),
    "swapaxes_": lambda y: y.swapaxes_(0, -1),
    "swapdims_": lambda y: y.swapdims_(1, 2),
    "t_": lambda y: y[0].clone().t_(),
}


@pytest.mark.parametrize("name", TURNS)
def test_shapes_changed_in_place(name: str) -> None:
    @twice
    def scenario(m: Any) -> Any:
        f, x = m.func, numbers(m, 4, 1, 2, 1)

        def turned(y: Any) -> Any:
            y = y * 1
            part = TURNS[name](y)
            return part * part, y.sum(0)

        def total(y: Any) -> Any:
            return (turned(y)[0] ** 2).sum()

        given = x.clone()
        plain = f.vmap(lambda y: TURNS[name](y).sum())(given)
        return (
            f.vmap(turned)(x), f.vmap(f.grad(total))(x),
            f.grad(lambda x: f.vmap(total)(x).sum())(x), plain, tuple(given.shape),
            f.vmap(lambda y: f.jvp(turned, (y,), (y,)))(x), f.jvp(turned, (x[0],), (x[1],)),
            f.vmap(f.vmap(lambda y: TURNS[name](y * 1)))(m.stack([x, x + 1])),
        )  # fmt: skip

    scenario()


# -- operations ------------------------------------------------------------------------------------


@twice
def test_histograms_with_edges_of_their_own(m: Any) -> Any:
    h = m.tensor([[1.0, 2.0, 2.0, 3.0], [4.0, 4.0, 0.0, 1.0]])
    f = m.func.vmap
    results = []
    for count in (
        lambda x: m.histc(x, 4),
        lambda x: m.histc(x, 4, 0, 4),
        lambda x: tuple(m.histogram(x, 4)),
        lambda x: tuple(m.histogram(x, x.sort()[0])),
        lambda x: tuple(m.histogram(h[0], 4, range=(0.0, 4.0), weight=x)),
        lambda x: m.bincount(x.long(), minlength=6),
        lambda x: m.bincount(h[0].long(), x),
    ):
        results += [f(count)(h), f(count, 1)(h.t().contiguous()), f(f(count))(m.stack([h, h]))]
    return results, raised(f(lambda x: m.bincount(x.long())), h)


@pytest.mark.filterwarnings("ignore:There is a performance drop")
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_gradients_of_grid_sample_in_nested_vmaps(mode: str, padding: str) -> None:
    images = clew.arange(80.0, dtype=clew.float64).view(2, 2, 1, 4, 5).sin()
    grids = clew.arange(72.0, dtype=clew.float64).view(2, 2, 3, 3, 2).cos() * 0.9

    def loss(image: Any, grid: Any) -> Any:
        sampled = clew.nn.functional.grid_sample(
            image[None], grid[None], mode=mode, padding_mode=padding, align_corners=False
        )
        return (sampled**2).sum()

    gradient = clew.func.grad(loss, (0, 1))
    for number, found in enumerate(clew.vmap(clew.vmap(gradient))(images, grids)):
        for i, j in itertools.product(range(2), range(2)):
            assert clew.allclose(found[i, j], gradient(images[i, j], grids[i, j])[number])


@twice
def test_products_with_a_batch_of_matrices_for_all(m: Any) -> Any:
    a, b, c = numbers(m, 2, 3, 4, 5).sin(), numbers(m, 3, 5, 2).cos(), numbers(m, 2, 3, 4, 2)
    return (
        m.func.vmap(m.baddbmm, (0, 0, None))(c, a, b),
        m.func.vmap(m.baddbmm, (None, 0, None))(c[0], a, b),
    )


@twice
def test_complex_views_of_examples_that_lie_apart(m: Any) -> Any:
    turned = numbers(m, 3, 4, 2).transpose(0, 1)
    return m.view_as_complex(turned), m.func.vmap(m.view_as_complex, 1)(numbers(m, 3, 4, 2))


# -- refusals --------------------------------------------------------------------------------------

WRITES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "scatter_": lambda m, z, y: z.scatter_(0, m.tensor([0, 1]), y),
    "scatter_add_": lambda m, z, y: z.scatter_add_(0, m.tensor([0, 1]), y),
    "scatter_reduce_": lambda m, z, y: z.scatter_reduce_(0, m.tensor([0, 1]), y, "sum"),
    "index_add_": lambda m, z, y: z.index_add_(0, m.tensor([0, 1]), y),
    "index_copy_": lambda m, z, y: z.index_copy_(0, m.tensor([0, 1]), y),
    "index_reduce_": lambda m, z, y: z.index_reduce_(0, m.tensor([0, 1]), y, "prod"),
    "index_put_": lambda m, z, y: z.index_put_((m.tensor([0, 1]),), y),
    "put_": lambda m, z, y: z.put_(m.tensor([0, 1]), y),
    "masked_scatter_": lambda m, z, y: z.masked_scatter_(z == 0, y),
    "lerp_": lambda m, z, y: z.lerp_(y, 0.5),
    "addcmul_": lambda m, z, y: z.addcmul_(y, y),
    "clamp_": lambda m, z, y: z.clamp_(y),
    "fill_": lambda m, z, y: z.fill_(y[0]),
    "copy_": lambda m, z, y: z.copy_(y),
}


@pytest.mark.parametrize("name", WRITES)
def test_writes_to_what_all_examples_share(name: str) -> None:
    @twice
    def scenario(m: Any) -> Any:
        shared = m.zeros(2)
        refusal = raised(m.func.vmap(lambda y: WRITES[name](m, shared, y)), m.ones(2, 2), words=29)
        return refusal, shared

    scenario()


@twice
def test_what_has_no_rule(m: Any) -> Any:
    x, y = numbers(m, 2, 3), numbers(m, 2, 3) + 1
    f = m.func.vmap

    def with_data(x: Any) -> Any:
        x.data = m.ones(3)
        return x

    def with_data_total(x: Any) -> Any:
        return with_data(x).sum()

    return [
        raised(f(lambda x, y: m.abs(x, out=y)), x, y), raised(f(lambda x: m.abs(x, out=y)), x),
        raised(f(lambda x, y: m.add(x, y, out=y)), x, y), tuple(y.shape), y,
        raised(f(m.equal), x, y), raised(f(m.allclose), x, y),
        raised(f(m.where), x, words=17), raised(f(lambda x: x.data), x, words=9),
        raised(f(with_data), x, words=9), raised(m.func.grad(with_data_total), x[0], words=9),
        raised(f(lambda x: x.clone(memory_format=m.channels_last)), x, words=8),
        raised(f(lambda x: x.contiguous(memory_format=m.channels_last)), x, words=8),
        raised(f(lambda x: x.is_contiguous(memory_format=m.channels_last)), x, words=8),
        raised(f(lambda x: x.as_strided([1, 1, 1], [1, 1])), x, words=12),
        raised(f(lambda x: x.as_strided([3], [1])), m.ones(5, 0, 3), words=8),
    ]  # fmt: skip


# -- custom functions with a rule of their own -----------------------------------------------------


def custom(m: Any, rule: Callable[..., Any]) -> Any:
    class Own(m.autograd.Function):  # type: ignore[misc]  # m is clew or torch
        @staticmethod
        def forward(*args: Any) -> Any:
            return args[0]

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

        vmap = staticmethod(rule)

    return Own.apply


@twice
def test_dimensions_that_a_custom_rule_is_told(m: Any) -> Any:
    x, seen = numbers(m, 3, 4, 5), []

    def rule(info: Any, in_dims: Any, *args: Any) -> Any:
        shapes = [tuple(each.shape) if m.is_tensor(each) else type(each) for each in args]
        seen.append((info.batch_size, info.randomness, in_dims, shapes))
        return args[0], in_dims[0]

    apply, f = custom(m, rule), m.func.vmap
    results = [
        f(apply)(x), f(apply, 1)(x), f(apply, -1)(x), f(apply, (1, None))(x, 3),
        f(apply)(x, [x * 2, x * 3]), f(apply, (1, (0, None)))(x, (x[:2].repeat(2, 1, 1), 2.0)),
        f(apply, (0, {"k": 0, "j": None}))(x, {"k": x, "j": 1}),
        f(lambda x: apply(x * 2), 1)(x), f(f(apply, 1), 2)(x),
    ]  # fmt: skip
    return results, seen


@twice
def test_what_a_custom_rule_may_return(m: Any) -> Any:
    x = numbers(m, 3, 4)
    returns: list[Callable[[Any], Any]] = [
        lambda a: (a, 0), lambda a: (a.t(), 1), lambda a: (a[0], None), lambda a: ([a], [0]),
        lambda a: ([a], 0), lambda a: ((a, a * 2), 0), lambda a: ((a, a[0]), (0, None)),
        lambda a: (a, (0,)), lambda a: (a[0], (None,)), lambda a: ([a[0]], (None,)),
        lambda a: ((a, a), (0,)), lambda a: (a, 0, 1), lambda a: (a,),
    ]  # fmt: skip
    return [
        outcome(m.func.vmap(custom(m, lambda info, dims, a, each=each: each(a))), x, words=12)
        for each in returns
    ]


@twice
def test_tensors_that_a_custom_function_takes_by_name_only(m: Any) -> Any:
    class Sum(m.autograd.Function):  # type: ignore[misc]  # m is clew or torch
        @staticmethod
        def forward(x: Any, *, y: Any) -> Any:
            return x + y

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

    x = numbers(m, 3)
    return raised(m.func.vmap(Sum.apply), x, y=x, words=9)


@twice
def test_the_same_numbers_wherever_the_examples_are(m: Any) -> Any:
    fills = ("normal_", "uniform_", "bernoulli_", "exponential_", "cauchy_", "log_normal_")
    seen = []
    for fill in fills:
        for in_dims, shape in ((0, (4, 3, 20)), (-1, (3, 20, 4)), (1, (3, 4, 20))):
            m.manual_seed(7)
            draw = m.vmap(lambda t: getattr(t, fill)(), in_dims=in_dims, randomness="same")  # noqa: B023  # called at once
            seen.append(draw(m.zeros(*shape)))
    return seen
