"""Which functions take inputs that require grad together with `out=`, and which such an `out`."""

from __future__ import annotations

from typing import Any

from tests.twice import leaf, raised, twice


def _of_vectors(lib: Any) -> dict[str, Any]:
    f64, index = lib.float64, lib.tensor([0])
    return {
        "softmax": (lambda x, out: lib.softmax(x, 0, out=out), f64, 3),
        "log_softmax": (lambda x, out: lib.log_softmax(x, 0, out=out), f64, 3),
        "slice_scatter": (lambda x, out: lib.slice_scatter(x, x, out=out), f64, 3),
        "floor_divide": (lambda x, out: lib.floor_divide(x, x, out=out), f64, 3),
        "heaviside": (lambda x, out: lib.heaviside(x, x, out=out), f64, 3),
        "conj_physical": (lambda x, out: lib.conj_physical(x, out=out), f64, 3),
        "alias_copy": (lambda x, out: lib.alias_copy(x, out=out), f64, 3),
        "expand_copy": (lambda x, out: lib.expand_copy(x, (3,), out=out), f64, 3),
        "histc": (lambda x, out: lib.histc(x, 3, out=out), f64, 3),
        "sign": (lambda x, out: lib.sign(x, out=out), f64, 3),
        "gather": (lambda x, out: lib.gather(x, 0, index, out=out), f64, 1),
        "argmax": (lambda x, out: lib.argmax(x, 0, keepdim=True, out=out), lib.int64, 1),
        "argmin": (lambda x, out: lib.argmin(x, 0, keepdim=True, out=out), lib.int64, 1),
        "searchsorted": (lambda x, out: lib.searchsorted(x, x, out=out), lib.int64, 3),
        "bucketize": (lambda x, out: lib.bucketize(x, x, out=out), lib.int64, 3),
        "isin": (lambda x, out: lib.isin(x, x, out=out), lib.bool, 3),
        "any": (lambda x, out: lib.any(x, 0, keepdim=True, out=out), lib.bool, 1),
        "all": (lambda x, out: lib.all(x, 0, keepdim=True, out=out), lib.bool, 1),
    }


@twice
def test_inputs_with_a_history(lib: Any) -> Any:
    seen = {}
    for name, (call, kind, size) in _of_vectors(lib).items():
        x, out = leaf(lib, [1.0, 2.0, 4.0]), lib.zeros(size, dtype=kind)
        seen[name] = raised(call, x, out), out, out.requires_grad
    return seen


@twice
def test_an_out_that_requires_grad(lib: Any) -> Any:
    seen = {}
    for name, (call, kind, size) in _of_vectors(lib).items():
        if kind is lib.float64:
            x = lib.tensor([1.0, 2.0, 4.0], dtype=kind)
            seen[name] = raised(call, x, leaf(lib, [0.0] * size)), x
    return seen


@twice
def test_compositions_give_their_history_to_out(lib: Any) -> Any:
    x = leaf(lib, [[2.0, 1.0], [0.0, 3.0]])
    outs = [lib.zeros((), dtype=lib.float64) for _ in range(5)]
    lib.linalg.matrix_norm(x, "nuc", out=outs[0])
    lib.linalg.norm(x, 2, out=outs[1])
    lib.linalg.matrix_norm(x, 1, out=outs[2])
    lib.quantile(x, 0.25, out=outs[3])
    lib.nanquantile(x, 0.75, out=outs[4])
    condition = lib.linalg.cond(x, "fro", out=lib.zeros((), dtype=lib.float64))
    solution = lib.linalg.tensorsolve(x, x[0].detach(), out=lib.zeros(2, dtype=lib.float64))
    inverse = lib.linalg.tensorinv(x, 1, out=lib.zeros(2, 2, dtype=lib.float64))
    rank = lib.linalg.matrix_rank(x, out=lib.zeros((), dtype=lib.int64))
    grad = lib.autograd.grad(sum(outs), x)
    return rank, outs, condition, solution, inverse, grad


@twice
def test_eigenvalues_of_a_matrix_with_a_history(lib: Any) -> Any:
    x, out = leaf(lib, [[2.0, 1.0], [0.0, 3.0]]), lib.zeros(2, dtype=lib.complex128)
    counts = lib.zeros(3, dtype=lib.float64), lib.zeros(4, dtype=lib.float64)
    lib.histogram(x, 3, out=counts)
    diagonal = lib.diag(x, out=lib.zeros(2, dtype=lib.float64))
    return lib.linalg.eigvals(x, out=out), diagonal, counts[0].requires_grad


@twice
def test_numbers_that_are_tensors_without_dimensions(lib: Any) -> Any:
    mean, deviation = lib.tensor(3.0), lib.tensor(0.0)
    return (
        lib.normal(mean, 0.0, (2,)),
        lib.normal(1.0, deviation, (2,), dtype=lib.float64),
        raised(lib.normal, mean, -1, (10,)),
        raised(lib.normal, mean.requires_grad_(), 1.0, (2,), words=2),
        raised(lib.normal, lib.zeros(1), 1.0, (2,), words=2),
    )


@twice
def test_the_identity_of_a_dotted_name(lib: Any) -> Any:
    x = lib.ones(2)
    return [lib.masked._reduction_identity(f"masked.{n}", x) for n in ("amin", "prod", "mean")]


@twice
def test_an_out_of_another_dtype(lib: Any) -> Any:
    functional, x, seen = lib.nn.functional, lib.tensor([1.0, -2.0, 3.0]), {}
    calls = {
        "softmax": lambda out: lib.softmax(x, 0, out=out),
        "log_softmax": lambda out: lib.log_softmax(x, 0, dtype=lib.float64, out=out),
        "norm": lambda out: lib.norm(x, out=out),
        "gelu": lambda out: functional.gelu(x, out=out),
        "softplus": lambda out: functional.softplus(x, out=out),
        "softshrink": lambda out: functional.softshrink(x, out=out),
        "hardshrink": lambda out: functional.hardshrink(x, out=out),
        "logsigmoid": lambda out: functional.logsigmoid(x, out=out),
    }
    for name, call in calls.items():
        for kind in (lib.float32, lib.float64, lib.float16, lib.complex64):
            out = lib.zeros(() if name == "norm" else 3, dtype=kind)
            seen[name, str(kind)] = raised(call, out, words=20), out
    return seen


@twice
def test_these_resize_out_without_a_word(m: Any) -> Any:
    m.manual_seed(0)
    x, batch = m.ones(3, 5), m.ones(2, 3, 3)
    return [
        m.addbmm(x, batch, m.ones(2, 3, 5), out=m.ones(2)),
        m.bernoulli(x, out=m.ones(2)),
        m.multinomial(x, 2, out=m.ones(2, dtype=m.int64)).shape,
        m.narrow_copy(x, 0, 1, 1, out=m.ones(2)),
    ]
