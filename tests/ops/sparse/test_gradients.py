"""Gradients through sparse tensors, sparse gradients, and the optimizers that take them."""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import clew

pytestmark = pytest.mark.filterwarnings("ignore:Sparse")

# Functions of a sparse matrix s (2, 3), a strided d (3, 2) and a strided e (2, 3).
PROGRAMS: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "mm": lambda m, s, d, e: m.mm(s, d),
    "sparse.mm": lambda m, s, d, e: m.sparse.mm(s, d),
    "@": lambda m, s, d, e: s @ d,
    "mv": lambda m, s, d, e: s @ d[:, 0],
    "addmm": lambda m, s, d, e: m.addmm(m.ones(2, 2), s, d, beta=2, alpha=3),
    "sparse.addmm": lambda m, s, d, e: m.sparse.addmm(m.ones(2, 2), s, d, beta=2, alpha=3),
    "from the left": lambda m, s, d, e: d.t() @ s.t(),
    "linear": lambda m, s, d, e: m.nn.functional.linear(e, s),
    "dense sum": lambda m, s, d, e: e + s,
    "dense difference": lambda m, s, d, e: e - s,
    "sum": lambda m, s, d, e: m.sparse.sum(s + s * 2),
    "square": lambda m, s, d, e: m.sparse.sum(s * s),
    "negative": lambda m, s, d, e: m.sparse.sum(-s),
    "scaled": lambda m, s, d, e: m.sparse.sum(s * 3),
    "quotient": lambda m, s, d, e: m.sparse.sum(s / 3),
    "times dense": lambda m, s, d, e: m.sparse.sum(s * e),
    "absolute": lambda m, s, d, e: m.sparse.sum(s.abs()),
    "relu": lambda m, s, d, e: m.sparse.sum(s.relu()),
    "power": lambda m, s, d, e: m.sparse.sum(s.pow(2)),
    "to_dense": lambda m, s, d, e: s.to_dense() * e,
    "unmasked": lambda m, s, d, e: s.to_dense(masked_grad=False) * e,
    "values": lambda m, s, d, e: s.values() * 2,
    "all": lambda m, s, d, e: s.sum(),
    "sparse.sum": lambda m, s, d, e: m.sparse.sum(s),
    "sum 0": lambda m, s, d, e: m.sparse.sum(s, 0).to_dense(),
    "sum 1": lambda m, s, d, e: m.sparse.sum(s, 1).to_dense(),
    "sum both": lambda m, s, d, e: m.sparse.sum(s, (0, 1)),
    "transpose": lambda m, s, d, e: m.sparse.sum(s.t() * 2),
    "mask": lambda m, s, d, e: m.sparse.sum((e * 2).sparse_mask(s.detach())),
    "softmax": lambda m, s, d, e: m.sparse.softmax(s, 1).to_dense() * e,
    "log_softmax": lambda m, s, d, e: m.sparse.log_softmax(s, 0).to_dense() * e,
    "both sparse": lambda m, s, d, e: m.sparse.sum(m.sparse.mm(s, s.t())),
    "cloned": lambda m, s, d, e: m.sparse.sum(s.clone()),
    "double": lambda m, s, d, e: m.sparse.sum(s.double()),
    "of dense": lambda m, s, d, e: m.sparse.sum(e.to_sparse() * 2),
    "twice": lambda m, s, d, e: m.sparse.mm(s, d).sum() + (s.to_dense() * 2).sum(),
}
# Those of CSR that PyTorch has.
IN_CSR = {
    "mm", "sparse.mm", "@", "mv", "addmm", "sparse.addmm", "from the left", "linear", "dense sum",
    "to_dense", "unmasked", "values", "all",
}  # fmt: skip


def gradients(m: Any, run: Callable[..., Any], csr: bool) -> list[Any]:
    dense = m.tensor([[0.0, 0.0, 3.0], [4.0, 0.0, -5.0]])
    s = (dense.to_sparse_csr() if csr else dense.to_sparse()).requires_grad_()
    d = m.arange(6.0).reshape(3, 2).requires_grad_()
    e = m.arange(1.0, 7).reshape(2, 3).requires_grad_()
    run(m, s, d, e).sum().backward()
    found = []
    for leaf in (s, d, e):
        g = leaf.grad
        if g is None:
            found.append(None)
            continue
        numbers = g if g.layout is m.strided else g.to_dense()
        found.append((repr(g.layout), [[round(x, 4) for x in row] for row in numbers.tolist()]))
    return found


@pytest.mark.parametrize("csr", [False, True])
def test_gradients(csr: bool) -> None:
    for name, run in PROGRAMS.items():
        if csr and name not in IN_CSR:
            continue
        assert gradients(clew, run, csr) == gradients(torch, run, csr), name


