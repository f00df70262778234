"""A line search for the strong Wolfe conditions (Nocedal and Wright, algorithms 3.5 and 3.6)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from clew.core.tensor import Tensor


class Point(NamedTuple):
    """A place on the line: how far along, and what is known of the loss there."""

    t: float
    loss: float
    grad: Tensor
    slope: float


Evaluate = Callable[[float], Point]


def strong_wolfe(
    evaluate: Evaluate, start: Point, t: float, longest: float,
    c1: float = 1e-4, c2: float = 0.9, tolerance_change: float = 1e-9, max_steps: int = 25,
) -> tuple[Point, int]:  # fmt: skip
    """A point that is low and flat enough, searched from `start`; and how often it was evaluated.

    `longest` is the largest element of the direction, which turns distances along the line into
    changes of parameters.
    """

    def too_high(point: Point) -> bool:
        return point.loss > start.loss + c1 * point.t * start.slope

    def flat(point: Point) -> bool:
        return abs(point.slope) <= -c2 * start.slope

    # First go on until a minimum lies behind.
    previous, point, steps = start, evaluate(t), 0
    while steps < max_steps:
        if too_high(point) or (steps > 1 and point.loss >= previous.loss):
            break
        if flat(point):
            return point, steps + 1
        if point.slope >= 0:
            break
        bounds = (point.t + 0.01 * (point.t - previous.t), point.t * 10)
        previous, point = point, evaluate(cubic_minimum(previous, point, bounds))
        steps += 1
    if steps == max_steps:
        previous = start
    bracket = [previous, point]
    low, high = _by_loss(bracket)

    # Then narrow the interval between the two.
    slow = False
    while steps < max_steps:
        if abs(bracket[1].t - bracket[0].t) * longest < tolerance_change:
            break
        t, slow = _inside(bracket, slow)
        point = evaluate(t)
        steps += 1
        if too_high(point) or point.loss >= bracket[low].loss:
            bracket[high] = point
            low, high = _by_loss(bracket)
            continue
        if flat(point):
            return point, steps + 1
        if point.slope * (bracket[high].t - bracket[low].t) >= 0:
            bracket[high] = bracket[low]
        bracket[low] = point
    return bracket[low], steps + 1


def _by_loss(bracket: list[Point]) -> tuple[int, int]:
    """Which of two points is the lower one, and which the other."""
    return (0, 1) if bracket[0].loss <= bracket[1].loss else (1, 0)


def _inside(bracket: list[Point], slow: bool) -> tuple[float, bool]:
    """Where to look between two points, and whether that is close to one of them again."""
    left, right = sorted(bracket, key=lambda point: point.t)
    t = cubic_minimum(left, right, (left.t, right.t))
    margin = 0.1 * (right.t - left.t)
    if min(right.t - t, t - left.t) >= margin:
        return t, False
    if not slow and left.t < t < right.t:
        return t, True
    return (right.t - margin if right.t - t < t - left.t else left.t + margin), False


def cubic_minimum(a: Point, b: Point, bounds: tuple[float, float]) -> float:
    """The minimum of the cubic through two points with their slopes, kept within bounds."""
    if a.t > b.t:
        a, b = b, a
    lowest, highest = bounds
    d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t)
    square = d1**2 - a.slope * b.slope
    if square < 0:
        return (lowest + highest) / 2
    d2 = square**0.5
    t = b.t - (b.t - a.t) * ((b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2))
    return min(max(t, lowest), highest)
