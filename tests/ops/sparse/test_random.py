"""Sparse tensors of random shapes, dtypes and layouts, against PyTorch."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

import clew

pytestmark = pytest.mark.filterwarnings("ignore:Sparse")

DTYPES = ("float32", "float64", "float16", "bfloat16", "complex64", "int64", "int32", "bool")
SHAPES = ((5,), (3, 4), (1, 6), (0, 3), (4, 0), (2, 3, 4), (3, 2, 2, 3))


def both(make: Callable[[Any], Any]) -> tuple[Any, Any]:
    return make(torch), make(clew)


def numbers(rng: random.Random, count: int, dtype: str) -> list[Any]:
    if dtype == "bool":
        return [rng.random() < 0.7 for _ in range(count)]
    if dtype.startswith("int"):
        return [rng.randint(-5, 5) for _ in range(count)]
    if dtype.startswith("complex"):
        return [complex(rng.randint(-8, 8) / 4, rng.randint(-8, 8) / 4) for _ in range(count)]
    return [rng.randint(-8, 8) / 4 for _ in range(count)]


def sparse_pair(
    rng: random.Random, shape: tuple[int, ...], sparse_dims: int, dtype: str, repeats: bool = True
) -> tuple[Any, Any]:
    """The same COO tensor in both libraries; indices may repeat."""
    leading = shape[:sparse_dims]
    count = 0 if 0 in leading else rng.randint(0, 9)
    columns = [tuple(rng.randrange(n) for n in leading) for _ in range(count)]
    if not repeats:
        columns = list(dict.fromkeys(columns))
    places = [list(row) for row in zip(*columns, strict=True)] or [[] for _ in leading]
    tail = shape[sparse_dims:]
    size = len(columns)
    for n in tail:
        size *= n
    values = numbers(rng, size, dtype)

    def make(m: Any) -> Any:
        listed = m.tensor(values, dtype=getattr(m, dtype)).reshape(len(columns), *tail)
        index = m.tensor(places, dtype=m.int64).reshape(sparse_dims, len(columns))
        return m.sparse_coo_tensor(index, listed, shape)

    return both(make)


def dense_pair(rng: random.Random, shape: tuple[int, ...], dtype: str) -> tuple[Any, Any]:
    size = 1
    for n in shape:
        size *= n
    values = numbers(rng, size, dtype)
    return both(lambda m: m.tensor(values, dtype=getattr(m, dtype)).reshape(shape))


def plain(module: Any, value: Any) -> Any:
    """A result as a strided PyTorch tensor, with what it was."""
    if isinstance(value, (tuple, list)):
        return [plain(module, each) for each in value]
    if not isinstance(value, module.Tensor):
        return value
    dense = value.detach().to_dense() if value.layout is not module.strided else value.detach()
    if module is clew:
        kind = getattr(torch, str(dense.dtype).removeprefix("torch."))
        numbers = dense.to(clew.complex128) if dense.dtype.is_complex else dense.double()
        dense = torch.from_numpy(numbers.numpy().copy()).to(kind)
    return repr(value.layout), dense


def agree(theirs: Any, ours: Any, where: str, run: Callable[[Any, Any], Any]) -> None:
    """Both libraries give the same result, or an error of the same kind."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            known = plain(torch, run(torch, theirs))
        except (RuntimeError, IndexError, NotImplementedError, ValueError, TypeError) as error:
            known = error
        try:
            found = plain(clew, run(clew, ours))
        except (RuntimeError, IndexError, NotImplementedError, ValueError, TypeError) as error:
            found = error
    if isinstance(known, Exception):
        # What PyTorch has no kernel for, clew may compute.
        return
    assert not isinstance(found, Exception), (where, found)
    compare(known, found, where)


def compare(known: Any, found: Any, where: str) -> None:
    if isinstance(known, list):
        for one, two in zip(known, found, strict=True):
            compare(one, two, where)
    elif isinstance(known, tuple) and isinstance(known[1], torch.Tensor):
        assert known[0] == found[0], where
        torch.testing.assert_close(
            found[1], known[1], equal_nan=True, msg=lambda text: f"{where}: {text}"
        )
    else:
        assert known == found, where


