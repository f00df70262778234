"""Types of TorchScript that Python does not have: a number, or a list of so many."""

from __future__ import annotations

__all__ = [f"BroadcastingList{size}" for size in range(1, 7)]

BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = list
BroadcastingList4 = BroadcastingList5 = BroadcastingList6 = list
