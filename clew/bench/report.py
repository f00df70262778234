"""The benchmark's numbers as a table for people and as JSON for programs."""

import math
import statistics
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rich.table import Table

from clew.bench.in_jax import runs_in_jax
from clew.bench.runner import COMPILED_ENGINES, ENGINES, LISTED, OPTIONAL, Result
from clew.bench.workloads import (
    BACKWARD,
    CALL,
    CHECKPOINTED_STEP,
    CLIFFS,
    COMPILED_GROUP,
    DEFAULT_MODE,
    FIRST,
    FORWARD,
    INFERENCE,
    NO_GRAD,
    PEAK,
    PLAIN_STEP,
    STEP,
    Workload,
)

_PASS = {
    FORWARD: "fwd",
    BACKWARD: "fwd+bwd",
    STEP: "train step",
    PLAIN_STEP: "train step",
    CHECKPOINTED_STEP: "checkpointed",
    DEFAULT_MODE: "default",
    NO_GRAD: "no_grad",
    INFERENCE: "inference",
    CALL: "call",
}

# Within a group, which modes' times are compared with each other: the first by the second.
_COMPARED = {
    "modes": ((NO_GRAD, DEFAULT_MODE), (INFERENCE, DEFAULT_MODE), (INFERENCE, NO_GRAD)),
    "checkpoint": ((CHECKPOINTED_STEP, PLAIN_STEP),),
}

# In a group of so many rows the summary names those above this ratio.
_LONG, _SLOW = 100, {CLIFFS: LISTED}
_SLOW_ELSEWHERE = 1.2


def median_us(result: Result, engine: str) -> float:
    return 1e6 * statistics.median(result.seconds[engine])


def ratio(result: Result, peer: str = "torch") -> float:
    """The median over rounds of clew's time over a peer's: below 1, clew is faster.

    Round by round, because the two times of a round met the same noise; the medians of the two
    engines may come from different rounds, and their ratio may lie outside all of these. Cliffs
    have few rounds of other lengths: there it is the ratio of the shortest ones.
    """
    if result.workload.group == CLIFFS:
        return min(result.seconds["clew"]) / min(result.seconds[peer])
    return statistics.median(_round_ratios(result, peer))


def _round_ratios(result: Result, peer: str = "torch") -> list[float]:
    return [a / b for a, b in zip(result.seconds[own_engine(result)], result.seconds[peer])]


def own_engine(result: Result) -> str:
    """The one of clew's engines that is compared with its peers."""
    return COMPILED_ENGINES[0] if result.workload.group == COMPILED_GROUP else ENGINES[0]


def ratio_spread(result: Result, peer: str = "torch") -> tuple[float, float]:
    """The middle half of the ratios of single rounds (with few rounds: all of them)."""
    return _middle_half(_round_ratios(result, peer))


def _middle_half(ratios: list[float]) -> tuple[float, float]:
    ratios = sorted(ratios)
    if len(ratios) < 4:
        return ratios[0], ratios[-1]
    first, _, third = statistics.quantiles(ratios, n=4, method="inclusive")
    return first, third


def memory_ratio(result: Result) -> float:
    """clew's memory by PyTorch's: below 1, clew needs less."""
    return result.step_mib["clew"] / result.step_mib["torch"]


def memory_table(results: Sequence[Result]) -> Table:
    """The workloads whose peak of memory is measured, and not their time."""
    table = Table(
        title="Peak memory of train steps, MiB over what loaded code takes", title_justify="left"
    )
    table.add_column("workload", no_wrap=True)
    for heading in (*ENGINES, "clew/torch"):
        table.add_column(heading, justify="right", no_wrap=True)
    for result in results:
        value = memory_ratio(result)
        color = "green" if value <= 1.0 else "yellow"
        shown = "[red]differ[/red]" if result.answers_differ else f"[{color}]{value:.2f}[/{color}]"
        table.add_row(
            result.workload.name, *(f"{result.step_mib[engine]:.1f}" for engine in ENGINES), shown
        )
    return table


def results_table(results: Sequence[Result]) -> Table:
    table = Table(
        title="Median µs a call",
        title_justify="left",
        caption="clew/torch: median of the ratios of single rounds; spread: their middle half",
        caption_justify="left",
    )
    table.add_column("workload", no_wrap=True)
    table.add_column("pass", no_wrap=True)
    headings = [*ENGINES, "clew/torch", "spread"]
    has_optional = any(OPTIONAL in result.seconds for result in results)
    if has_optional:
        headings.append(OPTIONAL)
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    for result in filter(is_shown, results):
        cells = list(_cells(result))
        if has_optional:
            cells.append(microseconds(result, OPTIONAL) if OPTIONAL in result.seconds else "")
        table.add_row(result.workload.name, _PASS[result.workload.mode], *cells)
    return table


def is_shown(result: Result) -> bool:
    """All but the thousands of cliffs that are none."""
    return result.workload.group != CLIFFS or bool(result.errors) or ratio(result) > LISTED


def _cells(result: Result) -> Iterator[str]:
    for engine in ENGINES:
        if engine in result.errors:
            yield "[red]fails[/red]"
        else:
            yield microseconds(result, engine) if engine in result.seconds else ""
    if result.errors:
        yield from ("", "")
        return
    value, (low, high) = ratio(result), ratio_spread(result)
    color = "green" if value <= 1.0 else "yellow"
    yield "[red]differ[/red]" if result.answers_differ else f"[{color}]{value:.2f}[/{color}]"
    yield f"{low:.2f}..{high:.2f}"


