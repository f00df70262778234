"""`PostLocalSGDOptimizer`: an optimizer that averages models over ranks after its steps."""

from __future__ import annotations

from typing import Any

from clew.optim.optimizer import Optimizer

__all__ = ["PostLocalSGDOptimizer"]


class PostLocalSGDOptimizer(Optimizer):
    """Another optimizer, after whose steps parameters are averaged when it is time.

    Args:
        optim: the other optimizer
        averager: what averages, as `PeriodicModelAverager`

    Example:
        >>> import clew.distributed as dist
        >>> from clew.distributed.algorithms.model_averaging import averagers
        >>> from clew.distributed.optim import PostLocalSGDOptimizer
        >>> dist.init_process_group("gloo")
        >>> model = clew.nn.Linear(2, 1)
        >>> inner = clew.optim.SGD(model.parameters(), lr=0.1)
        >>> optimizer = PostLocalSGDOptimizer(inner, averagers.PeriodicModelAverager(period=4))
        >>> model(clew.ones(1, 2)).sum().backward()
        >>> optimizer.step()
        >>> optimizer.state_dict()["step"]
        1
        >>> dist.destroy_process_group()
    """

    def __init__(self, optim: Optimizer, averager: Any) -> None:
        self.optim, self.averager = optim, averager
        self.param_groups = optim.param_groups

    @property
    def state(self) -> Any:  # type: ignore[override]  # an attribute of other optimizers
        """The state of the other optimizer."""
        return self.optim.state

    def __repr__(self) -> str:
        return repr(self.optim)

    def state_dict(self) -> dict[str, Any]:
        """The state of the other optimizer, and how many steps were counted."""
        return {**self.optim.state_dict(), "step": self.averager.step}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take a state.

        Args:
            state_dict: as `state_dict()` returns it
        """
        self.optim.load_state_dict(state_dict)
        self.averager.step = state_dict.get("step", 0)

    def step(self, closure: Any = None) -> Any:
        """A step of the other optimizer, and an average if it is time.

        Args:
            closure: computes the loss again
        """
        loss = self.optim.step() if closure is None else self.optim.step(closure)
        self.averager.average_parameters(self.param_groups)
        return loss

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients.

        Args:
            set_to_none: set them to None, and not to zeros
        """
        self.optim.zero_grad(set_to_none)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Train further parameters.

        Args:
            param_group: the parameters and their options
        """
        self.optim.add_param_group(param_group)
