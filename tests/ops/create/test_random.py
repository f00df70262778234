"""Random tensors: the same numbers as PyTorch for the same seed."""

from __future__ import annotations

import pytest

import clew
from tests.expressions import check

LINES = [
    "g.normal_()",
    "g.uniform_()",
    "(g*2).normal_()",
    "(g*2).normal_().requires_grad",
    "(g*2).uniform_().grad_fn",
    "(h*1).bernoulli_().grad_fn",
    "(h*1).bernoulli_(0.3).grad_fn",
    "(h*1).bernoulli_(h).grad_fn",
    "(h*1).exponential_().grad_fn",
    "(h*1).geometric_(.3).grad_fn",
    "(h*1).cauchy_().grad_fn",
    "(h*1).log_normal_().grad_fn",
    "(h*1).random_().grad_fn",
    "(h*1).random_(3).grad_fn",
    "(h*1).random_(1,3).grad_fn",
    "torch.bernoulli(h).grad_fn",
    "torch.bernoulli(h).requires_grad",
    "torch.bernoulli(h, 0.3).grad_fn",
    "torch.normal(g,h).grad_fn",
    "torch.normal(g,1.0).grad_fn",
    "torch.normal(0.0,h).grad_fn",
    "torch.autograd.grad(torch.normal(g,h).sum(), [g,h])",
    "torch.poisson(g).grad_fn",
    "torch.autograd.grad(torch.poisson(g).sum(), g)",
    "torch.binomial(g,h).grad_fn",
    "torch._standard_gamma(g).grad_fn",
    "torch._sample_dirichlet(g).grad_fn",
    "torch.multinomial(h,2).grad_fn",
    "torch.multinomial(h,2).requires_grad",
    "torch.rand_like(g).requires_grad",
    "torch.normal(0.0,1.0,(2,)).shape",
    "torch.normal(0.0,1.0,size=(2,)).shape",
    "torch.normal(0.,1.)",
    "torch.normal(torch.zeros(2),torch.ones(3))",
    "torch.normal(torch.zeros(2),torch.ones(1)).shape",
    "torch.normal(torch.zeros(2),-torch.ones(2))",
    "torch.normal(torch.zeros(2),-1.)",
    "torch.normal(torch.zeros(2,dtype=torch.float64),torch.ones(2)).dtype",
    "torch.normal(torch.zeros(2,dtype=torch.int64),torch.ones(2))",
    "torch.normal(mean=torch.arange(1., 3.))",
    "torch.normal(0.,torch.ones(2)).shape",
    "i.normal_()",
    "i.uniform_()",
    "i.exponential_()",
    "i.random_(5).dtype",
    "i.bernoulli_(.5).dtype",
    "i.bernoulli()",
    "torch.bernoulli(i)",
    "torch.bernoulli(torch.tensor([2.]))",
    "i.geometric_(.5).dtype",
    "x.normal_(std=-1)",
    "x.uniform_(2,1)",
    "x.expand(2,3).normal_()",
    "torch.zeros(1).expand(3).uniform_()",
    "torch.rand(2,dtype=torch.int64)",
    "torch.randn(2,dtype=torch.int64)",
    "torch.randn(2,dtype=torch.complex64).dtype",
    "torch.randint(5,(2,)).dtype",
    "torch.randint(0,5,size=(2,)).dtype",
    "torch.randint(high=5,size=(2,)).dtype",
    "torch.randint(5,0,(2,))",
    "torch.randint(5)",
    "torch.randint(0,5,(2,),dtype=torch.float32).dtype",
    "torch.randint_like(x,5).dtype",
    "torch.randint_like(x,1,5)",
    "torch.randint_like(x,low=1,high=5)",
    "torch.randint(3,(2,),requires_grad=True)",
    "torch.randperm(-1)",
    "torch.randperm(4,dtype=torch.float32)",
    "torch.multinomial(torch.tensor([1.,0]),3)",
    "torch.multinomial(torch.tensor([-1.,0]),1)",
    "torch.poisson(torch.tensor([-1.]))",
    "torch.poisson(i)",
    "torch.Generator().manual_seed(3).initial_seed()",
    "torch.Generator().get_state().shape",
    "torch.Generator().device",
    "torch.manual_seed(2**64)",
    "torch.manual_seed(-1).initial_seed()",
    "torch.manual_seed('a')",
    "torch.manual_seed(1.5).initial_seed()",
    "torch.set_rng_state(torch.zeros(3))",
    "torch.normal(torch.zeros(3), 1., generator=torch.Generator().manual_seed(0))",
    "x.random_(-5,5).shape",
    "x.log_normal_().shape",
    "torch.rand(2,3,out=torch.empty(2,3)).shape",
    "torch.bernoulli(torch.rand(2,2),generator=torch.Generator()).shape",
    "x.bernoulli_(torch.tensor([.5,.5,.5],dtype=torch.float64)).dtype",
    "x.bernoulli_(torch.tensor(.5)).shape",
    "torch.rand((2,3),dtype=torch.float16).dtype",
]
MORE = [
    "torch.bernoulli(torch.linspace(0, 1, 24).reshape(4, 6)[:, ::2].t())",
    "torch.bernoulli(torch.empty(0, dtype=torch.int64))",
    "torch.bernoulli(torch.full((4,), 0.5), out=torch.empty(4, dtype=torch.int64))",
    "torch.bernoulli(torch.full((4,), 0.5), out=torch.empty(1).expand(4))",
    "torch.normal(torch.empty(0, dtype=torch.int64), 1.0)",
    "torch.normal(torch.zeros(2, dtype=torch.complex64), 2.0)",
    "torch.normal(0.0, torch.ones(2, dtype=torch.complex64))",
    "torch.normal(torch.zeros(2, dtype=torch.complex64, requires_grad=True), 2.0)",
    "torch.normal(torch.zeros(2), -torch.ones(3))",
    "torch.multinomial(torch.ones(4), 2, out=torch.empty(2))",
    "torch.multinomial(torch.ones(4), 2, out=torch.empty(2, dtype=torch.int64))",
    "torch.autograd.grad(torch.bernoulli(h).sum(), h)",
    "torch.autograd.grad((h * 2).normal_().sum(), h)",
    "torch.autograd.grad(torch.normal(torch.zeros(2, 3), h).sum(), h)",
]
SETUP = """
g = torch.ones(3, requires_grad=True)
h = torch.full((3,), 0.5, requires_grad=True)
i = torch.ones(3, dtype=torch.int64)
x = torch.zeros(3)
"""
FILLS = [
    "normal_()", "normal_(1.5, 0.3)", "uniform_()", "uniform_(-2, 5)", "exponential_()",
    "exponential_(2.5)", "geometric_(0.3)", "cauchy_()", "cauchy_(1, 2)", "log_normal_()",
    "log_normal_(0.5, 0.2)", "random_()", "random_(7)", "random_(-3, 9)", "bernoulli_()",
    "bernoulli_(0.3)", "bernoulli_(torch.full((8,), 0.6, dtype=torch.float64))",
]  # fmt: skip
TARGETS = [
    "torch.empty(3, 8)", "torch.empty(8, 3).t()", "torch.empty(2, 8, 3).permute(2, 0, 1)[..., :8]",
    "torch.empty(4, 16)[:, ::2]", "torch.empty(3, 8, dtype=torch.float64)",
    "torch.empty(3, 8, dtype=torch.float16)", "torch.empty(0, 8)",
]  # fmt: skip
NEW = [
    "torch.rand({})", "torch.randn({})", "torch.randint(0, 10, ({},))", "torch.randperm({})",
    "torch.rand({}, dtype=torch.float64)", "torch.randn({}, dtype=torch.float64)",
    "torch.randn({}, dtype=torch.float16)", "torch.randint(-5, 2**40, ({},))",
    "torch.rand_like(torch.empty({}))", "torch.randn_like(torch.empty(3, 2, {}).permute(1, 0, 2))",
    "torch.randint_like(torch.empty({}), 3, 9)", "torch.normal(1.0, 2.0, ({},))",
    "torch.normal(torch.arange({}, dtype=torch.float32), 2.0)",
    "torch.normal(torch.arange({}, dtype=torch.float32), torch.full(({},), 0.5))",
    "torch.normal(3.0, torch.full(({},), 0.5, dtype=torch.float64))",
    "torch.bernoulli(torch.full(({},), 0.4))", "torch.poisson(torch.full(({},), 4.5))",
    "torch.poisson(torch.full(({},), 40.0))",
    "torch.binomial(torch.full(({},), 20.0), torch.full(({},), 0.4))",
    "torch._standard_gamma(torch.full(({},), 2.5))",
    "torch.multinomial(torch.arange(1.0, 20.0), {}, replacement=True)",
]  # fmt: skip


