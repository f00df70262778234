"""An autograd engine from nothing, in five steps, each of which runs and agrees with the library.

1 a value       numbers that remember how they were made
2 the graph     what a value depends on, in an order in which each comes before its inputs
3 backward      the chain rule, once along that order
4 tensors       the same over NumPy arrays, where broadcasting must be undone
5 training      a network on a problem that no straight line solves

Each step adds to the class of the step before. `clew scratch` runs all, `clew scratch 3` the third.
"""

import math
from pathlib import Path
from typing import Any

import numpy as np

import clew as torch
from clew.gallery import helper

# -- step 1: a value -------------------------------------------------------------------------------


class Value:
    """A number, what it was computed from, and the local derivative with respect to each of these.

    For z = x * y the inputs are x and y, and the derivatives are y and x. They are known when z is
    computed: this is all that ever has to be remembered.
    """

    def __init__(self, data, inputs=(), derivatives=()):
        self.data, self.inputs, self.derivatives = data, inputs, derivatives
        self.grad = 0.0

    def __add__(self, other):
        return Value(self.data + other.data, (self, other), (1.0, 1.0))

    def __mul__(self, other):
        return Value(self.data * other.data, (self, other), (other.data, self.data))

    def tanh(self):
        t = math.tanh(self.data)
        return Value(t, (self,), (1 - t * t,))


def step_1():
    """tanh(x y + x), and the derivatives that its last operation remembers."""
    x, y = Value(0.5), Value(-3.0)
    z = (x * y + x).tanh()
    return {"value": z.data, "local derivative of tanh": z.derivatives[0]}


# -- step 2: the graph -----------------------------------------------------------------------------


def topological_order(value):
    """All values that this one was computed from, each after everything that uses it."""
    order, seen = [], set()

    def visit(each):
        if id(each) not in seen:
            seen.add(id(each))
            for input in each.inputs:
                visit(input)
            order.append(each)  # after its inputs: reversed, before them

    visit(value)
    return order[::-1]


def step_2():
    """x is used twice and is in the order once, behind both of its uses."""
    x, y = Value(0.5), Value(-3.0)
    order = topological_order((x * y + x).tanh())
    return {"values in the graph": len(order), "place of x": order.index(x)}


# -- step 3: backward ------------------------------------------------------------------------------


def backward(value):
    """The derivative of `value` with respect to everything that it was computed from.

    Where a value is used twice, both uses add to its gradient: hence +=, and hence the order. A
    value passes its gradient on only when all of its uses have added theirs.
    """
    value.grad = 1.0
    for each in topological_order(value):
        for input, derivative in zip(each.inputs, each.derivatives):
            input.grad += each.grad * derivative


def step_3():
    """The gradients of tanh(x y + x)."""
    x, y = Value(0.5), Value(-3.0)
    backward((x * y + x).tanh())
    return {"gradient of x": x.grad, "gradient of y": y.grad}


# -- step 4: tensors -------------------------------------------------------------------------------


def unbroadcast(grad, shape):
    """Sum over the axes along which an array of this shape was repeated."""
    grad = grad.sum(axis=tuple(range(grad.ndim - len(shape))))
    repeated = tuple(i for i, size in enumerate(shape) if size == 1 and grad.shape[i] != 1)
    return grad.sum(axis=repeated, keepdims=True)


class Array:
    """The same over NumPy arrays.

    A Jacobian of two arrays is far too large to be kept. What backward needs of it is its product
    with a gradient, so each operation keeps functions that compute this product.
    """

    def __init__(self, data, inputs=(), products=()):
        self.data = np.asarray(data, dtype=np.float64)
        self.inputs, self.products = inputs, products
        self.grad = np.zeros_like(self.data)

    def __add__(self, other):
        return Array(self.data + other.data, (self, other), (lambda g: g, lambda g: g))

    def __sub__(self, other):
        return Array(self.data - other.data, (self, other), (lambda g: g, lambda g: -g))

    def __mul__(self, other):
        products = (lambda g: g * other.data, lambda g: g * self.data)
        return Array(self.data * other.data, (self, other), products)

    def __matmul__(self, other):
        products = (lambda g: g @ other.data.T, lambda g: self.data.T @ g)
        return Array(self.data @ other.data, (self, other), products)

    def tanh(self):
        t = np.tanh(self.data)
        return Array(t, (self,), (lambda g: g * (1 - t * t),))

    def mean(self):
        size = self.data.size
        return Array(self.data.mean(), (self,), (lambda g: np.full(self.data.shape, g / size),))

    def backward(self):
        self.grad = np.ones_like(self.data)
        for each in topological_order(self):
            for input, product in zip(each.inputs, each.products):
                # The one place where the shape is put right, for all operations.
                input.grad = input.grad + unbroadcast(product(each.grad), input.data.shape)


