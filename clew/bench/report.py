"""The benchmark's numbers as a table for people and as JSON for programs."""

import math
import statistics
from collections.abc import Iterator, Sequence
from typing import Any

from rich.table import Table

from clew.bench.runner import ENGINES, Result
from clew.bench.workloads import BACKWARD, FORWARD, STEP

_PASS = {FORWARD: "fwd", BACKWARD: "fwd+bwd", STEP: "train step"}


def median_us(result: Result, engine: str) -> float:
    return 1e6 * statistics.median(result.seconds[engine])


def ratio(result: Result) -> float:
    """The median over rounds of clew's time over torch's: below 1, clew is faster.

    Round by round, because the two times of a round met the same noise; the medians of the two
    engines may come from different rounds, and their ratio may lie outside all of these.
    """
    return statistics.median(_round_ratios(result))


def _round_ratios(result: Result) -> list[float]:
    return [a / b for a, b in zip(result.seconds["clew"], result.seconds["torch"])]


def ratio_spread(result: Result) -> tuple[float, float]:
    """The middle half of the ratios of single rounds (with few rounds: all of them)."""
    ratios = sorted(_round_ratios(result))
    if len(ratios) < 4:
        return ratios[0], ratios[-1]
    first, _, third = statistics.quantiles(ratios, n=4, method="inclusive")
    return first, third


def results_table(results: Sequence[Result]) -> Table:
    table = Table(
        title="Median µs a call",
        title_justify="left",
        caption="clew/torch: median of the ratios of single rounds; spread: their middle half",
        caption_justify="left",
    )
    table.add_column("workload", no_wrap=True)
    table.add_column("pass", no_wrap=True)
    for heading in (*ENGINES, "clew/torch", "spread"):
        table.add_column(heading, justify="right", no_wrap=True)
    for result in results:
        table.add_row(result.workload.name, _PASS[result.workload.mode], *_cells(result))
    return table


def _cells(result: Result) -> Iterator[str]:
    for engine in ENGINES:
        yield "[red]fails[/red]" if engine in result.errors else _microseconds(result, engine)
    if result.errors:
        yield from ("", "")
        return
    value, (low, high) = ratio(result), ratio_spread(result)
    color = "green" if value <= 1.0 else "yellow"
    yield "[red]differ[/red]" if result.answers_differ else f"[{color}]{value:.2f}[/{color}]"
    yield f"{low:.2f}..{high:.2f}"


def _microseconds(result: Result, engine: str) -> str:
    value = median_us(result, engine)
    return f"{value:.2f}" if value < 100 else f"{value:.0f}"


def summary_lines(results: Sequence[Result]) -> Iterator[str]:
    """The geometric mean of each group's ratios, then everything that went wrong, by name."""
    for group, mode in dict.fromkeys(map(_kind, results)):
        ratios = [ratio(r) for r in results if r.ok and _kind(r) == (group, mode)]
        if len(ratios) > 1:
            mean = math.exp(statistics.fmean(map(math.log, ratios)))
            faster = sum(value <= 1.0 for value in ratios)
            yield (
                f"{group}, {mode}: geometric mean of clew/torch {mean:.2f}; "
                f"clew no slower in {faster} of {len(ratios)}"
            )
    for result in results:
        for engine, error in result.errors.items():
            yield f"{engine} cannot run {result.workload.id}: {error}"
        if result.answers_differ:
            yield f"the engines give different numbers in {result.workload.id}"


def _kind(result: Result) -> tuple[str, str]:
    return result.workload.group, result.workload.mode


def as_json(results: Sequence[Result], settings: dict[str, Any]) -> dict[str, Any]:
    return {"settings": settings, "results": [_result_json(result) for result in results]}


def _result_json(result: Result) -> dict[str, Any]:
    return {
        "id": result.workload.id,
        "seconds": result.seconds,
        "median_us": {engine: median_us(result, engine) for engine in result.seconds},
        "ratio": None if result.errors else ratio(result),
        "ratio_spread": None if result.errors else ratio_spread(result),
        "errors": result.errors,
        "answers_differ": result.answers_differ,
    }
