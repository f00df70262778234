"""A checkpointed transformer: which blocks to compute twice, for a budget of memory.

Backward needs what forward has computed, so memory grows with depth. A checkpointed block keeps its
input alone and is computed again when backward comes to it. What autograd keeps is counted here as
it comes and goes, for depths and for choices of blocks. Checkpointing the first blocks is better
than the last: backward begins at the end, and what it has passed is free when they come again.
"""

import time
from pathlib import Path

import clew as torch
from clew.gallery import helper

nn, F, checkpoint = torch.nn, torch.nn.functional, torch.utils.checkpoint.checkpoint
MIB = 2**20


class Block(nn.Module):
    """Attention, then a layer for each position; both are added."""

    def __init__(self, size: int, heads: int = 4):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(size), nn.LayerNorm(size)
        self.qkv, self.out = nn.Linear(size, 3 * size), nn.Linear(size, size)
        self.mlp = nn.Sequential(nn.Linear(size, 4 * size), nn.GELU(), nn.Linear(4 * size, size))

    def forward(self, x):
        batch, length, size = x.shape
        parts = self.qkv(self.norm1(x)).reshape(batch, length, 3, self.heads, size // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        weights = (query @ key.transpose(-1, -2) / (size // self.heads) ** 0.5).softmax(dim=-1)
        x = x + self.out((weights @ value).transpose(1, 2).reshape(batch, length, size))
        return x + self.mlp(self.norm2(x))


def step(blocks, x, segments):
    """Loss and gradients; each segment is a range of blocks, and whether it is checkpointed."""
    h = x
    for start, stop, again in segments:
        part = nn.Sequential(*blocks[start:stop])
        h = checkpoint(part, h, use_reentrant=True) if again else part(h)
    loss = h.square().mean()
    loss.backward()
    return loss.item()


def measure(blocks, x, segments) -> tuple[float, float, list]:
    """The most memory that autograd keeps, in MiB; seconds of a step; and the gradients."""
    parameters = [each for block in blocks for each in block.parameters()]
    meter = helper.SavedMemory(parameters)
    for each in parameters:
        each.grad = None
    with torch.autograd.graph.saved_tensors_hooks(meter.pack, meter.unpack):
        step(blocks, x, segments)
    gradients = [each.grad.clone() for each in parameters]
    started = time.perf_counter()
    step(blocks, x, segments)
    return meter.peak / MIB, time.perf_counter() - started, gradients


def one_by_one(depth: int, again) -> list:
    return [(number, number + 1, number in again) for number in range(depth)]


def in_groups(depth: int) -> list:
    """About √depth groups of as many blocks, each checkpointed as one."""
    size = max(1, round(depth**0.5))
    return [(start, min(start + size, depth), True) for start in range(0, depth, size)]


def main(fast: bool, seed: int, out: Path) -> dict[str, float]:
    torch.manual_seed(seed)
    size, length, batch, depth = (32, 16, 4, 8) if fast else (96, 64, 8, 16)
    blocks = [Block(size) for _ in range(depth)]
    x = torch.randn(batch, length, size, requires_grad=True)
    ways = {
        "none": lambda n: one_by_one(n, ()),
        "all": lambda n: one_by_one(n, range(n)),
        "groups of √depth": in_groups,
    }
    depths = range(2, depth + 1, 2)
    by_depth = {
        name: [measure(blocks[:n], x, way(n))[0] for n in helper.progress(depths, f"{name:17}")]
        for name, way in ways.items()
    }
    choices = {
        "the first": [one_by_one(depth, range(k)) for k in range(depth + 1)],
        "the last": [one_by_one(depth, range(depth - k, depth)) for k in range(depth + 1)],
    }
    found = {
        name: [measure(blocks, x, each) for each in helper.progress(way, f"{name:17}")]
        for name, way in choices.items()
    }
    by_count = {name: [each[0] for each in way] for name, way in found.items()}
    exact = found["the first"][0][2]
    away = max(
        (a - b).abs().max().item()
        for way in found.values() for each in way for a, b in zip(each[2], exact)
    )  # fmt: skip
    helper.chart(
        out / "checkpointing.svg", by_depth, "What autograd keeps, by depth", "blocks", "MiB",
        start=2, step=2,
    )  # fmt: skip
    helper.chart(
        out / "checkpointing-which.svg", by_count,
        f"What autograd keeps of {depth} blocks, by how many and which are checkpointed",
        "checkpointed blocks", "MiB",
    )  # fmt: skip
    whole = by_count["the first"][0]
    fits = {name: fewest(way, whole / 2) for name, way in by_count.items()}
    none, half, all_ = (found["the first"][k][1] for k in (0, int(fits["the first"]), depth))
    print(f"  a step: {none:.3f} s; for half the memory {half:.3f} s; all blocks {all_:.3f} s")
    return {
        "blocks": depth,
        "MiB, none": whole,
        "MiB, all": by_depth["all"][-1],
        "MiB, groups of √depth": by_depth["groups of √depth"][-1],
        "for half the memory, of the first": fits["the first"],
        "for half the memory, of the last": fits["the last"],
        "largest difference of gradients": away,
    }


def fewest(sizes, budget: float) -> float:
    """How many blocks must be checkpointed to stay within a budget."""
    return next(float(count) for count, size in enumerate(sizes) if size <= budget)


def claims(figures, fast):
    whole, all_, groups = (figures[f"MiB, {way}"] for way in ("none", "all", "groups of √depth"))
    yield f"{whole:.1f} MiB, with all blocks checkpointed {all_:.1f}", all_ < 0.4 * whole
    yield f"in groups of √depth {groups:.1f} MiB", groups < 0.7 * whole
    first, last = (figures[f"for half the memory, of the {way}"] for way in ("first", "last"))
    yield (
        f"half the memory: {first:.0f} of the first blocks are to be checkpointed, or {last:.0f} "
        "of the last",
        first <= last,
    )
    away = figures["largest difference of gradients"]
    yield f"and the gradients are the same ({away:g})", away < 1e-6


if __name__ == "__main__":
    raise SystemExit(helper.run(main, claims))