UNARY: dict[str, Callable[[Any, Any], Any]] = {
    name: (lambda m, s, name=name: getattr(s, name)())
    for name in (
        "abs", "neg", "sin", "tanh", "sqrt", "expm1", "log1p", "erf", "floor", "ceil", "sign",
        "relu", "isnan", "coalesce", "clone", "t", "to_dense", "sum", "any", "norm", "asin", "sgn",
        "trunc", "conj",
    )
}  # fmt: skip
UNARY |= {
    "coalesced parts": lambda m, s: (s.coalesce().indices(), s.coalesce().values()),
    "half": lambda m, s: s.to(m.float16),
    "times": lambda m, s: s * 2,
    "by": lambda m, s: s / 3,
    "floor by": lambda m, s: s // 2,
    "square": lambda m, s: s**2,
    "sum 0": lambda m, s: s.sum(0),
    "sum -1": lambda m, s: m.sparse.sum(s, -1),
    "sum kept": lambda m, s: s.sum(0, keepdim=True),
    "sum all": lambda m, s: m.sparse.sum(s),
    "select": lambda m, s: s.select(0, 1),
    "select last": lambda m, s: s.select(-1, 0),
    "narrow": lambda m, s: s.narrow_copy(0, 1, 2),
    "index_select": lambda m, s: s.index_select(0, m.tensor([1, 0, 1])),
    "index_select -1": lambda m, s: s.index_select(-1, m.tensor([0, 0])),
    "cat": lambda m, s: m.cat([s, s * 2]),
    "cat -1": lambda m, s: m.cat([s, s], -1),
    "stack": lambda m, s: m.stack([s, s]),
    "unsqueeze": lambda m, s: s.unsqueeze(0),
    "unsqueeze -1": lambda m, s: s.unsqueeze(-1),
    "transpose": lambda m, s: s.transpose(0, 1),
    "softmax": lambda m, s: m.sparse.softmax(s, 0),
    "softmax -1": lambda m, s: m.sparse.softmax(s, -1),
    "log_softmax": lambda m, s: m.sparse.log_softmax(s, 0),
    "csr": lambda m, s: s.to_sparse_csr(),
    "csc": lambda m, s: s.to_sparse_csc(),
    "there and back": lambda m, s: s.to_dense().to_sparse(),
    "double": lambda m, s: s + s,
    "minus": lambda m, s: s - s.coalesce() * 3,
    "product": lambda m, s: s * s,
    "masked": lambda m, s: s.to_dense().sparse_mask(s.coalesce()),
    "masked sparse": lambda m, s: (s * 2).sparse_mask(s.coalesce()),
    "in place": lambda m, s: s.clone().mul_(2),
    "added in place": lambda m, s: s.clone().add_(s),
    "zeroed": lambda m, s: s.clone().zero_(),
    "zeros_like": lambda m, s: m.zeros_like(s),
    "described": lambda m, s: (s.sparse_dim(), s.dense_dim(), s._nnz(), tuple(s.shape)),
}  # fmt: skip


def cases(seed: int) -> Iterator[tuple[str, Any, Any]]:
    rng = random.Random(seed)
    for shape in SHAPES:
        for sparse_dims in range(1, len(shape) + 1):
            for dtype in rng.sample(DTYPES, 3):
                name = f"{shape} {sparse_dims} {dtype}"
                yield (name, *sparse_pair(rng, shape, sparse_dims, dtype))


@pytest.mark.parametrize("seed", range(3))
def test_functions_of_one(seed: int) -> None:
    for where, theirs, ours in cases(seed):
        for name, run in UNARY.items():
            if name in ("any", "norm", "sqrt", "asin", "square") and not theirs.is_coalesced():
                # PyTorch forgets to add equal indices up first.
                theirs, ours = theirs.coalesce(), ours.coalesce()
            if "softmax" in name and not theirs.dtype.is_floating_point:
                continue  # PyTorch takes integers if there are none
            if name in ("index_select -1", "in place") and not theirs._values().numel():
                continue  # the same: it does not look at what it has no use for
            agree(theirs, ours, f"{name} {where}", run)


def _listed(tensor: Any) -> Any:
    """The entries of a COO tensor in their order, and whether it is coalesced."""
    return tensor._indices(), tensor._values(), tensor.is_coalesced()


BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "sum": lambda m, p: p[0] + p[1],
    "list of the sum": lambda m, p: _listed(p[0] + p[1]),
    "list of the scaled sum": lambda m, p: _listed(m.add(p[1], p[0], alpha=2)),
    "difference": lambda m, p: p[0] - p[1],
    "product": lambda m, p: p[0] * p[1],
    "dense sum": lambda m, p: p[2] + p[0],
    "dense difference": lambda m, p: p[2] - p[0],
    "dense product": lambda m, p: p[0] * p[2],
    "product of dense": lambda m, p: p[2] * p[0],
    "scaled sum": lambda m, p: m.add(p[2], p[0], alpha=3),
    "into": lambda m, p: p[2].clone().add_(p[0], alpha=2),
    "mask": lambda m, p: p[2].sparse_mask(p[0].coalesce()),
    "mask of sparse": lambda m, p: p[1].sparse_mask(p[0].coalesce()),
    "beside": lambda m, p: m.cat([p[0], p[1]], 0),
}


