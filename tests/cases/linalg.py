"""Matrix products, linear algebra and Fourier transforms."""

from __future__ import annotations

from typing import Any

import torch

from ..sampling import FLOATS, WIDE_FLOATS, Maker, OpCase, Sample, Samples, given, none

INF = float("inf")
COMPLEX = (torch.complex64, torch.complex128)
LAPACK = (*WIDE_FLOATS, *COMPLEX)

# Sums of products are rounded in an order that is no part of the contract.
SUMS = {
    "float16": (4e-3, 4e-3),
    "bfloat16": (3.2e-2, 3.2e-2),
    "float32": (1e-5, 1e-5),
    "complex64": (2e-5, 2e-5),
}
# So are factorizations, whose rounding errors grow with the condition number.
FACTORS = {
    "float32": (2e-4, 2e-4),
    "complex64": (2e-4, 2e-4),
    "float64": (1e-9, 1e-9),
    "complex128": (1e-9, 1e-9),
}


# -- samples -------------------------------------------------------------------------------------


def _shapes(*rows: tuple[tuple[int, ...], ...]) -> Samples:
    """One sample for each row of shapes, and the first row once more with odd strides."""

    def samples(make: Maker) -> list[Sample]:
        usual = [Sample(*(make(*shape) for shape in row)) for row in rows]
        return [*usual, Sample(*(make.strided(*shape) for shape in rows[0]))]

    return samples


def _refused(*rows: tuple[tuple[int, ...], ...]) -> Samples:
    return lambda make: [Sample(*(make(*shape) for shape in row)) for row in rows]


def _scaled(*shapes: tuple[int, ...], empty: tuple[tuple[int, ...], ...]) -> Samples:
    def samples(make: Maker) -> list[Sample]:
        tensors = [make(*shape) for shape in shapes]
        return [
            Sample(*tensors),
            Sample(*tensors, beta=2, alpha=3),
            Sample(*tensors, beta=0),
            Sample(*(make(*shape) for shape in empty)),
            Sample(make(*shapes[0][-1:]) if len(shapes[0]) > 1 else make(), *tensors[1:]),
        ]

    return samples


def _matrices(make: Maker, *shape: int) -> torch.Tensor:
    """Square matrices far from singular."""
    drawn = make(*shape).detach()
    shifted = drawn + 4 * torch.eye(shape[-1], dtype=make.dtype)
    return shifted.requires_grad_(make.requires_grad)


def _definite(make: Maker, *shape: int) -> torch.Tensor:
    drawn = make(*shape).detach()
    product = drawn @ drawn.mH + torch.eye(shape[-1], dtype=make.dtype)
    return product.requires_grad_(make.requires_grad)


def _squares(make: Maker) -> list[Sample]:
    return [Sample(_matrices(make, *shape)) for shape in ((3, 3), (2, 4, 4), (1, 1), (0, 0))]


def _larger_squares(make: Maker) -> list[Sample]:
    """Without 1 x 1, whose determinant has no second derivative, which torch shows as None."""
    return [Sample(_matrices(make, *shape)) for shape in ((3, 3), (2, 4, 4))]


def _systems(make: Maker) -> list[Sample]:
    return [
        Sample(_matrices(make, 3, 3), make(3, 2)),
        Sample(_matrices(make, 3, 3), make(3)),
        Sample(_matrices(make, 2, 3, 3), make(3, 2)),
        Sample(_matrices(make, 2, 3, 3), make(2, 3)),
        Sample(_matrices(make, 2, 3, 3), make(2, 2, 3), left=False),
    ]


def _triangular(make: Maker) -> list[Sample]:
    a, b = _matrices(make, 3, 3), make(3, 2)
    return [
        Sample(a, b, upper=True),
        Sample(a, b, upper=False),
        Sample(a, b, upper=True, unitriangular=True),
        Sample(a, make(2, 3), upper=False, left=False),
        Sample(_matrices(make, 2, 3, 3), make(3, 2), upper=True),
    ]


def _definites(make: Maker) -> list[Sample]:
    return [Sample(_definite(make, *shape)) for shape in ((3, 3), (2, 3, 3), (1, 1), (0, 0))]


def _rectangles(make: Maker) -> list[Sample]:
    return [Sample(make(*shape)) for shape in ((3, 3), (4, 3), (3, 4), (2, 3, 2))]


