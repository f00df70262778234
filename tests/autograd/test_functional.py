"""`autograd.functional`: jacobian, hessian and their products with vectors, against torch."""

from __future__ import annotations

from typing import Any

import pytest

from tests.twice import raised, twice


def vector(torch: Any, *values: float, grad: bool = False) -> Any:
    return torch.tensor(values, dtype=torch.float64, requires_grad=grad)


def one_to_one(x: Any) -> Any:
    return (x * x).sin() + x.sum()


def two_to_two(x: Any, w: Any) -> Any:
    return x * w.sum(), (x.exp() * w).sum()


def scalar(x: Any) -> Any:
    return (x**3).sum() * x[0]


def scalar_of_two(x: Any, w: Any) -> Any:
    return (x**2 * w.exp()).sum() + w[0] ** 3


# ---------------------------------------------------------------- jacobian


@pytest.mark.parametrize(
    ("strategy", "vectorize"),
    [("reverse-mode", False), ("reverse-mode", True), ("forward-mode", True)],
)
def test_jacobian(strategy: str, vectorize: bool) -> None:
    def scenario(torch: Any) -> Any:
        functional = torch.autograd.functional
        x, w = vector(torch, 1.0, 2.0, 3.0), vector(torch, 0.5, -1.0, 2.0)
        options = {"strategy": strategy, "vectorize": vectorize}
        return [
            functional.jacobian(one_to_one, x, **options),
            functional.jacobian(two_to_two, (x, w), **options),
            functional.jacobian(lambda x: (x * 2, x.sum()), x, **options),
            functional.jacobian(lambda x, w: x * w, (x, w), **options),
            functional.jacobian(lambda x: x.sum(), x, **options),
            functional.jacobian(lambda x: x.reshape(3, 1) * x, x, **options),
            functional.jacobian(lambda x: torch.ones(2).double(), x, **options),
        ]

    twice(scenario)()


@twice
def test_jacobian_leaves_inputs_alone(torch: Any) -> Any:
    x = vector(torch, 1.0, 2.0, grad=True)
    found = torch.autograd.functional.jacobian(lambda x: x**2, x)
    plain = vector(torch, 1.0, 2.0)
    torch.autograd.functional.jacobian(lambda x: x**2, plain)
    return found, x.grad, plain.requires_grad


@twice
def test_jacobian_with_a_graph(torch: Any) -> Any:
    x = vector(torch, 1.0, 2.0, grad=True)
    found = torch.autograd.functional.jacobian(lambda x: x**3, x, create_graph=True)
    found.sum().backward()
    return found, x.grad


@twice
def test_jacobian_errors(torch: Any) -> Any:
    jacobian = torch.autograd.functional.jacobian
    x = vector(torch, 1.0, 2.0)

    def strict(func: Any, inputs: Any = x, **options: Any) -> Any:
        return raised(jacobian, func, inputs, strict=True, words=8, **options)

    return [
        strict(lambda x: torch.ones(2).double()),
        strict(lambda x, w: x * 2, (x, x.clone())),
        strict(lambda x: x * 2, create_graph=True),
        strict(lambda x: x.detach() * 2),
        raised(jacobian, lambda x: 3.0, x, words=7),
        raised(jacobian, lambda x: (x, 3.0), x, words=7),
        raised(jacobian, one_to_one, [1.0], words=5),
        raised(jacobian, one_to_one, (x, 2.0), words=5),
        raised(jacobian, one_to_one, x, strategy="sideways", words=6),
        strict(one_to_one, vectorize=True),
        raised(
            jacobian, one_to_one, x, strategy="forward-mode", vectorize=True, create_graph=True,
            words=4,
        ),
    ]  # fmt: skip


@twice
def test_complex_jacobian(torch: Any) -> Any:
    z = torch.tensor([1 + 2j, 3 - 1j], dtype=torch.complex128)
    return torch.autograd.functional.jacobian(lambda z: (z * z).abs(), z)


# ---------------------------------------------------------------- products


@pytest.mark.parametrize("name", ["vjp", "jvp"])
def test_jacobian_products(name: str) -> None:
    def scenario(torch: Any) -> Any:
        product = getattr(torch.autograd.functional, name)
        x, w = vector(torch, 1.0, 2.0), vector(torch, 3.0, 4.0)
        v = vector(torch, 5.0, 6.0)
        pair = (v, v * 2) if name == "jvp" else (v, torch.tensor(2.0).double())
        single = vector(torch, 2.0)
        return [
            product(one_to_one, x, v),
            product(two_to_two, (x, w), pair),
            product(lambda x: x**2, single),
            product(lambda x: torch.ones(2).double(), x, v),
            product(lambda x: (x * 2).detach(), x, v),
            raised(product, one_to_one, x, words=8),
            raised(product, one_to_one, x, v[:1], words=8),
            raised(product, one_to_one, x, (v, v), words=8),
            raised(product, lambda x: x.detach(), x, v, strict=True, words=8),
            raised(product, lambda x: 3, x, v, words=6),
        ]

    twice(scenario)()


@pytest.mark.parametrize("name", ["vjp", "jvp"])
def test_jacobian_products_with_a_graph(name: str) -> None:
    def scenario(torch: Any) -> Any:
        product = getattr(torch.autograd.functional, name)
        x, v = vector(torch, 1.0, 2.0, grad=True), vector(torch, 3.0, 4.0, grad=True)
        value, found = product(lambda x: x**3, x, v, create_graph=True)
        (found.sum() + value.sum()).backward()
        return value, found, x.grad, v.grad

    twice(scenario)()


