"""DLPack: capsules, streams, devices, copies, under both libraries."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import clew
from tests.twice import raised, twice


class Holder:
    """An object that has nothing but the protocol."""

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor

    def __dlpack__(self, **options: Any) -> Any:
        return self.tensor.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.tensor.__dlpack_device__()


@twice
def test_exchange(lib: Any) -> Any:
    to, take = lib.utils.dlpack.to_dlpack, lib.from_dlpack
    x = lib.arange(4.0)
    capsule = to(x)
    y = take(capsule)
    y[0] = 9
    narrow = lib.ones(16)[::3][:1]
    array = np.zeros(2)
    shared, copied = take(array), take(array, copy=True)
    array[0] = 5
    return [
        x, y.data_ptr() == x.data_ptr(), raised(take, capsule), raised(take, 3, words=4),
        take(narrow).stride(), take(x, copy=True).data_ptr() == x.data_ptr(), shared, copied,
        lib.tensor(Holder(x)), lib.asarray(Holder(x)).data_ptr() == x.data_ptr(),
        take(x.__dlpack__(max_version=(1, 0))), take(x.__dlpack__(max_version=(0, 8))),
        take(lib.ones(2, dtype=lib.bool)), take(x.bfloat16()).dtype.itemsize,
    ]  # fmt: skip


@twice
def test_refusals(lib: Any) -> Any:
    x = lib.ones(2)
    export = x.__dlpack__
    kinds = lib.utils.dlpack.DLDeviceType
    return [
        raised(export, stream=object()), raised(export, stream=0), raised(export, stream=-1),
        raised(export, max_version=(1, 0), dl_device=(kinds.kDLHexagon, 0)),
        raised(x.clone().requires_grad_().__dlpack__), [(each.name, int(each)) for each in kinds],
        raised(lib.from_dlpack, export(), copy=True), raised(lib.tensor([1j]).conj().__dlpack__),
        raised(lib.from_dlpack, lib.eye(2).to_sparse(), words=9),
        raised(lib.eye(2).to_sparse().__dlpack__),
    ]  # fmt: skip


def test_bfloat16_is_exchanged_with_pytorch_and_shared() -> None:
    mine = clew.arange(6.0).bfloat16().reshape(2, 3)
    for exported in (mine, clew.utils.dlpack.to_dlpack(mine)):
        theirs = torch.from_dlpack(exported)
        assert theirs.dtype is torch.bfloat16
        theirs[0, 0] += 1
    assert mine.tolist() == [[2.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    assert torch.from_dlpack(mine.T).stride() == (1, 3)
    given = torch.arange(3.0).bfloat16()
    for source in (given, torch.utils.dlpack.to_dlpack(given)):
        back = clew.from_dlpack(source)
        back[0] = 7.0
        assert back.dtype is clew.bfloat16
        assert given[0] == 7.0
    copied = clew.from_dlpack(given, copy=True)
    copied[0] = 1.0
    assert given.tolist() == [7.0, 1.0, 2.0]
    capsule = clew.utils.dlpack.to_dlpack(mine)
    clew.from_dlpack(capsule)
    with pytest.raises(RuntimeError, match="consumed"):
        clew.from_dlpack(capsule)
