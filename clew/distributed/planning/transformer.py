"""Transformers from a few numbers.

Parameters and flops are counted as Narayanan et al. (2021, "Efficient large-scale language model
training on GPU clusters using Megatron-LM") count them; activations as Korthikanti et al. (2022,
"Reducing activation recomputation").
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from clew.distributed.planning.model import Layout

_HEAD = 128


@dataclass(frozen=True)
class Transformer:
    """A GPT: numbers of layers, width, heads (0: of 128 features), words, length of sequences."""

    layers: int
    width: int
    heads: int = 0
    vocabulary: int = 51200
    length: int = 2048
    per_parameter: tuple[float, float, float] = (2.0, 2.0, 12.0)

    def __post_init__(self) -> None:
        if not self.heads:
            object.__setattr__(self, "heads", max(1, self.width // _HEAD))

    @property
    def parameters(self) -> float:
        """Their number: 12 l h² (1 + 13/(12 h) + (V + s)/(12 l h))."""
        h, layers = self.width, self.layers
        words = (self.vocabulary + self.length) / (12 * layers * h)
        return 12 * layers * h**2 * (1 + 13 / (12 * h) + words)

    def flops(self, batch: int, recomputes: bool) -> float:
        """Floating-point operations of a step: forward once, backward twice, forward again."""
        h, layers, s = self.width, self.layers, self.length
        passes = 4 if recomputes else 3
        per_pass = 24 * batch * s * layers * h**2 * (1 + s / (6 * h))
        head = 6 * batch * s * h * self.vocabulary
        return passes * per_pass + head

    def boundary_bytes(self, samples: int) -> float:
        """Bytes that go from one layer to the next, in half precision."""
        return 2 * samples * self.length * self.width

    def activation_bytes(self, layout: Layout) -> float:
        """Bytes that one device keeps for backward, with as many micro-batches as are in flight."""
        s, b, h, t = self.length, layout.microbatch, self.width, layout.tensor
        layers = self.layers / layout.pipeline
        if layout.recomputes:
            each = 2 * s * b * h / (t if layout.sequence else 1)
            working = s * b * h * (34 + 5 * self.heads * s / h) / t
        else:
            shared = 10 / (t if layout.sequence else 1)
            each = s * b * h * (shared + 24 / t + 5 * self.heads * s / (h * t))
            working = 0.0
        logits = 4 * s * b * self.vocabulary / t
        # The first stage has a micro-batch for each stage behind it.
        return each * layers * layout.pipeline + working + logits

    def ten_times(self) -> Transformer:
        """Deeper and wider by the same factor, which the parameters have to the third power."""
        factor = 10 ** (1 / 3)
        return replace(
            self, layers=round(self.layers * factor), width=round(self.width * factor), heads=0
        )
