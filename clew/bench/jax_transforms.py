"""The transforms of the benchmarks that JAX runs as well, written as its users write them."""

from collections.abc import Callable
from typing import Any

import clew
from clew.bench.transforms import hessian_numbers, jacobian_numbers


def _numbers(draw: Callable[[Any], tuple[Any, ...]], jax: Any) -> list[Any]:
    """The numbers that the other engines draw from the same seed."""
    return [jax.numpy.asarray(each.numpy()) for each in draw(clew)]


def _hessian(jax: Any) -> Callable[[], Any]:
    np = jax.numpy
    matrix, x = _numbers(hessian_numbers, jax)
    function = jax.jit(jax.hessian(lambda x: (np.tanh(matrix @ x) * x).sum() + (x**4).mean()))
    return lambda: function(x).block_until_ready()


def _jacobian(jax: Any) -> Callable[[], Any]:
    np = jax.numpy
    matrix, x = _numbers(jacobian_numbers, jax)
    function = jax.jit(jax.jacrev(lambda x: np.tanh(matrix @ np.sin(x)) * x))
    return lambda: function(x).block_until_ready()


MAKERS = {"func/hessian200/call": _hessian, "func/jacrev100/call": _jacobian}
