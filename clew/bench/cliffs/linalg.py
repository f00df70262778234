"""The sweep for cliffs: linear algebra, products, distances, transforms."""

from typing import Any

from clew.bench.cliffs.inputs import Build, Call, Inputs, calls, functions

_SQUARE = """
linalg.lu_factor linalg.lu linalg.inv linalg.det linalg.slogdet linalg.qr linalg.eigvals
linalg.svdvals linalg.svd linalg.matrix_exp linalg.pinv linalg.matrix_rank linalg.cond
linalg.matrix_norm logdet
"""
_DEFINITE = """
linalg.cholesky linalg.eigh linalg.eigvalsh cholesky_inverse linalg.lu_factor linalg.inv
"""


def _sized(names: str, kind: str, shape: str) -> dict[str, Build]:
    def inputs(c: Inputs) -> list[object]:
        size = getattr(c, shape)
        return [c.regular(size) if kind == "regular" else c.definite(size)]

    rows = functions(names, inputs)
    return {f"{name}_{kind}_{shape}": row for name, row in rows.items()}


def _systems(shape: str) -> dict[str, Build]:
    """Systems with several right-hand sides; triangular ones, and ones factorized before."""

    def inputs(c: Inputs) -> list[object]:
        size = getattr(c, shape)
        return [c.definite(size), c((*size[:-1], 4))]

    def lu_solve(c: Inputs) -> Call:
        a, b = inputs(c)
        factors, pivots = c.t.linalg.lu_factor(a.detach())  # type: ignore[attr-defined]  # either library's tensor
        return lambda lu, b: c.t.linalg.lu_solve(lu, pivots, b), [factors.requires_grad_(), b]

    def lu_unpack(c: Inputs) -> Call:
        factors, pivots = c.t.linalg.lu_factor(inputs(c)[0].detach())  # type: ignore[attr-defined]  # either library's tensor
        return lambda lu: c.t.lu_unpack(lu, pivots), [factors.requires_grad_()]

    def ldl_solve(c: Inputs) -> Call:
        a, b = (each.detach() for each in inputs(c))  # type: ignore[attr-defined]  # either library's tensor
        factors, pivots = c.t.linalg.ldl_factor(a)
        return lambda b: c.t.linalg.ldl_solve(factors, pivots, b), [b]

    def triangular(c: Inputs) -> Call:
        return lambda a, b: c.t.linalg.solve_triangular(a, b, upper=True), inputs(c)

    rows: dict[str, Build] = {
        **functions("linalg.solve linalg.lstsq", inputs),
        "cholesky_solve": lambda c: (lambda a, b: c.t.cholesky_solve(b, a), inputs(c)),
        "matrix_power": lambda c: (lambda a, b: c.t.linalg.matrix_power(a, 5), inputs(c)),
        "householder_product": lambda c: (
            lambda a, b: c.t.linalg.householder_product(a, a[..., 0]), inputs(c),
        ),
        "lu_solve": lu_solve,
        "lu_unpack": lu_unpack,
        "ldl_solve": ldl_solve,
        "ldl_factor": lambda c: (
            lambda a, b: c.t.linalg.ldl_factor(a.detach()), inputs(c),
        ),
        "geqrf": lambda c: (lambda a, b: c.t.geqrf(a.detach()), inputs(c)),
        "ormqr": lambda c: (lambda a, b: c.t.ormqr(a, a[..., 0], b), inputs(c)),
        "solve_triangular": triangular,
    }  # fmt: skip
    return {f"{name}_{shape}": row for name, row in rows.items()}


LINALG: dict[str, Build] = {
    name: row
    for shape in ("matrix", "small", "batch")
    for name, row in {
        **_sized(_SQUARE, "regular", shape),
        **_sized(_DEFINITE, "definite", shape),
        **_systems(shape),
    }.items()
}


