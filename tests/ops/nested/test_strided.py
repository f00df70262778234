"""What functions do with nested tensors of the strided layout: PyTorch's answer, or its error.

Here PyTorch has few functions, and asks for weights or for equal sizes where others do not.
"""

from __future__ import annotations

import pytest

from tests.ops.nested.answers import TOGETHER, differing

UNARY = (
    "abs", "neg", "relu", "tanh", "sgn", "cos", "sin", "sqrt", "logical_not", "isnan", "isinf",
    "clone", "detach", "contiguous", "double", "float", "half", "exp", "log", "sigmoid", "square",
    "sum", "mean", "max", "amin", "any", "norm", "item", "tolist",
)  # fmt: skip

EXPRESSIONS = [f"s.{name}()" for name in UNARY]
EXPRESSIONS += r"""
F.gelu(s)
F.silu(s)
F.relu(s)
F.dropout(s,0.5)
F.dropout(s,0.5,training=False)
F.softplus(s)
s+s2
s-s2
s*s2
s/s2
s+1
1+s
s*2.
s/2
s-1
-s
s+u
s*d
s+p
d+s
s+torch.tensor(2.,dtype=torch.float64)
s**2
s.pow(2)
s.eq(0.5)
s.eq(s2)
s.ge(0.5)
s.gt(0.5)
s.lt(0.5)
s.masked_fill(s>0.5,0.)
s.detach().add_(1)
s.detach().mul_(2)
s.detach().add_(s2.detach())
s.detach().fill_(2.)
s.detach().zero_()
s.detach().copy_(s2.detach())
s.detach().copy_(u.detach())
s.clone().add_(s2)
s.clone().mul_(2.)
s.clone().sub_(1)
s.sum(-1)
s.sum(2,keepdim=True)
s.sum(1)
s.sum(0)
s.detach().mean(-1)
s.detach().cumsum(1)
s.detach().numpy()
s.softmax(-1)
s.softmax(1)
s.softmax(0)
F.softmax(u,2)
s.log_softmax(-1)
s.transpose(1,2).contiguous()
s.detach().transpose(-1,-2)
s.transpose(0,1)
u.transpose(1,2).contiguous()
s.permute(0,2,1)
s.view(3,-1,2,2)
s.view(3,-1,4)
s.reshape(3,-1,2,2)
s.view(2,-1,4)
s.view(3,-1,3)
s.unsqueeze(-1)
s.unsqueeze(1)
s.unsqueeze(0)
s.unsqueeze(1).squeeze(1)
s.squeeze(0)
s.chunk(2,-1)
s.chunk(2,0)
s.detach().split(2,-1)
s.narrow(0,1,2)
s.narrow(1,0,1)
s.select(0,1)
s.select(1,0)
s.select(2,1)
s.unbind()
s.unbind(1)
s[0]
s[-1]
s[1,0]
s[0,:,1]
s[0:1]
torch.cat([s.detach(),s2.detach()])
torch.cat([s.detach(),s2.detach()],-1)
torch.cat([s.detach(),u.detach()])
torch.stack([s,s2])
torch.matmul(s,s2.transpose(1,2))
s@s2.transpose(1,2)
s@s2
s@m
torch.bmm(s,s2.transpose(1,2))
F.linear(s,w)
F.linear(s,w,v)
F.linear(u,w,v)
F.embedding(nested.nested_tensor([[1,2],[0]]),w)
F.layer_norm(s,(4,),d,d)
F.layer_norm(s,(4,))
F.scaled_dot_product_attention(s.unsqueeze(1),s2.unsqueeze(1),s.unsqueeze(1))
F.scaled_dot_product_attention(*[x.view(3,-1,2,2).transpose(1,2).contiguous() for x in (s,s2,s)])
torch.zeros_like(s)
torch.ones_like(s)
torch.empty_like(s).dim()
torch.full_like(s,2.)
torch.rand_like(s)
s.new_zeros(2)
s.to_padded_tensor(0.)
u.to_padded_tensor(-1.)
u.to_padded_tensor(0.,(3,4,5))
u.to_padded_tensor(0.,(3,2,2))
u.to_padded_tensor(0.,(3,4))
nested.to_padded_tensor(s,1.)
s.shape
s.size()
s.size(0)
s.size(1)
s.size(-1)
u.size(2)
s.stride()
s.dim()
s.ndim
s.numel()
len(s)
list(s)
bool(s)
s.layout
s.dtype
s.is_nested
s.is_leaf
s.is_contiguous()
s.transpose(1,2).is_contiguous()
s.storage_offset()
s.nbytes
s.element_size()
s.is_same_size(s2)
s.is_same_size(u)
s.values()
s.offsets()
s.type()
s.data
s.to("cpu")
s.to(torch.float32)
s.detach().expand(3,-1,4)
s.detach().index_select(0,torch.tensor([0]))
s.flatten(1)
s.unflatten(-1,[2,2])
repr(s.detach())
str(u)
repr(s*2).split('grad_fn')[0]
f"{s.detach()}"
repr(nested.nested_tensor([]))
s._nested_tensor_size()
u._nested_tensor_strides()
s._nested_tensor_storage_offsets()
torch._nested_tensor_from_mask(q,torch.tensor([[True,True,False],[True,False,False],[True]*3]))
torch._nested_tensor_from_mask(q,torch.tensor([[True,False,True],[True,False,False],[True]*3]))
torch._nested_tensor_from_mask_left_aligned(q,torch.tensor([[True,True,False]]*3))
torch._nested_compute_contiguous_strides_offsets(s._nested_tensor_size())
torch._nested_view_from_buffer(s.detach().values(),s._nested_tensor_size(),s._nested_tensor_strides(),s._nested_tensor_storage_offsets())
nested.nested_tensor([])
nested.nested_tensor([1.,2.])
nested.nested_tensor([[1.,2.],[3.]])
nested.nested_tensor([[1.,2.],[3.]],layout=torch.jagged)
nested.nested_tensor([[[1],[2]],[[3]]])
nested.nested_tensor([],layout=torch.jagged)
nested.nested_tensor([torch.ones(2),torch.ones(2,2)])
nested.nested_tensor([torch.ones(2),torch.ones(2,2)],layout=torch.jagged)
nested.nested_tensor([torch.ones(2),torch.ones(2).double()])
nested.nested_tensor([torch.ones(2),torch.ones(2).double()],layout=torch.jagged)
nested.nested_tensor([torch.ones(2,3),torch.ones(3,2)],layout=torch.jagged)
nested.nested_tensor([torch.tensor(1.)],layout=torch.jagged)
nested.nested_tensor(torch.ones(2,3))
nested.nested_tensor(torch.ones(2,3),layout=torch.jagged)
nested.nested_tensor([torch.ones(2)],layout=torch.sparse_coo)
nested.nested_tensor([torch.ones(2,2),torch.ones(2,3)],layout=torch.jagged)
nested.nested_tensor([torch.ones(2,2),torch.ones(2,2)],layout=torch.jagged)
nested.nested_tensor([torch.ones(0,2),torch.ones(1,2)],layout=torch.jagged)
nested.nested_tensor([torch.ones(2)],dtype=torch.float64)
nested.nested_tensor([torch.ones(2)],dtype=torch.int32,layout=torch.jagged)
nested.nested_tensor([torch.tensor([1,2])],requires_grad=True)
nested.nested_tensor([torch.tensor([1,2])],requires_grad=True,layout=torch.jagged)
nested.nested_tensor([d,d],layout=torch.jagged).requires_grad
nested.nested_tensor([[True],[False,True]],layout=torch.jagged)
nested.as_nested_tensor([d*2,m[0]])
nested.as_nested_tensor([d*2,m[0]],layout=torch.jagged)
nested.as_nested_tensor((d*2,m[0]),dtype=torch.float32)
nested.as_nested_tensor((d*2,m[0]),dtype=torch.float32,layout=torch.jagged)
nested.as_nested_tensor(q)
nested.as_nested_tensor(q,layout=torch.jagged)
nested.as_nested_tensor(q.transpose(0,1),layout=torch.jagged)
nested.as_nested_tensor(d)
nested.as_nested_tensor(5)
nested.as_nested_tensor([5])
nested.as_nested_tensor(s)
nested.as_nested_tensor(s,layout=torch.jagged)
nested.as_nested_tensor(s,layout=torch.strided) is s
nested.as_nested_tensor(a,layout=torch.jagged) is a
nested.as_nested_tensor(a,layout=torch.jagged,dtype=torch.float32)
nested.as_nested_tensor(a)
nested.as_nested_tensor([d],layout=torch.sparse_csr)
nested.nested_tensor_from_jagged(m,torch.tensor([0,1,4]))
nested.nested_tensor_from_jagged(m,lengths=torch.tensor([1,3]))
nested.nested_tensor_from_jagged(m,torch.tensor([0,2,4]),torch.tensor([1,2]))
nested.nested_tensor_from_jagged(m,torch.tensor([0,2,5]),jagged_dim=2)
nested.nested_tensor_from_jagged(m,torch.tensor([0,2,5]),jagged_dim=0)
nested.nested_tensor_from_jagged(m)
nested.nested_tensor_from_jagged(m,torch.tensor([[0,2,5]]))
nested.nested_tensor_from_jagged(m,torch.tensor([0,2,4]),torch.tensor([1,2,3]))
nested.nested_tensor_from_jagged(m,torch.tensor([0,1,4])).to_padded_tensor(0.)
nested.nested_tensor_from_jagged(m,torch.tensor([0,1,4]),max_seqlen=3).to_padded_tensor(0.)
nested.nested_tensor_from_jagged(m,torch.tensor([0,1,4]))._get_max_seqlen()
nested.nested_tensor_from_jagged(m,torch.tensor([0,1,4]))._get_min_seqlen()
nested.nested_tensor_from_jagged(m,torch.tensor([0,1,4]))._maybe_max_seqlen
nested.narrow(q,0,0,2)
nested.narrow(q,1,0,2)
nested.narrow(q,1,torch.tensor([0,1,2]),torch.tensor([2,1,1]),layout=torch.jagged)
nested.narrow(q,1,torch.tensor([0,1,2]),torch.tensor([2,1,1]),layout=torch.jagged).lengths()
nested.narrow(q,1,0,2,layout=torch.jagged)
nested.narrow(q,1,0,3,layout=torch.jagged)
nested.narrow(q,1,torch.tensor([1,0,0]),torch.tensor([2,3,1]),layout=torch.jagged)
nested.narrow(q,2,0,2,layout=torch.jagged)
nested.narrow(q,1,'a',2)
nested.narrow(q,1,0,'a')
nested.narrow(q,1,torch.tensor([0,1]),2)
nested.narrow(q,1,torch.tensor([0,1]),2,layout=torch.jagged)
nested.narrow(q,1,0,2,layout=torch.sparse_coo)
nested.masked_select(q[0],q[0]>0.5)
nested.masked_select(q,q>0.5)
nested.masked_select(q,torch.tensor([True,False,True,True]))
nested.masked_select(a,q)
nested.masked_select(q,q.to_sparse())
nested._internal.nested_tensor.buffer_from_jagged(a)
nested._internal.nested_tensor.jagged_from_list([d,d*2],None)
nested._internal.nested_tensor.nested_from_padded(q,torch.tensor([0,1,4,5]),sum_S=5)
nested._internal.nested_tensor.NestedTensor(m.detach(),torch.tensor([0,1,4]))
""".strip().splitlines()


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.parametrize("part", range(0, len(EXPRESSIONS), TOGETHER))
def test_strided(part: int) -> None:
    assert differing(EXPRESSIONS[part : part + TOGETHER]) == []
