"""What every function does with a sparse tensor: PyTorch's answer, or its error.

Each line is an expression of a sparse tensor `s`, evaluated by both libraries in both layouts.
"""

from __future__ import annotations

import re
import warnings
from typing import Any

import pytest
import torch

import clew
from tests.twice import raised, twice

# fmt: off
EXPRESSIONS = """
s.indices()
s.stride()
s.numpy()
torch.nn.functional.relu6(s)
s.exp()
s.view(6)
s.reshape(6)
s.data_ptr()
s.item()
s.tolist()
s[0]
s[0:1]
s.max()
s+1
s*2
s.cumsum(0)
s.is_contiguous()
s.contiguous()
torch.cat([s,torch.zeros(2,3)])
s.storage()
s==s
s.crow_indices()
torch.ones(2).crow_indices()
torch.ones(2).indices()
torch.ones(2).values()
torch.ones(2).is_coalesced()
s.mean()
s.to_sparse_csr()
s.untyped_storage()
s.sum()
s.sum(0)
torch.equal(s,s)
s.nonzero()
s.squeeze()
s.unsqueeze(0)
s.to_dense()
s/torch.ones(2,3)
s.flatten()
s.expand(2,2,3)
s.permute(1,0)
s.t()
s.transpose(0,1)
s@torch.ones(3)
s@torch.ones(3,2)
s.mm(s.t())
s.half()
torch.zeros_like(s)
torch.ones_like(s)
s.values()
torch.sparse.softmax(s,0)
s.sqrt()
s.pow(2)
s**2
s.argmax()
s.any()
s.norm()
torch.empty(2,3,layout=torch.sparse_coo)
torch.zeros(2,3,layout=torch.sparse_coo)
torch.zeros(2,3,layout=torch.sparse_csr)
s-s
s+s
s*s
s/2
s/s
torch.ones(2,3)+s
s+torch.ones(2,3)
s-torch.ones(2,3)
torch.ones(2,3)-s
s*torch.ones(2,3)
torch.ones(2,3)*s
s*torch.ones(3)
s*torch.tensor(2.)
2*s
s.abs()
s.relu()
s.neg()
-s
s.sin()
s.log1p()
s.isnan()
s.narrow(0,0,1)
s.narrow_copy(0,0,1)
s.index_select(1,torch.tensor([0,2]))
s.select(0,1)
torch.stack([s,s])
torch.cat([s,s])
s.sparse_mask(s.coalesce())
torch.ones(2,3).sparse_mask(s.coalesce())
torch.addmm(torch.ones(2,2),s,torch.ones(3,2))
torch.sparse.addmm(torch.ones(2,2),s,torch.ones(3,2))
torch.sparse.mm(s,torch.ones(3,2))
torch.sparse.mm(s,s.t())
torch.mm(torch.ones(2,2),s)
torch.ones(2,2)@s
torch.ones(2)@s
s.mv(torch.ones(3))
torch.sparse.sum(s)
torch.sparse.sum(s,0)
torch.sparse.sum(s,[0,1])
torch.sparse.log_softmax(s,1)
torch.smm(s,torch.ones(3,2))
torch.hspmm(s,torch.ones(3,2))
s.unbind(0)
s.chunk(2)
s.split(1)
s.repeat(2,1)
s.tile(2)
s.flip(0)
torch.where(s>0,s,s)
s.clamp(0)
s.sigmoid()
s.tril()
s.triu()
s.floor_divide(2)
s//2
s%2
s.sgn()
s.conj()
s.real
s.bool()
s.int()
s.to(torch.float64)
s.to_sparse()
s.to_sparse(1)
s.mul(s.to_dense())
s.T
s.mT
s.H
s.numel()
s.nelement()
s.element_size()
s.nbytes
s.is_signed()
s.sparse_dim()
s.dense_dim()
s._nnz()
s.is_coalesced()
s.layout
s.device
s.is_sparse
s.is_sparse_csr
s.storage_offset()
len(s)
list(s)
bool(s)
s.all()
s.amax()
s.prod()
torch.dot(s[0],s[0])
s.dot(s)
s.bmm(s)
s.logical_not()
s.copy_(s)
s.clone()
s.new_zeros(2,3)
s.new_empty(2)
s.new_tensor([1.])
s.type()
s.dist(s)
s.var()
s.std()
s.fill_(1)
s.zero_()
torch.nn.functional.linear(torch.ones(2,3),s)
s.trunc()
s.round()
s.lt(1)
s.bitwise_not()
s.unsqueeze(-1).shape
s.swapaxes(0,1)
s.movedim(0,1)
s.broadcast_to(2,3)
s.ravel()
s.count_nonzero()
torch.broadcast_tensors(s,s)
torch.maximum(s,s)
s.hypot(s)
s.atan2(s)
s.logsumexp(0)
s.mean(0)
s.sum((0,1))
s.sum(0,keepdim=True)
s.trace()
s.diagonal()
s.take(torch.tensor([0]))
s.gather(0,torch.tensor([[0]]))
s.index_add(0,torch.tensor([0]),s)
s.scatter(0,torch.tensor([[0]]),1.)
s.nan_to_num()
s.deg2rad()
s.erf()
s.exp_()
s.mul_(2)
s.add_(s)
s.div_(2)
s.sub_(s)
s.neg_()
s.requires_grad_()
s.grad_fn
s.data
s.names
s.is_leaf
s.is_floating_point()
s.is_nested
s.is_cuda
s.to("cpu")
s.cpu()
s.contiguous()
s.resize_(2,3)
s.sparse_resize_((2,3),2,0)
s.set_(s)
s.share_memory_()
s.is_shared()
s.tolist()
s.__array__()
s.data_ptr()
s.equal(s)
""".strip().splitlines()

