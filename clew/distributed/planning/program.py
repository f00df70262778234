"""A program whose model has been measured: what one sample needs, and how the model is cut."""

from __future__ import annotations

from dataclasses import dataclass, replace

from clew.distributed.planning.model import Layout


@dataclass(frozen=True)
class Program:
    """What a step of a program does, for each sample; measured by `measuring.py`.

    Tensor parallelism is taken to divide what layers compute and keep, pipelines to be cut between
    blocks. `heads` divides the width of every layer.
    """

    parameters: float
    layers: int
    heads: int
    width: int
    per_parameter: tuple[float, float, float]
    forward_flops: float
    backward_flops: float
    # Bytes of a sample: between two blocks, kept for backward by all of them, and by the rest.
    boundary: float
    kept_by_layers: float
    kept_besides: float
    # How many samples a step of the program has.
    batch: int

    def flops(self, batch: int, recomputes: bool) -> float:
        """Floating-point operations of a step with so many samples."""
        again = self.forward_flops if recomputes else 0.0
        return batch * (self.forward_flops + self.backward_flops + again)

    def boundary_bytes(self, samples: int) -> float:
        """Bytes that go from one block to the next."""
        return samples * self.boundary

    def activation_bytes(self, layout: Layout) -> float:
        """Bytes that one device keeps for backward, with as many micro-batches as are in flight."""
        samples, t = layout.microbatch, layout.tensor
        shared = t if layout.sequence else 1
        if layout.recomputes:
            # The inputs of blocks, and one block while it is computed again.
            kept = self.boundary * self.layers / shared
            working = self.kept_by_layers / self.layers / t
        else:
            kept, working = self.kept_by_layers / t, 0.0
        # A stage has a part of the blocks, the first one a micro-batch for each stage behind it.
        return samples * (kept + working + self.kept_besides / t)

    def ten_times(self) -> Program:
        """Deeper and wider by the same factor, which the parameters have to the third power."""
        factor = 10 ** (1 / 3)
        return replace(
            self,
            parameters=10 * self.parameters,
            layers=round(self.layers * factor),
            width=round(self.width * factor),
            forward_flops=10 * self.forward_flops,
            backward_flops=10 * self.backward_flops,
            boundary=factor * self.boundary,
            kept_by_layers=factor**2 * self.kept_by_layers,
            kept_besides=factor * self.kept_besides,
        )
