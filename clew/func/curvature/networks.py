"""A model, its loss and its data as functions of one vector of parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from clew import errors
from clew.autograd.backward import grad as autograd_grad
from clew.core.tensor import Tensor
from clew.func.batching import vmap
from clew.func.modules import functional_call
from clew.nn.modules.module import Module
from clew.ops.create.constants import zeros_like
from clew.ops.shape.joining import cat
from clew.random import fork_rng, get_rng_state, set_rng_state

Loss = Callable[[Any, Any], Tensor]
Data = Iterable[Sequence[Any]]


class Network:
    """A model and its loss at the values that the parameters have now.

    Later steps of training do not move it: parameters and buffers are copied. Random numbers
    (dropout) are the same in every pass over the data, and running statistics stay as they are.
    """

    def __init__(self, model: Module, loss: Loss, parameters: Iterable[str] | None = None) -> None:
        self.model, self.loss = model, loss
        known = dict(model.named_parameters())
        if parameters is None:
            names = [name for name, each in known.items() if each.requires_grad]
        else:
            names = list(parameters)
        for name in names:
            if name not in known:
                raise ValueError(
                    f"the model has no parameter {name!r}; it has {', '.join(known)}"
                    + errors.at_user_line()
                )
        if not names:
            raise ValueError("the model has no parameters to train" + errors.at_user_line())
        self.names = names
        self.parameters = [known[name].detach().clone().requires_grad_() for name in names]
        self.fixed = {n: each.detach().clone() for n, each in known.items() if n not in set(names)}
        self.buffers = {name: each.clone() for name, each in model.named_buffers()}
        self.random = get_rng_state()
        self.sizes = [each.numel() for each in self.parameters]
        self.size = sum(self.sizes)
        self.dtype = self.parameters[0].dtype

    # -- vectors -----------------------------------------------------------------------------------

    def split(self, vector: Tensor) -> list[Tensor]:
        """A vector in pieces of the parameters' shapes."""
        pieces = vector.split(self.sizes)
        return [piece.reshape(each.shape) for piece, each in zip(pieces, self.parameters)]

    def joined(self, pieces: Iterable[Tensor]) -> Tensor:
        """The vector of such pieces."""
        joined: Tensor = cat([piece.reshape(-1) for piece in pieces])
        return joined

    # -- functions ---------------------------------------------------------------------------------

    def outputs(self, inputs: Any, parameters: Sequence[Tensor] | None = None) -> Tensor:
        """What the model says of a batch."""
        chosen = dict(zip(self.names, self.parameters if parameters is None else parameters))
        # Copies: batch norms that train would write to them.
        buffers = {name: each.clone() for name, each in self.buffers.items()}
        outputs = functional_call(self.model, ({**chosen, **self.fixed}, buffers), (inputs,))
        if not isinstance(outputs, Tensor):
            raise TypeError(
                f"the model must return one tensor, and returned {type(outputs).__name__}"
                + errors.at_user_line()
            )
        return outputs

    def gradients(self, value: Tensor, **options: Any) -> list[Tensor]:
        """The gradients of a scalar by all parameters; zero where it does not depend on one."""
        return gradients(value, self.parameters, **options)

    def example_losses(self, outputs: Tensor, targets: Any) -> Tensor:
        """The loss of each example by itself."""

        def of_one(output: Tensor, target: Tensor) -> Tensor:
            return self.loss(output.unsqueeze(0), target.unsqueeze(0))

        losses: Tensor = vmap(of_one)(outputs, targets)
        return losses

    def batches(self, data: Data) -> Iterator[Sequence[Any]]:
        """One pass over the data, with the random numbers of every other pass."""
        with fork_rng():
            set_rng_state(self.random)
            yield from data


def gradients(
    outputs: Tensor | Sequence[Tensor], inputs: Sequence[Tensor],
    along: Tensor | Sequence[Tensor] | None = None, **options: Any,
) -> list[Tensor]:  # fmt: skip
    """Gradients that are zero where there is no dependence at all."""
    outputs = [outputs] if isinstance(outputs, Tensor) else list(outputs)
    given = [along] if isinstance(along, Tensor) or along is None else list(along)
    live = [pair for pair in zip(outputs, given, strict=True) if pair[0].requires_grad]
    if not live:
        return [zeros_like(each) for each in inputs]
    found = autograd_grad(
        [out for out, _ in live], list(inputs), [g for _, g in live], allow_unused=True,
        materialize_grads=True, **options,
    )  # fmt: skip
    return list(found)


def checked(data: Data) -> Data:
    """The data, if it can be gone through again and again, in batches."""
    if isinstance(data, tuple) and len(data) == 2 and isinstance(data[0], Tensor):
        raise TypeError(
            "data must be a list of batches, each a pair of inputs and targets: for a single "
            "batch, [(inputs, targets)]" + errors.at_user_line()
        )
    if iter(data) is data:
        raise TypeError(
            f"data is needed once for every product, and a {type(data).__name__} is used up after "
            "one: pass a list or a loader" + errors.at_user_line()
        )
    return data
