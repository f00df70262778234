"""Modes that see operations: logs and counts, backward included."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

import clew
from clew import nn
from tests.twice import raised, twice

# PyTorch detaches what a node saves of its own result; clew turns matrices in another way.
NOT_COMPARED = {"detach", "permute", "ones_like", "t", "view"}


def logging_mode(lib: Any, log: list[str], name: str = "") -> Any:
    dispatch = importlib.import_module(f"{lib.__name__}.utils._python_dispatch")

    class Log(dispatch.TorchDispatchMode):
        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            short = func.name().removeprefix("aten::").partition(".")[0].removesuffix("_dim")
            if short not in NOT_COMPARED:
                log.append(name + short)
            return func(*args, **(kwargs or {}))

    return Log()


@twice
def test_a_log_of_a_training_step(lib: Any) -> Any:
    log: list[str] = []
    layer = lib.nn.Linear(3, 2)
    x = lib.ones(4, 3, requires_grad=True)
    with logging_mode(lib, log):
        out = layer(x).exp()
        (out * out).sum().backward()
        with lib.no_grad():
            layer.weight.add_(layer.weight.grad)
    return log, x.grad.shape


@twice
def test_modes_are_nested(lib: Any) -> Any:
    log: list[str] = []
    x = lib.ones(2)
    a, b = logging_mode(lib, log, "a "), logging_mode(lib, log, "b ")
    with a:
        with b:
            x * 2
        x / 2
    with a, a:
        x - 2
    x + 2
    return log


def test_what_a_handler_gets() -> None:
    from clew.ops import aten
    from clew.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode

    seen = []

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            assert _get_current_dispatch_mode() is None
            seen.append((func, str(func), types, len(args)))
            if func == aten.mul.Tensor:
                return clew.zeros(2)
            return func(*args, **kwargs)

    weight = clew.nn.Parameter(clew.ones(2))
    with Mode() as mode:
        assert _get_current_dispatch_mode() is mode
        assert (weight * 2).tolist() == [0.0, 0.0]
        clew.ones(2).add_(1)
    assert seen[0][0] == aten.mul.default
    assert {aten.mul.default: 1}[seen[0][0]] == 1
    assert seen[0][2] == (clew.nn.Parameter,)
    assert (seen[1][1], seen[1][3]) == ("aten.add_.default", 2)
    assert seen[1][0] != aten.add.default


def test_a_handler_may_raise_or_decline() -> None:
    from clew.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode_stack

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            return NotImplemented

    with Mode(), pytest.raises(TypeError, match=r"Multiple dispatch failed for 'aten\.add"):
        clew.ones(1) + 1
    assert not _get_current_dispatch_mode_stack()
    assert raised(TorchDispatchMode().__torch_dispatch__, 1, 2)[0] == "NotImplementedError"


def flops(lib: Any, program: Any) -> int:
    counter = importlib.import_module(f"{lib.__name__}.utils.flop_counter")
    with counter.FlopCounterMode(display=False) as mode:
        program()
    total: int = mode.get_total_flops()
    assert sum(mode.get_flop_counts()["Global"].values()) == total
    return total


@twice
def test_counts_of_operations(lib: Any) -> Any:
    x = lib.ones(2, 3, requires_grad=True)
    images = lib.ones(2, 4, 6, 6, requires_grad=True)
    linear, conv = lib.nn.Linear(3, 5), lib.nn.Conv2d(4, 6, 3, padding=1, groups=2)
    transposed = lib.nn.ConvTranspose2d(4, 2, 3, stride=2)
    batch = lib.ones(2, 3, 4)
    return [
        flops(lib, lambda: linear(x)),
        flops(lib, lambda: linear(x).sum().backward()),
        flops(lib, lambda: x @ x.t()),
        flops(lib, lambda: lib.bmm(batch, lib.ones(2, 4, 5))),
        flops(lib, lambda: lib.baddbmm(lib.ones(2, 3, 5), batch, lib.ones(2, 4, 5))),
        flops(lib, lambda: lib.matmul(lib.ones(2, 2, 3, 4), lib.ones(4, 5))),
        flops(lib, lambda: conv(images)),
        flops(lib, lambda: transposed(images)),
        flops(lib, lambda: transposed(images).sum().backward()),
        flops(lib, lambda: lib.einsum("ij,kj->ik", x, x)),
        flops(lib, lambda: x + x),
    ]


def test_a_table_of_counts(capsys: pytest.CaptureFixture[str]) -> None:
    from clew.utils.flop_counter import FlopCounterMode

    with FlopCounterMode():
        clew.ones(2, 3) @ clew.ones(3, 4)
        nn.Sequential(nn.Linear(4, 2))(clew.ones(3, 4))
    words = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert words[2:] == [
        ["Global", "96", "100.00%"], ["-", "aten.mm", "48", "50.00%"],
        ["-", "aten.addmm", "48", "50.00%"], ["Sequential", "48", "50.00%"],
        ["-", "aten.addmm", "48", "50.00%"], ["Sequential.0", "48", "50.00%"],
        ["-", "aten.addmm", "48", "50.00%"],
    ]  # fmt: skip


@twice
def test_counts_and_names_of_modules(lib: Any) -> Any:
    counter = importlib.import_module(f"{lib.__name__}.utils.flop_counter")
    tracker = importlib.import_module(f"{lib.__name__}.utils.module_tracker")
    seen: list[Any] = []

    class Scale(lib.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = lib.nn.Parameter(lib.ones(4))

        def forward(self, x: Any) -> Any:
            seen.append((sorted(names.parents), names.is_bw))
            return x * self.weight

    class Net(lib.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = lib.nn.Sequential(lib.nn.Linear(4, 4), lib.nn.Tanh(), Scale())
            self.again = self.body
            self.head = lib.nn.Linear(4, 2)

        def forward(self, x: Any) -> Any:
            hidden = self.again(self.body(x)) @ lib.ones(4, 4)
            hidden.register_hook(lambda g: seen.append((sorted(names.parents), names.is_bw)))
            return self.head(hidden)

    net, x = Net(), lib.ones(3, 4, requires_grad=True)
    with tracker.ModuleTracker() as names, counter.FlopCounterMode(display=False) as counts:
        net(x).sum().backward()
        seen.append(sorted(names.parents))
        net.head(lib.ones(1, 4))
    found = counts.get_flop_counts()
    return seen, {k: {str(op): n for op, n in found[k].items()} for k in sorted(found)}
