"""Fake tensors: for `isinstance`. No tensor of clew's is one."""

from __future__ import annotations

from typing import Any

from clew import errors

__all__ = ["FakeTensor", "FakeTensorMode", "is_fake", "unset_fake_temporarily"]


class FakeTensor:
    """A tensor without elements: for `isinstance`."""


class FakeTensorMode:
    """Raises: clew has no tensors without elements."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(
            "FakeTensorMode: clew computes every tensor, and has no fake ones"
            + errors.at_user_line()
        )


def is_fake(x: Any) -> bool:
    """Whether a tensor is without elements: none is."""
    return False


class unset_fake_temporarily:
    """Outside of a fake mode, where programs always are."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exc: Any) -> None:
        return None
