"""`clew quiz`: predict what a few lines of autograd do, then see them run."""

from __future__ import annotations

import argparse

from rich.console import Console
from rich.syntax import Syntax

from clew.gallery.quiz import QUESTIONS, Outcome, Question, run


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser("quiz", help="predict gradients, and see the code run")
    parser.add_argument(
        "number", nargs="?", type=int, choices=range(1, len(QUESTIONS) + 1),
        metavar="NUMBER", help=f"one question, 1 to {len(QUESTIONS)} (default: all)",
    )  # fmt: skip
    parser.add_argument("--show", action="store_true", help="show the answers, do not ask")
    parser.set_defaults(run=start)


def start(args: argparse.Namespace) -> int:
    console = Console(highlight=False)
    numbers = [args.number] if args.number else range(1, len(QUESTIONS) + 1)
    asked = right = 0
    for number in numbers:
        question = QUESTIONS[number - 1]
        console.rule(f"{number} of {len(QUESTIONS)}")
        present(question, console)
        guess = None if args.show else prediction(question, console)
        if guess is None and not args.show:
            break
        outcome = run(question)
        if guess is not None:
            asked, right = asked + 1, right + (guess == outcome.answer)
            console.print("[green]right[/green]" if guess == outcome.answer else "[red]no[/red]")
        explain(question, outcome, console)
    if asked:
        console.print(f"\n{right} of {asked} right")
    return 0


def present(question: Question, console: Console) -> None:
    console.print(Syntax(question.code, "python", word_wrap=True))
    console.print(f"[bold]{question.ask}[/bold]", soft_wrap=True)
    for letter, choice in zip("abcd", question.choices):
        console.print(f"  {letter}  {choice}", markup=False)


def prediction(question: Question, console: Console) -> str | None:
    """What the user expects; None at the end of the input."""
    letters = "abcd"[: len(question.choices)]
    while True:
        try:
            given = console.input(f"{letters[0]} to {letters[-1]}: ").strip().lower()
        except EOFError:
            return None
        if len(given) == 1 and given in letters:
            return question.choices[letters.index(given)]
        if given in question.choices:
            return given


def explain(question: Question, outcome: Outcome, console: Console) -> None:
    console.print(f"The code says: {outcome.answer}", markup=False)
    if outcome.said:
        console.print(outcome.said, markup=False, style="dim", soft_wrap=True)
    console.print(question.why, soft_wrap=True)
    if outcome.graph:
        console.print(outcome.graph, markup=False, style="dim", soft_wrap=True)
