"""`GradScaler`: keeps gradients of half precision from vanishing, and skips steps that overflow."""

from __future__ import annotations

import inspect
import warnings
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from clew.autograd.grad_mode import no_grad
from clew.backend import dtypes
from clew.backend.device import device as parse_device
from clew.core.tensor import Tensor, of_values
from clew.observer import active
from clew.ops.create.constants import full
from clew.source import user_stacklevel


class OptState(Enum):
    """What has been done for an optimizer since the last update."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


@dataclass
class _Progress:
    """The state of one optimizer since the last update."""

    stage: OptState = OptState.READY
    # Whether a gradient was inf or NaN; None when there was no gradient to look at.
    found_inf: bool | None = None


def _refresh_per_optimizer_state() -> _Progress:
    """PyTorch's name for it, which is in files of whole scalers."""
    return _Progress()


class GradScaler:
    """Multiplies losses by a scale that grows while gradients stay finite.

    So small gradients do not vanish in float16. A step whose gradients are not finite is skipped,
    and the scale shrinks.

    Args:
        device: the device type; "cuda", the default, disables the scaler, since there is no GPU
        init_scale: the scale at the start
        growth_factor: by what the scale grows
        backoff_factor: by what it shrinks after a step that was skipped
        growth_interval: after how many finite steps in a row it grows
        enabled: False makes all methods do nothing but step

    Example:
        >>> w = nn.Parameter(clew.tensor([1.]))
        >>> optimizer = optim.SGD([w], lr=0.1)
        >>> scaler = clew.amp.GradScaler("cpu", init_scale=8.0)
        >>> scaler.scale((w * float("inf")).sum()).backward()
        >>> scaler.step(optimizer)  # skipped
        >>> scaler.update()
        >>> w.data, scaler.get_scale()
        (tensor([1.]), 4.0)
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        self._device = device
        self._enabled = enabled
        if enabled and device == "cuda":
            warnings.warn(
                "torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.",
                stacklevel=user_stacklevel(),
            )
            self._enabled = False
        if not self._enabled:
            return
        if not growth_factor > 1.0:
            raise AssertionError("The growth factor must be > 1.0.")
        if not backoff_factor < 1.0:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._init_scale = init_scale
        self._scale: Tensor | None = None
        self._growth_factor = growth_factor
        self._backoff_factor = backoff_factor
        self._growth_interval = growth_interval
        self._init_growth_tracker = 0
        self._growth_tracker: Tensor | None = None
        self._per_optimizer_states: defaultdict[int, _Progress] = defaultdict(
            _refresh_per_optimizer_state
        )

    def _lazy_init_scale(self) -> Tensor:
        if self._scale is None:
            parse_device(self._device)
            self._scale = full((), self._init_scale, dtype=dtypes.float32)
            self._growth_tracker = full((), self._init_growth_tracker, dtype=dtypes.int32)
        return self._scale

    def _progress(self, optimizer: Any) -> _Progress:
        return self._per_optimizer_states[id(optimizer)]

    def _check_scale_growth_tracker(self, funcname: str) -> tuple[Tensor, Tensor]:
        fix = (
            "This may indicate your script did not use scaler.scale(loss or outputs) earlier in "
            "the iteration."
        )
        if self._scale is None:
            raise AssertionError(f"Attempted {funcname} but _scale is None.  {fix}")
        if self._growth_tracker is None:
            raise AssertionError(f"Attempted {funcname} but _growth_tracker is None.  {fix}")
        return self._scale, self._growth_tracker

    # -- one iteration -------------------------------------------------------------------------

    def scale(self, outputs: Any) -> Any:
        """The outputs times the scale: a tensor, or nested lists and tuples of tensors."""
        observer = active.observer
        if observer is not None:
            observer.loss_scaled(self)
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            return outputs * self._lazy_init_scale()
        if isinstance(outputs, Iterable):
            scaled = map(self.scale, outputs)
            return type(outputs)(scaled) if isinstance(outputs, (list, tuple)) else scaled
        raise ValueError(
            "outputs must be a Tensor or an iterable of Tensors\n"
            f"  It is of type {type(outputs).__name__}."
        )

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of an optimizer's parameters by the scale, to look at or clip."""
        if not self._enabled:
            return
        scale, _ = self._check_scale_growth_tracker("unscale_")
        progress = self._progress(optimizer)
        if progress.stage is OptState.UNSCALED:
            raise RuntimeError(
                "unscale_() has already been called on this optimizer since the last update()."
            )
        if progress.stage is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        inverse = scale.double().reciprocal().float()
        observer = active.observer
        if observer is not None:
            observer.unscale_begins(self, optimizer)
        try:
            progress.found_inf = self._unscale_grads_(optimizer, inverse)
        finally:
            if observer is not None:
                observer.unscale_ends(self, optimizer)
        progress.stage = OptState.UNSCALED

    @no_grad()
    def _unscale_grads_(self, optimizer: Any, inverse: Tensor) -> bool | None:
        """Multiply all gradients; whether one was not finite, None if there was none."""
        found: bool | None = None
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                gradient = parameter.grad
                if gradient is None:
                    continue
                if gradient.dtype is dtypes.float16:
                    raise ValueError(
                        "Attempting to unscale FP16 gradients.\n"
                        "  Keep the parameters in float32 and let autocast convert them."
                    )
                finite = bool(gradient.isfinite().all())
                found = found or not finite
                gradient.mul_(inverse)
        return found

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """`optimizer.step()` over unscaled gradients, unless one of them is inf or NaN."""
        observer = active.observer
        if observer is not None:
            observer.scaler_steps(self, optimizer)
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._check_scale_growth_tracker("step")
        progress = self._progress(optimizer)
        if progress.stage is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if getattr(optimizer, "_step_supports_amp_scaling", False):
            return self._step_of_scaling(optimizer, progress, args, kwargs)
        if progress.stage is OptState.READY:
            self.unscale_(optimizer)
        if progress.found_inf is None:
            raise AssertionError(
                "No inf checks were recorded for this optimizer.\n"
                "  None of its parameters has a gradient: backward was not called, it did not "
                "reach them, or zero_grad() ran in between."
            )
        result = None if progress.found_inf else optimizer.step(*args, **kwargs)
        progress.stage = OptState.STEPPED
        return result

    def _step_of_scaling(
        self, optimizer: Any, progress: _Progress, args: Any, kwargs: dict[str, Any]
    ) -> Any:
        """A step of an optimizer that unscales gradients and looks for overflows itself."""
        takes_scaler = "grad_scaler" in inspect.signature(optimizer.step).parameters
        scale, _ = self._check_scale_growth_tracker("step")
        if takes_scaler:
            warnings.warn(
                "GradScaler is going to stop passing itself as a keyword argument to the passed "
                "optimizer. In the near future GradScaler registers `grad_scale: Tensor` and "
                "`found_inf: Tensor` to the passed optimizer and let the optimizer use them "
                "directly.",
                FutureWarning,
                stacklevel=user_stacklevel(),
            )
            kwargs = {**kwargs, "grad_scaler": self}
        else:
            given = getattr(optimizer, "grad_scale", 1)
            is_unscaled = progress.stage is OptState.UNSCALED
            optimizer.grad_scale = None if is_unscaled else scale * given
            if progress.found_inf is None:
                progress.found_inf = self._has_overflow(optimizer)
            optimizer.found_inf = full((), float(bool(progress.found_inf)), dtype=dtypes.float32)
        result = optimizer.step(*args, **kwargs)
        progress.stage = OptState.STEPPED
        if not takes_scaler:
            del optimizer.grad_scale, optimizer.found_inf
        return result

    @no_grad()
    def _has_overflow(self, optimizer: Any) -> bool | None:
        """Whether a gradient is not finite; None if there is none."""
        grads = [p.grad for group in optimizer.param_groups for p in group["params"]]
        looked = [not bool(grad.isfinite().all()) for grad in grads if grad is not None]
        return any(looked) if looked else None

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Shrink the scale after an overflow, let it grow after enough finite steps, or set it."""
        if not self._enabled:
            return
        scale, tracker = self._check_scale_growth_tracker("update")
        if new_scale is not None:
            self._set_scale(scale, new_scale)
        else:
            found = [
                progress.found_inf
                for progress in self._per_optimizer_states.values()
                if progress.found_inf is not None
            ]
            if not found:
                raise AssertionError(
                    "No inf checks were recorded prior to update.\n"
                    "  Call scaler.step(optimizer) or scaler.unscale_(optimizer) first."
                )
            self._adapt(scale, tracker, any(found))
        self._per_optimizer_states.clear()

    def _set_scale(self, scale: Tensor, new_scale: float | Tensor) -> None:
        if isinstance(new_scale, float):
            scale.fill_(new_scale)
            return
        reason = (
            "new_scale should be a float or a 1-element torch.cuda.FloatTensor or "
            "torch.FloatTensor with requires_grad=False."
        )
        if (
            not isinstance(new_scale, Tensor)
            or new_scale.numel() != 1
            or new_scale.requires_grad
            or not new_scale.dtype.is_floating_point
        ):
            raise AssertionError(reason)
        scale.copy_(new_scale.reshape(()))

    def _adapt(self, scale: Tensor, tracker: Tensor, overflowed: bool) -> None:
        if overflowed:
            scale.mul_(self._backoff_factor)
            tracker.fill_(0)
            return
        interval = self._growth_interval
        if of_values(lambda count: int(count) + 1 < interval, tracker):
            tracker.add_(1)
            return
        tracker.fill_(0)
        grown = scale * self._growth_factor
        if of_values(lambda value: bool(np.isfinite(value)), grown):
            scale.copy_(grown)

    # -- settings ------------------------------------------------------------------------------

    def get_scale(self) -> float:
        """The scale; 1.0 when disabled."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else float(self._scale.item())

    def get_growth_factor(self) -> float:
        """What the scale is multiplied by after enough finite steps."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set what the scale is multiplied by after enough finite steps."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """What the scale is multiplied by after an overflow."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set what the scale is multiplied by after an overflow."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """How many finite steps in a row let the scale grow."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set how many finite steps in a row let the scale grow."""
        self._growth_interval = new_interval

    def _get_growth_tracker(self) -> int:
        if not self._enabled:
            return 0
        if self._growth_tracker is None:
            return self._init_growth_tracker
        return int(self._growth_tracker.item())

    def is_enabled(self) -> bool:
        """Whether this scaler does anything."""
        return self._enabled

    # -- saving --------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """What is needed to go on later; empty when disabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._get_growth_tracker(),
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from what `state_dict` gave."""
        if not self._enabled:
            return
        if len(state_dict) == 0:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled "
                "instance of GradScaler."
            )
        self._init_scale = state_dict["scale"]
        if self._scale is not None:
            self._scale.fill_(state_dict["scale"])
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._init_growth_tracker = state_dict["_growth_tracker"]
        if self._growth_tracker is not None:
            self._growth_tracker.fill_(state_dict["_growth_tracker"])

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        if self._enabled:
            if self._per_optimizer_states:
                raise AssertionError(
                    "A GradScaler instance may only be pickled at the beginning of an iteration, "
                    "or at the end after scaler.update()."
                )
            # Tensors are made again when they are needed.
            state["_init_scale"] = self.get_scale()
            state["_init_growth_tracker"] = self._get_growth_tracker()
            state["_scale"] = state["_growth_tracker"] = None
        return state