@pytest.mark.parametrize("text", [*LINES, *MORE])
def test_same_as_torch(text: str) -> None:
    check(text, setup=SETUP)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("fill", FILLS)
def test_filling(fill: str, target: str) -> None:
    check(f"{target}.{fill}")


@pytest.mark.parametrize("size", [1, 5, 15, 16, 17, 40])
@pytest.mark.parametrize("text", NEW)
def test_new_tensors(text: str, size: int) -> None:
    check(text.replace("{}", str(size)))


def test_calls_continue_one_stream() -> None:
    check("[torch.randn(3), torch.rand(2), torch.randn(17), torch.randint(5, (3,))]")


def test_a_generator_is_a_stream_of_its_own() -> None:
    setup = "a = torch.Generator().manual_seed(5); b = torch.Generator()"
    check("[torch.rand(2, generator=a), torch.rand(2), torch.rand(2, generator=b)]", setup=setup)
    check("torch.empty(5).normal_(generator=a), a.initial_seed(), b.initial_seed()", setup=setup)
    check("b.set_state(a.get_state()) and torch.rand(2, generator=b)", setup=setup)
    check("torch.rand(2, generator=a.clone_state()), torch.rand(2, generator=a)", setup=setup)


def test_states_are_torchs_own() -> None:
    check("torch.get_rng_state()", setup="torch.randn(5)")
    check("torch.random.initial_seed(), torch.initial_seed()")
    check("torch.rand(3)", setup="s = torch.get_rng_state(); torch.rand(9); torch.set_rng_state(s)")