@pytest.mark.parametrize("sparse", [False, True])
def test_gradients_of_sampled_products_have_the_layout_that_comes_in(sparse: bool) -> None:
    def program(lib: Any) -> Any:
        x, a = lib.eye(3).to_sparse_csr().requires_grad_(), lib.ones(3, 2, requires_grad=True)
        y = lib.sparse.sampled_addmm(x, a, lib.ones(2, 3), beta=2.0, alpha=3.0)
        g = lib.eye(3).to_sparse_csr() if sparse else lib.ones(3, 3)
        grads = lib.autograd.grad(y, (x, a), g)
        return y.grad_fn.name(), [str(each.layout) for each in grads], repr(grads)

    assert program(clew) == program(torch)


def test_gradients_of_what_pytorch_lacks() -> None:
    """Functions without a derivative there: against finite differences."""
    x = clew.tensor([[0.0, 0.3, -0.4], [0.5, 0.0, 0.2]], dtype=clew.float64)
    for run in (
        lambda s: s.sin(), lambda s: s.tanh(), lambda s: s.select(0, 1),
        lambda s: s.index_select(1, clew.tensor([0, 2, 2])), lambda s: clew.cat([s, s * 2], 1),
        lambda s: s.unsqueeze(0), lambda s: s.norm(), lambda s: s.narrow_copy(1, 1, 2),
        lambda s: s.sum(0), lambda s: s.to_sparse_csr() @ clew.ones(3, 2, dtype=clew.float64),
        lambda s: clew.sparse.mm(s.to_sparse_csr(), x.t(), "mean"),
        lambda s: clew.sparse.sampled_addmm(s.to_sparse_csr(), x, x.t() @ x),
        lambda s: clew.sparse.log_softmax(s, 0), lambda s: s * x,
    ):  # fmt: skip
        assert clew.autograd.gradcheck(run, (x.to_sparse().requires_grad_(),), masked=True)
    values = clew.randn(3, dtype=clew.float64, requires_grad=True)
    d = clew.randn(3, 2, dtype=clew.float64, requires_grad=True)
    places = clew.tensor([[0, 1, 1], [2, 0, 2]])

    def product(values: Any, d: Any) -> Any:
        return clew.sparse.mm(clew.sparse_coo_tensor(places, values, (2, 3)), d)

    assert clew.autograd.gradcheck(product, (values, d))
    assert clew.autograd.gradgradcheck(product, (values, d))
    batch = x.to_sparse().unsqueeze(0).requires_grad_()
    assert clew.autograd.gradcheck(lambda s, d: clew.bmm(s, d.unsqueeze(0)), (batch, d))


def train(m: Any, name: str, bag: bool, **options: Any) -> list[Any]:
    m.manual_seed(0)
    if bag:
        table = m.nn.EmbeddingBag(6, 3, sparse=True, mode="mean")
    else:
        table = m.nn.Embedding(6, 3, sparse=True, padding_idx=2)
    optimizer = getattr(m.optim, name)(table.parameters(), **options)
    for step in range(4):
        optimizer.zero_grad()
        loss = (table(m.tensor([[1, 2, 1], [4, step, 2]])) ** 2).sum()
        loss.backward()
        assert table.weight.grad.layout is m.sparse_coo
        optimizer.step()
    return [[round(x, 4) for x in row] for row in table.weight.tolist()]


@pytest.mark.parametrize("bag", [False, True])
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("SGD", {"lr": 0.1}),
        ("SGD", {"lr": 0.1, "momentum": 0.9}),
        ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
        ("SGD", {"lr": 0.1, "maximize": True}),
        ("Adagrad", {"lr": 0.1}),
        ("SparseAdam", {"lr": 0.1}),
        ("SparseAdam", {"lr": 0.1, "maximize": True}),
    ],
)
def test_optimizers(name: str, options: dict[str, Any], bag: bool) -> None:
    assert train(clew, name, bag, **options) == train(torch, name, bag, **options)


@pytest.mark.parametrize(
    "name", ["Adam", "RMSprop", "Adadelta", "Adamax", "NAdam", "RAdam", "ASGD", "Rprop"]
)
def test_optimizers_that_refuse(name: str) -> None:
    said = []
    for m in (torch, clew):
        with pytest.raises(RuntimeError) as error:
            train(m, name, False)
        said.append(str(error.value).partition("\n")[0])
    assert said[0] == said[1]


def table_of(m: Any, sparse: bool = True) -> Any:
    table = m.nn.Embedding(4, 2, sparse=sparse)
    m.nn.init.ones_(table.weight)
    return table


def described(g: Any) -> tuple[Any, ...]:
    if repr(g.layout) == "torch.strided":
        return ("strided", g.tolist())
    return g.is_coalesced(), g._nnz(), g.to_dense().tolist()


def accumulated(m: Any) -> Any:
    table = table_of(m)
    table(m.tensor([1, 1])).sum().backward()
    table(m.tensor([2, 1])).sum().backward()
    return described(table.weight.grad)[2:]  # PyTorch adds equal rows up later


