"""Types of TorchScript that Python does not have: a number, or a list of so many."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple, Union  # noqa: UP035  (found here by programs)

__all__ = [
    "BroadcastingList1", "BroadcastingList2", "BroadcastingList3", "BroadcastingList4",
    "BroadcastingList5", "BroadcastingList6", "Dict", "List", "Optional", "Tuple", "Union",
]  # fmt: skip

BroadcastingList1: Any = list
BroadcastingList2 = BroadcastingList3 = BroadcastingList4 = BroadcastingList1
BroadcastingList5 = BroadcastingList6 = BroadcastingList1
