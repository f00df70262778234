"""Factors in LAPACK's compact forms: LDL, QR as reflections."""

from __future__ import annotations

import torch

from tests.sampling import FLOATS, Maker, OpCase, Sample

_FUNCTION = ("function",)
_INEXACT = (*FLOATS, torch.complex64, torch.complex128, torch.int64)


def _symmetric(make: Maker, *shape: int, hermitian: bool = False) -> torch.Tensor:
    """Symmetric matrices with small diagonals, so that blocks of two rows are pivots, too."""
    values = make(*shape).detach()
    lower = values.tril(-1)
    upper = lower.mH if hermitian else lower.mT
    diagonal = torch.diag_embed(torch.diagonal(values, dim1=-2, dim2=-1))
    if make.is_inexact:
        diagonal = (diagonal.real if hermitian else diagonal) * 0.1
    whole = (lower + upper + diagonal).to(make.dtype)
    return whole.requires_grad_(make.requires_grad and make.is_inexact)


def _ldl(make: Maker) -> list[Sample]:
    return [
        Sample(_symmetric(make, 4, 4)),
        Sample(_symmetric(make, 2, 5, 5)),
        Sample(_symmetric(make, 5, 5, hermitian=True), hermitian=True),
        Sample(_symmetric(make, 3, 2, 2, hermitian=True), hermitian=True),
        Sample(make(0, 3, 3)),
        Sample(make(0, 0)),
    ]


def _ldl_ex(make: Maker) -> list[Sample]:
    return [*_ldl(make), Sample(torch.zeros(2, 3, 3, dtype=make.dtype))]


def _not_square(make: Maker) -> list[Sample]:
    return [Sample(make(3)), Sample(make(2, 3))]


def _ldl_bad(make: Maker) -> list[Sample]:
    return [*_not_square(make), Sample(torch.zeros(3, 3, dtype=make.dtype))]


def _factored(make: Maker, *shape: int, hermitian: bool = False) -> tuple[torch.Tensor, ...]:
    matrix = _symmetric(make, *shape, hermitian=hermitian).detach()
    if make.dtype not in (torch.float32, torch.float64, torch.complex64, torch.complex128):
        return matrix, torch.ones(shape[:-1], dtype=torch.int32)
    LD, pivots = torch.linalg.ldl_factor(matrix, hermitian=hermitian)
    return LD.requires_grad_(make.requires_grad), pivots


def _ldl_solve(make: Maker) -> list[Sample]:
    return [
        Sample(*_factored(make, 4, 4), make(4, 2)),
        Sample(*_factored(make, 2, 4, 4), make(2, 4, 1)),
        Sample(*_factored(make, 4, 4), make(3, 4, 2)),
        Sample(*_factored(make, 4, 4, hermitian=True), make(4, 2), hermitian=True),
    ]


def _ldl_solve_bad(make: Maker) -> list[Sample]:
    LD = torch.eye(3, dtype=make.dtype)
    pivots = torch.tensor([1, 2, 3], dtype=torch.int32)
    return [
        Sample(make(3, 4), pivots, make(3, 1)),
        Sample(LD, pivots, make(3)),
        Sample(LD, pivots.float(), make(3, 1)),
        Sample(LD, pivots[:2], make(3, 1)),
        Sample(LD, pivots, make(2, 1)),
        Sample(LD, pivots, make(3, 1, dtype=torch.float32)),
    ]


def _matrices(make: Maker) -> list[Sample]:
    return [
        Sample(make(4, 3)),
        Sample(make(3, 4)),
        Sample(make.strided(3, 3)),
        Sample(make(2, 4, 3)),
        Sample(make(0, 3)),
        Sample(make(2, 3, 0)),
    ]


def _reflections(make: Maker) -> list[Sample]:
    """Vectors and factors need not come from a decomposition."""
    sides = [(left, transpose) for left in (True, False) for transpose in (True, False)]
    return [
        Sample(make(4, 3), make(3), make(4, 2)),
        Sample(make(4, 4), make(4), make(4, 2), True),
        Sample(make(3, 5), make(3), make(3, 2)),
        *(Sample(make(2, 4, 3), make(2, 3), make(2, 4, 4), left=a, transpose=b) for a, b in sides),
    ]


def _reflections_bad(make: Maker) -> list[Sample]:
    single = torch.float32
    return [
        Sample(make(3), make(3), make(3)),
        Sample(make(3, 2), make(3), make(3, 3)),
        Sample(make(3, 2), make(2), make(2, 3)),
        Sample(make(3, 2), make(2), make(3, 2), left=False),
        Sample(make(3, 2), make(1), make(3, 2)),
        Sample(make(3, 2), make(2, dtype=single), make(3, 2)),
        Sample(make(3, 2), make(2), make(3, 2, dtype=single)),
        Sample(make(2, 3, 2), make(2), make(2, 3, 2)),
        Sample(make(2, 3, 2), make(2, 2), make(3, 2)),
        Sample(make(2, 3, 2), make(3, 2), make(2, 3, 2)),
        Sample(make(2, 3, 2), make(2, 2), make(1, 3, 2)),
    ]


CASES = [
    OpCase(
        "linalg.ldl_factor",
        _ldl,
        variants=_FUNCTION,
        out=True,
        dtypes=_INEXACT,
        errors=_ldl_bad,
    ),
    OpCase(
        "linalg.ldl_factor_ex",
        _ldl_ex,
        variants=_FUNCTION,
        out=True,
        dtypes=_INEXACT,
        errors=_not_square,
    ),
    OpCase(
        "linalg.ldl_solve",
        _ldl_solve,
        variants=_FUNCTION,
        out=True,
        dtypes=_INEXACT,
        errors=_ldl_solve_bad,
        # The systems are not well conditioned; torch's error is as large.
        tolerance={"float32": (1e-4, 1e-4), "complex64": (1e-4, 1e-4)},
    ),
    OpCase("geqrf", _matrices, out=True, dtypes=_INEXACT, errors=lambda make: [Sample(make(3))]),
    OpCase(
        "ormqr",
        _reflections,
        out=True,
        dtypes=_INEXACT,
        domain=(-1.0, 1.0),
        errors=_reflections_bad,
    ),
]
