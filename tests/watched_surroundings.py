"""Programs that see lifetimes, versions, warnings and errors, which watching must not change."""

from __future__ import annotations

import gc
import signal
import threading
import time
import warnings
import weakref
from typing import Any

import numpy as np

from tests.watched_programs import network, table

PROGRAMS, program = table()


@program
def lifetimes(torch: Any) -> Any:
    """Nothing is kept alive: what the program drops is gone at once."""
    gc.disable()
    try:
        gone = []
        model = network(torch)
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
        epochs = 12
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
        for _ in range(epochs):
            x = torch.randn(8, 4)
            out = model(x)
            loss = out.pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            seen = [weakref.ref(each) for each in (x, out, loss, out.grad_fn)]
            with torch.no_grad():
                model(x)
            del x, out, loss
            gone.append([each() is None for each in seen])
        names = locals()
        held = sorted(names)
        optimizer.zero_grad()
        last = weakref.ref(model)
        del model, optimizer, schedule
        names.pop("model"), names.pop("optimizer"), names.pop("schedule")
        return gone, held, last() is None
    finally:
        gc.enable()


@program
def versions(torch: Any) -> Any:
    w = torch.ones(3, requires_grad=True)
    h = w * 2
    out = h.exp()
    found = [w._version, h._version, out._version]
    h.add_(1)
    out.mul_(2)
    try:
        out.sum().backward()
    except RuntimeError as error:
        found.append(str(error))
    shared = w.detach().numpy()
    shared += 1
    return found, [w._version, h._version, out._version], w


@program
def warnings_as_they_are(torch: Any) -> Any:
    w = torch.ones(3, requires_grad=True)
    h = w * 2
    h.grad  # noqa: B018  # reading it warns
    y = h * h
    h.data.zero_()
    y.sum().backward()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            (w * 3).grad  # noqa: B018  # reading it raises
        except UserWarning as error:
            return str(error), w.grad
    return w.grad


@program
def numpy_that_raises(torch: Any) -> Any:
    """Large numbers, whose sum is infinite, while NumPy raises for its own arrays."""
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)
    found = []
    with np.errstate(all="raise"):
        for _ in range(3):
            optimizer.zero_grad()
            (w * w).sum().backward()
            optimizer.step()
            big = torch.full((3,), 3e38)
            found.append((w.grad.clone(), (big * 1.0).max()))
            try:
                np.ones(2) / 0
            except FloatingPointError as error:
                found.append(str(error))
    return found


class Late(Exception):
    """Raised by a signal handler of the program's."""


@program
def interrupted(torch: Any) -> Any:
    """An alarm may ring at any time, also while somebody looks on."""
    if threading.current_thread() is not threading.main_thread():
        return None

    def ring(number: int, frame: Any) -> None:
        raise Late

    before = signal.signal(signal.SIGALRM, ring)
    rung = 0
    try:
        # Python drops what is raised in a destructor, of the test's own surroundings, too: then it
        # rings once more.
        while rung < 12:
            signal.setitimer(signal.ITIMER_REAL, 0.001 + 0.0008 * rung)
            try:
                begun = time.perf_counter()
                while time.perf_counter() - begun < 0.5:
                    w = torch.ones(3, requires_grad=True)
                    (w * 2).sum().backward()
            except Late:
                rung += 1
            assert torch.is_grad_enabled()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    return rung


@program
def deep_calls(torch: Any) -> Any:
    """The end of the stack is where it was."""

    def deep(x: Any, depth: int) -> Any:
        return deep(x * 1.0, depth + 1)

    x = torch.ones(2, requires_grad=True)
    try:
        deep(x, 0)
    except RecursionError:
        return (x * 2).sum()
    return None


@program
def errors_of_all_kinds(torch: Any) -> Any:
    def twice() -> None:
        out = torch.ones(3, requires_grad=True).exp().sum()
        out.backward()
        out.backward()

    def in_module() -> None:
        network(torch)(torch.randn(3, 7))

    def no_history() -> None:
        torch.randn(3).sum().backward()

    def leaf() -> None:
        torch.ones(2, requires_grad=True).add_(1)

    def wrong_grad() -> None:
        torch.ones(2, requires_grad=True).grad = 1.0

    def unused() -> None:
        x = torch.ones(2, requires_grad=True)
        torch.autograd.grad((x * 2).sum(), torch.ones(2, requires_grad=True))

    def not_initialised() -> None:
        class Lost(torch.nn.Module):
            def __init__(self) -> None:
                self.layer = torch.nn.Linear(2, 2)

        Lost()

    found = []
    for each in (twice, in_module, no_history, leaf, wrong_grad, unused, not_initialised):
        try:
            each()
        except Exception as error:  # the error is the outcome
            found.append((type(error).__name__, str(error)))
    return found
