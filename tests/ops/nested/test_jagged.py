"""What functions do with nested tensors of the jagged layout: PyTorch's answer, or its error.

Each line is evaluated by both libraries: the result, its gradients, or the error. `answers.py` has
what the names mean.
"""

from __future__ import annotations

import pytest

from tests.ops.nested.answers import TOGETHER, differing

UNARY = (
    "abs", "acos", "angle", "asin", "asinh", "atan", "atanh", "ceil", "conj", "conj_physical",
    "cos", "cosh", "deg2rad", "digamma", "erf", "erfc", "erfinv", "exp", "exp2", "expm1", "floor",
    "frac", "i0", "isfinite", "isinf", "isnan", "isneginf", "isposinf", "isreal", "lgamma", "log",
    "log10", "log1p", "log2", "logical_not", "logit", "nan_to_num", "neg", "negative", "positive",
    "rad2deg", "reciprocal", "relu", "round", "rsqrt", "sgn", "sigmoid", "sign", "signbit", "sin",
    "sinc", "sinh", "sqrt", "square", "tan", "tanh", "trunc", "hardshrink", "float", "double",
    "half", "bfloat16", "bool", "int", "long", "clone", "contiguous", "detach", "cpu",
)  # fmt: skip
ACTIVATIONS = (
    "celu", "elu", "gelu", "hardsigmoid", "hardtanh", "leaky_relu", "mish", "relu", "relu6",
    "selu", "sigmoid", "silu", "softplus", "softshrink", "softsign", "tanh", "tanhshrink",
)  # fmt: skip
BINARY = (
    "add", "sub", "mul", "div", "pow", "atan2", "fmod", "remainder", "maximum", "minimum", "eq",
    "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_xor", "fmax", "fmin",
    "hypot", "copysign", "logaddexp", "logaddexp2", "xlogy", "heaviside", "float_power", "ldexp",
)  # fmt: skip
IN_PLACE = (
    "exp", "neg", "relu", "sigmoid", "sqrt", "tanh", "zero",
)  # fmt: skip

EXPRESSIONS = [
    *(f"a.{name}()" for name in UNARY), *(f"torch.{name}(h)" for name in UNARY[:56]),
    *(f"F.{name}(a)" for name in ACTIVATIONS), *(f"F.{name}(t)" for name in ACTIVATIONS),
    *(f"a.{name}(b)" for name in BINARY), *(f"torch.{name}(a, d)" for name in BINARY),
    *(f"a.clone().{name}_()" for name in IN_PLACE),
]  # fmt: skip