def _oblong(make: Maker) -> list[Sample]:
    shapes = ((4, 2), (2, 4), (2, 5, 2))
    return [Sample(_matrices(make, 3, 3)), *(Sample(make(*shape)) for shape in shapes)]


def _powers(make: Maker) -> list[Sample]:
    return [Sample(_matrices(make, 3, 3), n) for n in (0, 1, 2, 3, 5, -1, -2)]


def _matrix_norms(make: Maker) -> list[Sample]:
    orders: tuple[Any, ...] = ("fro", "nuc", INF, -INF, 1, -1, 2, -2)
    return [
        *(Sample(make(3, 4), order) for order in orders),
        Sample(make(2, 3, 4), 1, (0, 2), True),
        Sample(make(2, 3, 4), INF, (2, 0)),
        Sample(make(2, 3, 4), 2, (0, 2), keepdim=True),
    ]


def _distances(make: Maker) -> list[Sample]:
    a, b = make(3, 4), make(2, 4)
    return [
        *(Sample(a, b, p) for p in (0.0, 1.0, 1.5, 2.0, 3.0, INF)),
        Sample(make(2, 3, 4), b),
        Sample(make(0, 4), b),
        Sample(a, b, compute_mode="use_mm_for_euclid_dist"),
    ]


def _equal_rows(make: Maker) -> list[Sample]:
    a, b = make.values([1.0, 2.0], [0.5, 0.5]), make.values([1.0, 2.0], [3.0, 0.5])
    return [Sample(a, b, p) for p in (1.0, 1.5, 2.0, 3.0, INF)]


def _equations(make: Maker) -> list[Sample]:
    rows: list[tuple[str, tuple[tuple[int, ...], ...]]] = [
        ("ij,jk->ik", ((3, 4), (4, 5))),
        ("ij,jk", ((3, 4), (4, 5))),
        ("ij->ji", ((3, 4),)),
        ("ij->", ((3, 4),)),
        ("ij->j", ((3, 4),)),
        ("ii->i", ((3, 3),)),
        ("ii", ((3, 3),)),
        ("i,i->", ((3,), (3,))),
        ("i,j->ij", ((3,), (4,))),
        ("ij,ij->ij", ((3, 4), (3, 4))),
        ("bij,bjk->bik", ((2, 3, 4), (2, 4, 5))),
        ("...ij,...jk", ((2, 3, 4), (4, 5))),
        ("b...,b->...", ((2, 3, 4), (2,))),
        ("ij,jk,kl->il", ((2, 3), (3, 4), (4, 2))),
        ("iij,j->i", ((3, 3, 4), (4,))),
        ("ij,jk->ik", ((3, 1), (4, 5))),
        ("->", ((),)),
        ("ij,kj->ik", ((0, 4), (3, 4))),
        ("bn,anm,bm->ba", ((2, 3), (4, 3, 2), (2, 2))),
    ]
    return [Sample(text, *(make(*shape) for shape in shapes)) for text, shapes in rows]


def _bad_equations(make: Maker) -> list[Sample]:
    a, b = make(3, 4), make(5, 6)
    texts = ("ij,jk->ik", "ij", "i,jk", "ij,kl->im", "ij,kl->ii", "i1,kl", "i.j,kl", "ijk,kl")
    return [Sample(text, a, b) for text in texts]


def _spectra(make: Maker) -> list[Sample]:
    return [
        Sample(make(5)),
        Sample(make(3, 4)),
        Sample(make(3, 4), 6, 0),
        Sample(make(3, 4), n=3),
        *(Sample(make.strided(3, 4), norm=norm) for norm in ("ortho", "forward", "backward")),
        Sample(make(2, 3, 4), dim=1),
    ]


def _spectra_of_many(make: Maker) -> list[Sample]:
    return [
        Sample(make(3, 4)),
        Sample(make(2, 3, 4), dim=(0, 2)),
        Sample(make(3, 4), (4, 3)),
        Sample(make.strided(3, 4), s=(-1, 5), dim=(1, 0)),
        Sample(make(2, 3, 4), norm="ortho"),
        Sample(make(2, 3, 4), norm="forward"),
    ]


_FUNCTION = ("function",)


def _row(name: str, samples: Samples, **options: Any) -> OpCase:
    options.setdefault("tolerance", FACTORS)
    options.setdefault("dtypes", LAPACK)
    return OpCase(f"linalg.{name}", samples, variants=_FUNCTION, **options)