def microseconds(result: Result, engine: str) -> str:
    value = median_us(result, engine)
    return f"{value:.2f}" if value < 100 else f"{value:.0f}"


def summary_lines(results: Sequence[Result]) -> Iterator[str]:
    """The geometric mean of each group's ratios, then everything that went wrong, by name."""
    timed = [result for result in results if result.workload.is_timed]
    compared = [result for result in results if result.workload.mode != FIRST]
    for group, mode in dict.fromkeys(map(_kind, compared)):
        value, words = (memory_ratio, "needs no more") if mode == PEAK else (ratio, "no slower")
        own = [r for r in compared if r.ok and _kind(r) == (group, mode)]
        if len(own) > 1:
            name = own_engine(own[0])
            yield f"{group}, {mode}: {mean_line(f'{name}/torch', map(value, own), name, words)}"
    yield from _with_optional(results)
    yield from _slowest(timed)
    yield from _comparisons(timed)
    for result in results:
        for engine, error in result.errors.items():
            yield f"{engine} cannot run {result.workload.id}: {error}"
        if result.answers_differ:
            yield f"the engines give different numbers in {result.workload.id}"


def mean_line(what: str, ratios: Iterable[float], engine: str, words: str) -> str:
    """The geometric mean of ratios, and how many of them are at 1 or below."""
    ratios = list(ratios)
    mean = math.exp(statistics.fmean(map(math.log, ratios)))
    met = sum(each <= 1.0 for each in ratios)
    return f"geometric mean of {what} {mean:.2f}; {engine} {words} in {met} of {len(ratios)}"


def _with_optional(results: Sequence[Result]) -> Iterator[str]:
    """How clew compares with the peer that need not be there, or that it is not there."""
    for result in results:
        # The table of compiled steps has it.
        is_told = result.workload.group == COMPILED_GROUP
        if OPTIONAL in result.seconds and result.ok and not is_told:
            low, high = ratio_spread(result, OPTIONAL)
            value = f"{ratio(result, OPTIONAL):.2f} ({low:.2f}..{high:.2f})"
            yield f"{result.workload.name}: clew/{OPTIONAL} {value}"
    names = [
        result.workload.name
        for result in results
        if runs_in_jax(result.workload)
        and OPTIONAL not in {**result.seconds, **result.compile_seconds, **result.errors}
    ]
    if names:
        listed = " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
        yield (
            f"{OPTIONAL} is not installed: {listed} would be compared with it, too "
            f"(pip install {OPTIONAL})"
        )


def _slowest(results: Sequence[Result]) -> Iterator[str]:
    """Of a group too long to be read, what lies above PyTorch by more than noise; worst first."""
    for group in dict.fromkeys(result.workload.group for result in results):
        own = [r for r in results if r.ok and r.workload.group == group]
        ratios = {_short_name(r.workload): ratio(r) for r in own}
        limit = _SLOW.get(group, _SLOW_ELSEWHERE)
        worst = sorted((name for name in ratios if ratios[name] > limit), key=lambda n: -ratios[n])
        if len(ratios) >= _LONG and worst:
            named = ", ".join(f"{name} {ratios[name]:.2f}" for name in worst)
            yield f"{group}: above {limit}: {named}"


def _short_name(workload: Workload) -> str:
    """The name, with the mode where a group has several."""
    return f"{workload.name}/{workload.mode}" if workload.group == CLIFFS else workload.name


def _comparisons(results: Sequence[Result]) -> Iterator[str]:
    """What the modes of one network cost by each other, for each engine by itself."""
    by_id = {result.workload.id: result for result in results if result.ok}
    for result in by_id.values():
        for mode, other in _COMPARED.get(result.workload.group, ()):
            stem = f"{result.workload.group}/{result.workload.name}"
            base = by_id.get(f"{stem}/{other}")
            if result.workload.mode == mode and base is not None:
                for engine in ENGINES:
                    yield f"{stem}, {engine}: {_comparison(result, base, engine)}"


def _comparison(result: Result, base: Result, engine: str) -> str:
    ratios = [a / b for a, b in zip(result.seconds[engine], base.seconds[engine])]
    low, high = _middle_half(ratios)
    text = (
        f"{result.workload.mode} takes {statistics.median(ratios):.3f} ({low:.3f}..{high:.3f}) "
        f"of the time of {base.workload.mode}"
    )
    if result.step_mib:
        needed, kept = result.step_mib[engine], base.step_mib[engine]
        text += f" and {needed:.1f} of {kept:.1f} MiB ({1 - needed / kept:.0%} less)"
    return text


def _kind(result: Result) -> tuple[str, str]:
    return result.workload.group, result.workload.mode


def as_json(results: Sequence[Result], settings: dict[str, Any]) -> dict[str, Any]:
    return {"settings": settings, "results": [_result_json(result) for result in results]}


def _result_json(result: Result) -> dict[str, Any]:
    is_compared = {own_engine(result), "torch"} <= set(result.seconds) and not result.errors
    return {
        "id": result.workload.id,
        "seconds": result.seconds,
        "median_us": {engine: median_us(result, engine) for engine in result.seconds},
        "ratio": ratio(result) if is_compared else None,
        "ratio_spread": ratio_spread(result) if is_compared else None,
        "step_mib": result.step_mib,
        "compile_seconds": result.compile_seconds,
        "errors": result.errors,
        "answers_differ": result.answers_differ,
    }
