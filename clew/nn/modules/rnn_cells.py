"""Single steps of recurrent layers: RNNCell, LSTMCell, GRUCell."""

# ruff: noqa: RUF012  (`__constants__` is a list, as in PyTorch)

from __future__ import annotations

import math
from typing import Any

from clew import errors
from clew.core.tensor import Tensor
from clew.nn import init
from clew.nn.modules.module import Module
from clew.nn.parameter import Parameter
from clew.ops.create.constants import empty, zeros
from clew.ops.nn import recurrent_functions as functions

__all__ = ["RNNCellBase", "RNNCell", "LSTMCell", "GRUCell"]


class RNNCellBase(Module):
    """The weights of one step, and what all cells check.

    Args:
        input_size: the number of features of a step
        hidden_size: the number of features of the state
        bias: whether there are biases
        num_chunks: how many gates the weights are for
        device, dtype: of the parameters

    Example:
        >>> isinstance(nn.GRUCell(2, 3), nn.RNNCellBase)
        True
    """

    __constants__ = ["input_size", "hidden_size", "bias"]

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool,
        num_chunks: int,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        rows = num_chunks * hidden_size
        shapes: dict[str, tuple[int, ...]] = {
            "weight_ih": (rows, input_size),
            "weight_hh": (rows, hidden_size),
            "bias_ih": (rows,),
            "bias_hh": (rows,),
        }
        for name, shape in shapes.items():
            if bias or name.startswith("weight"):
                setattr(self, name, Parameter(empty(shape, device=device, dtype=dtype)))
            else:
                self.register_parameter(name, None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all weights and biases, uniform in ±1/sqrt(hidden_size)."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def _check_dims(self, name: str, tensor: Tensor) -> None:
        if tensor.dim() not in (1, 2):
            raise ValueError(
                f"{type(self).__name__}: Expected {name} to be 1D or 2D, got {tensor.dim()}D "
                "instead" + errors.at_user_line()
            )

    def _step(self, function: Any, input: Tensor, states: Any, single: bool) -> Any:
        """Run one step, with a batch of one if there is none."""
        batched = input.dim() == 2
        rows = input if batched else input.unsqueeze(0)
        if states is None:
            zero = zeros((rows.size(0), self.hidden_size), dtype=input.dtype)
            states = zero if single else (zero, zero)
        elif not batched:
            states = states.unsqueeze(0) if single else (states[0][None], states[1][None])
        result = function(rows, states, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        if batched:
            return result
        return result.squeeze(0) if single else (result[0].squeeze(0), result[1].squeeze(0))

    def _single(self, function: Any, input: Tensor, hx: Tensor | None) -> Tensor:
        """One step of a cell whose state is one tensor."""
        self._check_dims("input", input)
        if hx is not None:
            self._check_dims("hidden", hx)
        result: Tensor = self._step(function, input, hx, single=True)
        return result

    def extra_repr(self) -> str:
        shown = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            shown += f", bias={self.bias}"
        nonlinearity = self.__dict__.get("nonlinearity", "tanh")
        return shown if nonlinearity == "tanh" else f"{shown}, nonlinearity={nonlinearity}"


class RNNCell(RNNCellBase):
    """One step of an RNN with tanh or relu.

    Args:
        input_size: the number of features of a step
        hidden_size: the number of features of the state
        bias: whether there are biases
        nonlinearity: "tanh" or "relu"
        device, dtype: of the parameters

    Shape: (N, input_size) and the state (N, hidden_size), zeros if not given, to (N, hidden_size)

    Example:
        >>> cell, state = nn.RNNCell(2, 3), clew.zeros(5, 3)
        >>> for step in clew.zeros(7, 5, 2):
        ...     state = cell(step, state)
        >>> state.shape
        torch.Size([5, 3])
    """

    __constants__ = ["input_size", "hidden_size", "bias", "nonlinearity"]

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        steps = {"tanh": functions.rnn_tanh_cell, "relu": functions.rnn_relu_cell}
        if self.nonlinearity not in steps:
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}" + errors.at_user_line())
        return self._single(steps[self.nonlinearity], input, hx)


class LSTMCell(RNNCellBase):
    """One step of an LSTM.

    Args:
        input_size: the number of features of a step
        hidden_size: the number of features of the state
        bias: whether there are biases
        device, dtype: of the parameters

    Shape: (N, input_size) and the pair (h, c) of (N, hidden_size), zeros if not given, to the next
        pair

    Example:
        >>> h, c = nn.LSTMCell(2, 3)(clew.zeros(5, 2))
        >>> h.shape, c.shape
        (torch.Size([5, 3]), torch.Size([5, 3]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(
        self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, Tensor]:
        self._check_dims("input", input)
        for number, state in enumerate(() if hx is None else hx):
            self._check_dims(f"hx[{number}]", state)
        result: tuple[Tensor, Tensor] = self._step(functions.lstm_cell, input, hx, single=False)
        return result


class GRUCell(RNNCellBase):
    """One step of a GRU.

    Args:
        input_size: the number of features of a step
        hidden_size: the number of features of the state
        bias: whether there are biases
        device, dtype: of the parameters

    Shape: (N, input_size) and the state (N, hidden_size), zeros if not given, to (N, hidden_size)

    Example:
        >>> nn.GRUCell(2, 3)(clew.zeros(5, 2)).shape
        torch.Size([5, 3])
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._single(functions.gru_cell, input, hx)
