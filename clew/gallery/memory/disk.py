"""Saved tensors on disk: hooks that put away what backward needs, and bring it back.

`saved_tensors_hooks` has two functions: one gets each tensor that is saved for backward and returns
anything in its place, the other makes the tensor of it again. Here the one writes a file and the
other reads it. The gradients are the same to the last bit; memory holds next to nothing meanwhile.
A third pair keeps tensors in eight bits: a quarter of the memory, and gradients that are nearly
right.
"""

import tempfile
from pathlib import Path

import clew as torch
from clew.gallery import helper

nn, F = torch.nn, torch.nn.functional
LARGE = 1000  # elements; smaller tensors are not worth a file


def places(model) -> set[int]:
    return {each.untyped_storage().data_ptr() for each in model.parameters()}


def worth_it(tensor, parameters: set[int]) -> bool:
    """Whether a tensor is large, of real numbers, and no parameter, which is there anyway."""
    large = tensor.is_floating_point() and tensor.numel() >= LARGE
    return large and tensor.untyped_storage().data_ptr() not in parameters


class OnDisk:
    """Large tensors as files of a folder."""

    def __init__(self, model, folder: Path):
        self.places, self.folder, self.count, self.bytes = places(model), folder, 0, 0

    def pack(self, tensor):
        if not worth_it(tensor, self.places):
            return tensor
        self.count += 1
        self.bytes += tensor.numel() * tensor.element_size()
        path = self.folder / f"{self.count}.pt"
        # To an open file: what is read once, soon, need not survive a loss of power.
        with path.open("wb") as file:
            torch.save(tensor.detach().clone(), file)
        return path

    def unpack(self, kept):
        return torch.load(kept) if isinstance(kept, Path) else kept


class InEightBits:
    """Large tensors as whole numbers from 0 to 255, between their extremes."""

    def __init__(self, model):
        self.places, self.bytes = places(model), 0

    def pack(self, tensor):
        if not worth_it(tensor, self.places):
            return tensor
        low, high = tensor.min(), tensor.max()
        step = (high - low).clamp(min=1e-12) / 255
        self.bytes += tensor.numel()
        return ((tensor - low) / step).round().to(torch.uint8), low, step

    def unpack(self, kept):
        if not isinstance(kept, tuple):
            return kept
        levels, low, step = kept
        return levels.float() * step + low


def network(seed: int, width: int):
    torch.manual_seed(seed)
    layers = []
    for size in (64, width, width):
        layers += [nn.Linear(size, width), nn.Tanh()]
    return nn.Sequential(*layers, nn.Linear(width, 10))


def gradient(model, x, y, hooks=None):
    """The gradient, and the most bytes that autograd keeps in memory."""
    model.zero_grad()
    meter = helper.SavedMemory([*model.parameters(), x])
    if hooks is None:
        with torch.autograd.graph.saved_tensors_hooks(meter.pack, meter.unpack):
            F.cross_entropy(model(x), y).backward()
    else:
        with torch.autograd.graph.saved_tensors_hooks(hooks.pack, hooks.unpack):
            F.cross_entropy(model(x), y).backward()
    return torch.cat([each.grad.flatten() for each in model.parameters()]), meter.peak


def train(x, y, seed: int, width: int, steps: int, make_hooks, label: str) -> list[float]:
    model = network(seed, width)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    losses = []
    bar = helper.progress(range(steps), f"{label:6}")
    for _ in bar:
        hooks = make_hooks(model)
        optimizer.zero_grad()
        with torch.autograd.graph.saved_tensors_hooks(hooks.pack, hooks.unpack):
            loss = F.cross_entropy(model(x), y)
            loss.backward()
        optimizer.step()
        losses.append(loss.item())
        bar.say(f"loss {losses[-1]:.4f}")
    return losses


def main(fast: bool, seed: int, out: Path) -> dict[str, float]:
    x, y, _, _ = (torch.from_numpy(part) for part in helper.digits())
    count, width, steps = (256, 64, 15) if fast else (1297, 256, 60)
    x, y = x[:count], y[:count]
    model = network(seed, width)
    exact, memory = gradient(model, x, y)
    with tempfile.TemporaryDirectory() as folder:
        disk, bits = OnDisk(model, Path(folder)), InEightBits(model)
        stored, _ = gradient(model, x, y, disk)
        rough, _ = gradient(model, x, y, bits)
        ways = {
            "memory": lambda model: helper.SavedMemory(model.parameters()),
            "disk": lambda model: OnDisk(model, Path(folder)),
            "8 bits": InEightBits,
        }
        curves = {name: train(x, y, seed, width, steps, make, name) for name, make in ways.items()}
    helper.chart(
        out / "disk.svg", curves, "Training with saved tensors elsewhere", "step", "loss", log=True
    )
    return {
        "MiB in memory": memory / 2**20,
        "files": disk.count,
        "MiB on disk": disk.bytes / 2**20,
        "difference, disk": (stored - exact).abs().max().item(),
        "MiB, 8 bits": bits.bytes / 2**20,
        "difference, 8 bits": ((rough - exact).norm() / exact.norm()).item(),
        **{f"loss at the end, {name}": curve[-1] for name, curve in curves.items()},
    }


def claims(figures, fast):
    away = figures["difference, disk"]
    yield f"{figures['files']:.0f} files, and the same gradient ({away:g} away)", away == 0
    ends = [figures[f"loss at the end, {name}"] for name in ("memory", "disk", "8 bits")]
    yield f"and the same training: {ends[0]:.4f} and {ends[1]:.4f}", ends[0] == ends[1]
    away = figures["difference, 8 bits"]
    yield f"8 bits: the gradient is {away:.1%} away", 0 < away < 0.05
    yield f"and the loss at the end is {ends[2]:.4f}", ends[2] < 1.1 * ends[0]


if __name__ == "__main__":
    raise SystemExit(helper.run(main, claims))
