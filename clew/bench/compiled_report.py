"""Tables of compiled steps: all engines, and `clew.compile` by the fastest of its peers."""

from collections.abc import Iterator, Sequence

from rich.table import Table

from clew.bench.compiled import COMPILERS
from clew.bench.report import mean_line, median_us, microseconds, ratio, ratio_spread
from clew.bench.runner import COMPILED_ENGINES, Result
from clew.bench.workloads import COMPILED_GROUP

_OWN = COMPILED_ENGINES[0]
_PEERS = [engine for engine in COMPILED_ENGINES if not engine.startswith("clew")]


def fastest_peer(result: Result) -> str | None:
    """The engine of another library with the lowest median."""
    ran = [engine for engine in _PEERS if engine in result.seconds]
    return min(ran, key=lambda engine: median_us(result, engine), default=None)


def compiled_table(results: Sequence[Result]) -> Table:
    table = Table(
        title="Whole steps, median µs",
        title_justify="left",
        caption=f"by ...: median of the ratios of {_OWN} and a peer in single rounds; in brackets, "
        "their middle half",
        caption_justify="left",
    )
    engines = [e for e in COMPILED_ENGINES if any(e in (*r.seconds, *r.errors) for r in results)]
    table.add_column("step", no_wrap=True)
    for heading in (*engines, "by the fastest peer", "by torch"):
        table.add_column(heading, justify="right", no_wrap=True)
    for result in results:
        cells = [_time(result, engine) for engine in engines]
        table.add_row(result.workload.name, *cells, *_ratios(result))
    return table


def _time(result: Result, engine: str) -> str:
    if engine in result.errors:
        return "[red]fails[/red]"
    return microseconds(result, engine) if engine in result.seconds else ""


def _ratios(result: Result) -> Iterator[str]:
    fastest = fastest_peer(result)
    for peer in (fastest, "torch"):
        if result.answers_differ:
            yield "[red]differ[/red]"
        elif peer is None or not {_OWN, peer} <= set(result.seconds):
            yield ""
        else:
            value, (low, high) = ratio(result, peer), ratio_spread(result, peer)
            color = "green" if value <= 1.0 else "yellow"
            name = f"{peer} " if peer is fastest else ""
            yield f"{name}[{color}]{value:.2f}[/{color}] ({low:.2f}..{high:.2f})"


def compile_time_table(results: Sequence[Result]) -> Table:
    table = Table(
        title="Seconds that first calls take beyond usual ones",
        title_justify="left",
        caption="empty: no compiled code on the disk; filled: a second process, with that of the "
        "first",
        caption_justify="left",
    )
    engines = [e for e in COMPILERS if any(e in {**r.compile_seconds, **r.errors} for r in results)]
    table.add_column("step", no_wrap=True)
    for engine in engines:
        for cache in ("empty", "filled"):
            table.add_column(f"{engine}, {cache}", justify="right")
    for result in results:
        cells: list[str] = []
        for engine in engines:
            found = result.compile_seconds.get(engine)
            cells += ["[red]fails[/red]"] * 2 if found is None else [f"{s:.2f}" for s in found]
        table.add_row(result.workload.name, *cells)
    return table


def compiled_lines(results: Sequence[Result]) -> Iterator[str]:
    """The mean of the ratios by the fastest peers."""
    own = [r for r in results if r.workload.group == COMPILED_GROUP and r.ok]
    ratios = [ratio(r, peer) for r in own if (peer := fastest_peer(r)) is not None]
    if len(ratios) > 1:
        yield f"{COMPILED_GROUP}: " + mean_line(
            f"{_OWN} by the fastest peer", ratios, _OWN, "no slower"
        )
