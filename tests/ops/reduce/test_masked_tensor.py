"""`MaskedTensor` against PyTorch's: values, masks, texts, gradients, and words of errors."""

from __future__ import annotations

import copy
import importlib
import pickle
import warnings
from typing import Any

import pytest

import clew
from tests.processes import ended
from tests.twice import outcome, twice

torch_masked = importlib.import_module("torch.masked")


def _data(lib: Any) -> tuple[Any, Any]:
    mask = lib.tensor([[True, False, True], [False, False, True]])
    return lib.arange(6.0).reshape(2, 3) - 2, mask


def _made(lib: Any) -> Any:
    return lib.masked.masked_tensor(*_data(lib))


# What PyTorch's MaskedTensor does with a tensor x of 2 by 3, its data d and its mask m.
EXPRESSIONS = """
x; x[0]; x[:, 1]; x[0, 0]; x[m]; x[None]; x[..., 0]; x[:, [0, 1]]; x[0:1, ::2]; x.sum(); x.sum(1)
x.sum(dim=0, keepdim=True); x.sum((0, 1)); x.mean(); x.mean(1); x.amax(1); x.amin(); x.prod(0)
x.prod(dim=1, keepdim=True); x.all(); x.all(1); x.argmax(1); x.argmin(); x.argmax(1, True); x.var()
x.var(1); x.std(); x.std(dim=1); t.sum(x, 1, True); t.all(x, 1); t.amax(x, 1); x.softmax(1)
x + 1; 1 + x; x + x; x * 2; x + d; d + x; x * t.ones(3); x + t.ones(4, 2, 3); x / 0; x // 2; x % 2
2 / x; -x; abs(x); x ** 2; x > 0; x == x; x.eq(0); x != x; ~(x > 0); (x > 0) & (x > 0); x.sin()
x.exp(); x.abs_(); x.neg(); x.sigmoid(); x.add_(1); x.mul_(x); x.sin_(); x.square_(); x.clamp(0, 1)
t.isnan(x); t.maximum(x, x); t.atan2(x, x); x.logaddexp(x); x.fmin(x); x.nan_to_num(); x.round()
x.t(); x.transpose(0, 1); x.reshape(3, 2); x.view(-1); x.flatten(); x.ravel(); x.unsqueeze(0)
x.expand(2, 2, 3); x.contiguous(); x.clone(); x.detach(); x.data; x.to(t.float64); x.double()
x.int(); x.bool(); x.cpu(); t.cat([x, x]); t.stack([x, x]); t.hstack([x, x]); t.dstack([x, x])
x.chunk(3, 1); x.split(1); x.vsplit(2); t.tensor_split(x, 3, 1); x.narrow(1, 0, 2); x.select(0, 1)
x.unfold(1, 2, 1); t.broadcast_to(x, (2, 2, 3)); t.column_stack([x, x]); t.atleast_3d(x)
t.nn.functional.unfold(x[None, None], (1, 1)); t.ones_like(x); t.where(m, x, x); t.where(m, d, x)
t.where(m, x, 0.0); t.where(m, x, M.masked_tensor(d, ~m)); x.get_data(); x.get_mask()
x.to_tensor(7); x.sum().item(); float(x.sum()); bool(x.all()); len(x); x.shape; x.dtype; x.layout
x.is_sparse; x.is_sparse_coo(); x.device; M.is_masked_tensor(x); M.is_masked_tensor(d)
x.sum(0).get_data(); x.mean(0).get_data(); (x + 1).get_data(); x.to_sparse()
x.to_sparse().get_data(); x.to_sparse().get_mask(); x.to_sparse_csr().get_data(); x.to_dense()
x.to_sparse().sin(); x.to_sparse() * 2; x.to_sparse_csr() * x.to_sparse_csr(); x.to_sparse().layout
x.to_sparse().sum(); x.to_sparse_csr().is_sparse; x.to_sparse().to_dense().get_data()
x * M.masked_tensor(d, ~m); x + M.masked_tensor(d[0], m[0]); x.item(); x[0, 1].item()
M.masked_tensor(d, m.float()); M.masked_tensor(d.tolist(), m); M.masked_tensor(d, m.tolist())
M.masked_tensor(x, m); M.masked_tensor(d, x); M.masked_tensor(d, m.to_sparse())
M.masked_tensor(d.to(t.complex64), m); M.masked_tensor(d.to_sparse_csc(), m.to_sparse_csc())
M.masked_tensor(d.int(), m, requires_grad=True); M.masked_tensor(d.int(), m).sum(0)
M.masked_tensor(d > 0, m).all(1); M.masked_tensor(t.tensor(1.0), t.tensor(False))
M.masked_tensor(t.tensor(1.0), t.tensor(True)); M.masked_tensor(d, ~m & m).sum(1)
M.masked_tensor(t.tensor([1e10, float("nan")]), t.ones(2, dtype=t.bool)); x.cumsum(1)
t.cat([x, d]); x.fill_(3); x.mm(d.t()); x.numpy(); x.tolist()
"""
_LINES = [e.strip() for line in EXPRESSIONS.split("\n") for e in line.split(";") if e.strip()]