# -- rows ----------------------------------------------------------------------------------------

PRODUCTS: list[OpCase] = [
    OpCase(
        "matmul",
        _shapes(
            ((3, 4), (4, 5)),
            ((4,), (4,)),
            ((3, 4), (4,)),
            ((4,), (4, 5)),
            ((2, 3, 4), (2, 4, 5)),
            ((2, 3, 4), (4, 5)),
            ((2, 3, 4), (4,)),
            ((3, 4), (2, 4, 5)),
            ((4,), (2, 4, 5)),
            ((2, 1, 3, 4), (3, 4, 2)),
            ((1, 3, 4), (2, 4, 5)),
            ((2, 3, 4), (1, 4, 5)),
            ((0, 3), (3, 2)),
            ((2, 0), (0, 3)),
            ((2, 0, 3), (2, 3, 0)),
        ),
        variants=("function", "method", "operator"),
        out=True,
        tolerance=SUMS,
        errors=_refused(
            ((3, 4), (5, 6)),
            ((), (3,)),
            ((4,), (5,)),
            ((3, 4), (5,)),
            ((2, 3, 4), (3, 4, 5)),
            ((2, 3, 4), (2, 5, 6)),
            ((2, 3, 4), (5, 6)),
        ),
    ),
    OpCase(
        "mm",
        _shapes(((3, 4), (4, 5)), ((0, 3), (3, 2)), ((1, 1), (1, 1))),
        out=True,
        tolerance=SUMS,
        errors=_refused(((3, 4), (5, 6)), ((3,), (3, 4)), ((3, 4), (4,))),
    ),
    OpCase(
        "bmm",
        _shapes(((2, 3, 4), (2, 4, 5)), ((0, 3, 4), (0, 4, 5)), ((2, 3, 0), (2, 0, 5))),
        out=True,
        tolerance=SUMS,
        errors=_refused(((3, 4), (2, 4, 5)), ((2, 3, 4), (3, 4, 5)), ((2, 3, 4), (2, 5, 5))),
    ),
    OpCase(
        "mv",
        _shapes(((3, 4), (4,)), ((3, 0), (0,)), ((0, 4), (4,))),
        out=True,
        tolerance=SUMS,
        errors=_refused(((3, 4), (5,)), ((3, 4), (4, 1))),
    ),
    *(
        OpCase(
            name,
            _shapes(((4,), (4,)), ((0,), (0,))),
            out=True,
            tolerance=SUMS,
            errors=_refused(((3,), (4,)), ((3, 4), (3,))),
        )
        for name in ("dot", "vdot")
    ),
    OpCase(
        "outer",
        _shapes(((3,), (4,)), ((0,), (4,))),
        out=True,
        errors=_refused(((3, 4), (3,)), ((3,), (3, 4))),
    ),
    OpCase(
        "inner",
        _shapes(((3, 4), (2, 4)), ((4,), (4,)), ((), (4,)), ((2, 3, 4), (4,))),
        tolerance=SUMS,
        errors=_refused(((3, 4), (5,))),
    ),
    OpCase(
        "kron", _shapes(((2, 3), (3, 2)), ((2,), (3, 2)), ((), (2,)), ((0, 2), (2, 2))), out=True
    ),
    OpCase(
        "trace",
        _shapes(((3, 3),), ((2, 4),), ((0, 0),)),
        tolerance=SUMS,
        errors=_refused(((3,),), ((2, 2, 2),)),
    ),
    OpCase(
        "einsum",
        _equations,
        variants=_FUNCTION,
        tolerance=SUMS,
        errors=_bad_equations,
        dtypes=(*FLOATS, torch.int64, *COMPLEX),
    ),
    OpCase(
        "tensordot",
        given(
            lambda m: Sample(m(3, 4), m(4, 5), 1),
            lambda m: Sample(m(2, 3), m(4, 5), 0),
            lambda m: Sample(m(2, 3, 4), m(3, 4, 5)),
            lambda m: Sample(m(2, 3, 4), m(4, 2, 5), ([0, 2], [1, 0])),
            lambda m: Sample(m(3, 1), m(4, 5), ([1], [0])),
            lambda m: Sample(m(4), m(4), 1),
        ),
        variants=_FUNCTION,
        tolerance=SUMS,
        errors=given(
            lambda m: Sample(m(3, 4), m(5, 6), 1),
            lambda m: Sample(m(3, 4), m(5, 6), 3),
            lambda m: Sample(m(3, 4), m(4, 6), ([1], [0, 1])),
        ),
    ),
    OpCase(
        "cross",
        given(
            lambda m: Sample(m(3), m(3), 0),
            lambda m: Sample(m(2, 3), m(2, 3), dim=1),
            lambda m: Sample(m(3, 2), m(3, 1), dim=0),
            lambda m: Sample(m.strided(4, 3), m(4, 3), -1),
        ),
        tolerance=SUMS,
        errors=given(lambda m: Sample(m(4), m(4), 0), lambda m: Sample(m(3), m(2, 3), 0)),
    ),
]