def test_fork_rng_leaves_the_stream_alone() -> None:
    clew.manual_seed(1)
    with clew.random.fork_rng():
        clew.rand(10)
        clew.manual_seed(99)
    inside = clew.rand(3)
    clew.manual_seed(1)
    assert clew.rand(3).tolist() == inside.tolist()
    with clew.random.fork_rng(enabled=False):
        clew.rand(3)
    assert clew.rand(3).tolist() != inside.tolist()


def test_seed_chooses_a_seed() -> None:
    chosen = clew.seed()
    assert chosen == clew.initial_seed()
    first = clew.rand(3)
    clew.manual_seed(chosen)
    assert clew.rand(3).tolist() == first.tolist()


def test_writes_are_counted() -> None:
    x = clew.zeros(3)
    for count, fill in enumerate((x.normal_, x.uniform_, x.random_, x.bernoulli_), start=1):
        assert fill() is x
        assert x._version == count
    weight = clew.ones(3, requires_grad=True)
    loss = (weight * x).sum()
    x.normal_()
    with pytest.raises(RuntimeError, match="overwritten by `normal_`"):
        loss.backward()


def test_a_failed_fill_writes_nothing() -> None:
    x = clew.ones(3)
    for bad in (lambda: x.normal_(std=-1), lambda: x.uniform_(2, 1), lambda: x.geometric_(2)):
        with pytest.raises(RuntimeError):
            bad()
    assert x.tolist() == [1.0, 1.0, 1.0] and x._version == 0


def test_draws_without_derivative_say_so() -> None:
    p = clew.full((3,), 0.5, requires_grad=True)
    for draw in (clew.binomial(clew.ones(3), p), clew._sample_dirichlet(p), clew.bernoulli(p, 0.3)):
        with pytest.raises(RuntimeError, match=r"derivative for .* is not implemented"):
            draw.sum().backward()


def test_generators_live_on_the_cpu() -> None:
    with pytest.raises(RuntimeError, match="Device type cuda is not supported"):
        clew.Generator("cuda")
    with pytest.raises(TypeError, match=r"expected a torch.Generator"):
        clew.rand(2, generator=3)
    with pytest.raises(TypeError, match=r"expected a torch.ByteTensor"):
        clew.set_rng_state([1, 2])