EXPRESSIONS += r"""
a+b
a-b
a*b
a/b
a**2
2**a
a+1
1-a
3/a
-a
abs(a)
a//0.3
a%0.3
a==b
a!=a
a<b
a>=0.5
(a>0.5)&(b>0.5)
~(a>0.5)
a+d
d-a
a*p
p/a
a+q
q-a
a+torch.ones(1,1,4,dtype=torch.float64)
a+torch.ones(3,4,dtype=torch.float64)
a+torch.ones(2,1,4,dtype=torch.float64)
a+torch.ones(1,3,1,4,dtype=torch.float64)
a+torch.ones(3,2,4,dtype=torch.float64)
a+nested.nested_tensor([torch.ones(n,4) for n in (3,1,2)],layout=torch.jagged)
a+torch.tensor(2.)
h*2
h+h
t+t
t*t
t+a
i+1
i*2.5
i//2
i&1
a.clamp(0.4,0.6)
a.clamp(min=0.5)
a.clamp_min(0.5)
torch.lerp(a,b,0.3)
torch.where(a>0.5,a,b)
torch.where(a>0.5,a,0.)
torch.where(a>0.5,0.,b)
a.masked_fill(a>0.5,0.)
a.isclose(b)
F.dropout(a,0.5)
F.dropout(a,0.5,training=False)
F.dropout(t,0.)
F.dropout(a,0.)+torch.rand(4)
torch.dropout(a,0.5,True)
F.relu(a.clone(),inplace=True)
a.clone().add_(b)
a.clone().mul_(2)
a.clone().sub_(d)
a.clone().div_(2)
a.clone().fill_(3.)
a.detach().add_(1)
a.detach().copy_(b)
a.detach().copy_(h)
a.clone().clamp_(0.4,0.6)
a.frexp()
a.sum()
a.sum(0)
a.sum(1)
a.sum(2)
a.sum(-1,keepdim=True)
a.sum((0,1))
a.sum((1,2))
a.sum((0,1,2))
a.sum((0,2))
a.sum(1,keepdim=True)
a.sum((0,1),keepdim=True)
a.sum(dtype=torch.float32)
a.sum(3)
t.sum(1)
t.sum(2)
t.sum(3)
t.sum((1,3))
t.sum((0,2))
h.sum()
h.sum(1)
h.sum(2)
i.sum()
i.sum(1)
a.mean()
a.mean(0)
a.mean(1)
a.mean(2)
a.mean(1,keepdim=True)
a.mean((0,1))
a.mean((1,2))
t.mean(2)
t.mean(1)
h.mean(1)
h.mean(-1)
a.prod()
a.prod(1)
a.prod(2)
a.amax()
a.amax(1)
a.amax(2)
a.amax((0,1))
a.amin(1)
a.amin(-1,keepdim=True)
i.amax(1)
i.amin(1)
a.max()
a.min()
a.max(1)
a.max(2)
a.min(1)
a.min(2,keepdim=True)
torch.max(a,b)
a.minimum(b)
a.argmax()
a.argmax(1)
a.argmax(2)
a.argmin(-1)
(a>0.5).any()
(a>0.5).any(1)
(a>0.5).any(2)
(a>0.5).all()
(a>0.5).all(1)
(a>0.5).all(-1)
a.var()
a.std(1)
a.norm()
a.logsumexp(1)
a.cumsum(1)
a.sort()
a.nonzero()
a.softmax(0)
a.softmax(2)
a.detach().softmax(1)
torch.softmax(h.detach(),1)
F.softmax(a,dim=-1)
F.log_softmax(a,-1)
a.log_softmax(1)
a.log_softmax(0)
t.softmax(2)
t.softmax(-1)
h.softmax(1)
h.softmax(2)
F.softmin(a,2)
a.shape
t.shape
h.shape
a.size(0)
a.size(1)
a.size(-1)
a.size(3)
a.stride()
t.stride()
a.dim()
a.ndim
a.numel()
h.numel()
len(a)
a.layout
a.dtype
a.device
a.is_nested
d.is_nested
a.is_leaf
(a*2).is_leaf
a.requires_grad
a.detach().requires_grad
a.element_size()
a.nbytes
a.is_contiguous()
t.is_contiguous()
h.is_contiguous()
a.storage_offset()
a.is_floating_point()
a.is_cpu
a.type()
a.shape==b.shape
a.shape==t.shape
a.shape[1]==(a*2).shape[1]
a.shape[1]==i.shape[1]
a.shape[1]==3
a.shape[1]*2
2*a.shape[1]
a.shape[1]==a.shape[1]*2
a.shape[1]>=1
a.shape[1]<2
a.shape[1]<5
a.shape[:2]+(7,)
isinstance(a.shape[1],torch.SymInt)
isinstance(a.shape[1],int)
isinstance(a,torch.Tensor)
type(a).__name__
isinstance(a,nested._internal.nested_tensor.NestedTensor)
a.is_same_size(b)
a.is_same_size(t)
repr(a)
str(a.detach())
f"{h}"
repr(a.detach()*2)
a.values()
h.values()
a.offsets()
h.offsets()
a.lengths()
h.lengths()
a.unbind()
h.unbind()
t.unbind()
a.unbind(1)
torch.unbind(a)
list(a)
a[0]
a[-1]
a[5]
a[1,0]
a[0,:,1]
a[...,0]
a[...,1:3]
a[...,None]
a[:,0]
a[0:1]
a[None]
a[torch.tensor([0])]
a.select(0,1)
a.select(1,0)
a.select(2,1)
t.select(1,0)
t[...,0]
h.select(2,0)
h[1]
a.narrow(2,1,2)
a.narrow(1,0,1)
a.narrow(0,0,1)
a.split(2,-1)
a.split([1,3],-1)
a.split(1,0)
a.split(1,1)
a.chunk(2,-1)
a.chunk(2,0)
a.chunk(3,0)
a.chunk(2,1)
torch.cat([a,b],-1)
torch.cat([a,b],0)
torch.cat([a,b],1)
torch.cat([a,d],-1)
torch.stack([a,b],-1)
torch.stack([a,b],2)
torch.stack([a,b],0)
torch.stack([a,t],2)
a.unsqueeze(-1)
a.unsqueeze(1)
a.unsqueeze(0)
a.unsqueeze(2)
a.unsqueeze(1).squeeze(1)
a.unsqueeze(-1).squeeze(-1)
a.squeeze(0)
a.squeeze()
a.view(3,-1,2,2)
a.view(3,a.shape[1],2,2)
a.view(-1,4)
a.view(3,2,2)
a.reshape(3,-1,2,2)
a.reshape(a.shape)
a.reshape(*a.shape[:-1],2,2)
a.view_as(b)
t.view(3,2,-1,2)
a.unflatten(-1,[2,2])
a.unflatten(2,(4,1))
a.unflatten(1,[1,2])
a.unflatten(-1,[2,2]).flatten(2)
a.unflatten(-1,[2,2]).flatten(-2)
a.flatten(1)
a.flatten()
a.transpose(1,2)
a.transpose(0,1)
a.transpose(1,2).transpose(1,2)
t.transpose(1,2)
t.transpose(1,2).flatten(2)
t.transpose(1,3)
a.permute(0,2,1)
a.permute(1,0,2)
a.permute(0,1)
a.permute(0,1,1)
t.permute(0,3,2,1)
a.mT
a.T
a.swapaxes(1,2)
a.movedim(1,2)
a.expand(3,-1,4)
a.unsqueeze(-1).expand(3,-1,4,2)
a.expand(3,2,4)
a.expand_as(b)
a.broadcast_to((3,a.shape[1],4))
a.to_padded_tensor(0.)
a.to_padded_tensor(-1.,(3,5,4))
a.to_padded_tensor(0.,(3,2,4))
t.to_padded_tensor(0.)
h.to_padded_tensor(0.)
i.to_padded_tensor(-1)
(a>0.5).to_padded_tensor(False)
nested.to_padded_tensor(a,2.)
nested.to_padded_tensor(d,2.)
b.to_padded_tensor(0.)
a.contiguous() is a
h.contiguous()
h.clone()
h.clone(memory_format=torch.contiguous_format)
a.to(torch.float32)
a.to(dtype=torch.float16)
a.to("cpu") is a
a.to(b)
a.type(torch.float32)
a.type_as(i)
torch.zeros_like(a)
torch.ones_like(a)
torch.full_like(a,2.)
torch.empty_like(a).shape
torch.rand_like(a)
torch.randn_like(h)
torch.randint_like(a,5)
torch.zeros_like(a,dtype=torch.int64)
torch.zeros_like(a,requires_grad=True).requires_grad
a.new_zeros(())
a.new_zeros((2,))
a.apply_(lambda x: x+1)
a.detach().apply_(lambda x: x+1)
a@m
torch.matmul(a,m)
a@torch.ones(3,4,2,dtype=torch.float64)
torch.ones(3,2,4,dtype=torch.float64)@a.transpose(1,2)
m.t()@a.transpose(1,2)
a.transpose(1,2)@b
a@b
a@d
t@t
t.transpose(1,2)@t.transpose(1,2).transpose(2,3)
a.unflatten(-1,[2,2])@b.unflatten(-1,[2,2])
torch.bmm(a,torch.ones(3,4,2,dtype=torch.float64))
torch.bmm(a,m)
F.linear(a,w)
F.linear(a,w,v)
F.linear(h,w,v)
F.linear(t,torch.ones(2,2,dtype=torch.float64))
F.linear(a.unflatten(-1,[1,4]),w,v)
F.embedding(i,w)
F.embedding(i,w,padding_idx=2)
F.layer_norm(a,(4,))
F.layer_norm(a,(4,),d,d)
F.layer_norm(h,(4,))
F.layer_norm(a,a.shape[1:])
F.layer_norm(a,a.shape)
F.layer_norm(a[...,0],(4,))
F.rms_norm(a,(4,))
F.rms_norm(a,(4,),d)
F.rms_norm(a.transpose(1,2),(4,))
F.scaled_dot_product_attention(t,t,t)
F.scaled_dot_product_attention(t,t,t,scale=0.3)
F.scaled_dot_product_attention(t,t,t,dropout_p=1.)
F.scaled_dot_product_attention(t,t,q)
F.scaled_dot_product_attention(a,t,t)
F.scaled_dot_product_attention(t,t,t,attn_mask=q)
F.scaled_dot_product_attention(t,t.float(),t)
F.scaled_dot_product_attention(t,t,a)
i.masked_select(i>1)
a.masked_select(a>0.5)
F.normalize(a)
F.mse_loss(a,b)
a.repeat(1,1,2)
a.index_select(0,torch.tensor([0]))
a.gather(1,torch.tensor([0]))
a.flip(1)
a.tolist()
a.item()
a.numpy()
bool(a)
a.data_ptr()
a.untyped_storage()
a.to_dense()
a.data
a.grad_fn
a.grad
a.is_pinned()
a.share_memory_().is_shared()
torch.is_tensor(a)
torch._nested_get_values(a)
torch._nested_get_offsets(a)
torch._nested_get_ragged_idx(t)
torch.addcmul(a,a,b)
""".strip().splitlines()


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.parametrize("part", range(0, len(EXPRESSIONS), TOGETHER))
def test_jagged(part: int) -> None:
    assert differing(EXPRESSIONS[part : part + TOGETHER]) == []
