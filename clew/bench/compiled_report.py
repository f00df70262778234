"""Tables of compiled steps: all engines, and `clew.compile` by the fastest of its peers."""

from collections.abc import Iterator, Sequence

from rich.console import Group
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


def compiled_table(results: Sequence[Result]) -> Group:
    """Two tables, which are narrow enough for a terminal: times, and ratios of them."""
    times = Table(title="Whole steps, median µs", title_justify="left")
    engines = [e for e in COMPILED_ENGINES if any(e in (*r.seconds, *r.errors) for r in results)]
    _add_columns(times, *engines)
    ratios = Table(
        title=f"{_OWN} by its peers",
        title_justify="left",
        caption="medians of the ratios of single rounds; spread: their middle half",
        caption_justify="left",
    )
    _add_columns(ratios, "fastest peer", "by it", "spread", "by torch", "spread", "by clew")
    for result in results:
        times.add_row(result.workload.name, *(_time(result, engine) for engine in engines))
        fastest = fastest_peer(result)
        cells = [*_ratio(result, fastest), *_ratio(result, "torch"), _ratio(result, "clew")[0]]
        ratios.add_row(result.workload.name, fastest or "", *cells)
    return Group(times, ratios)


def _add_columns(table: Table, *headings: str) -> None:
    table.add_column("step", no_wrap=True)
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)


def _time(result: Result, engine: str) -> str:
    if engine in result.errors:
        return "[red]fails[/red]"
    return microseconds(result, engine) if engine in result.seconds else ""


def _ratio(result: Result, peer: str | None) -> tuple[str, str]:
    """The ratio by a peer and its spread, where both ran."""
    if result.answers_differ:
        return "[red]differ[/red]", ""
    if peer is None or not {_OWN, peer} <= set(result.seconds):
        return "", ""
    value, (low, high) = ratio(result, peer), ratio_spread(result, peer)
    color = "green" if value <= 1.0 else "yellow"
    return f"[{color}]{value:.2f}[/{color}]", f"{low:.2f}..{high:.2f}"


def compile_time_table(results: Sequence[Result]) -> Table:
    table = Table(
        title="Seconds that first calls take beyond usual ones",
        title_justify="left",
        caption="first with no compiled code on the disk; cached: in a second process",
        caption_justify="left",
    )
    engines = [e for e in COMPILERS if any(e in {**r.compile_seconds, **r.errors} for r in results)]
    _add_columns(table, *(part for engine in engines for part in (engine, "cached")))
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
