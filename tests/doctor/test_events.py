"""The doctor's eyes: they see what happens, cost nothing when shut, and never break a program."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

import clew
from clew import nn
from clew.doctor import Session, Unhealthy, watch
from clew.nn import functional as F


def train(steps: int, zero: bool = True) -> list[float]:
    clew.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    optimizer = clew.optim.SGD(model.parameters(), lr=0.01)
    x = clew.randn(16, 4)
    losses = []
    for _ in range(steps):
        if zero:
            optimizer.zero_grad()
        loss = F.mse_loss(model(x), x[:, :1])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def test_numbers_are_the_same_with_and_without_the_doctor() -> None:
    plain = train(12)
    with watch() as doctor:
        watched = train(12)
    assert plain == watched
    assert not doctor.session.failures


def test_sessions_may_be_nested() -> None:
    with watch() as outer:
        with watch() as inner:
            train(6, zero=False)
        train(6, zero=False)
    assert [f.rule for f in inner.report().problems] == ["missing-zero-grad"]
    assert "missing-zero-grad" in [f.rule for f in outer.report().problems]


def test_a_mistake_in_a_handler_is_reported_and_does_not_stop_the_program(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*args: Any) -> None:
        raise ZeroDivisionError("in the doctor")

    session = Session()
    monkeypatch.setattr(session.numbers, "check", broken)
    monkeypatch.setattr(session.recorder, "step_ends", broken)
    session.start()
    try:
        assert len(train(3)) == 3
    finally:
        session.stop()
    failed = [f for f in session.report().findings if f.rule == "doctor-failed"]
    assert failed
    assert all(f.severity == "info" for f in failed)
    assert "in the doctor" in failed[0].message


def test_no_graph_and_no_tensor_is_kept_alive() -> None:
    with watch():
        model = nn.Linear(3, 1)
        loss = model(clew.randn(5, 3)).sum()
        node, tensor = weakref.ref(loss.grad_fn), weakref.ref(model.weight)
        loss.backward()
        gc.disable()
        try:
            del loss, model
            assert node() is None
            gc.collect()
            assert tensor() is None
        finally:
            gc.enable()


def test_memory_is_bounded_in_a_long_run() -> None:
    sizes = []
    with watch() as doctor:
        recorder = doctor.session.recorder
        model = nn.Linear(2, 1)
        optimizer = clew.optim.SGD(model.parameters(), lr=1e-3)
        for step in range(3000):
            x = clew.randn(2, 2).requires_grad_()
            optimizer.zero_grad()
            model(x).pow(2).sum().backward()
            optimizer.step()
            if step in (1500, 2999):
                counts = (len(recorder.params), len(recorder.births), len(recorder.overridden))
                sizes.append(sum(counts) + len(recorder.loss))
    assert sizes[1] < 1.5 * sizes[0] + 700


def test_a_leaf_is_known_by_its_name_and_line() -> None:
    with watch() as doctor:
        train(3)
    names = {known.name for known in doctor.session.recorder.params.values()}
    assert names == {"0.weight", "0.bias", "2.weight", "2.bias"}
    made = {known.made_at.text for known in doctor.session.recorder.params.values()}
    assert all("nn.Sequential" in text for text in made)


def test_assert_healthy() -> None:
    with watch() as good:
        train(10)
    good.assert_healthy()
    with watch() as bad:
        train(10, zero=False)
    with pytest.raises(Unhealthy, match=r"missing-zero-grad at test_events\.py:\d+"):
        bad.assert_healthy()
    bad.assert_healthy(severity="error") if not bad.report().problems else None


def test_watching_objects_that_were_made_before() -> None:
    model = nn.Linear(4, 1)
    optimizer = clew.optim.SGD(model.parameters(), lr=0.01)
    with watch(model, optimizer) as doctor:
        for _ in range(6):
            loss = model(clew.randn(8, 4)).pow(2).mean()
            loss.backward()
            optimizer.step()
    finding = doctor.report().problems[0]
    assert finding.rule == "missing-zero-grad"
    assert finding.line is not None and "loss.backward()" in finding.line.text
    with pytest.raises(TypeError, match="takes models, optimizers and tensors, not int"):
        watch(3)


def test_an_exception_inside_the_block_is_diagnosed() -> None:
    with pytest.raises(RuntimeError, match="only for scalar"), watch() as doctor:
        clew.randn(3, requires_grad=True).mul(2).backward()
    assert [f.rule for f in doctor.report().problems] == ["non-scalar-backward"]


def test_reports_show_themselves_in_notebooks() -> None:
    with watch() as doctor:
        train(5, zero=False)
    assert "<table>" in doctor._repr_html_()
    assert "missing-zero-grad" in str(doctor.report())


def test_vmap_and_forward_mode_run_under_the_doctor() -> None:
    x = clew.randn(3, 2, dtype=clew.float64)
    with watch() as doctor:
        batched = clew.func.vmap(clew.func.grad(lambda row: row.pow(3).sum()))(x)
        jacobian = clew.autograd.functional.jacobian(
            lambda t: t.sin(), x[0], strategy="forward-mode", vectorize=True
        )
    assert clew.allclose(batched, 3 * x.pow(2))
    assert clew.allclose(jacobian, clew.diag(x[0].cos()))
    assert not doctor.session.failures


def test_compiled_functions_run_eagerly_and_the_report_says_so() -> None:
    model = clew.nn.Linear(3, 1)
    optimizer = clew.optim.SGD(model.parameters(), lr=0.1)
    x = clew.randn(8, 3)

    def train_step() -> clew.Tensor:
        optimizer.zero_grad()
        loss = (model(x) - x.sum(1, keepdim=True)).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    compiled = clew.compile(train_step)
    with watch() as doctor:
        for _ in range(3):
            compiled()
    report = doctor.report()
    assert report.iterations == 3 and not compiled.events
    assert report.eagerly.endswith("train_step")
    assert "ran eagerly" in report.eagerly
    with watch() as doctor:
        train_step()
    assert doctor.report().eagerly == ""