def step_4(seed: int = 0):
    """A layer with a bias that is broadcast over the batch: the largest difference from clew."""
    rng = np.random.default_rng(seed)
    given = [rng.normal(size=shape) for shape in ((8, 3), (3, 4), (4,), (8, 1))]
    ours = [Array(value) for value in given]
    theirs: Any = [torch.tensor(value, requires_grad=True) for value in given]
    for x, w, b, scale in (ours, theirs):
        ((x @ w + b).tanh() * scale).mean().backward()
    difference = max(np.abs(a.grad - b.grad.numpy()).max() for a, b in zip(ours, theirs))
    return {"largest difference of 4 gradients": float(difference)}


# -- step 5: training ------------------------------------------------------------------------------


def train(make, values, x, y, steps, lr, say=lambda words: None):
    """Gradient descent of a two-layer network, with either engine's tensors: the losses."""
    x, y, losses = make(x), make(y), []
    for step in steps:
        w1, b1, w2, b2 = weights = [make(value) for value in values]
        for weight in weights:
            weight.requires_grad = True
        error = (x @ w1 + b1).tanh() @ w2 + b2 - y
        loss = (error * error).mean()
        loss.backward()
        values = [value - lr * np.asarray(w.grad) for value, w in zip(values, weights)]
        losses.append(float(loss.data))
        say(f"loss {losses[-1]:.4f} after {step + 1} steps")
    return losses


def step_5(seed: int = 0, steps: int = 300):
    """Exclusive or, learned by the engine of step 4 and by the library: the same losses."""
    rng = np.random.default_rng(seed)
    x = np.array([[0, 0], [0, 1], [1, 0], [1, 1]]) * 2.0 - 1
    y = np.array([[0], [1], [1], [0]]) * 2.0 - 1
    values = [rng.normal(size=shape) for shape in ((2, 8), (8,), (8, 1), (1,))]
    bar = helper.progress(range(steps), "scratch")
    ours = train(Array, values, x, y, bar, 0.1, bar.say)
    theirs = train(torch.tensor, values, x, y, range(steps), 0.1)
    return ours, theirs


STEPS = (step_1, step_2, step_3, step_4, step_5)


def main(fast: bool, seed: int, out: Path) -> dict[str, float]:
    x, y = (torch.tensor(value, dtype=torch.float64, requires_grad=True) for value in (0.5, -3.0))
    z = (x * y + x).tanh()
    z.backward()
    assert x.grad is not None and y.grad is not None
    first, second, third = step_1(), step_2(), step_3()
    ours, theirs = step_5(seed, 100 if fast else 300)
    helper.chart(
        out / "scratch.svg", {"scratch": ours, "library": theirs}, "Exclusive or, from scratch",
        "step", "mean squared error", log=True,
    )  # fmt: skip
    return {
        "1 difference of the value": abs(first["value"] - z.item()),
        "2 values in the graph": second["values in the graph"],
        "3 difference of the gradients": max(
            abs(third["gradient of x"] - x.grad.item()), abs(third["gradient of y"] - y.grad.item())
        ),
        "4 difference of the gradients": step_4(seed)["largest difference of 4 gradients"],
        "5 largest difference of the losses": max(abs(a - b) for a, b in zip(ours, theirs)),
        "5 first loss": ours[0],
        "5 last loss": ours[-1],
    }


def claims(figures, fast):
    worst = max(value for name, value in figures.items() if "difference" in name)
    yield f"every step agrees with the library, to {worst:.0e} (1e-9 allowed)", worst < 1e-9
    last = figures["5 last loss"]
    yield f"and it learns exclusive or: loss {last:.2g} (below 0.1)", last < 0.1


if __name__ == "__main__":
    raise SystemExit(helper.run(main, claims))
