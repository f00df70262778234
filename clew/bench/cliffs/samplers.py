"""The sweep for cliffs: random numbers, distributions, creation of tensors."""

from collections.abc import Callable
from typing import Any

from clew.bench.cliffs.inputs import Build, Call, Inputs, calls, functions

_SAMPLED = "bernoulli poisson rand_like randn_like"
_FILLED = "uniform_ normal_ exponential_ geometric_ cauchy_ log_normal_ random_ bernoulli_"


def _filled(name: str) -> Callable[[Inputs], Callable[..., Any]]:
    args = {"geometric_": (0.3,)}.get(name, ())
    return lambda c: lambda x: getattr(x.detach(), name)(*args)


def _distribution(name: str, *parameters: str) -> Build:
    """Samples of a distribution; with `rsample`, where it has one, gradients too."""

    def build(c: Inputs) -> Call:
        made = getattr(c.t.distributions, name)

        def sample(*values: Any) -> Any:
            each = made(*values, validate_args=False)
            return each.rsample() if each.has_rsample else each.sample()

        shape = c.rows if name in ("Dirichlet", "Categorical", "OneHotCategorical") else c.vector
        return sample, [c(shape, 0.5, 3.0) for _ in parameters]

    return build


def _binomial(count: int) -> Callable[[Inputs], Callable[..., Any]]:
    return lambda c: lambda x: c.t.binomial(c.t.full_like(x.detach(), count), x.detach() / 2)


RANDOM: dict[str, Build] = {
    **functions(_SAMPLED, lambda c: [c(c.vector, 0.05, 0.95)]),
    **calls({name: _filled(name) for name in _FILLED.split()}, "vector"),
    **calls(
        {
            "poisson_large": lambda c: lambda x: c.t.poisson(x.detach() * 50),
            "binomial": _binomial(20),
            "binomial_large": _binomial(500),
            "normal": lambda c: lambda x: c.t.normal(x.detach(), x.detach()),
            "randperm": lambda c: lambda x: c.t.randperm(c.count),
            "randint": lambda c: lambda x: c.t.randint(0, 100, (c.count,)),
        },
        "vector",
    ),
    **calls(
        {
            "multinomial": lambda c: lambda x: c.t.multinomial(x.detach(), 20),
            "multinomial_replaced": lambda c: lambda x: c.t.multinomial(x.detach(), 20, True),
        },
        "rows",
    ),
    "multinomial_one": lambda c: (
        lambda x: c.t.multinomial(x.detach(), 1000, True), [c((c.count,))],
    ),
    "Gamma": _distribution("Gamma", "a", "b"),
    "Beta": _distribution("Beta", "a", "b"),
    "Dirichlet": _distribution("Dirichlet", "a"),
    "Normal": _distribution("Normal", "a", "b"),
    "Laplace": _distribution("Laplace", "a", "b"),
    "StudentT": _distribution("StudentT", "a"),
    "VonMises": _distribution("VonMises", "a", "b"),
    "Categorical": _distribution("Categorical", "a"),
    "Gumbel": _distribution("Gumbel", "a", "b"),
    "Weibull": _distribution("Weibull", "a", "b"),
}  # fmt: skip

_BY_COUNT = """
hann_window hamming_window blackman_window bartlett_window kaiser_window arange zeros ones empty
rand randn
"""


def _counted(name: str) -> Build:
    return lambda c: (lambda: getattr(c.t, name)(c.count), [])


CREATION: dict[str, Build] = {
    **{name: _counted(name) for name in _BY_COUNT.split()},
    "linspace": lambda c: (lambda: c.t.linspace(0, 1, c.count), []),
    "logspace": lambda c: (lambda: c.t.logspace(0, 1, c.count), []),
    "full": lambda c: (lambda: c.t.full((c.count,), 2.0), []),
    "eye": lambda c: (lambda: c.t.eye(c.side), []),
    "tolist": lambda c: (lambda x: x.tolist(), [c()]),
    "tensor_of_list": lambda c: (lambda: c.t.tensor([0.5] * c.count), []),
    "item": lambda c: (lambda x: x[0].item(), [c()]),
    "numpy": lambda c: (lambda x: x.detach().numpy(), [c()]),
}