def beside_dense(m: Any) -> Any:
    table = table_of(m)
    total = table(m.tensor([1, 1])).sum() + table.weight.sum() * 2 + table(m.tensor([3])).sum()
    total.backward()
    return described(table.weight.grad)


def through_others(m: Any) -> Any:
    w = m.ones(4, 2, requires_grad=True)
    m.nn.functional.embedding(m.tensor([1, 1]), w * 2, sparse=True).sum().backward()
    return described(w.grad)


def returned(m: Any) -> Any:
    w = m.ones(4, 2, requires_grad=True)
    out = m.nn.functional.embedding(m.tensor([1, 1]), w, sparse=True).sum()
    return described(m.autograd.grad(out, w)[0])


def zeroed(m: Any) -> Any:
    table = table_of(m)
    optimizer = m.optim.SGD(table.parameters(), lr=0.1)
    table(m.tensor([1, 1])).sum().backward()
    optimizer.zero_grad(set_to_none=False)
    return described(table.weight.grad)


def hooked(m: Any) -> Any:
    table, seen = table_of(m), []
    table.weight.register_hook(lambda g: seen.append((repr(g.layout), g._nnz())) or g * 2)
    table(m.tensor([1, 1])).sum().backward()
    return seen, described(table.weight.grad)


def kept(m: Any) -> Any:
    s = m.eye(2).to_sparse().requires_grad_()
    y = s * 2
    y.retain_grad()
    m.sparse.sum(y).backward()
    return y.grad.to_dense().tolist(), s.grad.to_dense().tolist()


def in_module(m: Any) -> Any:
    one, two = m.nn.Module(), m.nn.Module()
    one.register_buffer("adjacency", m.eye(3).to_sparse())
    two.register_buffer("adjacency", m.zeros(3, 3).to_sparse())
    two.load_state_dict(one.state_dict())
    two.double()
    return two.adjacency.to_dense().tolist(), repr(two.adjacency.dtype), two.adjacency._nnz()


@pytest.mark.parametrize(
    "program",
    [accumulated, beside_dense, through_others, returned, zeroed, hooked, kept, in_module],
    ids=lambda program: program.__name__,
)
def test_programs(program: Callable[[Any], Any]) -> None:
    assert program(clew) == program(torch)


def test_norms_of_sparse_gradients_are_clipped() -> None:
    norms, results = [], []
    for sparse in (False, True):
        table = table_of(clew, sparse)
        (table(clew.tensor([1, 1, 3])) * 3).sum().backward()
        norms.append(clew.nn.utils.clip_grad_norm_(table.parameters(), 1.0).item())
        results.append(table.weight.grad.to_dense().tolist())
    assert norms[0] == pytest.approx(norms[1])
    np.testing.assert_allclose(results[0], results[1], rtol=1e-6)


def test_files_copies_and_pickles() -> None:
    def made(m: Any) -> dict[str, Any]:
        s = m.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [3.0, 4.0, 5.0], (2, 3))
        return {"coo": s, "merged": s.coalesce(), "csr": s.to_sparse_csr(), "list": [s.t()]}

    for writer, reader in ((torch, clew), (clew, torch), (clew, clew)):
        file = io.BytesIO()
        writer.save(made(writer), file)
        file.seek(0)
        back = reader.load(file)
        assert [back["coo"].is_coalesced(), back["merged"].is_coalesced()] == [False, True]
        assert back["csr"].layout is reader.sparse_csr
        for key in ("coo", "merged", "csr"):
            assert back[key].to_dense().tolist() == [[0, 0, 3], [4, 0, 5]]
        assert back["list"][0].shape == (3, 2)
    s = made(clew)["coo"].requires_grad_()
    for copied in (copy.copy(s), copy.deepcopy(s), pickle.loads(pickle.dumps(s))):
        assert copied.requires_grad
        assert copied.to_dense().tolist() == s.to_dense().tolist()


def test_a_file_with_indices_outside_is_refused() -> None:
    file = io.BytesIO()
    bad = torch.sparse_coo_tensor([[0, 9]], [1.0, 2.0], (3,), check_invariants=False)
    torch.save(bad, file)
    file.seek(0)
    with pytest.raises(RuntimeError, match="size is inconsistent with indices"):
        clew.load(file)


def test_values_share_memory() -> None:
    for m in (torch, clew):
        s = m.eye(2).to_sparse()
        s._values().mul_(3)
        assert s.to_dense().tolist() == [[3, 0], [0, 3]]


def test_strided_tensors_stay_as_they_are() -> None:
    """Dense programs beside sparse ones: nothing about them changes."""
    clew.eye(2).to_sparse()
    x = clew.ones(3, requires_grad=True)
    (x * 2 + 1).sum().backward()
    assert x.grad.tolist() == [2, 2, 2]
    assert type(x) is clew.Tensor and type(x * 2) is clew.Tensor
    assert not clew.overrides.has_torch_function((clew.eye(2).to_sparse(),))
