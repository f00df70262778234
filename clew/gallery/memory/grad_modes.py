"""no_grad and inference_mode: what a forward pass costs when nobody asks for gradients.

With grad mode on, every operation leaves a node and keeps what its backward will need. `no_grad`
leaves both out, `inference_mode` the bookkeeping of versions and views as well; its tensors can
never be part of a graph later. Small operations show the difference in time, large ones in memory.
"""

import time
from pathlib import Path

import clew as torch
from clew.gallery import helper

nn = torch.nn
MODES = {"grad": torch.enable_grad, "no_grad": torch.no_grad, "inference": torch.inference_mode}


def network(width: int, layers: int):
    blocks = [part for _ in range(layers) for part in (nn.Linear(width, width), nn.Tanh())]
    return nn.Sequential(*blocks)


def kept(model, x, mode) -> float:
    """The bytes that autograd keeps after a forward pass."""
    meter = helper.SavedMemory([*model.parameters(), x])
    hooks = torch.autograd.graph.saved_tensors_hooks(meter.pack, meter.unpack)
    with hooks, mode():
        out = model(x)
    return float(meter.now) if out.requires_grad else float(meter.peak)


def fastest(model, x, repeats: int) -> dict[str, float]:
    """The time of a forward pass in each mode; by turns, so that they share a slow phase."""
    best = dict.fromkeys(MODES, float("inf"))
    for _ in helper.progress(range(repeats), f"{x.shape[0]:5} × {x.shape[1]}"):
        for name, mode in MODES.items():
            with mode():
                started = time.perf_counter()
                model(x)
                best[name] = min(best[name], time.perf_counter() - started)
    return best


def refused(model, x) -> bool:
    """Whether a tensor of inference mode may not be saved for backward."""
    with torch.inference_mode():
        inside = model(x)
    try:
        model(inside)
    except RuntimeError as error:
        return "Inference tensors" in str(error)
    return False


def main(fast: bool, seed: int, out: Path) -> dict[str, float]:
    torch.manual_seed(seed)
    rows = (1, 4, 16, 64) if fast else (1, 4, 16, 64, 256, 1024)
    width, layers = (32, 8) if fast else (128, 12)
    model = network(width, layers)
    curves: dict[str, list[float]] = {name: [] for name in MODES}
    for count in rows:
        times = fastest(model, torch.randn(count, width), 20 if fast else 100)
        for name, seconds in times.items():
            curves[name].append(seconds / times["grad"])
    small = {name: curve[0] for name, curve in curves.items()}
    print("  time of one row by that with grad: " + ", ".join(f"{n} {small[n]:.2f}" for n in MODES))
    helper.chart(
        out / "grad_modes.svg", curves, "A forward pass, by the time with grad mode on",
        f"log4 of the rows of {width} features", "time / time with grad",
    )  # fmt: skip
    x = torch.randn(64, width)
    results = []
    for mode in MODES.values():
        with mode():
            results.append(model(x).sum().item())
    return {
        **{f"bytes kept, {name}": kept(model, x, mode) for name, mode in MODES.items()},
        "results are the same": float(len(set(results)) == 1),
        "refused in a graph": float(refused(model, x)),
        "time without grad": min(small["no_grad"], small["inference"]),
    }


def claims(figures, fast):
    held = [figures[f"bytes kept, {name}"] for name in MODES]
    yield (
        f"kept for backward: {held[0]:,.0f} bytes, with no_grad {held[1]:.0f}, in inference mode "
        f"{held[2]:.0f}",
        held[0] > 0 == held[1] == held[2],
    )
    yield "all modes give the same results", figures["results are the same"] == 1
    yield "a tensor of inference mode is refused in a graph", figures["refused in a graph"] == 1
    ratio = figures["time without grad"]
    yield f"a pass of one row takes {ratio:.2f} of the time with grad", ratio < 1


if __name__ == "__main__":
    raise SystemExit(helper.run(main, claims))
