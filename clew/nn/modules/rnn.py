"""Recurrent layers: RNN, LSTM and GRU."""

# ruff: noqa: RUF012  (`__constants__` is a list, as in PyTorch)

from __future__ import annotations

import math
import numbers
import warnings
from typing import Any

from clew import errors
from clew.core.state import local
from clew.core.tensor import Tensor
from clew.nn import init
from clew.nn.modules.module import Module
from clew.nn.modules.rnn_cells import GRUCell, LSTMCell, RNNCell, RNNCellBase
from clew.nn.parameter import Parameter
from clew.nn.utils.rnn import PackedSequence
from clew.ops.create.constants import empty, zeros
from clew.ops.nn import recurrent_functions as functions
from clew.source import user_stacklevel

__all__ = ["RNNBase", "RNN", "LSTM", "GRU", "RNNCellBase", "RNNCell", "LSTMCell", "GRUCell"]

# The rows of the weights by mode, in multiples of the hidden size; and the function that runs it.
_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}
_FUNCTIONS = {
    "LSTM": functions.lstm,
    "GRU": functions.gru,
    "RNN_TANH": functions.rnn_tanh,
    "RNN_RELU": functions.rnn_relu,
}


class RNNBase(Module):
    """Layers and directions of a recurrent network: what RNN, LSTM and GRU have in common.

    Args:
        mode: "RNN_TANH", "RNN_RELU", "LSTM" or "GRU"
        input_size: the number of features of a step
        hidden_size: the number of features of the state
        num_layers: how many layers, each on the outputs of the one before
        bias: whether there are biases
        batch_first: whether the batch is the first dimension
        dropout: how likely outputs between layers are dropped while training
        bidirectional: whether a second direction runs from the end
        proj_size: the number of features of an LSTM's projected state; 0 is no projection
        device, dtype: of the parameters

    Example:
        >>> isinstance(nn.LSTM(2, 3), nn.RNNBase)
        True
    """

    __constants__ = [
        "mode", "input_size", "hidden_size", "num_layers", "bias", "batch_first", "dropout",
        "bidirectional", "proj_size",
    ]  # fmt: skip

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        self._check_settings(dropout)
        self._all_weights: list[list[str]] = []
        for layer in range(num_layers):
            for direction in ("", "_reverse") if bidirectional else ("",):
                self._add_weights(layer, direction, device, dtype)
        self.reset_parameters()

    def _check_settings(self, dropout: Any) -> None:
        is_number = isinstance(dropout, numbers.Number) and not isinstance(dropout, bool)
        if not is_number or not 0 <= self.dropout <= 1:
            raise ValueError(
                "dropout should be a number in range [0, 1] representing the probability of an "
                f"element being zeroed\n  It is {dropout!r}." + errors.at_user_line()
            )
        if self.dropout > 0 and self.num_layers == 1:
            warnings.warn(
                "dropout option adds dropout after all but last recurrent layer, so non-zero "
                f"dropout expects num_layers greater than 1, but got dropout={dropout} and "
                "num_layers=1",
                stacklevel=user_stacklevel(),
            )
        kinds = {"bias": bool, "batch_first": bool, "input_size": int, "hidden_size": int}
        for name, kind in kinds.items():
            if not isinstance(getattr(self, name), kind):
                given = type(getattr(self, name)).__name__
                raise TypeError(f"{name} should be of type {kind.__name__}, got: {given}")
        for name in ("hidden_size", "num_layers", "input_size"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be greater than zero" + errors.at_user_line())
        if self.proj_size < 0:
            raise ValueError(
                "proj_size should be a positive integer or zero to disable projections"
                + errors.at_user_line()
            )
        if self.proj_size >= self.hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size" + errors.at_user_line())
        if self.mode not in _GATES:
            raise ValueError(f"Unrecognized RNN mode: {self.mode}" + errors.at_user_line())

    @property
    def _real_hidden_size(self) -> int:
        return self.proj_size or self.hidden_size

    @property
    def _directions(self) -> int:
        return 2 if self.bidirectional else 1

    def _add_weights(self, layer: int, direction: str, device: Any, dtype: Any) -> None:
        rows = _GATES[self.mode] * self.hidden_size
        below = self.input_size if layer == 0 else self._real_hidden_size * self._directions
        shapes: dict[str, tuple[int, ...]] = {
            "weight_ih": (rows, below),
            "weight_hh": (rows, self._real_hidden_size),
        }
        if self.bias:
            shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
        if self.proj_size:
            shapes["weight_hr"] = (self.proj_size, self.hidden_size)
        names = {f"{kind}_l{layer}{direction}": shape for kind, shape in shapes.items()}
        for name, shape in names.items():
            setattr(self, name, Parameter(empty(shape, device=device, dtype=dtype)))
        self._all_weights.append(list(names))

    def reset_parameters(self) -> None:
        """Draw all weights and biases, uniform in ±1/sqrt(hidden_size)."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    @property
    def _flat_weights_names(self) -> list[str]:
        return [name for names in self._all_weights for name in names]

    @property
    def _flat_weights(self) -> list[Tensor]:
        return [getattr(self, name) for name in self._flat_weights_names]

    def __getstate__(self) -> Any:
        # PyTorch's modules keep these two, and its files have them.
        flat = {"_flat_weights_names": self._flat_weights_names}
        return {**super().__getstate__(), **flat, "_flat_weights": self._flat_weights}

    def __setstate__(self, state: dict[str, Any]) -> None:
        computed = ("_flat_weights_names", "_flat_weights")
        super().__setstate__({name: state[name] for name in state if name not in computed})

    @property
    def all_weights(self) -> list[list[Tensor]]:
        """The weights of every layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def flatten_parameters(self) -> None:
        """Accepted for compatibility: weights need not lie in one block of memory."""

    # -- checks ----------------------------------------------------------------------------

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        """Refuse an input whose dtype, dimensions or size do not fit."""
        weight = self._flat_weights[0]
        if input.dtype is not weight.dtype and local.state.autocast is None:
            raise ValueError(
                f"RNN input dtype ({input.dtype!r}) does not match weight dtype "
                f"({weight.dtype!r}). Convert input: input.to({weight.dtype!r}), or convert model: "
                f"model.to({input.dtype!r})" + errors.at_user_line()
            )
        expected = 3 if batch_sizes is None else 2
        if input.dim() != expected:
            raise RuntimeError(
                f"input must have {expected} dimensions, got {input.dim()}" + errors.at_user_line()
            )
        if self.input_size != input.size(-1):
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got "
                f"{input.size(-1)}" + errors.at_user_line()
            )

    def _batch_of(self, input: Tensor, batch_sizes: Tensor | None) -> int:
        if batch_sizes is not None:
            return int(batch_sizes[0])
        size: int = input.size(0) if self.batch_first else input.size(1)
        return size

    def get_expected_hidden_size(
        self, input: Tensor, batch_sizes: Tensor | None
    ) -> tuple[int, int, int]:
        batch = self._batch_of(input, batch_sizes)
        return self.num_layers * self._directions, batch, self._real_hidden_size

    def check_hidden_size(
        self,
        hx: Tensor,
        expected_hidden_size: tuple[int, int, int],
        msg: str = "Expected hidden size {}, got {}",
    ) -> None:
        if hx.size() != expected_hidden_size:
            text = msg.format(expected_hidden_size, list(hx.size()))
            raise RuntimeError(text + errors.at_user_line())

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Refuse an input or a hidden state that does not fit."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """The states of the sequences in another order."""
        return hx if permutation is None else hx.index_select(1, permutation)

    # -- running ---------------------------------------------------------------------------

    def forward(self, input: Any, hx: Any = None) -> Any:
        if isinstance(input, PackedSequence):
            return self._forward_packed(input, hx)
        ndim = input.dim()
        if ndim not in (2, 3):
            kind = self.mode.partition("_")[0]
            tensor = " tensor" if kind == "RNN" else ""
            raise ValueError(
                f"{kind}: Expected input to be 2D or 3D, got {ndim}D{tensor} instead"
                + errors.at_user_line()
            )
        batch_dim = 0 if self.batch_first else 1
        if ndim == 2:
            input = input.unsqueeze(batch_dim)
        if hx is None:
            hx = self._zeros(input, None)
        else:
            self._check_hidden_dims(hx, ndim)
            if ndim == 2:
                hx = self._each_state(hx, lambda state: state.unsqueeze(1))
        self.check_forward_args(input, hx, None)
        out, hx = self._run((input, hx), (self.batch_first,))
        if ndim == 2:
            return out.squeeze(batch_dim), self._each_state(hx, lambda state: state.squeeze(1))
        return out, hx

    def _forward_packed(self, input: PackedSequence, hx: Any) -> Any:
        data, batch_sizes, sorted_indices, unsorted_indices = input
        if hx is None:
            hx = self._zeros(data, batch_sizes)
        else:
            hx = self.permute_hidden(hx, sorted_indices)
        self.check_forward_args(data, hx, batch_sizes)
        out, hx = self._run((data, batch_sizes, hx), ())
        packed = PackedSequence(out, batch_sizes, sorted_indices, unsorted_indices)
        return packed, self.permute_hidden(hx, unsorted_indices)

    def _run(self, leading: tuple[Any, ...], trailing: tuple[Any, ...]) -> tuple[Tensor, Any]:
        out, *last = _FUNCTIONS[self.mode](
            *leading, self._flat_weights, self.bias, self.num_layers, self.dropout, self.training,
            self.bidirectional, *trailing,
        )  # fmt: skip
        return out, tuple(last) if len(last) > 1 else last[0]

    def _zeros(self, input: Tensor, batch_sizes: Tensor | None) -> Any:
        return zeros(self.get_expected_hidden_size(input, batch_sizes), dtype=input.dtype)

    def _each_state(self, hx: Any, change: Any) -> Any:
        return change(hx)

    def _check_hidden_dims(self, hx: Any, ndim: int) -> None:
        if hx.dim() != ndim:
            kind = "batched" if ndim == 3 else "unbatched"
            raise RuntimeError(
                f"For {kind} {ndim}-D input, hx should also be {ndim}-D but got {hx.dim()}-D tensor"
                + errors.at_user_line()
            )

    def extra_repr(self) -> str:
        shown = [str(self.input_size), str(self.hidden_size)]
        defaults = {
            "proj_size": 0, "num_layers": 1, "bias": True, "batch_first": False, "dropout": 0,
            "bidirectional": False,
        }  # fmt: skip
        for name, default in defaults.items():
            if getattr(self, name) != default:
                shown.append(f"{name}={getattr(self, name)}")
        return ", ".join(shown)


def _refuse_projection(proj_size: int) -> None:
    if proj_size:
        raise ValueError(
            "proj_size argument is only supported for LSTM, not RNN or GRU" + errors.at_user_line()
        )


class RNN(RNNBase):
    """`h = tanh(W_ih x + b_ih + W_hh h + b_hh)`, or with relu.

    Args:
        input_size: the number of features of a step
        hidden_size: the number of features of the state
        num_layers: how many layers, each on the outputs of the one before
        nonlinearity: "tanh" or "relu"
        bias: whether there are biases
        batch_first: whether the batch is the first dimension
        dropout: how likely outputs between layers are dropped while training
        bidirectional: whether a second direction runs from the end
        proj_size: only for an LSTM
        device, dtype: of the parameters

    Shape: (L, N, input_size), or (N, L, input_size) with `batch_first`, or (L, input_size), or a
        `PackedSequence`, to the outputs (L, N, directions * hidden_size) and the last state
        (directions * num_layers, N, hidden_size)

    Example:
        >>> output, state = nn.RNN(2, 3, num_layers=2)(clew.zeros(7, 5, 2))
        >>> output.shape, state.shape
        (torch.Size([7, 5, 3]), torch.Size([2, 5, 3]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        _refuse_projection(proj_size)
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(
                f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'."
                + errors.at_user_line()
            )
        super().__init__(
            f"RNN_{nonlinearity.upper()}", input_size, hidden_size, num_layers, bias, batch_first,
            dropout, bidirectional, 0, device, dtype,
        )  # fmt: skip
        self.nonlinearity = nonlinearity


class GRU(RNNBase):
    """Gated recurrent units: reset gate r, update gate z, new state n.

    `n = tanh(W_in x + b_in + r * (W_hn h + b_hn))`, `h = (1 - z) * n + z * h`.

    Args:
        input_size: the number of features of a step
        hidden_size: the number of features of the state
        num_layers: how many layers, each on the outputs of the one before
        bias: whether there are biases
        batch_first: whether the batch is the first dimension
        dropout: how likely outputs between layers are dropped while training
        bidirectional: whether a second direction runs from the end
        proj_size: only for an LSTM
        device, dtype: of the parameters

    Shape: (L, N, input_size), or (N, L, input_size) with `batch_first`, or (L, input_size), or a
        `PackedSequence`, to the outputs (L, N, directions * hidden_size) and the last state
        (directions * num_layers, N, hidden_size)

    Example:
        >>> output, state = nn.GRU(2, 3, bidirectional=True)(clew.zeros(7, 5, 2))
        >>> output.shape, state.shape
        (torch.Size([7, 5, 6]), torch.Size([2, 5, 3]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        _refuse_projection(proj_size)
        super().__init__(
            "GRU", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional,
            0, device, dtype,
        )  # fmt: skip


class LSTM(RNNBase):
    """Long short-term memory: input gate i, forget gate f, output gate o, cell c.

    `c = f * c + i * tanh(W_ig x + b_ig + W_hg h + b_hg)`, `h = o * tanh(c)`, and with `proj_size`
    `h = W_hr (o * tanh(c))`. The state is the pair (h, c).

    Args:
        input_size: the number of features of a step
        hidden_size: the number of features of the state
        num_layers: how many layers, each on the outputs of the one before
        bias: whether there are biases
        batch_first: whether the batch is the first dimension
        dropout: how likely outputs between layers are dropped while training
        bidirectional: whether a second direction runs from the end
        proj_size: the number of features of a projected state h; 0 is no projection
        device, dtype: of the parameters

    Shape: as `GRU`'s, with the pair (h, c) as the last state

    Example:
        >>> output, (h, c) = nn.LSTM(2, 3, batch_first=True)(clew.zeros(5, 7, 2))
        >>> output.shape, h.shape, c.shape
        (torch.Size([5, 7, 3]), torch.Size([1, 5, 3]), torch.Size([1, 5, 3]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            "LSTM", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional,
            proj_size, device, dtype,
        )  # fmt: skip

    def get_expected_cell_size(
        self, input: Tensor, batch_sizes: Tensor | None
    ) -> tuple[int, int, int]:
        batch = self._batch_of(input, batch_sizes)
        return self.num_layers * self._directions, batch, self.hidden_size

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        self.check_input(input, batch_sizes)
        self.check_hidden_size(
            hidden[0],
            self.get_expected_hidden_size(input, batch_sizes),
            "Expected hidden[0] size {}, got {}",
        )
        self.check_hidden_size(
            hidden[1],
            self.get_expected_cell_size(input, batch_sizes),
            "Expected hidden[1] size {}, got {}",
        )

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        if permutation is None:
            return hx
        return self._each_state(hx, lambda state: state.index_select(1, permutation))

    def _zeros(self, input: Tensor, batch_sizes: Tensor | None) -> Any:
        cell = zeros(self.get_expected_cell_size(input, batch_sizes), dtype=input.dtype)
        return super()._zeros(input, batch_sizes), cell

    def _each_state(self, hx: Any, change: Any) -> Any:
        return change(hx[0]), change(hx[1])

    def _check_hidden_dims(self, hx: Any, ndim: int) -> None:
        dims = hx[0].dim(), hx[1].dim()
        if dims != (ndim, ndim):
            kind = "batched" if ndim == 3 else "unbatched"
            raise RuntimeError(
                f"For {kind} {ndim}-D input, hx and cx should also be {ndim}-D but got "
                f"({dims[0]}-D, {dims[1]}-D) tensors\n  The state of an LSTM is a pair (h_0, c_0)."
                + errors.at_user_line()
            )
