"""What np.linalg leaves out: LU factors, triangular systems, failures told per matrix, exp.

All functions take stacks of matrices: arrays of shape (..., rows, columns).
"""

from __future__ import annotations

import math

import numpy as np

from clew.kernels import compiled
from clew.kernels.numpy.arrays import Array, as_new

_SMALL_TRIANGLE = {"f": 128, "c": 64}  # columns of a triangle that are solved at once, by kind
_POWER_ITERATIONS = 10
_LARGE = 64  # the size from which the matrices of a stack are worth a call each
_PANEL = 32  # columns that are eliminated one by one before a matrix product updates the rest


def adjoint(matrices: Array) -> Array:
    """The conjugate transposes, as a view where the numbers are real."""
    swapped = matrices.swapaxes(-2, -1)
    return swapped.conj() if matrices.dtype.kind in "cW" else swapped


def by_columns(matrices: Array) -> Array:
    """The same matrices, in memory column by column, as LAPACK leaves its results."""
    return as_new(matrices.swapaxes(-2, -1)).swapaxes(-2, -1)


# -- LU ------------------------------------------------------------------------------------------


def lu_factor(matrices: Array) -> tuple[Array, Array, Array]:
    """LAPACK's getrf: L and U in one array, pivots counted from 1, and the first zero pivot."""
    *batch, rows, columns = matrices.shape
    count = min(rows, columns)
    lu = np.array(matrices.reshape(math.prod(batch), rows, columns), order="C", copy=True)
    pivots = np.empty((len(lu), count), np.int64)
    with np.errstate(all="ignore"):
        for start in range(0, count, _PANEL):
            end = min(start + _PANEL, count)
            compiled.lu.factor_panel(lu, pivots, start, end)
            if end < columns and end < rows:
                lu[:, end:, end:] -= lu[:, end:, start:end] @ lu[:, start:end, end:]
    diagonal = lu.diagonal(axis1=1, axis2=2) == 0
    info = np.where(diagonal.any(-1), diagonal.argmax(-1) + 1, 0) if count else np.zeros(len(lu))
    shape = tuple(batch)
    return (
        by_columns(lu.reshape(matrices.shape)),
        (pivots + 1).reshape(*shape, count).astype(np.int32),
        info.astype(np.int32).reshape(shape),
    )


def permutation_of(pivots: Array, rows: int) -> Array:
    """The order of rows that a sequence of pivots leads to: row i of P^T A is row order[i]."""
    *batch, count = pivots.shape
    flat = pivots.reshape(math.prod(batch), count).astype(np.int64, order="C") - 1
    order = np.tile(np.arange(rows), (len(flat), 1))
    compiled.lu.swap_rows(order, flat)
    return order.reshape(*batch, rows)


def permutation_matrix(pivots: Array, rows: int, dtype: np.dtype) -> Array:
    """The matrix P with A = P L U."""
    order = permutation_of(pivots, rows)
    return (np.arange(rows)[:, None] == order[..., None, :]).astype(dtype)


# -- triangular systems --------------------------------------------------------------------------


def solve_triangular(a: Array, b: Array, upper: bool, unitriangular: bool) -> Array:
    """X with A X = B, reading only one triangle of A."""
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    solved = np.array(np.broadcast_to(b, (*batch, *b.shape[-2:])), order="C")
    size, count = a.shape[-1], math.prod(batch)
    x = solved.reshape(count, size, b.shape[-1])
    a = np.broadcast_to(a, (*batch, size, size)).reshape(count, size, size)
    with np.errstate(all="ignore"):
        step = _SMALL_TRIANGLE[x.dtype.kind]
        starts = range(0, size, step)
        for start in reversed(starts) if upper else starts:
            block = slice(start, start + step)
            triangle, known = a[:, block, block], x[:, block]
            if upper:
                compiled.triangular.substitute(triangle, known, unitriangular)
                others = slice(0, start)
            else:
                compiled.triangular.substitute(
                    triangle[:, ::-1, ::-1], known[:, ::-1], unitriangular
                )
                others = slice(block.stop, size)
            if others.start < others.stop:
                x[:, others] -= a[:, others, block] @ known
    return solved


