"""Half precision: what is computed in it, and whether the loss is scaled for it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from clew.doctor.facts.places import Line, here, line_of
from clew.doctor.facts.recorder import Recorder
from clew.doctor.facts.records import ParamFacts
from clew.observed import Tensor, elements

F16 = np.dtype(np.float16)


class PrecisionWatch:
    """Sees autocast, gradient scalers and float16 gradients."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.regions: Counter[Line | None] = Counter()
        self.half_backwards = 0
        self.half_at: Counter[Line | None] = Counter()
        self.scale = 1.0
        self.scale_pending = False
        self.unscaled_now: set[int] = set()
        self.zero_shares: list[float] = []
        self._half = False

    def autocast_entered(self, region: Any) -> None:
        if getattr(region, "_enabled", True) and str(region.fast_dtype) == "torch.float16":
            self.regions[line_of(here())] += 1

    # -- scaling ---------------------------------------------------------------------------------

    def scaled(self, scaler: Any) -> None:
        if scaler.is_enabled():
            self.scale_pending = True
            self.scale = scaler.get_scale()
            self.unscaled_now.clear()

    def unscaled(self, scaler: Any, optimizer: Any) -> None:
        if scaler.is_enabled():
            facts = self.recorder.optimizer_facts(optimizer)
            self.unscaled_now.update(facts.params)

    def scaler_steps(self, scaler: Any, optimizer: Any) -> None:
        self.unscaled(scaler, optimizer)

    def is_scaled(self, tensors: list[Tensor]) -> bool:
        """Whether the gradients of these are still multiplied by the scaler's factor."""
        if not self.scale_pending or self.scale == 1.0:
            return False
        known = [k for t in tensors if (k := self.recorder.find(t)) is not None]
        return bool(known) and not any(k.number in self.unscaled_now for k in known)

    # -- backward --------------------------------------------------------------------------------

    def backward_begins(self, run: Any, tensors: tuple[Any, ...]) -> None:
        self._half = False
        if self.scale_pending:
            return
        for node in run.nodes:
            if node._dtype is F16 or node._dtype == F16:
                self._half = True
                break
        if self._half:
            self.half_backwards += 1
            self.half_at[line_of(here())] += 1

    def backward_ends(self, run: Any, leaves: list[tuple[ParamFacts, Tensor, Any]]) -> None:
        if not self._half or not run.accumulate or len(self.zero_shares) > 500:
            return
        zeros = total = 0
        for _, tensor, _ in leaves:
            if tensor._grad is not None and elements(tensor._grad).ndim >= 1:
                array = elements(tensor._grad)
                zeros += array.size - int(np.count_nonzero(array))
                total += array.size
        if total:
            self.zero_shares.append(zeros / total)

    def step_begins(self, members: list[tuple[ParamFacts, Tensor]]) -> None:
        self.scale_pending = False
