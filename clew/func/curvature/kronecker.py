"""K-FAC and EKFAC: the Gauss-Newton matrix of each layer as a Kronecker product.

The gradient of a linear layer's weight is a sum of products g aᵀ of what comes back to its output
and what went into it. K-FAC takes the two as independent: the layer's block is A ⊗ G with A the
mean of a aᵀ and G that of g gᵀ. EKFAC keeps the eigenvectors of A ⊗ G and measures the eigenvalues:
the mean squares of gradients in that basis. A convolution is a linear layer at every position.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from clew import errors
from clew.autograd.grad_mode import enable_grad, no_grad
from clew.core.tensor import Tensor
from clew.func.batching import vmap
from clew.func.curvature.networks import Data, Loss, Network, checked, gradients
from clew.func.curvature.operators import Operator
from clew.func.jacobians import hessian
from clew.nn import functional as F
from clew.nn.modules.conv import Conv2d
from clew.nn.modules.linear import Linear
from clew.nn.modules.module import Module
from clew.ops.create.constants import ones
from clew.ops.create.random import randint
from clew.ops.linalg.decompositions import eigh
from clew.ops.linalg.einsum import einsum
from clew.ops.shape.joining import cat

__all__ = ["EKFAC", "KFAC"]


class Layer:
    """A linear layer or a convolution: the place of its parameters, and the factors of its block.

    Its weight and bias are one matrix, the bias a further column; `rows` are what that is
    multiplied by, examples × positions × columns.
    """

    def __init__(self, module: Linear | Conv2d, weight: int | None, bias: int | None) -> None:
        self.module, self.weight, self.bias = module, weight, bias
        self.inputs: Tensor | float = 0.0  # A, then its eigenvectors
        self.outputs: Tensor | float = 0.0  # G, then its eigenvectors
        self.values: Tensor | float = 0.0  # eigenvalues of the block: outputs × inputs
        self.seen = 0  # rows, over all examples and positions

    def rows(self, given: Tensor) -> Tensor:
        if isinstance(self.module, Conv2d):
            conv = self.module
            mode = "constant" if conv.padding_mode == "zeros" else conv.padding_mode
            padded = F.pad(given, conv._reversed_padding_repeated_twice, mode=mode)
            windows = F.unfold(padded, conv.kernel_size, conv.dilation, 0, conv.stride)
            rows = windows.transpose(1, 2)
        else:
            rows = given.reshape(given.shape[0], -1, given.shape[-1])
        parts = [rows] if self.weight is not None else []
        if self.bias is not None:
            parts.append(ones(*rows.shape[:2], 1, dtype=rows.dtype))
        return cat(parts, 2)

    def returned(self, gradient: Tensor) -> Tensor:
        """The gradient of the layer's output: examples × positions × outputs."""
        if isinstance(self.module, Conv2d):
            return gradient.flatten(2).transpose(1, 2)
        return gradient.reshape(gradient.shape[0], -1, gradient.shape[-1])

    def matrix(self, pieces: Sequence[Tensor]) -> Tensor:
        """The pieces of a vector that belong to the layer, as one matrix."""
        parts = [] if self.weight is None else [pieces[self.weight].flatten(1)]
        if self.bias is not None:
            parts.append(pieces[self.bias].unsqueeze(1))
        return cat(parts, 1)

    def place(self, matrix: Tensor, pieces: list[Tensor]) -> None:
        """Put a matrix back where `matrix` found it."""
        if self.weight is not None:
            width = pieces[self.weight][0].numel()
            pieces[self.weight] = matrix[:, :width].reshape(pieces[self.weight].shape)
        if self.bias is not None:
            pieces[self.bias] = matrix[:, -1]


