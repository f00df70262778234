"""Functions of tensors in parts: values and gradients are those of whole tensors."""

import itertools
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.tensor import (
    DTensor,
    Partial,
    Replicate,
    Shard,
    distribute_module,
    distribute_tensor,
    ones,
    rand,
)

dist.init_process_group("gloo")
RANK, SIZE = dist.get_rank(), dist.get_world_size()
MESHES = [dist.init_device_mesh("cpu", (SIZE,))]
if SIZE == 4:
    MESHES.append(dist.init_device_mesh("cpu", (2, 2)))
torch.set_default_dtype(torch.float64)

# A function and the shapes of its operands.
CASES = {
    "add": (lambda a, b: a + b, (4, 6), (4, 6)),
    "broadcast": (lambda a, b: a * b, (4, 6), (6,)),
    "broadcast 1": (lambda a, b: a / (b + 9), (4, 6), (4, 1)),
    "sub": (lambda a, b: a - b * 2, (4, 6), (6,)),
    "number": (lambda a: 3 - a * 2 + a**2, (4, 6)),
    "gelu": (lambda a: F.gelu(a) + torch.exp(-a), (5, 6)),
    "where": (lambda a, b: torch.where(a > 0, a, b), (4, 6), (4, 6)),
    "mm": (lambda a, b: a @ b, (4, 6), (6, 8)),
    "matmul": (lambda a, b: torch.matmul(a, b), (2, 4, 6), (6, 8)),
    "bmm": (lambda a, b: torch.bmm(a, b), (2, 4, 6), (2, 6, 8)),
    "mv": (lambda a, b: a @ b, (4, 6), (6,)),
    "linear": (F.linear, (3, 4, 6), (8, 6), (8,)),
    "addmm": (lambda c, a, b: torch.addmm(c, a, b, beta=2), (8,), (4, 6), (6, 8)),
    "einsum": (lambda a, b: torch.einsum("bij,bkj->bik", a, b), (2, 4, 6), (2, 8, 6)),
    "sum": (lambda a: a.sum(), (4, 6)),
    "sum of squares": (lambda a: (a * a).sum(0), (4, 6)),
    "mean": (lambda a: a.mean(1, keepdim=True), (4, 6)),
    "mean of uneven parts": (lambda a: a.mean(), (5, 7)),
    "var": (lambda a: a.var(-1), (4, 6)),
    "amax": (lambda a: a.amax(0), (4, 6)),
    "extremes": (lambda a: a.round().amax((0, 1), keepdim=True) - a.amin() * a.max(), (5, 6)),
    "spread": (lambda a: a.std(0, correction=0) + a.var() + a.std((0, 1), keepdim=True), (5, 6)),
    "in stages": (lambda a: a.prod(0) + a.logsumexp((0, 1)) + a.prod(), (5, 6)),
    "few": (lambda a: a.amax(0) + a.var(0) * a.prod(0), (3, 2)),
    "max": (lambda a: a.max(1)[0], (4, 6)),
    "softmax": (lambda a: F.softmax(a, -1), (4, 6)),
    "log_softmax": (lambda a: F.log_softmax(a, dim=0), (4, 6)),
    "layer_norm": (lambda a, w, b: F.layer_norm(a, (6,), w, b), (4, 6), (6,), (6,)),
    "rms_norm": (lambda a, w: F.rms_norm(a, (6,), w), (4, 2, 6), (6,)),
    "transpose": (lambda a: a.transpose(0, 1) * 2, (4, 6)),
    "permute": (lambda a: a.permute(2, 0, 1), (2, 4, 6)),
    "view": (lambda a: a.view(4, 2, 4) * 1, (4, 8)),
    "flatten": (lambda a: a.flatten(0, 1), (4, 2, 8)),
    "heads": (lambda a: a.unflatten(-1, (4, 2)).transpose(1, 2), (2, 3, 8)),
    "reshape": (lambda a: a.reshape(-1), (4, 6)),
    "unsqueeze": (lambda a: a.unsqueeze(1).squeeze(1), (4, 6)),
    "expand": (lambda a: a.unsqueeze(0).expand(3, -1, -1), (4, 6)),
    "getitem": (lambda a: a[:, 1:3, None], (4, 6)),
    "select": (lambda a: a[1], (4, 6)),
    "chunk": (lambda a: a.chunk(2, -1)[0] * a.chunk(2, -1)[1], (4, 8)),
    "split": (lambda a: sum(a.split(2, 0)), (4, 6)),
    "cat": (lambda a, b: torch.cat([a, b], 1), (4, 6), (4, 2)),
    "stack": (lambda a, b: torch.stack([a, b]), (4, 6), (4, 6)),
    "attention": (F.scaled_dot_product_attention, (2, 4, 3, 2), (2, 4, 3, 2), (2, 4, 3, 2)),
    "conv2d": (lambda a, w, b: F.conv2d(a, w, b, padding=1), (5, 2, 5, 5), (3, 2, 3, 3), (3,)),
    "filters": (lambda a, w, b: F.conv2d(a, w, b), (2, 4, 4, 4), (17, 4, 3, 3), (17,)),
    "strided": (lambda a, w: F.conv1d(a, w, None, 2, 1), (2, 17, 6), (3, 17, 3)),
    "pooled": (lambda a: F.max_pool2d(a, 2) + F.adaptive_avg_pool2d(a, 2), (5, 2, 4, 4)),
    "group_norm": (lambda a, w, b: F.group_norm(a, 2, w, b), (4, 6), (6,), (6,)),
    "losses": (
        lambda a, b: (
            F.mse_loss(a, b)
            + F.smooth_l1_loss(a, b, reduction="none")
            + F.l1_loss(a, b, reduction="sum")
        ),
        (5, 6),
        (5, 6),
    ),
    "of probabilities": (
        lambda a, b: (
            F.binary_cross_entropy_with_logits(a, b.sigmoid())
            + F.kl_div(a, b.exp(), reduction="batchmean")
        ),
        (4, 6),
        (4, 6),
    ),
    "gathered": (lambda a: a.tril(), (4, 6)),
    "as complex": (lambda a: torch.view_as_complex(a).abs(), (4, 6, 2)),
    "complex": (lambda a: torch.view_as_real(torch.view_as_complex(a) * 2), (4, 6, 2)),
}


