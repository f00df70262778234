"""The setting is kept for the thread, and taken back by `with`."""

from __future__ import annotations

from threading import Thread
from typing import Any

import torch

import clew


def _story(library: Any) -> list[bool]:
    autograd = library.autograd
    seen = [autograd.is_multithreading_enabled()]
    with autograd.grad_mode.set_multithreading_enabled(False):
        seen.append(autograd.is_multithreading_enabled())
        other = Thread(target=lambda: seen.append(autograd.is_multithreading_enabled()))
        other.start()
        other.join()
        x = library.ones(2, requires_grad=True)
        x.sum().backward()
    seen.append(autograd.is_multithreading_enabled())
    autograd.grad_mode.set_multithreading_enabled(False)
    seen.append(autograd.is_multithreading_enabled())
    autograd.grad_mode.set_multithreading_enabled(True)
    return [*seen, autograd.is_multithreading_enabled()]


def test_the_setting_is_that_of_the_thread() -> None:
    assert _story(clew) == _story(torch) == [True, False, True, True, False, True]
