"""Tensors as keys by identity: dictionaries that do not keep them alive."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, MutableMapping
from typing import Any

from clew.core.tensor import Tensor

__all__ = ["TensorWeakRef", "WeakIdKeyDictionary", "WeakIdRef", "WeakTensorKeyDictionary"]


class WeakIdRef(weakref.ref[Any]):
    """A weak reference that is compared by the identity of its object."""

    __slots__ = ("_id",)

    def __init__(self, key: Any, callback: Any = None) -> None:
        super().__init__(key, callback)  # type: ignore[call-arg]  # the stubs know __new__ only
        self._id = id(key)

    def __hash__(self) -> int:
        return self._id

    def __eq__(self, other: object) -> bool:
        own = self()
        if own is not None and isinstance(other, WeakIdRef):
            theirs = other()
            if theirs is not None:
                return own is theirs
        return self is other


class WeakIdKeyDictionary(MutableMapping[Any, Any]):
    """A dictionary whose keys are objects by identity; entries go when their objects do."""

    def __init__(self, dict: Any = None, ref_type: type[WeakIdRef] = WeakIdRef) -> None:
        self.data: dict[WeakIdRef, Any] = {}
        self._kind = ref_type
        if dict is not None:
            self.update(dict)

    def _forget(self, ref: WeakIdRef) -> None:
        self.data.pop(ref, None)

    def __getitem__(self, key: Any) -> Any:
        return self.data[self._kind(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.data[self._kind(key, self._forget)] = value

    def __delitem__(self, key: Any) -> None:
        del self.data[self._kind(key)]

    def __iter__(self) -> Iterator[Any]:
        for ref in list(self.data):
            key = ref()
            if key is not None:
                yield key

    def __len__(self) -> int:
        return len(self.data)

    def __contains__(self, key: object) -> bool:
        return self._kind(key) in self.data


class WeakTensorKeyDictionary(WeakIdKeyDictionary):
    """A dictionary whose keys are tensors."""


class TensorWeakRef:
    """A weak reference to a tensor."""

    def __init__(self, tensor: Tensor) -> None:
        self.ref = weakref.ref(tensor)

    def __call__(self) -> Tensor | None:
        return self.ref()