def lu_solve(lu: Array, pivots: Array, b: Array, adjoint_system: bool) -> Array:
    """X with A X = B, or with A^H X = B, for the A that was factored."""
    order = permutation_of(pivots, lu.shape[-1])
    batch = np.broadcast_shapes(lu.shape[:-2], b.shape[:-2])
    if not adjoint_system:
        if order.ndim == 1:
            rows = b.take(order, -2)
        else:
            whole = np.broadcast_to(order, (*batch, order.shape[-1]))[..., None]
            rows = np.take_along_axis(np.broadcast_to(b, (*batch, *b.shape[-2:])), whole, -2)
        return solve_triangular(lu, solve_triangular(lu, rows, False, True), True, False)
    conjugate = adjoint(lu)
    x = solve_triangular(conjugate, solve_triangular(conjugate, b, False, False), True, True)
    result = np.empty_like(x)
    whole = np.broadcast_to(order, (*batch, order.shape[-1]))[..., None]
    np.put_along_axis(result, np.broadcast_to(whole, x.shape), x, -2)
    return result


# -- inverses and solutions with failures --------------------------------------------------------


def solve(a: Array, b: Array) -> tuple[Array, Array]:
    """X with A X = B, and for each A its first zero pivot, 0 if there is none."""
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    if not a.size or not b.size:
        none = by_columns(np.zeros((*batch, *b.shape[-2:]), a.dtype))
        return none, np.zeros(a.shape[:-2], np.int32)
    if a.shape[-1] >= _LARGE and a.ndim > 2 and a.shape[:-2] == batch:
        return _solve_each(a, np.broadcast_to(b, (*batch, *b.shape[-2:])))
    try:
        return by_columns(np.linalg.solve(a, b)), np.zeros(a.shape[:-2], np.int32)
    except np.linalg.LinAlgError:
        lu, pivots, info = lu_factor(a)
        return by_columns(lu_solve(lu, pivots, b, False)), info


def _solve_each(a: Array, b: Array) -> tuple[Array, Array]:
    """One system after the other, so that one that fails costs the others nothing."""
    result = by_columns(np.empty(b.shape, b.dtype))
    info = np.zeros(a.shape[:-2], np.int32)
    for place in np.ndindex(info.shape):
        result[place], info[place] = solve(a[place], b[place])
    return result, info


def inverse(a: Array) -> tuple[Array, Array]:
    """The inverses, and for each matrix its first zero pivot, 0 if there is none."""
    return solve(a, np.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype), a.shape))


# -- Cholesky ------------------------------------------------------------------------------------


def condition_bound(matrices: Array, inverses: Array) -> Array:
    """A number that the ratio of the largest to the smallest singular value does not exceed."""
    bound = np.ones(matrices.shape[:-2])
    for each in (matrices, inverses):
        sizes = np.absolute(each)
        bound = bound * sizes.sum(-1).max(-1) * sizes.sum(-2).max(-1)
    return np.sqrt(bound)


def condition_estimate(matrices: Array, inverses: Array) -> Array:
    """About the ratio of the largest to the smallest singular value, by power iterations."""
    start = np.cos(np.arange(matrices.shape[-1]))[:, None].astype(matrices.dtype)
    found = np.ones(matrices.shape[:-2])
    for each in (matrices, inverses):
        vector = np.broadcast_to(start, (*each.shape[:-1], 1))
        for _ in range(_POWER_ITERATIONS):
            vector = vector / np.linalg.norm(vector, axis=-2, keepdims=True)
            vector = adjoint(each) @ (each @ vector)
        found = found * np.sqrt(np.linalg.norm(vector, axis=-2)[..., 0])
    return found