class _Passes:
    """Passes over the data that show what goes into layers and what comes back to them."""

    def __init__(self, network: Network, layers: Sequence[Layer], fisher: str, samples: int):
        self.network, self.layers = network, layers
        self.fisher, self.samples = fisher, samples

    def run(
        self, data: Data, went_in: Callable[[Layer, Tensor], Any],
        came_back: Callable[[Layer, Any, Tensor], None],
    ) -> int:  # fmt: skip
        """`went_in` gets the rows of each call of a layer, `came_back` what it returned, and the
        gradients of the output; the number of examples."""
        examples = 0
        for inputs, targets in self.network.batches(data):
            calls: list[tuple[Layer, Any, Tensor]] = []
            with enable_grad():
                outputs = self._recorded(inputs, went_in, calls)
            for cotangent in self._cotangents(outputs, targets):
                found = gradients(
                    outputs, [out for _, _, out in calls], cotangent, retain_graph=True
                )
                self._tell(calls, found, came_back)
            examples += outputs.shape[0]
        return examples

    def _tell(
        self, calls: Sequence[tuple[Layer, Any, Tensor]], found: Sequence[Tensor],
        came_back: Callable[[Layer, Any, Tensor], None],
    ) -> None:  # fmt: skip
        """Calls of the same layer are further positions of it."""
        for layer in self.layers:
            own = [(kept, g) for (each, kept, _), g in zip(calls, found) if each is layer]
            if own:
                came_back(
                    layer,
                    own[0][0] if len(own) == 1 else cat([kept for kept, _ in own], 1),
                    cat([layer.returned(g) for _, g in own], 1),
                )

    def _recorded(
        self, inputs: Any, went_in: Callable[[Layer, Tensor], Any],
        calls: list[tuple[Layer, Any, Tensor]],
    ) -> Tensor:  # fmt: skip
        """The outputs of the model; the calls of layers are appended."""

        def hook_of(layer: Layer) -> Callable[..., Tensor]:
            def hook(module: Module, args: tuple[Tensor, ...], output: Tensor) -> Tensor:
                with no_grad():
                    kept = went_in(layer, layer.rows(args[0].detach()))
                calls.append((layer, kept, output))
                # Whoever writes to the output (an in-place ReLU) must not write to this tensor.
                return output.clone()

            return hook

        handles = [layer.module.register_forward_hook(hook_of(layer)) for layer in self.layers]
        try:
            return self.network.outputs(inputs)
        finally:
            for handle in handles:
                handle.remove()

    @no_grad()
    def _cotangents(self, outputs: Tensor, targets: Any) -> Iterator[Tensor]:
        """Vectors for each example whose outer products sum to the Hessian of its loss by its
        output: in truth, on average, or, with the gradients themselves, as the labels have it."""
        if self.fisher == "empirical":
            given = outputs.detach().requires_grad_()
            with enable_grad():
                total = self.network.example_losses(given, targets).sum()
            yield gradients(total, [given])[0]
            return
        factors = self._factors(outputs.detach(), targets)
        if self.fisher == "exact":
            for column in factors.unbind(2):
                yield column.reshape(outputs.shape)
            return
        for _ in range(self.samples):
            drawn = randint(0, 2, (len(factors), factors.shape[2], 1)).to(factors.dtype) * 2 - 1
            yield (factors @ drawn).reshape(outputs.shape) / math.sqrt(self.samples)

    def _factors(self, outputs: Tensor, targets: Any) -> Tensor:
        """A square root of the Hessian of each example's loss by its output."""

        def loss(output: Tensor, target: Tensor) -> Tensor:
            shaped = output.reshape(1, *outputs.shape[1:])
            return self.network.loss(shaped, target.unsqueeze(0))

        hessians = vmap(hessian(loss))(outputs.flatten(1), targets)
        values, vectors = eigh(hessians)
        lowest, highest = float(values.min()), float(values.abs().max())
        # Where all examples are told apart with certainty, rounding is all that is left.
        if lowest < -1e-3 * highest - 10 * float(np.finfo(values.numpy().dtype).eps):
            raise ValueError(
                "the loss is not convex in the model's outputs: its Hessian by them has an "
                f'eigenvalue of {lowest:.3g}\n  fisher="empirical" needs gradients alone.'
                + errors.at_user_line()
            )
        return vectors * values.clamp(min=0).sqrt().unsqueeze(1)