@pytest.mark.parametrize("seed", range(3))
def test_functions_of_two(seed: int) -> None:
    rng = random.Random(seed + 10)
    for shape in SHAPES:
        for sparse_dims in range(1, len(shape) + 1):
            dtype, other = rng.choice(DTYPES), rng.choice(DTYPES)
            one = sparse_pair(rng, shape, sparse_dims, dtype)
            two = sparse_pair(rng, shape, sparse_dims, other)
            three = dense_pair(rng, shape, dtype)
            triple = list(zip(one, two, three, strict=True))
            for name, run in BINARY.items():
                agree(*triple, f"{name} {shape} {sparse_dims} {dtype} {other}", run)


PRODUCTS: dict[str, Callable[[Any, Any], Any]] = {
    "mm": lambda m, p: m.mm(p[0], p[1]),
    "@": lambda m, p: p[0] @ p[1],
    "from the left": lambda m, p: p[1].t() @ p[0].t(),
    "sparse.mm": lambda m, p: m.sparse.mm(p[0], p[1]),
    "vector": lambda m, p: p[0] @ p[1][:, 0],
    "mv": lambda m, p: p[0].mv(p[1][:, 0]),
    "addmm": lambda m, p: m.addmm(p[2], p[0], p[1], beta=2, alpha=3),
    "sparse.addmm": lambda m, p: m.sparse.addmm(p[2], p[0], p[1], beta=2, alpha=3),
    "sparse": lambda m, p: (p[0] @ p[3]).to_dense(),
    "linear": lambda m, p: m.nn.functional.linear(p[1].t(), p[0]),
    "csc": lambda m, p: p[0].to_sparse_csc() @ p[1],
    "reduce mean": lambda m, p: m.sparse.mm(p[0].to_sparse_csr(), p[1], "mean"),
    "reduce amax": lambda m, p: m.sparse.mm(p[0].to_sparse_csr(), p[1], "amax"),
    "reduce amin": lambda m, p: m.sparse.mm(p[0].to_sparse_csr(), p[1], "amin"),
    "sampled": lambda m, p: m.sparse.sampled_addmm(
        p[0].to_sparse_csr(), p[2], p[2].t() @ p[0].to_dense(), beta=2, alpha=0.5
    ),
}


@pytest.mark.parametrize("csr", [False, True])
def test_products(csr: bool) -> None:
    rng = random.Random(5)
    for n, m, k in ((3, 4, 2), (1, 5, 1), (6, 2, 9), (0, 3, 2), (3, 0, 2), (17, 13, 33)):
        for dtype in ("float32", "float64", "complex64"):
            sparse = sparse_pair(rng, (n, m), 2, dtype, repeats=not csr)
            other = sparse_pair(rng, (m, k), 2, dtype, repeats=not csr)
            if csr:
                sparse, other = (
                    tuple(each.to_sparse_csr() for each in group) for group in (sparse, other)
                )
            given = zip(
                sparse, dense_pair(rng, (m, k), dtype), dense_pair(rng, (n, k), dtype), other,
                strict=True,
            )  # fmt: skip
            triple = list(given)
            for name, run in PRODUCTS.items():
                if name.startswith("reduce am") and dtype == "complex64":
                    continue  # there is no greatest complex number
                agree(*triple, f"{name} {(n, m, k)} {dtype}", run)


def test_batches_of_products() -> None:
    rng = random.Random(6)
    for b, n, m, k in ((2, 3, 4, 2), (1, 1, 1, 1), (3, 2, 5, 4)):
        sparse = sparse_pair(rng, (b, n, m), 3, "float64")
        dense = dense_pair(rng, (b, m, k), "float64")
        pairs = list(zip(sparse, dense, strict=True))
        agree(*pairs, f"bmm {(b, n, m, k)}", lambda m, p: m.bmm(*p))


LAYOUTS = ("sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc")


def test_conversions_between_layouts() -> None:
    rng = random.Random(7)
    for shape in ((4, 6), (2, 4), (2, 4, 6)):
        dense = dense_pair(rng, shape, "float32")
        # Batches need as many elements in each matrix.
        sparse = [each * (each > (-9 if len(shape) > 2 else 0)) for each in dense]
        for one in LAYOUTS:
            for two in LAYOUTS:

                def convert(m: Any, x: Any, one: str = one, two: str = two) -> Any:
                    for name in (one, two):
                        kind = getattr(m, name)
                        block = (2, 2) if name[-3:] in ("bsr", "bsc") else None
                        x = x.to_sparse(layout=kind, blocksize=block)
                    return x

                agree(sparse[0], sparse[1], f"{shape} {one} {two}", convert)


def test_int32_indices_stay() -> None:
    for m in (torch, clew):
        index = [m.tensor(each, dtype=m.int32) for each in ([0, 1, 2], [1, 0])]
        x = m.sparse_csr_tensor(*index, m.tensor([1.0, 2.0]), (2, 2))
        assert repr(x.crow_indices().dtype) == "torch.int32"
        assert (x @ m.ones(2, 1)).tolist() == [[1.0], [2.0]]
