"""`clew plan`: how to split a training run over devices, on paper."""

from __future__ import annotations

import argparse
import contextlib
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

from clew.cli.doctor import load
from clew.cli.plan_picture import write_plans
from clew.cli.program import Ending, NotFound
from clew.distributed.planning.measuring import NoStep, measure
from clew.distributed.planning.model import Cluster, Cost, Model
from clew.distributed.planning.program import Program
from clew.distributed.planning.search import at_ten_times, plans
from clew.distributed.planning.transformer import Transformer

_MODEL = {"layers": 96, "width": 12288, "vocabulary": 51200, "length": 2048}
_BATCH = 1536


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "plan",
        help="memory, communication and time of a run on many devices",
        usage="clew plan [options]\n       clew plan [options] script.py [args ...]",
        description="Plans the training of a transformer of the given numbers, or of a program's "
        "model: its first step runs on the meta device, without memory for its tensors.",
    )
    for name, words in (
        ("layers", "of the transformer"), ("width", "of its layers"), ("vocabulary", "words"),
        ("length", "of a sequence"),
    ):  # fmt: skip
        parser.add_argument(f"--{name}", type=int, help=f"{words} ({_MODEL[name]})")
    parser.add_argument(
        "--batch", type=int, help=f"samples in a step ({_BATCH}; of a script: its own)"
    )
    for name, default, words in (
        ("devices", 1024, "in all"), ("per-node", 8, "devices of a machine"),
    ):  # fmt: skip
        parser.add_argument(f"--{name}", type=int, default=default, help=f"{words} ({default})")
    for name, number, words in (
        ("memory", 80.0, "GB of a device"), ("tflops", 312.0, "peak of a device"),
        ("intra", 300.0, "GB/s within a machine"), ("inter", 25.0, "GB/s between machines"),
        ("efficiency", 0.59, "part of the peak that products reach"),
    ):  # fmt: skip
        parser.add_argument(f"--{name}", type=float, default=number, help=f"{words} ({number:g})")
    parser.add_argument("--show", type=int, default=8, help="how many layouts")
    parser.add_argument("--svg", type=Path, metavar="FILE", help="write a picture of them")
    parser.add_argument("script", nargs="?", help="a program that trains; the rest is its own")
    parser.add_argument("args", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    parser.set_defaults(run=run, parser=parser, module=None)


def run(args: argparse.Namespace) -> int:
    """0 when a layout was found, 1 when none fits or nothing was measured, 2 for no program."""
    model: Model
    if args.script is None:
        layers, width, words, length = (getattr(args, name) or _MODEL[name] for name in _MODEL)
        model = Transformer(layers, width, vocabulary=words, length=length)
        batch = args.batch or _BATCH
        what = f"sequences of {model.length}"
    else:
        if any(getattr(args, name) for name in _MODEL):
            args.parser.error("a script says itself what its model is")
        found = _measured(args)
        if isinstance(found, int):
            return found
        model, batch, what = found, args.batch or found.batch, "samples"
    cluster = Cluster(
        args.devices, args.per_node, args.memory * 1e9, args.tflops * 1e12, args.intra * 1e9,
        args.inter * 1e9, args.efficiency,
    )  # fmt: skip
    console = Console()
    title = (
        f"{_count(model.parameters)} parameters, {batch} {what} "
        f"in a step, {args.devices} devices of {args.memory:g} GB"
    )
    console.print(title)
    if isinstance(model, Program):
        console.print(_needs(model))
    return _report(model, cluster, batch, args, console, title)


def _report(
    model: Model, cluster: Cluster, batch: int, args: argparse.Namespace, console: Console,
    title: str,
) -> int:  # fmt: skip
    costs = plans(model, cluster, batch)
    if not costs:
        console.print(
            "no layout fits into memory, or none divides the batch: more devices, a smaller model, "
            "or a --batch of another size"
        )
        return 1
    console.print(_table(costs[: args.show]))
    console.print(_bar(costs[0]))
    for line in at_ten_times(model, cluster, costs[0], batch):
        console.print(f"at {line}")
    if args.svg is not None:
        write_plans(costs[: args.show], cluster, title, args.svg)
        console.print(f"Picture: {args.svg}")
    return 0


def _measured(args: argparse.Namespace) -> Program | int:
    """What a script's first step needs, or the exit status."""
    ending = Ending()
    try:
        main, code, _ = load(args)
        # What the program prints is not the plan.
        with contextlib.redirect_stdout(sys.stderr):
            return measure(lambda: exec(code, main.__dict__))
    except NotFound as error:
        print(f"clew plan: {error}", file=sys.stderr)
        return 2
    except NoStep as error:
        print(f"clew plan: {error}", file=sys.stderr)
        return 1
    except BaseException as error:  # any end is reported, also Ctrl-C
        return ending.report(error)


def _count(number: float) -> str:
    for size, word in ((1e9, "billion"), (1e6, "million")):
        if number >= size:
            return f"{number / size:.1f} {word}"
    return f"{number:.0f}"


def _needs(model: Program) -> str:
    """What was measured of a program, for each sample."""
    own, grad, state = model.per_parameter
    kept = (model.kept_by_layers + model.kept_besides) / 1e6
    flops = (model.forward_flops + model.backward_flops) / 1e9
    return (
        f"measured on the meta device: {flops:.3g} GFLOP and {kept:.3g} MB of activations a "
        f"sample, {model.layers} blocks, {own:g} + {grad:g} + {state:.3g} bytes a parameter "
        "(itself, gradient, optimizer)"
    )


def _table(costs: list[Cost]) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in ("layout", "GB", "s/step", "TFLOP/s", "communication", "bubble"):
        table.add_column(name, justify="left" if name == "layout" else "right")
    for each in costs:
        table.add_row(
            each.layout.words(), f"{each.memory / 1e9:.3g}", f"{each.step:.3g}",
            f"{each.achieved / 1e12:.3g}", f"{each.communication / each.step:.0%}",
            f"{each.bubble / each.step:.0%}",
        )  # fmt: skip
    return table


def _bar(best: Cost) -> str:
    """A step of the best layout as a bar: what its time goes into."""
    parts = best.parts()
    total = sum(parts.values())
    signs = "█▓▒░"
    bar = "".join(
        sign * round(60 * seconds / total)
        for sign, seconds in zip(signs, parts.values(), strict=True)
    )
    legend = "  ".join(
        f"{sign} {name} {seconds:.3g} s"
        for sign, (name, seconds) in zip(signs, parts.items(), strict=True)
    )
    return f"{bar}\n{legend}"
