"""`lstm`, `gru`, `rnn_tanh`, `rnn_relu` over layers and directions, and their single steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from clew import errors
from clew.core.casting import FIRST, LOWER, casts
from clew.core.public import FUNCTIONS, public
from clew.core.tensor import Tensor
from clew.ops.nn.dropout import drop
from clew.ops.nn.linear import linear
from clew.ops.nn.recurrent import GRU_LAYER, LSTM_LAYER, RNN_LAYER, gru_gates, lstm_gates
from clew.ops.shape.joining import cat, stack

# One direction of one layer: rows of all steps, weights and first states in; rows, last states out.
Layer = Callable[..., tuple[Tensor, ...]]
Group = tuple[Any, Any, Any, Any, Any]


# -- layers and directions -----------------------------------------------------------------


def _states(name: str, hx: Any) -> list[Tensor]:
    if name != "lstm":
        if not isinstance(hx, Tensor):
            raise errors.wrong_argument(name, "hx", 2, "Tensor", hx)
        return [hx]
    if isinstance(hx, Tensor) or not isinstance(hx, Sequence):
        raise errors.wrong_argument(name, "hx", 2, "tuple of Tensors", hx)
    if len(hx) != 2:
        raise RuntimeError(
            f"lstm expects two hidden states\n  Pass (h_0, c_0); got {len(hx)}."
            + errors.at_user_line()
        )
    return list(hx)


def _grouped(params: Sequence[Tensor], has_biases: bool, projects: bool) -> list[Group]:
    """Weights by layer and direction: w_ih, w_hh, b_ih, b_hh, w_hr; None where there is none."""
    count = 2 + 2 * has_biases + projects
    if len(params) % count:
        raise RuntimeError(
            f"got an incorrect number of RNN parameters\n  There are {len(params)}, and each layer "
            f"and direction has {count}." + errors.at_user_line()
        )
    groups: list[Group] = []
    for start in range(0, len(params), count):
        w_ih, w_hh, *rest = params[start : start + count]
        w_hr = rest.pop() if projects else None
        b_ih, b_hh = rest or (None, None)
        groups.append((w_ih, w_hh, b_ih, b_hh, w_hr))
    return groups


def _check_layer(rows: Tensor, group: Group, states: Sequence[Tensor], batch: int) -> None:
    """The sizes and dtypes that the kernels count on, in the words of the product that failed."""
    w_ih, w_hh = group[0], group[1]
    for left, right in ((rows, w_ih), (states[0], w_hh)):
        if left.dtype is not right.dtype:
            raise RuntimeError(
                f"mat1 and mat2 must have the same dtype, but got {left.dtype.scalar_name} and "
                f"{right.dtype.scalar_name}" + errors.at_user_line()
            )
        (count, size), (wanted, expected) = left._array.shape, right._array.shape[::-1]
        if size != wanted:
            raise RuntimeError(
                f"mat1 and mat2 shapes cannot be multiplied ({count}x{size} and "
                f"{wanted}x{expected})" + errors.at_user_line()
            )
    for state in states:
        have = state._array.shape[0]
        if have != batch:
            raise RuntimeError(
                f"The size of tensor a ({have}) must match the size of tensor b ({batch}) at "
                "non-singleton dimension 0\n  A hidden state has a batch of another size than the "
                "input." + errors.at_user_line()
            )


def _stacked(
    layer: Layer,
    rows: Tensor,
    batch_sizes: tuple[int, ...],
    states: Sequence[Tensor],
    groups: list[Group],
    num_layers: int,
    dropout: float,
    bidirectional: bool,
) -> tuple[Tensor, ...]:
    """All layers, each over the output of the one before: rows, then the last states of each."""
    directions = 2 if bidirectional else 1
    first = [state.unbind(0) for state in states]
    if min(len(groups), *[len(each) for each in first]) < num_layers * directions:
        raise RuntimeError("Expected more hidden states in stacked_rnn" + errors.at_user_line())
    last: list[list[Tensor]] = [[] for _ in states]
    for number in range(num_layers):
        if number and dropout:
            rows = drop(rows, dropout)
        outs = []
        for direction in range(directions):
            place = number * directions + direction
            own = [each[place] for each in first]
            *weights, w_hr = group = groups[place]
            _check_layer(rows, group, own, batch_sizes[0])
            if len(own) == 2:
                own.append(w_hr)
            out, *after = layer(
                rows, *weights, *own, batch_sizes=batch_sizes, reverse=direction == 1
            )
            outs.append(out)
            for each, state in zip(last, after):
                each.append(state)
        rows = outs[0] if directions == 1 else cat(outs, 1)
    return rows, *[stack(each) for each in last]


def _packed(
    name: str, layer: Layer, data: Tensor, batch_sizes: Tensor, hx: Any, params: Sequence[Tensor],
    has_biases: bool, num_layers: int, dropout: float, train: bool, bidirectional: bool,
) -> tuple[Tensor, ...]:  # fmt: skip
    """Sequences of different lengths: the rows of all steps, and how many each step has."""
    states = _states(name, hx)
    groups = _grouped(params, has_biases, _projects(states))
    return _stacked(
        layer, data, tuple(batch_sizes.tolist()), states, groups, num_layers,
        dropout if train else 0.0, bidirectional,
    )  # fmt: skip


def _padded(
    name: str, layer: Layer, input: Tensor, hx: Any, params: Sequence[Tensor], has_biases: bool,
    num_layers: int, dropout: float, train: bool, bidirectional: bool, batch_first: bool,
) -> tuple[Tensor, ...]:  # fmt: skip
    """Sequences of one length, (T, N, size), or (N, T, size) with `batch_first`."""
    states = _states(name, hx)
    if batch_first:
        input = input.transpose(0, 1)
    length, batch, size = input._array.shape
    if not length:
        raise RuntimeError(
            "Expected sequence length to be larger than 0 in RNN" + errors.at_user_line()
        )
    rows = input.reshape(length * batch, size)
    groups = _grouped(params, has_biases, _projects(states))
    out, *last = _stacked(
        layer, rows, (batch,) * length, states, groups, num_layers, dropout if train else 0.0,
        bidirectional,
    )  # fmt: skip
    out = out.view(length, batch, out._array.shape[1])
    return out.transpose(0, 1) if batch_first else out, *last


def _projects(states: list[Tensor]) -> bool:
    """Whether an LSTM's hidden states are smaller than its cells."""
    return len(states) == 2 and states[0]._array.shape[-1] != states[1]._array.shape[-1]


