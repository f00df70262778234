"""Version numbers that compare as numbers, also with tuples: `version >= (2, 0)`."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from typing import Any


def _numbers(version: Any) -> tuple[int, ...]:
    """The numbers of a release: (2, 13, 0) for "2.13.0+cpu"."""
    if isinstance(version, str):
        found = re.match(r"v?(\d+(?:\.\d+)*)", version)
        return tuple(map(int, found[1].split("."))) if found else ()
    if isinstance(version, Iterable):
        return tuple(int(part) for part in version)
    raise TypeError(f"a version is compared with text or a tuple, not with {version!r}")


class TorchVersion(str):
    """A version as text. Order follows the numbers; what comes after a `+` does not matter."""

    __slots__ = ()

    def _compare(self, other: Any) -> int:
        pairs = itertools.zip_longest(_numbers(self), _numbers(other), fillvalue=0)
        return next((mine - theirs for mine, theirs in pairs if mine != theirs), 0)

    def __lt__(self, other: Any) -> bool:
        return self._compare(other) < 0

    def __le__(self, other: Any) -> bool:
        return self._compare(other) <= 0

    def __gt__(self, other: Any) -> bool:
        return self._compare(other) > 0

    def __ge__(self, other: Any) -> bool:
        return self._compare(other) >= 0

    def __eq__(self, other: object) -> bool:
        if isinstance(other, tuple | list):
            return self._compare(other) == 0
        return str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__
