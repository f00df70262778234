"""The sweep for cliffs: reductions, scans, sorting, indexing, rearranging, joining."""

from collections.abc import Callable
from typing import Any

from clew.bench.cliffs.inputs import Build, Call, Inputs, calls, functions, named

_REDUCTIONS = """
sum mean prod amax amin aminmax max min std var std_mean var_mean all any argmax argmin
count_nonzero nansum nanmean median nanmedian norm linalg.vector_norm
"""
_BY_AXIS = """
sum mean prod amax amin max min std var all any argmax argmin count_nonzero nansum nanmean
median nanmedian mode norm logsumexp softmax log_softmax cumsum cumprod cummax cummin
logcumsumexp sort argsort diff trapezoid cumulative_trapezoid nn.functional.softmin
nn.functional.normalize
"""
_OF_MATRICES = """
tril triu t_copy fliplr flipud rot90 trace diag cov corrcoef msort adjoint diagonal_copy
atleast_3d ravel
"""


def _along(name: str, dim: int) -> Callable[[Inputs], Callable[..., Any]]:
    def make(c: Inputs) -> Callable[..., Any]:
        function = named(c.t, name)
        return lambda x: function(x, dim=dim)

    return make


REDUCTIONS: dict[str, Build] = {
    **{f"{name}_all": row for name, row in functions(_REDUCTIONS, lambda c: [c()]).items()},
    **calls({f"{name}_last": _along(name, -1) for name in _BY_AXIS.split()}, "matrix"),
    **calls({f"{name}_first": _along(name, 0) for name in _BY_AXIS.split()}, "matrix"),
    **calls({f"{name}_short": _along(name, -1) for name in _BY_AXIS.split()}, "rows"),
    **calls(
        {
            "sum_middle": lambda c: lambda x: x.sum(1),
            "sum_two": lambda c: lambda x: x.sum((0, 2)),
            "var_two": lambda c: lambda x: x.var((0, 2)),
            "amax_two": lambda c: lambda x: x.amax((0, 2)),
        },
        "sequence",
    ),
    **calls(
        {
            "cumsum_vector": lambda c: lambda x: x.cumsum(0),
            "sort_vector": lambda c: lambda x: x.sort(),
            "sort_stable": lambda c: lambda x: x.sort(stable=True, descending=True),
            "topk_10": lambda c: lambda x: x.topk(10),
            "topk_half": lambda c: lambda x: x.topk(c.count // 2),
            "kthvalue": lambda c: lambda x: x.kthvalue(c.count // 3),
            "unique": lambda c: lambda x: c.t.unique(x.detach()),
            "unique_inverse": lambda c: lambda x: c.t.unique(x.detach(), return_inverse=True),
            "unique_counts": lambda c: lambda x: c.t.unique(x.detach(), return_counts=True),
            "unique_consecutive": lambda c: lambda x: c.t.unique_consecutive(x.detach()),
            "isin": lambda c: (lambda few: lambda x: c.t.isin(x, few))(c((100,)).detach()),
        },
        "vector",
    ),
    **calls(
        {
            "topk_rows": lambda c: lambda x: x.topk(5),
            "topk_columns": lambda c: lambda x: x.topk(5, dim=0),
            "kthvalue_rows": lambda c: lambda x: x.kthvalue(7),
            "logsumexp_2": lambda c: lambda x: c.t.logsumexp(x, (0, 1)),
            "renorm": lambda c: lambda x: c.t.renorm(x, 2, 0, 1.0),
            "norm_1": lambda c: lambda x: c.t.linalg.vector_norm(x, 1, dim=-1),
            "norm_3": lambda c: lambda x: c.t.linalg.vector_norm(x, 3, dim=-1),
            "norm_inf": lambda c: lambda x: c.t.linalg.vector_norm(x, float("inf"), dim=-1),
            "gradient": lambda c: lambda x: c.t.gradient(x),
            "unique_dim": lambda c: lambda x: c.t.unique(x.detach(), dim=0),
        },
        "rows",
    ),
}

# What only floats are commonly asked for.
STATISTICS: dict[str, Build] = calls(
    {
        "quantile": lambda c: lambda x: c.t.quantile(x, 0.3),
        "nanquantile": lambda c: lambda x: c.t.nanquantile(x, 0.3),
        "quantile_rows": lambda c: lambda x: c.t.quantile(x.reshape(-1, 100), 0.3, dim=1),
        "histc": lambda c: lambda x: c.t.histc(x, 100),
        "histogram": lambda c: lambda x: c.t.histogram(x.detach(), 100),
        "histogramdd": lambda c: lambda x: c.t.histogramdd(x.detach().reshape(-1, 2), [10, 10]),
    },
    "vector",
)

_COUNTING: dict[str, Callable[[Inputs], tuple[Callable[..., Any], list[Any]]]] = {
    "bincount": lambda c: (c.t.bincount, [c.integers(1000)]),
    "bincount_weights": lambda c: (
        lambda w: c.t.bincount(c.integers(1000), w), [c().detach()],
    ),
    "searchsorted": lambda c: (
        (lambda edges: lambda x: c.t.searchsorted(edges, x))(c((1000,)).detach().sort().values),
        [c()],
    ),
    "bucketize": lambda c: (
        (lambda edges: lambda x: c.t.bucketize(x, edges))(c((10,)).detach().sort().values), [c()],
    ),
    "searchsorted_rows": lambda c: (
        (lambda edges: lambda x: c.t.searchsorted(edges, x))(
            c(c.rows).detach().sort(-1).values
        ), [c(c.rows)],
    ),
    "nonzero": lambda c: (c.t.nonzero, [c.mask()]),
    "nonzero_matrix": lambda c: (c.t.nonzero, [c.mask(c.matrix)]),
    "argwhere": lambda c: (c.t.argwhere, [c.mask(c.matrix)]),
    "combinations": lambda c: (c.t.combinations, [c((round((2 * c.count) ** 0.5),))]),
    "cartesian_prod": lambda c: (c.t.cartesian_prod, [c((c.side,)), c((c.side,))]),
    "meshgrid": lambda c: (
        lambda x: [each.contiguous() for each in c.t.meshgrid(x, x, indexing="ij")],
        [c((c.side,))],
    ),
    "vander": lambda c: (lambda x: c.t.vander(x.detach(), 10), [c((c.count // 10,))]),
    "unravel_index": lambda c: (
        lambda x: c.t.unravel_index(x, (c.side, c.side)), [c.integers(c.count)],
    ),
    "one_hot": lambda c: (
        lambda x: c.t.nn.functional.one_hot(x, 100), [c.integers(100, (c.count // 100,))],
    ),
    "tril_indices": lambda c: (lambda: c.t.tril_indices(c.side, c.side), []),
    "triu_indices": lambda c: (lambda: c.t.triu_indices(c.side, c.side), []),
}  # fmt: skip
COUNTING: dict[str, Build] = dict(_COUNTING)


def _indexed(
    rows: dict[str, Callable[[Inputs, Any], Callable[..., Any]]],
    shape: str,
    make_index: Callable[[Inputs], Any],
) -> dict[str, Build]:
    """Rows whose function also takes an index, made beforehand."""

    def row(make: Callable[[Inputs, Any], Callable[..., Any]]) -> Build:
        def build(c: Inputs) -> tuple[Callable[..., Any], list[Any]]:
            return make(c, make_index(c)), [c(getattr(c, shape)), c(getattr(c, shape))]

        return build

    return {name: row(make) for name, make in rows.items()}


INDEXING: dict[str, Build] = {
    **_indexed(
        {
            "gather_last": lambda c, i: lambda x, y: x.gather(1, i),
            "gather_first": lambda c, i: lambda x, y: x.gather(0, i),
            "scatter_last": lambda c, i: lambda x, y: x.scatter(1, i, y),
            "scatter_first": lambda c, i: lambda x, y: x.scatter(0, i, y),
            "scatter_value": lambda c, i: lambda x, y: x.scatter(1, i, 1.0),
            "scatter_add_last": lambda c, i: lambda x, y: x.scatter_add(1, i, y),
            "scatter_add_first": lambda c, i: lambda x, y: x.scatter_add(0, i, y),
            "scatter_sum": lambda c, i: lambda x, y: x.scatter_reduce(1, i, y, "sum"),
            "scatter_amax": lambda c, i: lambda x, y: x.scatter_reduce(1, i, y, "amax"),
            "scatter_mean": lambda c, i: lambda x, y: x.scatter_reduce(1, i, y, "mean"),
            "scatter_prod": lambda c, i: lambda x, y: x.scatter_reduce(1, i, y, "prod"),
            "take": lambda c, i: lambda x, y: x.take(i),
            "take_along_dim": lambda c, i: lambda x, y: c.t.take_along_dim(x, i, 1),
            "put": lambda c, i: lambda x, y: x.put(i, y),
            "put_accumulate": lambda c, i: lambda x, y: x.put(i, y, accumulate=True),
        },
        "rows",
        lambda c: c.integers(100, c.rows),
    ),
    **_indexed(
        {
            "index_select_first": lambda c, i: lambda x, y: x.index_select(0, i),
            "index_select_last": lambda c, i: lambda x, y: x.index_select(1, i),
            "index_add_first": lambda c, i: lambda x, y: x.index_add(0, i, y),
            "index_add_last": lambda c, i: lambda x, y: x.index_add(1, i, y),
            "index_copy_first": lambda c, i: lambda x, y: x.index_copy(0, i, y),
            "index_copy_last": lambda c, i: lambda x, y: x.index_copy(1, i, y),
            "index_fill_first": lambda c, i: lambda x, y: x.index_fill(0, i, 1.0),
            "index_fill_last": lambda c, i: lambda x, y: x.index_fill(1, i, 1.0),
            "index_amax": lambda c, i: lambda x, y: x.index_reduce(0, i, y, "amax"),
            "index_mean": lambda c, i: lambda x, y: x.index_reduce(0, i, y, "mean"),
            "index_prod": lambda c, i: lambda x, y: x.index_reduce(0, i, y, "prod"),
            "getitem_rows": lambda c, i: lambda x, y: x[i],
            "getitem_columns": lambda c, i: lambda x, y: x[:, i],
            "getitem_points": lambda c, i: lambda x, y: x[i, i],
            "index_put": lambda c, i: lambda x, y: x.index_put((i,), y),
            "index_put_add": lambda c, i: lambda x, y: x.index_put((i,), y, accumulate=True),
        },
        "matrix",
        lambda c: c.integers(c.side, (c.side,)),
    ),
    **_indexed(
        {
            "getitem_mask": lambda c, m: lambda x, y: x[m],
            "masked_select": lambda c, m: lambda x, y: x.masked_select(m),
            "masked_scatter": lambda c, m: lambda x, y: x.masked_scatter(m, y),
            "index_put_mask": lambda c, m: lambda x, y: x.index_put((m,), x[0, 0].detach()),
        },
        "matrix",
        lambda c: c.mask(c.matrix),
    ),
    **calls(
        {
            "getitem_slice": lambda c: lambda x: x[1:, ::2].contiguous(),
            "getitem_int": lambda c: lambda x: x[3],
            "setitem_slice": lambda c: lambda x: x.clone().__setitem__((slice(1, None), 2), 1.0),
        },
        "matrix",
    ),
}


def _segments(how: str) -> Build:
    def build(c: Inputs) -> Call:
        lengths = c.t.full((c.rows[0] // 10,), 10)
        return lambda x: c.t.segment_reduce(x, how, lengths=lengths), [c(c.rows)]

    return build


STATISTICS["nonzero_static"] = lambda c: (
    lambda x: c.t.nonzero_static(x.detach() > 0.5, size=c.count // 4), [c()],
)  # fmt: skip
STATISTICS["hash_tensor"] = lambda c: (lambda x: c.t.hash_tensor(x.detach()), [c()])
STATISTICS |= {f"segment_reduce_{how}": _segments(how) for how in ("sum", "mean", "max")}

SHAPES: dict[str, Build] = {
    **functions(_OF_MATRICES, lambda c: [c(c.matrix)]),
    **calls(
        {
            "contiguous": lambda c: lambda x: x.t().contiguous(),
            "flip": lambda c: lambda x: x.flip(0, 1),
            "roll": lambda c: lambda x: x.roll(3),
            "roll_rows": lambda c: lambda x: x.roll((3, 5), (0, 1)),
            "diag_embed": lambda c: lambda x: c.t.diag_embed(x[0]),
            "diagflat": lambda c: lambda x: c.t.diagflat(x[0]),
            "diagonal_scatter": lambda c: lambda x: c.t.diagonal_scatter(x, x[0]),
            "select_scatter": lambda c: lambda x: c.t.select_scatter(x, x[0], 1, 2),
            "slice_scatter": lambda c: lambda x: c.t.slice_scatter(x, x[:5], 0, 5, 10),
            "fill_diagonal_": lambda c: lambda x: x.detach().fill_diagonal_(1.0),
            "cat_first": lambda c: lambda x: c.t.cat([x, x]),
            "cat_last": lambda c: lambda x: c.t.cat([x, x], 1),
            "stack_first": lambda c: lambda x: c.t.stack([x, x]),
            "stack_last": lambda c: lambda x: c.t.stack([x, x], -1),
            "hstack": lambda c: lambda x: c.t.hstack([x, x]),
            "vstack": lambda c: lambda x: c.t.vstack([x, x]),
            "dstack": lambda c: lambda x: c.t.dstack([x, x]),
            "column_stack": lambda c: lambda x: c.t.column_stack([x, x]),
            "tensor_split": lambda c: lambda x: c.t.tensor_split(x, 7),
            "tensor_split_last": lambda c: lambda x: c.t.tensor_split(x, 7, dim=1),
            "split": lambda c: lambda x: c.t.split(x, 10),
            "chunk": lambda c: lambda x: c.t.chunk(x, 10, 1),
            "unbind": lambda c: lambda x: c.t.unbind(x),
            "unbind_last": lambda c: lambda x: c.t.unbind(x, 1),
            "repeat": lambda c: lambda x: x.repeat(2, 2),
            "tile": lambda c: lambda x: c.t.tile(x, (2, 2)),
            "repeat_interleave": lambda c: lambda x: c.t.repeat_interleave(x, 2, dim=1),
            "repeat_interleave_flat": lambda c: lambda x: c.t.repeat_interleave(x, 2),
            "expand": lambda c: lambda x: x[:1].expand(c.side, c.side).contiguous(),
            "block_diag": lambda c: lambda x: c.t.block_diag(x[:10, :10], x[:10, :10], x),
            "tensor_unfold": lambda c: lambda x: x.unfold(1, 10, 5).contiguous(),
            "as_strided": lambda c: lambda x: c.t.as_strided(x, (c.side,), (c.side + 1,)),
            "as_strided_scatter": lambda c: (
                lambda x: c.t.as_strided_scatter(x, x[0], (c.side,), (c.side + 1,))
            ),
            "split_with_sizes": lambda c: lambda x: c.t.split(x, [10, c.side - 10]),
            "unsafe_split": lambda c: lambda x: c.t.unsafe_split(x, 10),
            "sort_stable": lambda c: lambda x: c.t.sort(x, dim=-1, stable=True),
            "masked_fill_tensor": lambda c: (
                lambda x: x.masked_fill(x.detach() > 0.5, x[0, 0].detach())
            ),
            "index_fill_tensor": lambda c: (
                lambda x: x.index_fill(0, c.t.arange(5), x[0, 0].detach())
            ),
            "movedim": lambda c: lambda x: c.t.movedim(x, 0, 1).reshape(-1),
        },
        "matrix",
    ),
    **calls({"block_diag_many": lambda c: lambda x: c.t.block_diag(*x[:20])}, "batch"),
    **calls(
        {
            "permute": lambda c: lambda x: x.permute(0, 2, 3, 1).contiguous(),
            "permute_reverse": lambda c: lambda x: x.permute(3, 2, 1, 0).contiguous(),
            "roll_image": lambda c: lambda x: x.roll((1, 1), (2, 3)),
            "rot90_image": lambda c: lambda x: x.rot90(1, (2, 3)),
        },
        "image",
    ),
}
