"""Each class of finding, on small programs: found with the right line, and silence when right.

`python -m tests.doctor_score` runs all programs; here are two of each class, a sample of the
correct ones, and one in three of those that differ from each other by the flow of values alone
(`flow_*`), in this process.
"""

from __future__ import annotations

import contextlib
import io
import runpy
import sys
import warnings
from collections import defaultdict
from pathlib import Path

import pytest

import clew
from clew import aliasing
from clew.doctor import Report, Session
from clew.doctor.rules import RULES
from tests.doctor_score import Expected, Outcome, describe, programs

PER_CLASS = 2
EVERY = 13
FLOW = 3


def chosen_faulty() -> list[tuple[Path, Expected]]:
    by_class: dict[str, list[tuple[Path, Expected]]] = defaultdict(list)
    for path, expected in programs("faulty", ""):
        by_class[expected.classes[0]].append((path, expected))
    return [each for group in by_class.values() for each in group[:PER_CLASS]]


def with_flow(chosen: list[tuple[Path, Expected]], folder: str) -> list[tuple[Path, Expected]]:
    paths = {path for path, _ in chosen}
    more = list(programs(folder, "flow_"))[::FLOW]
    return chosen + [job for job in more if job[0] not in paths]


# Kinds that come late in their class, and correct programs that come close to one.
KINDS = frozenset(
    {
        "actor_critic_with_entropy_in_one_loss", "batch_mean_inside_model_that_gives_loss",
        "clip_before_hand_made_scale_is_divided", "dropout_always_on_for_samples",
        "func_training_then_first_rows", "function_without_slope_and_clamped_weights",
        "generated_weights_copied", "hook_divides_by_norm_of_nothing",
        "kl_of_weights_beside_mean", "log_det_of_whole_batch",
        "memory_keeps_the_environments_array", "precisions_of_tasks_left_out",
        "sample_for_rsample_with_learned_prior", "scores_gathered_as_log_probabilities",
        "slow_encoder_kept_and_not_asked", "softmax_over_nodes_of_all_graphs",
        "teacher_of_half_the_rows_then_student", "teacher_of_many_rows_then_student",
    }
)  # fmt: skip


def with_kinds(chosen: list[tuple[Path, Expected]], folder: str) -> list[tuple[Path, Expected]]:
    paths = {path for path, _ in chosen}
    more = [job for job in programs(folder, "") if job[0].stem in KINDS]
    return chosen + [job for job in more if job[0] not in paths]


FAULTY = with_kinds(with_flow(chosen_faulty(), "faulty"), "faulty")
CORRECT = with_kinds(with_flow(list(programs("correct", ""))[::EVERY], "correct"), "correct")


def examine(path: Path) -> Report:
    """Run a program under the doctor, here, and leave no trace of it."""
    session = Session()
    before, arguments = sys.modules["__main__"], sys.argv
    with (
        aliasing.as_torch(),
        contextlib.redirect_stdout(io.StringIO()),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        session.start()
        sys.argv = [str(path)]
        try:
            runpy.run_path(str(path), run_name="__main__")
        except (Exception, SystemExit) as error:
            session.ended_by(error)
        finally:
            session.stop()
            sys.modules["__main__"], sys.argv = before, arguments
            clew.set_grad_enabled(True)
            clew.set_default_dtype(clew.float32)
    report = session.report(path.name)
    assert not session.failures, session.failures[0]
    return report


def outcome(path: Path, expected: Expected) -> Outcome:
    return Outcome(path, expected, examine(path).as_json("test"))


@pytest.mark.parametrize("job", FAULTY, ids=lambda job: job[0].stem)
def test_a_bug_is_found_at_its_line(job: tuple[Path, Expected]) -> None:
    result = outcome(*job)
    assert result.found and result.located, describe(result)


@pytest.mark.parametrize("job", CORRECT, ids=lambda job: job[0].stem)
def test_a_correct_program_is_left_alone(job: tuple[Path, Expected]) -> None:
    result = outcome(*job)
    assert not result.problems, describe(result)


def test_every_finding_says_what_to_do() -> None:
    for path, _ in FAULTY[::7]:
        for finding in examine(path).problems:
            assert finding.message and finding.line is not None, finding
            assert finding.fix, finding
            assert 0 < finding.confidence <= 1


def test_both_places_of_an_overwritten_tensor_are_named() -> None:
    jobs = [job for job in programs("faulty", "") if job[1].classes[0] == "inplace-saved-tensor"]
    report = examine(jobs[0][0])
    finding = next(f for f in report.problems if f.family == "inplace-saved-tensor")
    assert any("saved by" in role for _, role in finding.related)


def test_one_line_that_stores_two_aliases_is_one_finding() -> None:
    path = next(path for path, _ in programs("faulty", "replay_of_views_in_tuples"))
    found = [(f.rule, f.line) for f in examine(path).problems]
    assert len(found) == len(set(found)) == 1, found


def test_the_branch_not_taken_is_named() -> None:
    path = next(path for path, _ in programs("faulty", "where_with_unsafe_branch"))
    finding = next(f for f in examine(path).problems if f.family == "nan-origin")
    assert "torch.where at where_with_unsafe_branch.py:13" in finding.message
    assert finding.line is not None and finding.line.line == 12


# The classes of findings that the collection of programs is sorted by.
CLASSES = [
    "missing-zero-grad",
    "zero-grad-before-step",
    "step-before-backward",
    "missing-step",
    "accumulation-not-averaged",
    "clip-misplaced",
    "detached-graph",
    "missing-requires-grad",
    "param-not-in-optimizer",
    "param-unused",
    "target-not-detached",
    "inplace-saved-tensor",
    "graph-leak",
    "retain-graph-misuse",
    "backward-twice",
    "non-scalar-backward",
    "nan-origin",
    "vanishing-gradient",
    "exploding-gradient",
    "dead-relu",
    "fp16-underflow",
    "bad-learning-rate",
    "bad-init",
    "scheduler-misuse",
    "loss-activation-mismatch",
    "wrong-reduction",
    "loss-broadcast",
    "train-eval-mode",
    "data-leak",
    "aliased-buffer",
    "batch-mixing",
    "shuffled-labels",
    "repeated-data",
    "checkpoint-mismatch",
    "collapsed-representation",
    "optimizer-remade",
]


def test_every_class_has_a_rule_a_section_and_a_program() -> None:
    rules = {name for rule in RULES for name in (rule.id, *rule.gives)} - {"exception"}
    page = (Path(__file__).parents[2] / "docs/doctor.md").read_text(encoding="utf-8")
    shown = {name for _, expected in programs("faulty", "") for name in expected.classes}
    for name in CLASSES:
        assert name in rules, name
        assert f"\n### {name}\n" in page and f"](#{name})" in page, name
        assert name in shown, name
    assert rules <= set(CLASSES), rules - set(CLASSES)
