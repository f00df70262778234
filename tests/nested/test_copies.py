"""Copies, pickles and files of nested tensors; what autograd does with nested leaves."""

from __future__ import annotations

import copy
import io
import pickle
import subprocess
import sys
from typing import Any

import pytest
import torch

import clew
from tests.ops.nested.answers import described, names
from tests.twice import raised, twice

pytestmark = pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")


def samples(m: Any) -> list[Any]:
    given = names(m)
    return [given[name].detach() for name in ("a", "t", "h", "i", "s", "u")]


def plain(value: Any) -> Any:
    """A description with numbers in place of tensors."""
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    return value.tolist() if hasattr(value, "tolist") else value


def saved(m: Any, value: Any) -> io.BytesIO:
    file = io.BytesIO()
    m.save(value, file)
    file.seek(0)
    return file


@pytest.mark.parametrize("number", range(6))
def test_files_go_both_ways(number: int) -> None:
    theirs, ours = samples(torch)[number], samples(clew)[number]
    wanted = plain(described(torch, theirs))
    for written, m in ((saved(torch, theirs), clew), (saved(clew, ours), torch),
                       (saved(clew, ours), clew)):  # fmt: skip
        assert plain(described(m, m.load(written))) == wanted


@twice
def test_files_keep_what_is_known_of_leaves(m: Any) -> Any:
    a = names(m)["a"]
    loaded = m.load(saved(m, {"x": a, "y": [a * 1]}))
    x = loaded["x"]
    return (
        x.requires_grad, x.is_leaf, x._maybe_max_seqlen, x._maybe_min_seqlen, x.offsets(),
        loaded["y"][0].requires_grad, type(x).__name__,
    )  # fmt: skip


def tampered(**changes: Any) -> io.BytesIO:
    """A file whose nested tensor has other parts than it should."""
    x = clew.nested.nested_tensor([clew.ones(2), clew.ones(3)], layout=clew.jagged)
    for name, value in changes.items():
        setattr(x._cuts, name, value)
    return saved(clew, x)


@pytest.mark.parametrize(
    "changes",
    [
        {"offsets": clew.tensor([0, 2, 9])}, {"offsets": clew.tensor([0, 3, 2])},
        {"offsets": clew.tensor([-1, 2, 5])}, {"offsets": clew.tensor([0.0, 2.0, 5.0])},
        {"offsets": clew.tensor([[0, 2, 5]])}, {"lengths": clew.tensor([2, 9])},
        {"lengths": clew.tensor([2, -1])}, {"lengths": clew.tensor([2])}, {"ragged": 2},
        {"ragged": 0}, {"ragged": "1"}, {"offsets": None}, {"offsets": [0, 2, 5]},
    ],
)  # fmt: skip
def test_files_with_cuts_outside_of_the_values_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(pickle.UnpicklingError, match="nested tensor"):
        clew.load(tampered(**changes))


@twice
def test_copies(m: Any) -> Any:
    given = names(m)
    found = []
    for name in "ath":
        x = given[name]
        (x * 1).values().sum().backward()
        for other in (copy.copy(x), copy.deepcopy(x), copy.deepcopy({"x": x})["x"],
                      pickle.loads(pickle.dumps(x))):  # fmt: skip
            found.append((described(m, other), other is x))
        deep = copy.deepcopy(x)
        with m.no_grad():
            deep.mul_(2)
        found.append((described(m, x), described(m, deep), raised(copy.deepcopy, x * 1)))
    return found


@twice
def test_memory_is_shared_with_values(m: Any) -> Any:
    values = m.arange(6.0).reshape(3, 2)
    x = m.nested.nested_tensor_from_jagged(values, m.tensor([0, 1, 3]))
    x[0].add_(10)
    x.mul_(2)
    values[2] = -1
    x[1, 0] = 7
    return values, list(x.unbind()), x.values()


@twice
def test_what_autograd_does_with_nested_leaves(m: Any) -> Any:
    a = names(m)["a"]
    (a * 2).sum().backward()
    first = described(m, a.grad)
    found = [first, a.grad.shape == a.shape]
    found.append(described(m, m.autograd.grad((a * a).sum(), a)))
    seen: list[Any] = []
    handle = a.register_hook(lambda g: seen.append(g.is_nested) or g * 10)
    middle = a * 2
    middle.retain_grad()
    a.grad = None
    middle.backward(m.ones_like(a))
    found += [seen, described(m, a.grad), described(m, middle.grad)]
    handle.remove()
    (first_grad,) = m.autograd.grad((a * a * a).sum(), a, create_graph=True)
    found.append(described(m, m.autograd.grad(first_grad.sum(), a)))
    found.append(raised((a * 1).backward))
    with m.no_grad():
        found.append((a * 2).requires_grad)
    a.grad.zero_()
    found.append(described(m, a.grad))
    return found