CONSTRUCTIONS = r"""
torch.sparse_coo_tensor(T([[0,1],[0,1]]), T([1.,2.]), (2,1))
torch.sparse_coo_tensor(T([[0,-1],[0,1]]), T([1.,2.]), (2,2))
torch.sparse_coo_tensor(T([[0,-1],[0,1]]), T([1.,2.]))
torch.sparse_coo_tensor(T([[0,1],[0,1]]), T([1.,2.,3.]), (2,2))
torch.sparse_coo_tensor(T([[0.,1],[0,1]]), T([1.,2.]), (2,2))
torch.sparse_coo_tensor(T([0,1]), T([1.,2.]), (2,2))
torch.sparse_coo_tensor(T([[0,1],[0,1]]), T([1.,2.]), (2,2,2))
torch.sparse_coo_tensor(T([[0,1],[0,1]]), T([[1.,2.],[3,4]]), (2,2,3))
torch.sparse_coo_tensor(T([[0,1],[0,1]]), 3., (2,2))
torch.sparse_coo_tensor(T([[0,1],[0,1]]), T(3.), (2,2))
torch.sparse_coo_tensor([[0,1],[0,1]], [1,2])
torch.sparse_coo_tensor([[0,1],[0,1]], [1,2], dtype=torch.float64)
torch.sparse_coo_tensor((2,3))
torch.sparse_coo_tensor(size=(2,3))
torch.sparse_coo_tensor(T([[0,1],[0,1]]), T([1.,2.]), (2,2), is_coalesced=True)
torch.sparse_coo_tensor(T([[0,1],[0,1]]), T([1.,2.]), requires_grad=True)
torch.sparse_coo_tensor(torch.empty(1,0), torch.empty(0,2), (3,2))
torch.sparse_coo_tensor(torch.empty(2,0,dtype=torch.int64), torch.empty(0), (3,2))
torch.sparse_coo_tensor(torch.empty(2,0,dtype=torch.int64), torch.empty(0))
torch.sparse_coo_tensor(T([[0,1],[0,1]]), T([1.,2.]), (2,-2))
torch.sparse_csr_tensor(T([0,1,2]), T([0,1]), T([1.,2.]), (2,2))
torch.sparse_csr_tensor(T([0,1,2]), T([0,1]), T([1.,2.]))
torch.sparse_csr_tensor([0,1,2], [0,1], [1,2])
torch.sparse_csr_tensor(T([0,1,3]), T([0,1]), T([1.,2.]), (2,2))
torch.sparse_csr_tensor(T([1,1,2]), T([0,1]), T([1.,2.]), (2,2))
torch.sparse_csr_tensor(T([0,2,1]), T([0,1]), T([1.,2.]), (2,2))
torch.sparse_csr_tensor(T([0,1,2]), T([0,2]), T([1.,2.]), (2,2))
torch.sparse_csr_tensor(T([0,1,2]), T([0,-1]), T([1.,2.]), (2,2))
torch.sparse_csr_tensor(T([0,2,2]), T([1,0]), T([1.,2.]), (2,2))
torch.sparse_csr_tensor(T([0,1,2]), T([0,1,1]), T([1.,2.]), (2,2))
torch.sparse_csr_tensor(T([0,1,2]), T([0,1]), T([1.,2.,3.]), (2,2))
torch.sparse_csr_tensor(T([0,1]), T([0,1]), T([1.,2.]), (2,2))
torch.sparse_csr_tensor(T([0.,1,2]), T([0,1]), T([1.,2.]), (2,2))
torch.sparse_csr_tensor(T([0,1,2]).int(), T([0,1]), T([1.,2.]), (2,2))
torch.sparse_csr_tensor(T([0,1,2]), T([0,1]), T([1.,2.]), (2,))
torch.sparse_csr_tensor(T([[0,1,2]]), T([0,1]), T([1.,2.]), (2,2))
torch.sparse_csc_tensor(T([0,1,2]), T([0,1]), T([1.,2.]), (2,2))
torch.sparse_csc_tensor(T([0,1,2]), T([0,3]), T([1.,2.]), (2,2))
torch.sparse_bsr_tensor(T([0,1,2]), T([0,1]), torch.arange(8.).reshape(2,2,2), (4,4))
torch.sparse_bsr_tensor(T([0,1,2]), T([0,1]), torch.arange(8.).reshape(2,2,2))
torch.sparse_bsr_tensor(T([0,1,2]), T([0,1]), torch.arange(8.).reshape(2,2,2), (4,5))
torch.sparse_bsc_tensor(T([0,1,2]), T([0,1]), torch.arange(8.).reshape(2,2,2))
torch.sparse_compressed_tensor(T([0,1,2]), T([0,1]), T([1.,2.]), (2,2), layout=torch.sparse_csr)
torch.sparse_compressed_tensor(T([0,1,2]), T([0,1]), T([1.,2.]), (2,2))
torch.sparse_compressed_tensor(T([0,1,2]), T([0,1]), T([1.,2.]), (2,2), layout=torch.sparse_coo)
torch.sparse_csr_tensor(T([[0,1,2],[0,1,2]]), T([[0,1],[0,1]]), T([[1.,2.],[3,4]]), (2,2,2))
torch.sparse_csr_tensor(T([0,1,2]), T([0,1]), T([[1.,2.],[3,4]]), (2,2,2))
torch.ones(2,3).to_sparse(3)
torch.ones(2,3).to_sparse(0)
torch.ones(2,3).to_sparse(1)
torch.ones(3).to_sparse_csr()
torch.ones(2,3).to_sparse_bsr((2,2))
torch.ones(2,4).to_sparse_bsr((2,2))
torch.ones(2,4).to_sparse_bsc((1,2))
torch.ones(2,4).to_sparse(layout=torch.sparse_bsr)
torch.ones(2,4).to_sparse(layout=torch.strided)
torch.ones(2,4).to_sparse(layout=torch.sparse_csr, blocksize=(2,2))
torch.tensor([[[1.,0],[0,0]],[[1,1],[0,0]]]).to_sparse_csr()
torch.tensor([[[1.,0],[0,0]],[[0,1],[0,0]]]).to_sparse_csr()
torch.tensor([[[1.,0],[0,0]],[[0,1],[0,0]]]).to_sparse_csr(dense_dim=1)
torch.ones(2,3).to_dense()
torch.tensor(1.).to_sparse()
torch.ones(2,3).coalesce()
torch.ones(2,3)._nnz()
torch.ones(2,3).sparse_dim()
torch.ones(2,3).dense_dim()
torch.ones(2,3).col_indices()
torch.ones(2,3).ccol_indices()
torch.ones(2,3).row_indices()
torch.ones(2,3)._values()
torch.ones(2,3)._indices()
torch.ones(2,3).to_sparse().to_sparse_csc()
torch.ones(2,3).to_sparse_csr().row_indices()
torch.ones(2,3).to_sparse_csr()._values()
torch.ones(2,3).to_sparse_csr()._indices()
torch.ones(2,3).to_sparse_csr().ccol_indices()
torch.ones(2,3).sparse_mask(torch.ones(2,3))
torch.ones(2,2).sparse_mask(torch.ones(2,3).to_sparse())
torch.sparse.spdiags(torch.arange(9.).reshape(3,3), T([0,-1,2]), (3,3))
torch.sparse.spdiags(torch.arange(9.).reshape(3,3), T([0,-1,2]), (3,3), torch.sparse_csr)
torch.sparse.spdiags(torch.arange(9.).reshape(3,3), T([0,-1,0]), (3,3))
torch.sparse.spdiags(torch.arange(9.).reshape(3,3), T([0,-1]), (3,3))
torch.sparse.mm(torch.ones(2,3), torch.ones(3,2))
torch.sparse.mm(torch.ones(2,3).to_sparse(), torch.ones(2,2))
torch.mm(torch.ones(2,3).to_sparse(), torch.ones(2,2))
torch.mm(torch.ones(2,3).to_sparse_csr(), torch.ones(2,2))
torch.mv(torch.ones(2,3).to_sparse(), torch.ones(2))
torch.bmm(torch.ones(2,2,3).to_sparse(), torch.ones(2,3,2))
torch.ones(2,3).to_sparse()+torch.ones(3,2).to_sparse()
torch.ones(2,3)+torch.ones(3,2).to_sparse()
torch.ones(2,3).to_sparse()*torch.ones(3,2).to_sparse()
torch.ones(2,3).to_sparse()*torch.ones(1,3).to_sparse()
torch.sparse.sum(torch.ones(2,3))
torch.sparse.sum(torch.ones(2,3).to_sparse(), 2)
torch.sparse.sum(torch.ones(2,3).to_sparse(), (0,0))
torch.sparse.sum(torch.ones(2,3).to_sparse(), dtype=torch.float64)
torch.sparse.softmax(torch.ones(2,3), 0)
torch.sparse.softmax(torch.ones(2,3).to_sparse(), 2)
torch.sparse.mm(torch.ones(2,3).to_sparse_csr(), torch.ones(3,2), 'foo')
torch.sparse.sampled_addmm(torch.ones(2,2).to_sparse_csr(), torch.ones(2,3), torch.ones(2,2))
torch.sparse.sampled_addmm(torch.ones(2,2), torch.ones(2,3), torch.ones(2,2))
torch.ones(2,3).to_sparse().requires_grad_().add_(1)
torch.ones(2,3).to_sparse().double().to_sparse_csr().to_sparse_coo().to_dense()
torch.ones(2,3).to_sparse(1)
torch.ones(2,3).to_sparse_csr().to_sparse_bsr((1,3))
torch.ones(2,3).to_sparse().unsqueeze(-1)
torch.ones(2,3).to_sparse(1).unsqueeze(1)
torch.cat([torch.ones(2,3).to_sparse(), torch.ones(2,2).to_sparse()])
torch.cat([torch.ones(2,3).to_sparse(), torch.ones(2,2).to_sparse()], 1)
torch.ones(2,3).copy_(torch.ones(2,3).to_sparse())
torch.ones(2,3).to_sparse().copy_(torch.ones(2,3))
torch.arange(40000.).reshape(200,200).to_sparse()
torch.arange(40000).reshape(200,200).to_sparse_csr().requires_grad
torch.eye(3).to_sparse().to(torch.bfloat16)
torch.eye(3,dtype=torch.complex64).to_sparse()
torch.eye(3,dtype=torch.bool).to_sparse_csr()
""".strip().splitlines()
# fmt: on