@pytest.mark.parametrize("line", range(0, len(_LINES), 16))
def test_expressions(line: int) -> None:
    def scenario(lib: Any) -> Any:
        # torch says once per process that its sparse tensors are new.
        warnings.filterwarnings("ignore", "Sparse ")
        found = {}
        for text in _LINES[line : line + 16]:
            d, m = _data(lib)
            names = {"t": lib, "M": lib.masked, "d": d, "m": m, "x": _made(lib)}
            found[text] = outcome(lambda text=text, names=names: eval(text, names), words=4)
        return {text: _shown(value) for text, value in found.items()}

    twice(scenario)()


def _shown(value: Any) -> str:
    if type(value).__name__ == "Raised":
        return str((value[0], value[-1].rstrip(":")))
    return repr(value).replace("clew.", "torch.")


GRADIENTS = """
x.sum(); x.mean(); x.amax(); x.amin(1); x.prod(); x.var(); x.std(1); x.sin(); x.exp(); x * 2; x * x
x / x; x.abs(); x.sqrt(); x.log(); x.pow(3); t.softmax(x, 1).pow(2); x[0]; x.reshape(3, 2); x.t()
t.cat([x, x]); x.double(); x.expand(2, 2, 3); x.contiguous(); x.rsqrt(); x.remainder(2); x.sum(1)
x.get_data(); x.to_tensor(5); x.sum(1).sin(); x.all(); x.add_(1)
"""


@twice
def test_gradients(lib: Any) -> Any:
    found = []
    for text in GRADIENTS.replace("\n", ";").split(";"):
        if not text.strip():
            continue
        for is_leaf in (True, False):
            data, mask = _data(lib)
            if is_leaf:
                leaf = x = lib.masked.masked_tensor(data, mask, requires_grad=True)
            else:
                leaf = data.requires_grad_()
                x = lib.masked.as_masked_tensor(data, mask)

            def run(text: str = text, x: Any = x, leaf: Any = leaf) -> str:
                y = eval(text, {"x": x, "t": lib})
                (y.sum() if y.dim() else y).backward()
                return repr(leaf.grad).replace("-0.0000", " 0.0000")

            found.append((text, is_leaf, outcome(run, words=4)))
    return found


@twice
def test_memory(lib: Any) -> Any:
    """Data are copied, and views are, too; what `get_data` gives is what is held."""
    data, mask = _data(lib)
    x = lib.masked.masked_tensor(data, mask)
    data.fill_(7)
    mask.fill_(False)
    part = x[0]
    part.add_(100)
    seen = [repr(x), repr(part)]
    x.get_data().fill_(9)
    copied = copy.deepcopy(x)
    copied.add_(1)
    restored = pickle.loads(pickle.dumps(x))
    return [*seen, repr(x), repr(copied), repr(restored), type(restored).__name__]


@twice
def test_a_program(lib: Any) -> Any:
    """Masked means of a batch, trained through."""
    lib.manual_seed(0)
    data, mask = lib.randn(4, 3), lib.rand(4, 3) > 0.3
    weight = lib.ones(3, requires_grad=True)
    losses = []
    for _ in range(3):
        x = lib.masked.as_masked_tensor(data * weight, mask)
        loss = (x.softmax(1) * x).sum(1).mean().to_tensor(0)
        (grad,) = lib.autograd.grad(loss, weight)
        losses.append(loss.item())
        with lib.no_grad():
            weight -= 0.1 * (grad.to_tensor(0) if lib.masked.is_masked_tensor(grad) else grad)
    return losses, weight


@twice
def test_identities(lib: Any) -> Any:
    identity, x = lib.masked._reduction_identity, lib.ones(2)
    names = ("sum", "prod", "mean", "amax", "amin", "argmin", "logsumexp", "logaddexp", "median")
    return [
        *[identity(name, x) for name in names],
        identity("amax", x.int()), identity("amin", x.int()), identity("prod", x.int()),
        identity("norm", x, 2), identity("norm", x, float("-inf")),
        outcome(lambda: identity("softmax", x)),
    ]  # fmt: skip


def test_more_than_pytorchs() -> None:
    """What PyTorch's refuses: several arguments of operations, and of reductions."""
    x = _made(clew)
    data, mask = _data(clew)
    kept = data.masked_fill(~mask, 0)
    assert x.add(x, alpha=2).to_tensor(0).equal(3 * kept)
    assert x.relu().to_tensor(0).equal(kept.relu())
    assert x.permute(1, 0).to_tensor(0).equal(kept.T)
    assert (1 - x).to_tensor(0).equal((1 - data).masked_fill(~mask, 0))
    assert x.norm().item() == pytest.approx(13**0.5)
    assert x.var(1, unbiased=False).get_data().equal(clew.tensor([1.0, 0.0]))
    assert x.sum(dtype=clew.float64).dtype is clew.float64
    with pytest.raises(ValueError, match="no `out=`"):
        clew.sin(x, out=clew.zeros(2, 3))
    with pytest.raises(TypeError, match="Fill them first"):
        clew.zeros(2, 3).add_(x)


def test_masked_tensors_are_not_defined_before_they_are_used() -> None:
    """From the first class that takes functions over on, all functions look for one."""
    program = (
        "import clew, sys; clew.masked.sum(clew.ones(2)); "
        "print('clew.masked.maskedtensor' in sys.modules, clew.masked.MaskedTensor.__name__)"
    )
    assert ended(program, 60) == (0, "False MaskedTensor\n")
