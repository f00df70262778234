"""`out=` of linear algebra: which dtypes it may have, in PyTorch's words, and how results lie."""

from __future__ import annotations

from typing import Any

from tests.twice import outcome, raised, twice

# torch warns that it casts complex numbers to real ones, and then refuses to.
WARNS_FIRST = ("solve_triangular", "addbmm")
DTYPES = ("int32", "bool", "float32", "float64", "complex64")


def _cases(lib: Any, dtype: str) -> dict[str, Any]:
    linalg = lib.linalg
    a = (lib.eye(3) * 2).to(getattr(lib, dtype))
    b = lib.ones(3, 2).to(a.dtype)
    pivots = lib.tensor([1, 2, 3], dtype=lib.int32)
    return {
        "cholesky": lambda **kw: linalg.cholesky(a, **kw),
        "cholesky_ex": lambda **kw: linalg.cholesky_ex(a, **kw),
        "inv": lambda **kw: linalg.inv(a, **kw),
        "inverse": lambda **kw: lib.inverse(a, **kw),
        "cond": lambda **kw: linalg.cond(a, **kw),
        "cond nuc": lambda **kw: linalg.cond(a, "nuc", **kw),
        "eig": lambda **kw: linalg.eig(a, **kw),
        "eigvals": lambda **kw: linalg.eigvals(a, **kw),
        "eigh": lambda **kw: linalg.eigh(a, **kw),
        "eigvalsh": lambda **kw: linalg.eigvalsh(a, **kw),
        "svd": lambda **kw: linalg.svd(a, **kw),
        "svdvals": lambda **kw: linalg.svdvals(a, **kw),
        "qr": lambda **kw: linalg.qr(a, **kw),
        "lu": lambda **kw: linalg.lu(a, **kw),
        "lu_factor": lambda **kw: linalg.lu_factor(a, **kw),
        "lu_solve": lambda **kw: linalg.lu_solve(a, pivots, b, **kw),
        "lu_unpack": lambda **kw: lib.lu_unpack(a, pivots, **kw),
        "det": lambda **kw: linalg.det(a, **kw),
        "slogdet": lambda **kw: linalg.slogdet(a, **kw),
        "solve": lambda **kw: linalg.solve(a, b, **kw),
        "solve_triangular": lambda **kw: linalg.solve_triangular(a, b, upper=True, **kw),
        "cholesky_solve": lambda **kw: lib.cholesky_solve(b, a, **kw),
        "cholesky_inverse": lambda **kw: lib.cholesky_inverse(a, **kw),
        "lstsq": lambda **kw: linalg.lstsq(a, b, **kw),
        "pinv": lambda **kw: linalg.pinv(a, **kw),
        "matrix_rank": lambda **kw: linalg.matrix_rank(a, **kw),
        "matrix_power": lambda **kw: linalg.matrix_power(a, 0, **kw),
        "matrix_norm": lambda **kw: linalg.matrix_norm(a, **kw),
        "vector_norm": lambda **kw: linalg.vector_norm(a, **kw),
        "norm": lambda **kw: linalg.norm(a, 2, **kw),
        "householder_product": lambda **kw: linalg.householder_product(a, a[0], **kw),
        "tensorinv": lambda **kw: linalg.tensorinv(a, ind=1, **kw),
        "tensorsolve": lambda **kw: linalg.tensorsolve(a, b[:, 0], **kw),
        "cross": lambda **kw: linalg.cross(a, a, **kw),
        "multi_dot": lambda **kw: linalg.multi_dot([a, a], **kw),
        "vecdot": lambda **kw: linalg.vecdot(a, a, **kw),
        "matmul": lambda **kw: lib.matmul(a, a, **kw),
        "inner": lambda **kw: lib.inner(a, a, **kw),
        "addmm": lambda **kw: lib.addmm(a, a, a, **kw),
        "addbmm": lambda **kw: lib.addbmm(a, a[None], a[None], **kw),
    }  # fmt: skip