# What clew computes, and PyTorch has no kernel for in CSR; or refuses in other words.
MORE_IN_CSR = re.compile(
    r"s\.pow|s\*\*2|s-s|s/2|s/s|s-torch|torch\.ones\(2,3\)-s|s\*torch\.ones\(3\)|s\.permute|s\.T$|"
    r"s\.floor_divide|s//2|torch\.smm|s\.nan_to_num|s\.div_|s\.sub_|torch\.sparse\.mm\(s,s\.t|"
    r"torch\.empty|s/torch|s\.new_tensor|s\.resize_|s\.bmm|torch\.stack|s\.index_add|s\.movedim"
)
# PyTorch says this of functions that no sparse layout has; clew names the function.
NO_KERNEL = ("unsupported tensor layout", "torch.empty: Only batched", "resize_reduction")


def answer(module: Any, expression: str, **names: Any) -> tuple[str, Any]:
    """What an expression gives: its layout, dtype, shape and elements, or the error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return "value", described(module, eval(expression, {"torch": module, **names}))
        except Exception as error:
            return type(error).__name__, str(error).partition("\n")[0]


def described(module: Any, value: Any) -> Any:
    if isinstance(value, (list, tuple)) and not hasattr(value, "numel"):
        return [described(module, each) for each in value]
    if not isinstance(value, module.Tensor):
        return repr(value)
    dense = value if value.layout is module.strided else value.detach().to_dense()
    numbers = dense.to(module.complex128) if dense.dtype.is_complex else dense.double()
    # Elements of COO, and of products in CSR, may be listed in another order.
    text = repr(value) if value.layout is module.strided else ""
    rounded = numbers if numbers.is_complex() else numbers.round(decimals=5)
    return repr(value.layout), repr(value.dtype), tuple(value.shape), rounded.tolist(), text


def same(theirs: tuple[str, Any], ours: tuple[str, Any]) -> bool:
    if theirs[0] == "value" or ours[0] == "value":
        return theirs == ours
    one, two = (re.sub(r"'aten::(\w+?)(\.\w+)?'", r"\1", text[1]) for text in (theirs, ours))
    if any(words in one for words in NO_KERNEL) or "do not have" in one:
        return True
    return theirs[0] == ours[0] and one[:60] == two[:60]


def pair(layout: str) -> tuple[Any, Any]:
    made = []
    for module in (torch, clew):
        s = module.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [3.0, 4.0, 5.0], (2, 3))
        made.append(s if layout == "coo" else s.to_sparse_csr())
    return made[0], made[1]


pytestmark = pytest.mark.filterwarnings("ignore:Sparse")


@pytest.mark.parametrize("layout", ["coo", "csr"])
def test_functions(layout: str) -> None:
    wrong = []
    for expression in EXPRESSIONS:
        theirs, ours = pair(layout)
        known = answer(torch, expression, s=theirs)
        found = answer(clew, expression, s=ours)
        if layout == "csr" and MORE_IN_CSR.match(expression):
            assert found[0] != "NotStrided", expression
        elif not same(known, found):
            wrong.append((expression, known, found))
    assert not wrong


# Without checks PyTorch takes what it then reads wrongly, or crashes on; clew never does.
@pytest.mark.parametrize("checked", [False, True])
def test_constructions(checked: bool) -> None:
    wrong = []
    for expression in CONSTRUCTIONS:
        with torch.sparse.check_sparse_tensor_invariants():
            known = answer(torch, expression, T=torch.tensor)
        with clew.sparse.check_sparse_tensor_invariants(checked):
            found = answer(clew, expression, T=clew.tensor)
        is_order = "sorted and distinct" in str(known) and not checked
        if not same(known, found) and not is_order and "(2,-2)" not in expression:
            wrong.append((expression, known, found))
    assert not wrong
    assert not clew.sparse.check_sparse_tensor_invariants.is_enabled()


def test_text() -> None:
    for make in (
        lambda m: m.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [3.0, 4.0, 5.0], (2, 3)),
        lambda m: m.arange(40000.0).reshape(200, 200).to_sparse(),
        lambda m: m.eye(3, dtype=m.complex64).to_sparse(),
        lambda m: m.eye(3).to_sparse(1).to(m.bfloat16).requires_grad_(),
        lambda m: m.ones(2, 3, 2).to_sparse(2) * 2.5,
        lambda m: m.zeros(2, 3).to_sparse(),
        lambda m: m.eye(3).to_sparse().requires_grad_().t(),
    ):
        assert repr(make(clew)) == repr(make(torch))


def test_a_list_that_contains_itself_is_refused_beside_sparse_tensors() -> None:
    itself: list[Any] = [0]
    itself.append(itself)
    for module in (torch, clew):
        assert module.eye(2).to_sparse().is_sparse  # from here on, arguments are looked through
        with pytest.raises(TypeError, match="self-referential lists are incompatible"):
            module.tensor(itself)


@twice
def test_sums_of_lists_in_any_order(t: Any) -> Any:
    """Two lists are walked through; values that have gaps or repeat are put one after the other."""

    def listed(rows: list[int], values: Any) -> Any:
        return t.sparse_coo_tensor(t.tensor([rows]), values, (3, 2), check_invariants=False)

    many = listed([0, 2, 0], t.arange(6.0).reshape(3, 2))
    few = listed([1, 0], t.ones(2, 2))
    spread = listed([1, 0], t.ones(2).expand(2, 2).t())
    table = t.nn.Embedding(5, 2, sparse=True)
    for rows in ([1, 3, 1], [1, 3]):
        table(t.tensor(rows)).sum().backward()
    grown = spread
    for _ in range(3):
        grown = grown + spread
    sums = [many + few, few - many, few.coalesce() + many.coalesce(), many + spread, spread - few,
            many + few.double(), table.weight.grad, grown]  # fmt: skip
    wrong = raised(lambda: many + t.ones(3, 2).to_sparse())
    return [(s.is_coalesced(), s._indices(), s._values()) for s in sums], wrong
