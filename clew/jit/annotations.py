"""Types of TorchScript that Python does not have: a number, or a list of so many."""

from __future__ import annotations

from typing import List  # noqa: UP035  (what PyTorch's names stand for)

__all__ = [f"BroadcastingList{size}" for size in range(1, 7)]

BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = List
BroadcastingList4 = BroadcastingList5 = BroadcastingList6 = List
