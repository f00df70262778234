"""Tensors that share memory go on sharing it when it grows."""

from __future__ import annotations

from typing import Any

from tests.twice import twice


@twice
def test_all_that_lie_in_memory_follow_it_when_it_grows(lib: Any) -> Any:
    seen = []
    for share in (
        lambda x: x.detach(), lambda x: x[:2], lambda x: x.data, lambda x: x.view(3, 1),
        lambda x: x.unsqueeze(0),
    ):  # fmt: skip
        x = lib.ones(3)
        other = share(x)
        x.resize_(9)
        x[0] = 5.0
        seen.append(other.tolist())
    x = lib.ones(3)
    storage = x.untyped_storage()
    x.resize_(9)
    seen.append((storage.nbytes(), storage.data_ptr() == x.untyped_storage().data_ptr()))
    x = lib.empty(0)
    other = x.detach()
    x.resize_(4), other.resize_(4)
    x.fill_(7.0)
    seen.append(other.tolist())
    return seen


@twice
def test_memory_that_grew_before_may_be_shared_since(lib: Any) -> Any:
    x = lib.ones(4)
    x.resize_(6).resize_(2)
    other = x.detach()
    x.resize_(8)
    x[0] = 3.0
    out = lib.empty(0)
    lib.add(x[:2], 1, out=out)
    return other.tolist(), out.tolist()