def _refusals(lib: Any, dtype: str) -> dict[str, Any]:
    """What each function says of an `out=` of each dtype, for each of its results."""
    said: dict[str, Any] = {}
    for name, call in _cases(lib, dtype).items():
        if dtype == "complex64" and name in WARNS_FIRST:
            continue
        result = call()
        is_one = isinstance(result, lib.Tensor)
        results = [result] if is_one else list(result)
        for number, each in enumerate(results):
            for kind in DTYPES:
                outs = [lib.empty_like(other) for other in results]
                outs[number] = lib.empty(tuple(each.shape), dtype=getattr(lib, kind))
                out = outs[0] if is_one else tuple(outs)
                said[f"{name} {number} {kind}"] = raised(call, out=out, words=20)
    return said


@twice
def test_floats_to_other_dtypes(lib: Any) -> Any:
    return _refusals(lib, "float32")


@twice
def test_complex_numbers_to_other_dtypes(lib: Any) -> Any:
    return _refusals(lib, "complex64")


@twice
def test_a_bad_second_tensor_leaves_the_first_alone(lib: Any) -> Any:
    first = lib.zeros(3)
    error = raised(lib.linalg.eigh, lib.eye(3), out=(first, lib.empty(3, 3, dtype=lib.int32)))
    return error, first


@twice
def test_factors_lie_column_by_column(lib: Any) -> Any:
    seen = []
    for batch in ((), (2,)):
        a = lib.eye(4, 3).expand(*batch, 4, 3) + 0.5
        square = a.mT @ a + lib.eye(3)
        right = lib.ones(*batch, 3, 2)
        results = [
            lib.linalg.inv(square), lib.linalg.cholesky(square),
            lib.linalg.cholesky(square, upper=True), lib.linalg.solve(square, right),
            lib.linalg.solve(square, right.mT, left=False),
            lib.linalg.solve_triangular(square, right, upper=True),
            lib.linalg.solve_triangular(square, right.mT, upper=True, left=False),
            lib.cholesky_inverse(square), lib.cholesky_solve(right, square),
            lib.linalg.eigh(square)[1], lib.linalg.eig(square)[1], *lib.linalg.qr(a),
            *lib.linalg.svd(a), lib.linalg.lu_factor(a)[0],
            lib.linalg.lu_solve(*lib.linalg.lu_factor(square), right),
        ]  # fmt: skip
        seen += [(tuple(each.shape), each.stride()) for each in results]
    out = lib.empty(0)
    lib.linalg.inv(lib.eye(3), out=out)
    return seen, out.stride()


@twice
def test_products_are_contiguous(lib: Any) -> Any:
    shapes = [((3, 1), (1, 1, 2)), ((2, 3, 1), (2, 1, 2)), ((20, 1), (4, 1, 3)), ((3, 1), (1, 20))]
    products = [lib.matmul(lib.ones(first), lib.ones(second)) for first, second in shapes]
    w, x = lib.ones(5, 3), lib.ones(2, 3)
    products += [lib.einsum(equation, w, x) for equation in ("fd,bd->bf", "fd,bd->fb")]
    products.append(lib.einsum("bij,bjk->bki", lib.ones(2, 3, 4), lib.ones(2, 4, 5)))
    return [(tuple(each.shape), each.stride()) for each in products]


@twice
def test_tensordot_gives_out_its_history(lib: Any) -> Any:
    a = lib.ones(4, 2, requires_grad=True)
    dims = ([1], [1])
    wrong = lib.empty(2, 2, requires_grad=True)
    out = lib.empty(4, 4)
    lib.tensordot(a, a, dims=dims, out=out)
    out.sum().backward()
    return (
        raised(lib.tensordot, a, a, dims=dims, out=wrong),
        raised(lib.tensordot, a, a, dims=dims, out=lib.empty(4, 4, dtype=lib.int32), words=9),
        out,
        a.grad,
    )