def cholesky(a: Array, upper: bool) -> tuple[Array, Array]:
    """The factors, and for each matrix the order of the first minor that is not positive."""
    if not a.size:
        return np.zeros_like(a), np.zeros(a.shape[:-2], np.int32)
    try:
        factors, info = np.linalg.cholesky(a, upper=upper), np.zeros(a.shape[:-2], np.int32)
    except np.linalg.LinAlgError:
        if a.shape[-1] >= _LARGE and a.ndim > 2:
            return _cholesky_of_each(a, upper)
        factors, info = _cholesky_by_columns(adjoint(a) if upper else a)
        factors = adjoint(factors) if upper else factors
    return by_columns(factors), info


def _cholesky_of_each(a: Array, upper: bool) -> tuple[Array, Array]:
    """One matrix after the other, so that one that fails costs the others nothing."""
    factors = by_columns(np.empty_like(a))
    info = np.zeros(a.shape[:-2], np.int32)
    for place in np.ndindex(info.shape):
        factors[place], info[place] = cholesky(a[place], upper)
    return factors, info


def _cholesky_by_columns(a: Array) -> tuple[Array, Array]:
    """Factor all matrices column by column, each as far as it goes."""
    size = a.shape[-1]
    factors = np.tril(a).reshape(math.prod(a.shape[:-2]), size, size)
    info = np.zeros(len(factors), np.int32)
    with np.errstate(all="ignore"):
        for k in range(size):
            row = factors[:, k, :k].conj()
            pivots = factors[:, k, k].real - (row * row.conj()).real.sum(-1)
            info[(info == 0) & ~(pivots > 0)] = k + 1
            going = info == 0
            roots = np.sqrt(pivots)[:, None]
            below = factors[:, k + 1 :, k] - (factors[:, k + 1 :, :k] @ row[..., None])[..., 0]
            factors[going, k:, k] = np.concatenate([roots, below / roots], 1)[going]
    return factors.reshape(a.shape), info.reshape(a.shape[:-2])


# -- matrix exponential ------------------------------------------------------------------------

# The diagonal Pade approximant of order 13, and the norm up to which it is exact in float64.
_PADE = (
    64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0,
    129060195264000.0, 10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0,
    40840800.0, 960960.0, 16380.0, 182.0, 1.0,
)  # fmt: skip
_PADE_RADIUS = 5.371920351148152


def matrix_exp(a: Array) -> Array:
    """exp(A) by scaling until the approximant is exact, and squaring back."""
    if not a.size:
        return np.zeros_like(a)
    norms = np.absolute(a).sum(-2).max(-1)
    finite = np.isfinite(norms)
    excess = np.maximum(np.where(finite, norms, 1) / _PADE_RADIUS, 1)
    squarings = np.ceil(np.log2(excess)).astype(int)
    scaled = a / np.exp2(squarings)[..., None, None].astype(norms.dtype)
    scaled = np.where(finite[..., None, None], scaled, 0)
    result = _pade(scaled.astype(a.dtype))
    for step in range(int(squarings.max(initial=0))):
        squared = result @ result
        result = np.where((squarings > step)[..., None, None], squared, result)
    return np.where(finite[..., None, None], result, np.nan).astype(a.dtype)


def _pade(a: Array) -> Array:
    b = _PADE
    identity = np.eye(a.shape[-1], dtype=a.dtype)
    a2 = a @ a
    a4 = a2 @ a2
    a6 = a4 @ a2
    odd = a6 @ (b[13] * a6 + b[11] * a4 + b[9] * a2)
    odd = a @ (odd + b[7] * a6 + b[5] * a4 + b[3] * a2 + b[1] * identity)
    even = a6 @ (b[12] * a6 + b[10] * a4 + b[8] * a2)
    even = even + b[6] * a6 + b[4] * a4 + b[2] * a2 + b[0] * identity
    return np.linalg.solve(even - odd, even + odd)