def placements_of(shape: tuple[int, ...], mesh: dist.DeviceMesh) -> list[tuple]:
    each = [Replicate(), Partial(), *(Shard(dim) for dim in range(len(shape)))]
    if mesh.ndim == 1:
        return [(p,) for p in each]
    return [(each[-1], each[0]), (each[-1], each[-1]), (each[2], each[-1]), (each[1], each[-1])]


def check(name: str, mesh: dist.DeviceMesh) -> None:
    function, *shapes = CASES[name]
    generator = torch.Generator().manual_seed(len(name))
    whole = [torch.randn(shape, generator=generator) for shape in shapes]
    combinations = list(itertools.product(*(placements_of(shape, mesh) for shape in shapes)))
    if len(combinations) > 16:
        # Some of them; the same on all ranks.
        combinations = combinations[:: len(combinations) // 12]
    for chosen in combinations:
        plain = [each.clone().requires_grad_() for each in whole]
        parts = []
        for each, _placements in zip(whole, chosen):
            made = distribute_tensor(each, mesh, [Replicate()] * mesh.ndim)
            leaf = made.requires_grad_()
            parts.append(leaf)
        given = [
            leaf.redistribute(placements=placements) for leaf, placements in zip(parts, chosen)
        ]
        expected, found = function(*plain), function(*given)
        assert isinstance(found, DTensor), (name, chosen)
        assert found.shape == expected.shape, (name, chosen, found.shape, expected.shape)
        weights = torch.randn(expected.shape, generator=torch.Generator().manual_seed(1))
        result = found.full_tensor()
        torch.testing.assert_close(result, expected, msg=lambda m, c=chosen: f"{name} {c}: {m}")
        (expected * weights).sum().backward()
        (result * weights).sum().backward()
        for one, other in zip(parts, plain):
            torch.testing.assert_close(
                one.grad.full_tensor(), other.grad,
                msg=lambda m, c=chosen: f"gradient of {name} {c}: {m}",
            )  # fmt: skip


def classes(mesh: dist.DeviceMesh) -> None:
    """Losses of samples that are cut, some of which are ignored: no rank gets the others'."""
    logits, target = torch.randn(6, 3), torch.tensor([0, 2, -100, 1, 1, 0])
    dist.broadcast(logits, 0)
    weight = torch.tensor([0.5, 1.0, 2.0])
    for loss, options in itertools.product(
        (F.cross_entropy, lambda x, y, **o: F.nll_loss(F.log_softmax(x, 1), y, **o)),
        ({}, {"reduction": "sum"}, {"reduction": "none"}, {"weight": weight}, {"ignore_index": 1}),
    ):
        one = logits.clone().requires_grad_()
        y = target.clamp(min=0) if "ignore_index" in options else target
        expected = loss(one, y, **options)
        other = distribute_tensor(logits, mesh, [Shard(0)]).requires_grad_()
        named = {
            key: distribute_tensor(each, mesh, [Replicate()]) if key == "weight" else each
            for key, each in options.items()
        }
        found = loss(other, distribute_tensor(y, mesh, [Shard(0)]), **named)
        torch.testing.assert_close(found.full_tensor(), expected)
        expected.sum().backward()
        found.full_tensor().sum().backward()
        torch.testing.assert_close(other.grad.full_tensor(), one.grad)
    assert F.cross_entropy(
        other, distribute_tensor(target, mesh, [Shard(0)]), reduction="none"
    ).placements == (Shard(0),)


def masked(mesh: dist.DeviceMesh) -> None:
    """Dropout has the mask of one rank, however the tensor lies."""
    whole = torch.arange(1.0, 25.0).reshape(4, 3, 2)
    for drop, where in itertools.product(
        (F.dropout, F.dropout1d, F.alpha_dropout), (Shard(0), Shard(1), Replicate(), Partial())
    ):
        x = distribute_tensor(whole, mesh, [Replicate()]).redistribute(placements=[where])
        torch.manual_seed(7)
        expected = drop(whole, 0.4, True)
        torch.manual_seed(7)
        found = drop(x, 0.4, True)
        torch.testing.assert_close(found.full_tensor(), expected)
        assert torch.equal(drop(x, 0.4, False).full_tensor(), whole)


def others(mesh: dist.DeviceMesh) -> None:
    x = ones(5, 4, device_mesh=mesh, placements=[Shard(0)])
    assert x.sum().item() == 20 and bool((x == 1).all()) and x.to_local().shape[0] < 5
    torch.manual_seed(3)
    drawn = rand(5, 4, device_mesh=mesh, placements=[Shard(0)])
    torch.manual_seed(3)
    assert torch.equal(drawn.full_tensor(), torch.rand(5, 4))
    masked(mesh)
    images = rand(4, 2, 5, 5, device_mesh=mesh, placements=[Shard(0)])
    kernel = rand(1, 2, 3, 3, device_mesh=mesh, placements=[Replicate()])
    assert F.mse_loss(F.conv2d(images, kernel), images[:, :1, :3, :3]).placements == (Partial(),)
    filters = rand(16, 2, 3, 3, device_mesh=mesh, placements=[Shard(0)])
    assert F.conv2d(images, filters[:1]).placements == (Shard(0),)
    whole = images.redistribute(placements=[Replicate()])
    assert F.conv2d(whole, filters).placements == (Shard(1),)
    classes(mesh)
    table = distribute_tensor(torch.arange(12.0).reshape(6, 2), mesh, [Shard(1)])
    index = distribute_tensor(torch.tensor([[1, 5, 0]]), mesh, [Replicate()])
    rows = F.embedding(index, table)
    assert rows.placements == (Shard(2),)
    assert torch.equal(rows.full_tensor(), table.full_tensor()[index.full_tensor()])

    def cut(name, module, mesh):
        if isinstance(module, nn.Linear):
            for key, value in list(module.named_parameters(recurse=False)):
                part = nn.Parameter(distribute_tensor(value, mesh, [Shard(0)]))
                module.register_parameter(key, part)

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 3), nn.LayerNorm(3))
    plain_in = torch.randn(6, 4)
    expected = model(plain_in)
    expected.sum().backward()
    grads = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    made = distribute_module(
        model, mesh, cut,
        input_fn=lambda m, inputs, mesh: distribute_tensor(inputs[0], mesh, [Shard(0)]),
        output_fn=lambda m, outputs, mesh: outputs.full_tensor(),
    )  # fmt: skip
    out = made(plain_in)
    torch.testing.assert_close(out, expected)
    out.sum().backward()
    for param, grad in zip(made.parameters(), grads):
        torch.testing.assert_close(param.grad.full_tensor(), grad)
    try:
        x + torch.ones(5, 4)
    except RuntimeError as error:
        assert "got mixed torch.Tensor and DTensor" in str(error)
    else:
        raise AssertionError("no error")


wanted = os.environ.get("CASES", "").split(",")
for mesh in MESHES:
    for name in CASES:
        if wanted == [""] or name in wanted:
            check(name, mesh)
others(MESHES[0])
print("equal")