def _tensor_system(c: Inputs) -> list[object]:
    """A tensor of eight and eight times the side's remainder, read as a square matrix."""
    return [c.regular((c.side // 8 * 8,) * 2)]


def _of_tensor(name: str) -> Build:
    def build(c: Inputs) -> Call:
        size, (matrix,) = c.side // 8, _tensor_system(c)

        def call(a: Any) -> Any:
            cube = a.reshape(8, size, 8, size)
            if name == "tensorinv":
                return c.t.linalg.tensorinv(cube, ind=2)
            return c.t.linalg.tensorsolve(cube, a[0].reshape(8, size))

        return call, [matrix]

    return build


LINALG |= {name: _of_tensor(name) for name in ("tensorinv", "tensorsolve")}
LINALG["linalg.eig_matrix"] = lambda c: (
    lambda a: c.t.linalg.eigvals(a) if c.side > 500 else c.t.linalg.eig(a)[0],
    [c.regular(c.matrix)],
)
# Decompositions that iterate, of real matrices.
LOW_RANK: dict[str, Build] = {
    "svd_lowrank": lambda c: (lambda a: c.t.svd_lowrank(a, 6)[1], [c.regular(c.matrix)]),
    "pca_lowrank": lambda c: (lambda a: c.t.pca_lowrank(a, 6)[1], [c.regular(c.matrix)]),
    "lobpcg": lambda c: (
        lambda a: c.t.lobpcg(a.detach(), 3, niter=10)[0], [c.definite(c.matrix)],
    ),
}  # fmt: skip
# What takes PyTorch itself seconds at a million elements stays at a hundred rows.
SLOW = ("linalg.eig", "linalg.svd", "linalg.pinv", "linalg.matrix_rank", "linalg.cond",
               "linalg.eigvals", "linalg.matrix_exp", "linalg.eigh", "linalg.lstsq",
               "linalg.eigvalsh")  # fmt: skip

PRODUCTS: dict[str, Build] = {
    **calls(
        {
            "mm": lambda c: lambda x, y: x @ y,
            "mm_transposed": lambda c: lambda x, y: x.t() @ y,
            "addmm": lambda c: lambda x, y: c.t.addmm(x, x, y),
            "mv": lambda c: lambda x, y: x @ y[0],
            "addmv": lambda c: lambda x, y: c.t.addmv(x[0], x, y[0]),
            "outer": lambda c: lambda x, y: c.t.outer(x[0], y[0]),
            "addr": lambda c: lambda x, y: c.t.addr(x, x[0], y[0]),
            "inner": lambda c: lambda x, y: c.t.inner(x, y),
            "kron": lambda c: lambda x, y: c.t.kron(x[: c.side // 10, :10], y[:10, : c.side // 10]),
            "tensordot": lambda c: lambda x, y: c.t.tensordot(x, y, 1),
            "tensordot_2": lambda c: lambda x, y: c.t.tensordot(x, y, 2),
            "einsum_ij_jk": lambda c: lambda x, y: c.t.einsum("ij,jk->ik", x, y),
            "einsum_ij_ij": lambda c: lambda x, y: c.t.einsum("ij,ij->i", x, y),
            "einsum_trace": lambda c: lambda x, y: c.t.einsum("ij,ji->", x, y),
            "einsum_diagonal": lambda c: lambda x, y: c.t.einsum("ii->i", x),
            "einsum_outer": lambda c: lambda x, y: c.t.einsum("i,j->ij", x[0], y[0]),
            "linear": lambda c: lambda x, y: c.t.nn.functional.linear(x, y, y[0]),
            "multi_dot": lambda c: lambda x, y: c.t.linalg.multi_dot([x[:9], y, x[:, :9]]),
            "vecdot": lambda c: lambda x, y: c.t.linalg.vecdot(x, y),
        },
        "matrix", "matrix",
    ),
    **calls(
        {
            "bmm_batch": lambda c: lambda x, y: x @ y,
            "baddbmm": lambda c: lambda x, y: c.t.baddbmm(x, x, y),
            "addbmm": lambda c: lambda x, y: c.t.addbmm(x[0], x, y),
            "einsum_bij_bjk": lambda c: lambda x, y: c.t.einsum("bij,bjk->bik", x, y),
            "einsum_bij_bkj": lambda c: lambda x, y: c.t.einsum("bij,bkj->bik", x, y),
        },
        "batch", "batch",
    ),
    **calls({"bmm_small": lambda c: lambda x, y: x @ y}, "small", "small"),
    **functions("dot vdot", lambda c: [c(), c()]),
    **functions("linalg.cross cross", lambda c: [c((c.count // 3, 3)), c((c.count // 3, 3))]),
    "cross_first": lambda c: (
        lambda x, y: c.t.linalg.cross(x, y, dim=0), [c((3, c.count // 3)), c((3, c.count // 3))],
    ),
}  # fmt: skip

DISTANCES: dict[str, Build] = {
    **calls(
        {
            "pdist": lambda c: lambda x: c.t.pdist(x),
            "pdist_1": lambda c: lambda x: c.t.pdist(x, 1.0),
            "pdist_3": lambda c: lambda x: c.t.pdist(x, 3.0),
            "cdist": lambda c: lambda x: c.t.cdist(x, x.detach() + 0.5),
            "cdist_1": lambda c: lambda x: c.t.cdist(x, x.detach() + 0.5, p=1.0),
            "cdist_3": lambda c: lambda x: c.t.cdist(x, x.detach() + 0.5, p=3.0),
            "cdist_inf": lambda c: lambda x: c.t.cdist(x, x.detach() + 0.5, p=float("inf")),
        },
        "points",
    ),
    **functions(
        "nn.functional.cosine_similarity nn.functional.pairwise_distance",
        lambda c: [c(c.rows), c(c.rows, 0.5, 2.0)],
    ),
}

_OF_REALS = "fft.rfft fft.ihfft fft.rfft2 fft.rfftn fft.fft fft.fft2 fft.fftshift"
_OF_COMPLEX = """
fft.fft fft.ifft fft.fft2 fft.ifft2 fft.fftn fft.irfft fft.hfft fft.irfft2 fft.ifftshift
"""


def _complex(c: Inputs, shape: tuple[int, ...]) -> object:
    return c.t.complex(c(shape).detach(), c(shape).detach()).requires_grad_()


FFT: dict[str, Build] = {
    **functions(_OF_REALS, lambda c: [c(c.matrix)]),
    **{f"{n}_complex": r
       for n, r in functions(_OF_COMPLEX, lambda c: [_complex(c, c.matrix)]).items()},
    **{f"{name}_volume": row for name, row in
       functions("fft.rfftn fft.fftn", lambda c: [c(c.volume)]).items()},
    **{f"{name}_volume": row for name, row in functions(
        "fft.ifftn fft.irfftn fft.hfft2 fft.hfftn", lambda c: [_complex(c, c.volume)]).items()},
    **{f"{name}_volume": row for name, row in
       functions("fft.ihfft2 fft.ihfftn", lambda c: [c(c.volume)]).items()},
    **calls({"fft_vector": lambda c: lambda x: c.t.fft.rfft(x)}, "vector"),
    "fft_prime": lambda c: (lambda x: c.t.fft.rfft(x), [c((10007 if c.side < 500 else 999983,))]),
    **calls(
        {
            "stft": lambda c: (lambda w: lambda x: c.t.stft(
                x.reshape(-1), 400, window=w, return_complex=True
            ))(c.t.hann_window(400, dtype=c.dtype)),
            "istft": lambda c: (lambda w: lambda x: c.t.istft(
                c.t.stft(x.reshape(-1).detach(), 400, window=w, return_complex=True), 400, window=w,
            ))(c.t.hann_window(400, dtype=c.dtype)),
        },
        "vector",
    ),
}  # fmt: skip