def test_gradients_of_a_nested_leaf_add_up() -> None:
    """PyTorch's engine cannot add to a nested gradient."""
    a = names(clew)["a"]
    (a * 2).sum().backward()
    (a * 3).sum().backward()
    assert clew.equal(a.grad.values(), clew.full_like(a.values(), 5.0))


@twice
def test_gradients_lead_to_the_tensors_it_is_made_of(m: Any) -> Any:
    found = []
    for layout in (m.jagged, m.strided):
        one, two = m.ones(2, 3, requires_grad=True), m.ones(1, 3, requires_grad=True)
        x = m.nested.as_nested_tensor([one, two], layout=layout)
        (x * x).to_padded_tensor(0.0).cumsum(0).sum().backward()
        found += [one.grad, two.grad]
    values = m.ones(3, 2, requires_grad=True)
    x = m.nested.nested_tensor_from_jagged(values, m.tensor([0, 1, 3]))
    (x.unbind()[1] * 3).sum().backward()
    return [*found, values.grad]


@twice
def test_gradcheck(m: Any) -> Any:
    rows = [m.ones(n, 2, dtype=m.float64).requires_grad_() for n in (3, 1)]
    found = []
    for layout in (m.jagged, m.strided):

        def padded(*rows: Any, layout: Any = layout) -> Any:
            x = m.nested.as_nested_tensor(list(rows), layout=layout)
            return (x * x).to_padded_tensor(0.0)

        found.append(m.autograd.gradcheck(padded, rows))
        if m is clew or layout is m.strided:
            # PyTorch has no second gradient of padding in the jagged layout.
            found.append(m.autograd.gradgradcheck(padded, rows))
    return all(found)


# Where PyTorch has no gradients, or, along the ragged dimension of softmax, others.
WITHOUT_GRADIENTS_THERE = """
a.sum(1)
a.sum(2)
a.sum((0,1))
a.sum(1,keepdim=True)
t.sum((1,3))
t.sum(2)
a.mean(1)
t.mean(1)
a.prod(1)
a.prod(2)
a.max(1).values
a.amin(1)
a.maximum(b)
a.softmax(1)
torch.softmax(a.unsqueeze(-1),1)
a.softmax(2)
F.log_softmax(a,-1)
F.leaky_relu(a)
a+q
a*p
a.pow(d)
a[...,0]
a[...,1:3]
a.narrow(2,1,2)
t.select(1,0)
a.split(2,-1)[1]
a.chunk(2,0)[0]
a.chunk(2,-1)[1]
torch.cat([a,d],-1)
a.unsqueeze(1)
t.to_padded_tensor(0.)
h.contiguous()
F.layer_norm(h,(4,))
F.layer_norm(a,a.shape[1:])
a.transpose(1,2)@b
m.t()@a.transpose(1,2)
F.scaled_dot_product_attention(t,t*2,t+1,is_causal=True)
s.sum(-1,keepdim=True)
torch.cat([s,s2])
u.to_padded_tensor(0.)
s.view(3,-1,2,2).transpose(1,2)
s@s2.transpose(1,2)
""".strip().splitlines()


@pytest.mark.parametrize("line", WITHOUT_GRADIENTS_THERE)
def test_gradcheck_where_pytorch_has_no_gradients(line: str) -> None:
    given = names(clew)
    leaves = [name for name in ("a", "b", "h", "t", "s", "s2", "u") if uses(line, name)]
    assert leaves

    def function(*tensors: Any) -> Any:
        return eval(line, given | dict(zip(leaves, tensors, strict=True)))

    assert clew.autograd.gradcheck(function, [given[name] for name in leaves])


def uses(line: str, name: str) -> bool:
    """Whether a line names a variable."""
    return name in compile(line, "line", "eval").co_names


def test_programs_without_nested_tensors_import_nothing_of_them() -> None:
    program = (
        "import sys, clew; x = clew.ones(2, requires_grad=True); (x * 2).sum().backward();"
        "assert not any('nested.' in name for name in sys.modules if name.startswith('clew.ops'));"
        "assert not clew.core.overrides.SWITCHED; clew.nested; "
        "assert not clew.core.overrides.SWITCHED"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
