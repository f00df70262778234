"""Whole steps for `compile`, each written once against a torch-like module `t`.

A maker gives a function without arguments, whose result is a tuple of tensors to compare.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from clew.bench.models import MODELS, NETWORKS, Training, reader, train_step

Step = Callable[[], tuple[Any, ...]]

TRAINED: dict[str, Callable[[Any], Training]] = {
    **MODELS, "gru": reader("GRU"), "mlp_small": NETWORKS["mlp_small"],
}  # fmt: skip

# Their steps draw numbers. What torch.compile makes has a generator of its own, unless asked.
RANDOM = ("vae",)
# The engines whose time to compile is measured, and the steps for which it is.
COMPILERS = ("clew.compile", "torch.compile", "jax")
FIRST_CALLS = ("mlp", "gpt_d128", "gpt_d384")


def chain_numbers(t: Any) -> Any:
    t.manual_seed(0)
    return t.randn(10**6)


def _chain(t: Any) -> Step:
    """A chain of elementwise operations and its gradient, which fusion makes one loop each."""
    x = chain_numbers(t).requires_grad_()
    gelu = t.nn.functional.gelu

    def step() -> tuple[Any, ...]:
        x.grad = None
        out = (gelu(x) * t.sigmoid(x) + t.tanh(x)) * t.log1p(t.exp(x)) - t.sin(x)
        value = out.mean()
        value.backward()
        return value, x.grad

    return step


def _trained(make: Callable[[Any], Training], t: Any) -> Step:
    t.manual_seed(0)
    train = train_step(make(t))
    return lambda: (train(),)


COMPILED: dict[str, Callable[[Any], Step]] = {
    **{name: partial(_trained, make) for name, make in TRAINED.items()},
    "chain_1e6": _chain,
}


def compiled_steps(name: str, step: Step, t: Any) -> tuple[Step, Step]:
    """The compiled step, to be timed; and the one for answers, which draws the numbers of eager."""
    # PyTorch counts what it compiles by the code of a function, and all steps have the same.
    t.compiler.reset()
    made = t.compile(step)
    if name in RANDOM and t.__name__ == "torch":
        return made, t.compile(step, options={"fallback_random": True})
    return made, made