_ADDED: list[tuple[str, tuple[tuple[int, ...], ...], tuple[tuple[int, ...], ...]]] = [
    ("addmm", ((3, 5), (3, 4), (4, 5)), ((3, 5), (3, 0), (0, 5))),
    ("addmv", ((3,), (3, 4), (4,)), ((3,), (3, 0), (0,))),
    ("addr", ((3, 4), (3,), (4,)), ((0, 4), (0,), (4,))),
    ("addbmm", ((3, 5), (2, 3, 4), (2, 4, 5)), ((3, 5), (0, 3, 4), (0, 4, 5))),
    ("baddbmm", ((2, 3, 5), (2, 3, 4), (2, 4, 5)), ((2, 3, 5), (2, 3, 0), (2, 0, 5))),
]
ADDED: list[OpCase] = [
    OpCase(
        name,
        _scaled(*shapes, empty=empty),
        out=name != "addbmm",
        tolerance=SUMS,
        errors=_refused((shapes[0], shapes[2], shapes[1]), ((7,), *shapes[1:])),
    )
    for name, shapes, empty in _ADDED
]

SOLVING: list[OpCase] = [
    _row("inv", _squares, out=True, errors=_refused(((3,),), ((2, 3),))),
    _row("det", _larger_squares, out=True, errors=_refused(((3,),), ((2, 3),))),
    _row("slogdet", _squares, errors=_refused(((2, 3),))),
    OpCase("logdet", _squares, dtypes=LAPACK, tolerance=FACTORS, errors=_refused(((2, 3),))),
    _row(
        "solve", _systems, out=True, errors=_refused(((3, 3), (4,)), ((2, 3), (3,)), ((3,), (3,)))
    ),
    _row("solve_triangular", _triangular),
    _row("lu", _rectangles),
    _row("lu_factor", _squares, errors=_refused(((3,),))),
    _row("qr", _rectangles, errors=_refused(((3,),))),
    _row("svdvals", _rectangles, errors=_refused(((3,),))),
    _row("eigvalsh", _definites, errors=_refused(((2, 3),))),
    _row("pinv", _oblong),
    _row("matrix_exp", _squares, domain=(-1.0, 1.0)),
    _row("matrix_power", _powers, errors=given(lambda m: Sample(m(2, 3), 2))),
    _row(
        "matrix_norm",
        _matrix_norms,
        errors=given(lambda m: Sample(m(3, 4), 3), lambda m: Sample(m(3, 4), "fro", (0, 0))),
    ),
    _row("vander", _shapes(((3,),), ((2, 3),)), dtypes=(*LAPACK, torch.int64)),
    _row("tensorinv", given(lambda m: Sample(_matrices(m, 4, 4).view(2, 2, 4)))),
    OpCase(
        "cdist",
        _distances,
        variants=_FUNCTION,
        dtypes=WIDE_FLOATS,
        tolerance=FACTORS,
        kinks=_equal_rows,
        errors=_refused(((3,), (3, 3)), ((3, 3), (3, 4))),
    ),
]

TRANSFORMS: list[OpCase] = [
    *(
        OpCase(f"fft.{name}", _spectra, variants=_FUNCTION, tolerance=SUMS)
        for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
    ),
    *(
        OpCase(f"fft.{name}", _spectra_of_many, variants=_FUNCTION, tolerance=SUMS)
        for name in ("fftn", "ifftn", "rfftn", "irfftn", "hfftn", "ihfftn", "fft2", "irfft2")
    ),
    *(
        OpCase(f"fft.{name}", _shapes(((5,),), ((3, 4),), ((0,),)), variants=_FUNCTION, errors=none)
        for name in ("fftshift", "ifftshift")
    ),
]

CASES = [*PRODUCTS, *ADDED, *SOLVING, *TRANSFORMS]
