"""`clew demo`: train a small network on two spirals, show what its gradients did, find a bug."""

import argparse
import contextlib
import io
import math
import runpy
import time
from collections import OrderedDict
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

import clew
from clew import gallery, nn
from clew.cli.picture import Picture, write_picture
from clew.cli.textchart import text_chart
from clew.doctor import Session
from clew.doctor.report.terminal import show

POINTS_PER_ARM = 300
SIZES = (2, 32, 32, 2)
LEARNING_RATE = 0.01
PICTURE_GRID = 160
FLOW_WIDTH, FLOW_DECADES = 12, 4  # the bars of the gradient flow: a quarter for a factor of ten
PLANTED = "stale_gradients"  # the script of "Break it" that the doctor is shown
VIEW = 1.15  # half the side of the square that the picture shows; the spirals end at radius 1


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = subparsers.add_parser("demo", help="train a small network on two spirals")
    parser.add_argument("--steps", type=_positive, default=500, help="train steps (default 500)")
    parser.add_argument("--seed", type=int, default=0, help="random seed (default 0)")
    parser.add_argument(
        "--out",
        type=_svg_path,
        default=Path("clew-demo.svg"),
        help="where to write the picture, an SVG file (default clew-demo.svg)",
    )
    parser.set_defaults(run=run)


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return value


def _svg_path(text: str) -> Path:
    path = Path(text)
    if path.suffix.lower() != ".svg":
        raise argparse.ArgumentTypeError(f"the picture is an SVG: {text!r} should end in .svg")
    return path


@dataclass
class LayerReport:
    """What one train step did to a layer's weight."""

    name: str
    shape: tuple[int, ...]
    weight_norm: float
    grad_norm: float
    update_norm: float


def two_spirals(points_per_arm: int) -> tuple[clew.Tensor, clew.Tensor]:
    """Points of two interleaved spiral arms, and the arm (0 or 1) of each."""
    radius = clew.linspace(0.08, 1.0, points_per_arm)
    arms = []
    for arm in range(2):
        angle = 3.5 * math.pi * radius + math.pi * arm
        points = clew.stack([radius * clew.cos(angle), radius * clew.sin(angle)], dim=1)
        arms.append(points + 0.015 * clew.randn(points_per_arm, 2))
    labels = clew.cat([clew.zeros(points_per_arm), clew.ones(points_per_arm)]).long()
    return clew.cat(arms), labels


def make_network(sizes: tuple[int, ...]) -> nn.Sequential:
    layers: dict[str, nn.Module] = {}
    for i, (fan_in, fan_out) in enumerate(pairwise(sizes), start=1):
        linear = nn.Linear(fan_in, fan_out)
        # The first layer starts steep: two raw coordinates have to be bent into two turns.
        gain = 3.0 if i == 1 else 1.5
        nn.init.normal_(linear.weight, std=gain / math.sqrt(fan_in))
        nn.init.zeros_(linear.bias)
        if i < len(sizes) - 1:
            layers |= {f"hidden {i}": linear, f"tanh {i}": nn.Tanh()}
        else:
            layers["output"] = linear
    return nn.Sequential(OrderedDict(layers))


def train_step(
    network: nn.Sequential, optimizer: clew.optim.Optimizer, x: clew.Tensor, y: clew.Tensor
) -> tuple[float, list[LayerReport]]:
    """One forward, backward and update; the loss, and what happened to each layer."""
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(network(x), y)
    loss.backward()
    linears = [item for item in network.named_children() if isinstance(item[1], nn.Linear)]
    before = [child.weight.detach().clone() for _, child in linears]
    optimizer.step()
    reports = [
        LayerReport(
            name=name,
            shape=tuple(child.weight.shape),
            weight_norm=old.norm().item(),
            grad_norm=child.weight.grad.norm().item(),
            update_norm=(child.weight.detach() - old).norm().item(),
        )
        for (name, child), old in zip(linears, before, strict=True)
    ]
    return loss.item(), reports