class KFAC(Operator):
    """The Gauss-Newton matrix with a Kronecker product for each layer, and zero between layers.

    `@` multiplies; `inverse(damping)` is another such matrix, and multiplying by it costs no more.

    Args:
        model: the network; its parameters must belong to `Linear` and `Conv2d` layers
        loss: a function of the model's outputs and the targets, the mean over a batch
        data: batches, pairs of inputs and targets
        parameters: names of those that the matrix is about; all that require grad by default
        fisher: "exact" goes backward once for each output of the model, "sampled" once for each
            sample, "empirical" once, with the gradients of the loss itself
        samples: for "sampled"

    Example:
        >>> x, y = clew.tensor([[1., 2.]]), clew.tensor([[0.]])
        >>> model = nn.Linear(2, 1, bias=False)
        >>> G = clew.func.curvature.KFAC(model, nn.functional.mse_loss, [(x, y)])
        >>> G @ clew.tensor([1., 0.])
        tensor([2.0000, 4.0000])
        >>> G.inverse(damping=10.) @ clew.tensor([1., 2.])
        tensor([0.0500, 0.1000])
    """

    def __init__(
        self, model: Module, loss: Loss, data: Data, parameters: Iterable[str] | None = None,
        fisher: str = "exact", samples: int = 1,
    ) -> None:  # fmt: skip
        if fisher not in ("exact", "sampled", "empirical"):
            raise ValueError(
                f'fisher must be "exact", "sampled" or "empirical", got {fisher!r}'
                + errors.at_user_line()
            )
        super().__init__(Network(model, loss, parameters))
        self.layers = layers_of(self.network)
        with no_grad():
            passes = _Passes(self.network, self.layers, fisher, samples)
            self._measure(passes, checked(data))

    def _measure(self, passes: _Passes, data: Data) -> None:
        def went_in(layer: Layer, rows: Tensor) -> Tensor:
            flat = rows.flatten(0, 1)
            layer.seen += len(flat)
            layer.inputs = layer.inputs + flat.T @ flat
            return rows

        def came_back(layer: Layer, rows: Tensor, gradient: Tensor) -> None:
            flat = gradient.flatten(0, 1)
            layer.outputs = layer.outputs + flat.T @ flat

        examples = passes.run(data, went_in, came_back)
        if not examples:
            raise ValueError("there is no data" + errors.at_user_line())
        for layer in self.layers:
            if not isinstance(layer.inputs, Tensor) or not isinstance(layer.outputs, Tensor):
                raise ValueError(
                    f"the model does not call {layer.module}: leave its parameters out"
                    + errors.at_user_line()
                )
            into, layer.inputs = eigh(layer.inputs / examples)
            back, layer.outputs = eigh(layer.outputs / layer.seen)
            layer.values = back.clamp(min=0).unsqueeze(1) * into.clamp(min=0)

    def _products(self, columns: Sequence[Tensor]) -> list[Tensor]:
        return [self._mapped(column, lambda values, m: values * m) for column in columns]

    def _mapped(self, vector: Tensor, function: Callable[[Any, Tensor], Tensor]) -> Tensor:
        """A function of the eigenvalues, times a vector."""
        pieces = self.network.split(vector)
        for layer in self.layers:
            left, right = layer.outputs, layer.inputs
            assert isinstance(left, Tensor) and isinstance(right, Tensor)
            inside = left.T @ layer.matrix(pieces) @ right
            layer.place(left @ function(layer.values, inside) @ right.T, pieces)
        return self.network.joined(pieces)

    def inverse(self, damping: float) -> Operator:
        """The inverse of the matrix plus `damping` times the identity."""
        return _Damped(self, damping)


class EKFAC(KFAC):
    """K-FAC with measured eigenvalues, the nearest that the eigenvectors of K-FAC allow.

    The arguments are those of `KFAC`; the data is gone through twice.

    Example:
        >>> x, y = clew.tensor([[1., 2.]]), clew.tensor([[0.]])
        >>> model = nn.Linear(2, 1, bias=False)
        >>> G = clew.func.curvature.EKFAC(model, nn.functional.mse_loss, [(x, y)])
        >>> G @ clew.tensor([1., 0.])
        tensor([2.0000, 4.0000])
    """

    def _measure(self, passes: _Passes, data: Data) -> None:
        super()._measure(passes, data)
        for layer in self.layers:
            layer.values = 0.0

        def went_in(layer: Layer, rows: Tensor) -> Tensor:
            return rows @ layer.inputs

        def came_back(layer: Layer, rows: Tensor, gradient: Tensor) -> None:
            turned = gradient @ layer.outputs
            if rows.shape[1] == 1:  # the square of a product is a product of squares
                squares = turned.squeeze(1).square().T @ rows.squeeze(1).square()
            else:
                squares = einsum("npo,npi->noi", turned, rows).square().sum(0)
            layer.values = layer.values + squares

        examples = passes.run(data, went_in, came_back)
        for layer in self.layers:
            layer.values = layer.values / examples


class _Damped(Operator):
    """The inverse of a matrix of Kronecker products plus a damping."""

    def __init__(self, matrix: KFAC, damping: float) -> None:
        super().__init__(matrix.network)
        self.matrix, self.damping = matrix, damping

    def _products(self, columns: Sequence[Tensor]) -> list[Tensor]:
        return [
            self.matrix._mapped(column, lambda values, m: m / (values + self.damping))
            for column in columns
        ]


def layers_of(network: Network) -> list[Layer]:
    """The layers that the parameters belong to; all of them must belong to one."""
    places = {name: place for place, name in enumerate(network.names)}
    layers, found = [], set()
    for path, module in network.model.named_modules():
        names = [f"{path}.{leaf}" if path else leaf for leaf in ("weight", "bias")]
        if not isinstance(module, (Linear, Conv2d)) or getattr(module, "groups", 1) != 1:
            continue
        if any(name in places for name in names):
            layers.append(Layer(module, places.get(names[0]), places.get(names[1])))
            found.update(names)
    left = [name for name in network.names if name not in found]
    if left:
        raise ValueError(
            f"{', '.join(left)}: of no Linear, and of no Conv2d without groups\n  K-FAC knows no "
            "other layers: name the parameters that it is to be about (parameters=...)."
            + errors.at_user_line()
        )
    return layers