def _function(name: str, layer: Layer, policy: str) -> Callable[..., tuple[Tensor, ...]]:
    """The public function: `(input, hx, params, ...)` or `(data, batch_sizes, hx, params, ...)`."""

    def function(*args: Any, **kwargs: Any) -> tuple[Tensor, ...]:
        is_packed = "batch_sizes" in kwargs or (len(args) > 3 and isinstance(args[3], Sequence))
        return (_packed if is_packed else _padded)(name, layer, *args, **kwargs)

    function.__name__ = function.__qualname__ = name
    FUNCTIONS[name] = casts(policy)(function)
    return FUNCTIONS[name]


lstm = _function("lstm", LSTM_LAYER, LOWER)
gru = _function("gru", GRU_LAYER, FIRST)
rnn_tanh = _function("rnn_tanh", partial(RNN_LAYER, relu=False), LOWER)
rnn_relu = _function("rnn_relu", partial(RNN_LAYER, relu=True), LOWER)


# -- cells ---------------------------------------------------------------------------------


def _check_cell(
    input: Tensor, states: Sequence[Tensor], w_ih: Tensor, w_hh: Tensor, gates: int
) -> None:
    batch, size = input._array.shape
    expected = w_ih._array.shape[1]
    if size != expected:
        raise RuntimeError(
            f"input has inconsistent input_size: got {size} expected {expected}"
            + errors.at_user_line()
        )
    expected = w_hh._array.shape[1]
    for number, state in enumerate(states):
        have, size = (*state._array.shape, 0, 0)[:2]
        if have != batch:
            raise RuntimeError(
                f"Input batch size {batch} doesn't match hidden{number} batch size {have}"
                + errors.at_user_line()
            )
        if size != expected:
            raise RuntimeError(
                f"hidden{number} has inconsistent hidden_size: got {size}, expected {expected}"
                + errors.at_user_line()
            )
    for name, weight in (("weight_ih", w_ih), ("weight_hh", w_hh)):
        if weight._array.shape[0] != gates * expected:
            raise RuntimeError(
                f"{name} first dim must be {gates} * hidden_size = {gates * expected}, but got "
                f"{weight._array.shape[0]}" + errors.at_user_line()
            )


@public(method=False, out=False)
def lstm_cell(
    input: Tensor,
    hx: Sequence[Tensor],
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """One step of an LSTM: the next hidden state and cell."""
    if isinstance(hx, Tensor):
        raise errors.wrong_argument("lstm_cell", "hx", 2, "tuple of Tensors", hx)
    if len(hx) != 2:
        raise RuntimeError("lstm_cell expects two hidden states" + errors.at_user_line())
    hidden, cell = hx
    _check_cell(input, (hidden, cell), w_ih, w_hh, 4)
    i, f, new, o = lstm_gates(linear(hidden, w_hh, b_hh) + linear(input, w_ih, b_ih))
    after = f * cell + i * new
    return o * after.tanh(), after


@public(method=False, out=False)
def gru_cell(
    input: Tensor,
    hx: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Tensor:
    """One step of a GRU: the next hidden state."""
    _check_cell(input, (hx,), w_ih, w_hh, 3)
    _, z, new, _ = gru_gates(linear(input, w_ih, b_ih), linear(hx, w_hh, b_hh))
    return new + z * (hx - new)


def _rnn_total(
    input: Tensor,
    hx: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None,
    b_hh: Tensor | None,
) -> Tensor:
    _check_cell(input, (hx,), w_ih, w_hh, 1)
    return linear(input, w_ih, b_ih) + linear(hx, w_hh, b_hh)


@public(method=False, out=False)
def rnn_tanh_cell(
    input: Tensor,
    hx: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Tensor:
    """One step of a plain recurrent network with tanh."""
    result: Tensor = _rnn_total(input, hx, w_ih, w_hh, b_ih, b_hh).tanh()
    return result


@public(method=False, out=False)
def rnn_relu_cell(
    input: Tensor,
    hx: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Tensor:
    """One step of a plain recurrent network with relu."""
    result: Tensor = _rnn_total(input, hx, w_ih, w_hh, b_ih, b_hh).relu()
    return result