def train(
    network: nn.Sequential, x: clew.Tensor, y: clew.Tensor, steps: int, console: Console
) -> tuple[list[float], list[LayerReport]]:
    columns = (
        TextColumn("training"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("loss {task.fields[loss]:.4f}"),
        TimeElapsedColumn(),
    )
    optimizer = clew.optim.Adam(network.parameters(), lr=LEARNING_RATE)
    losses: list[float] = []
    reports: list[LayerReport] = []
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("training", total=steps, loss=math.nan)
        for _ in range(steps):
            loss, reports = train_step(network, optimizer, x, y)
            losses.append(loss)
            progress.update(task, advance=1, loss=loss)
    return losses, reports


def flow_bar(norm: float, largest: float) -> str:
    """How much gradient arrives, on a logarithmic scale beside the largest."""
    share = 1 + math.log10(norm / largest) / FLOW_DECADES if norm > 0 else 0.0
    return "█" * max(0, round(FLOW_WIDTH * share))


def gradient_table(reports: list[LayerReport]) -> Table:
    table = Table(title="Gradient flow at the last step", title_justify="left")
    largest = max(report.grad_norm for report in reports)
    table.add_column("layer")
    table.add_column("shape")
    for heading in ("weight norm", "update / weight", "grad norm"):
        table.add_column(heading, justify="right")
    table.add_column("flow (log)")
    for report in reports:
        table.add_row(
            report.name,
            " × ".join(map(str, report.shape)),
            f"{report.weight_norm:.3f}",
            f"{report.update_norm / report.weight_norm:.2e}",
            f"{report.grad_norm:.2e}",
            flow_bar(report.grad_norm, largest),
        )
    return table


def draw(
    network: nn.Sequential,
    x: clew.Tensor,
    y: clew.Tensor,
    losses: list[float],
    accuracy: float,
    path: Path,
) -> None:
    axis = clew.linspace(-VIEW, VIEW, PICTURE_GRID)
    with clew.no_grad():
        # Rows run from top to bottom in a picture, while y runs from bottom to top.
        rows, columns = clew.meshgrid(-axis, axis, indexing="ij")
        grid = clew.stack([columns.reshape(-1), rows.reshape(-1)], dim=1)
        second_arm = clew.softmax(network(grid), dim=1)[:, 1]
    write_picture(
        Picture(
            probability=second_arm.reshape(PICTURE_GRID, PICTURE_GRID).numpy(),
            points=x.numpy(),
            labels=y.numpy(),
            view=VIEW,
            losses=losses,
            accuracy=accuracy,
        ),
        path,
    )


def find_the_bug(console: Console) -> None:
    """A training script with a bug, run under the doctor: its report names the line."""
    script, session = gallery.BROKEN / f"{PLANTED}.py", Session()
    console.print(f"\n[bold]A bug[/bold]: {script.name} forgets something. `clew doctor` says:")
    with contextlib.redirect_stdout(io.StringIO()):
        session.start()
        try:
            runpy.run_path(str(script))
        finally:
            session.stop()
    show(session.report(script.name), console)
    console.print(f"Its repair: clew gallery {PLANTED}. More to see: clew gallery", highlight=False)


def run(args: argparse.Namespace) -> int:
    console = Console()
    clew.manual_seed(args.seed)
    x, y = two_spirals(POINTS_PER_ARM)
    network = make_network(SIZES)
    parameters = sum(parameter.numel() for parameter in network.parameters())
    console.print(
        f"Two spirals, {len(x)} points. A network {'-'.join(map(str, SIZES))} with tanh, "
        f"{parameters} parameters, Adam."
    )

    started = time.perf_counter()
    losses, reports = train(network, x, y, args.steps, console)
    seconds = time.perf_counter() - started
    with clew.no_grad():
        accuracy = (network(x).argmax(dim=1) == y).float().mean().item()

    console.print("\n[bold]Loss[/bold] (logarithmic)")
    console.print(text_chart(losses, width=min(72, console.width - 10), height=8))
    console.print(gradient_table(reports))
    console.print(
        f"\n{args.steps} steps in {seconds:.2f} s ({1e3 * seconds / args.steps:.2f} ms a step), "
        f"loss {losses[-1]:.4f}, [bold]accuracy {accuracy:.1%}[/bold]"
    )
    draw(network, x, y, losses, accuracy, args.out)
    console.print(f"Picture: {args.out.resolve()}", soft_wrap=True, highlight=False)
    find_the_bug(console)
    return 0