@twice
def test_products_without_a_graph_are_detached(torch: Any) -> Any:
    functional = torch.autograd.functional
    x, v = vector(torch, 1.0, 2.0, grad=True), vector(torch, 3.0, 4.0)
    found = [getattr(functional, n)(lambda x: x**3, x, v) for n in ("vjp", "jvp")]
    found += [getattr(functional, n)(scalar, x, v) for n in ("vhp", "hvp")]
    return found, x.grad


# ---------------------------------------------------------------- hessian


@pytest.mark.parametrize("options", [
    {}, {"vectorize": True}, {"vectorize": True, "outer_jacobian_strategy": "forward-mode"},
])  # fmt: skip
def test_hessian(options: dict[str, Any]) -> None:
    def scenario(torch: Any) -> Any:
        hessian = torch.autograd.functional.hessian
        x, w = vector(torch, 1.0, 2.0, 3.0), vector(torch, 0.5, -1.0, 2.0)
        return [
            hessian(scalar, x, **options).detach(),
            [part.detach() for row in hessian(scalar_of_two, (x, w), **options) for part in row],
            hessian(lambda x: (x**2).sum().reshape(1), x, **options).detach(),
        ]

    twice(scenario)()


def _product_in_place(torch: Any, x: Any) -> Any:
    y = x * 1
    return (y.mul_(x) * y).sum()


def _power_in_place(torch: Any, x: Any) -> Any:
    y = torch.zeros(3, dtype=x.dtype)
    return y.copy_(x).pow_(3).sum()


def _part_in_place(torch: Any, x: Any) -> Any:
    y = x * 2
    y[1:].mul_(x[:-1])
    return (y * y * x).sum()


@pytest.mark.parametrize("function", [_product_in_place, _power_in_place, _part_in_place])
@pytest.mark.parametrize("options", [
    {}, {"vectorize": True}, {"vectorize": True, "outer_jacobian_strategy": "forward-mode"},
])  # fmt: skip
def test_hessian_through_writes(options: dict[str, Any], function: Any) -> None:
    """What is saved of a tensor before it is written to has the tangents of every row."""

    def scenario(torch: Any) -> Any:
        x = vector(torch, 1.0, 2.0, 0.5)
        found = torch.autograd.functional.hessian(lambda x: function(torch, x), x, **options)
        return found.detach()

    twice(scenario)()


@twice
def test_hessian_of_simple_functions(torch: Any) -> Any:
    hessian = torch.autograd.functional.hessian
    x = vector(torch, 1.0, 2.0)
    w = vector(torch, 1.0)
    return [
        hessian(lambda x: x.sum(), x),
        hessian(lambda x, w: (x**2).sum(), (x, w)),
        hessian(lambda x: x.sum() ** 2, torch.tensor(3.0).double()),
    ]


@twice
def test_hessian_with_a_graph(torch: Any) -> Any:
    x = vector(torch, 1.0, 2.0, grad=True)
    found = torch.autograd.functional.hessian(scalar, x, create_graph=True)
    found.sum().backward()
    return found, x.grad


@twice
def test_hessian_errors(torch: Any) -> Any:
    hessian = torch.autograd.functional.hessian
    x = vector(torch, 1.0, 2.0)
    return [
        raised(hessian, lambda x: x, x, words=9),
        raised(hessian, lambda x: (x.sum(), x.sum()), x, words=9),
        raised(hessian, lambda x: x.sum(), x, strict=True, words=6),
        raised(hessian, lambda x: x.detach().sum(), x, strict=True, words=8),
        raised(hessian, lambda x: 3.0, x, words=6),
    ]


@pytest.mark.parametrize("name", ["vhp", "hvp"])
def test_hessian_products(name: str) -> None:
    def scenario(torch: Any) -> Any:
        product = getattr(torch.autograd.functional, name)
        x, w = vector(torch, 1.0, 2.0), vector(torch, 3.0, 4.0)
        v = vector(torch, 5.0, 6.0)
        return [
            product(scalar, x, v),
            product(scalar_of_two, (x, w), (v, v * 2)),
            product(lambda x: x.sum(), x, v),
            product(lambda x, w: (x**2).sum(), (x, w), (v, v)),
            product(lambda x: (x**3).sum(), vector(torch, 2.0)),
            raised(product, scalar, x, words=8),
            raised(product, lambda x: x, x, v, words=9),
            raised(product, scalar, x, (v, v), words=8),
            raised(product, lambda x: x.sum(), x, v, strict=True, words=0),
            raised(product, lambda x: x.detach().sum(), x, v, strict=True, words=8),
        ]

    twice(scenario)()


@pytest.mark.parametrize("name", ["vhp", "hvp"])
def test_hessian_products_with_a_graph(name: str) -> None:
    def scenario(torch: Any) -> Any:
        product = getattr(torch.autograd.functional, name)
        x, v = vector(torch, 1.0, 2.0, grad=True), vector(torch, 3.0, 4.0, grad=True)
        value, found = product(scalar, x, v, create_graph=True)
        (found.sum() + value).backward()
        return value, found, x.grad, v.grad

    twice(scenario)()


@twice
def test_inside_no_grad(torch: Any) -> Any:
    functional = torch.autograd.functional
    x, v = vector(torch, 1.0, 2.0), vector(torch, 3.0, 4.0)
    with torch.no_grad():
        return [
            functional.jacobian(one_to_one, x),
            functional.hessian(scalar, x),
            functional.vjp(one_to_one, x, v),
            functional.hvp(scalar, x, v),
            torch.is_grad_enabled(),
        ]