@twice
def test_wrong_arguments(lib: Any) -> Any:
    a, v = lib.eye(3) + 1, lib.ones(3)
    i = lib.ones(2, 2, dtype=lib.int64)
    LU, pivots = lib.linalg.lu_factor(lib.stack([a, a]))
    low, high = pivots * 0, pivots * 0 + 4
    singular = lib.diag(lib.tensor([1.0, 0.0, 1.0]))
    calls = [
        lambda: lib.addr(i, i[0], i[0], beta=True), lambda: lib.addr(a, v, v, alpha=True),
        lambda: lib.linalg.lu_solve(LU, low, LU), lambda: lib.linalg.lu_solve(LU, high, LU),
        lambda: lib.lu_unpack(LU, low), lambda: lib.lu_unpack(LU, high),
        lambda: lib.linalg.lu_solve(LU, pivots.long(), LU),
        lambda: lib.linalg.matrix_norm(a, 1j), lambda: lib.linalg.vector_norm(a, 1j),
        lambda: lib.linalg.norm(a, 1j), lambda: lib.norm(v, "nuc"),
        lambda: lib.norm(a, "nuc", (0, 0)), lambda: lib.norm(lib.ones(2, 2, 2), "nuc"),
        lambda: lib.linalg.pinv(a, rcond=lib.tensor(1j)),
        lambda: lib.linalg.matrix_rank(a, atol=lib.tensor(1j)),
        lambda: lib.cholesky_inverse(singular), lambda: lib.linalg.cond(singular, "nuc"),
        lambda: lib.linalg.householder_product(a, v.int()),
        lambda: lib.linalg.householder_product(a, a),
        lambda: lib.linalg.lstsq(lib.ones(4, 3), lib.ones(5)),
        lambda: lib.linalg.lstsq(lib.ones(4, 3), lib.ones(4, 2, dtype=lib.float64)),
        lambda: lib.linalg.tensorsolve(lib.eye(24).reshape(6, 4, 2, 3, 4), lib.ones(8, 4)),
        lambda: lib.einsum("", []), lambda: lib.cross(a, a, dim=0, out=a),
        lambda: lib.eig(a), lambda: a.symeig(), lambda: lib.solve(a, a), lambda: a.lstsq(a),
        lambda: lib.triu(a, 2**63 - 1), lambda: lib.tril(a, -(2**63)),
        lambda: lib.linalg.norm(a, axis=0, keepdims=True), lambda: lib.add(x1=a, x2=a),
        lambda: lib.sum(x=a, axis=0), lambda: lib.nuclear_norm(a, (0, 1)),
    ]  # fmt: skip
    return [outcome(call, words=10) for call in calls]


@twice
def test_old_calls_name_the_method(lib: Any) -> Any:
    a = lib.ones(2, 2)
    return lib.ones(2, 2).addbmm_(1, a[None], a[None])


@twice
def test_large_triangles(lib: Any) -> Any:
    lib.manual_seed(0)
    a = lib.randn(150, 150, dtype=lib.float64).tril() + 20 * lib.eye(150)
    b = lib.randn(2, 150, 3, dtype=lib.float64)
    return (
        lib.linalg.solve_triangular(a, b, upper=False),
        lib.linalg.solve_triangular(a.mT, b, upper=True, unitriangular=True) * 0 + 1,
        lib.linalg.solve_triangular(a, b.mT, upper=False, left=False),
    )


@twice
def test_cutoffs_of_least_squares(lib: Any) -> Any:
    a = lib.diag(lib.tensor([4.0, 1.0, 1e-9], dtype=lib.float64))
    b = lib.ones(3, 1, dtype=lib.float64)
    drivers = (("gelsd", 1.0), ("gelss", 1.0), ("gelsd", -1.0), ("gelss", -1.0), ("gelsd", 0.5))
    solved = [lib.linalg.lstsq(a, b, rcond, driver=driver) for driver, rcond in drivers]
    return [(each.solution, each.rank, each.singular_values) for each in solved]
