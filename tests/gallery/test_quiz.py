"""The quiz: each answer is what the code does, in clew and in PyTorch, and one of the choices."""

from __future__ import annotations

import io

import pytest
import torch

from clew.cli.main import main
from clew.gallery import quiz

IDS = [str(number) for number in range(1, len(quiz.QUESTIONS) + 1)]


@pytest.mark.parametrize("question", quiz.QUESTIONS, ids=IDS)
def test_the_answer_is_a_choice_and_pytorchs(question: quiz.Question) -> None:
    outcome = quiz.run(question)
    assert outcome.answer in question.choices
    assert len(set(question.choices)) == len(question.choices) <= 4
    assert bool(outcome.graph) == bool(question.graph)
    names = {"torch": torch}
    try:
        exec(question.code, names)
        answer = str(names["answer"])
    except RuntimeError:
        answer = quiz.ERROR
    assert outcome.answer == answer


def test_predictions_are_judged(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("what\nb\na\n"))
    assert main(["quiz"]) == 0
    printed = capsys.readouterr().out
    assert "1 of 2 right" in printed
    assert "The code says: 12.0" in printed
    assert "3 of 14" in printed  # it was asked, and the input was at its end


def test_answers_can_be_shown(capsys: pytest.CaptureFixture) -> None:
    assert main(["quiz", "6", "--show"]) == 0
    printed = capsys.readouterr().out
    assert "overwritten by `add_` at question_6.py:3: y += 1" in printed
