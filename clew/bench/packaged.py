"""Train steps of models that packages make, as their users have them: `import torch` is the engine.

Only where they are asked for (`clew bench --filter packages/`): the packages must be installed.
"""

import functools
from collections.abc import Callable
from importlib import import_module
from typing import Any

import clew
from clew import aliasing
from clew.bench.models import Training


@functools.cache
def _be_torch(t: Any) -> None:
    """Let `import torch` give packages the engine `t`."""
    if t is clew:
        aliasing.install()
        return
    # PyTorch without a GPU cannot load torchvision's compiled part, whose names are asked for.
    for operation in ("nms", "qnms"):
        t.library.define(f"torchvision::{operation}", "(Tensor a, Tensor b, float c) -> Tensor")


def _package(t: Any, name: str) -> Any:
    """A package over the engine `t`; in clew's process `torch` means clew from here on."""
    _be_torch(t)
    return import_module(name)


def gpt2(
    width: int, layers: int, heads: int, length: int, batch: int, vocabulary: int
) -> Callable[[Any], Training]:
    """transformers' GPT-2, with its dropout and its loss; AdamW."""

    def make(t: Any) -> Training:
        transformers = _package(t, "transformers")
        config = transformers.GPT2Config(
            n_embd=width, n_layer=layers, n_head=heads, n_positions=length, vocab_size=vocabulary,
            bos_token_id=0, eos_token_id=0,
        )  # fmt: skip
        # The classes of transformers are imported, which draws numbers, before weights are made.
        model_class = transformers.GPT2LMHeadModel
        t.manual_seed(0)
        model = model_class(config).train()
        x = t.randint(0, vocabulary, (batch, length))
        optimizer = t.optim.AdamW(model.parameters(), lr=1e-3)
        return Training(
            model, lambda: model(input_ids=x, labels=x), lambda out: out.loss, optimizer, (x,)
        )

    return make


def vit(width: int, layers: int, heads: int, batch: int) -> Callable[[Any], Training]:
    """timm's vision transformer for 32×32 images in patches of 4; AdamW."""

    def make(t: Any) -> Training:
        timm = _package(t, "timm.models.vision_transformer")
        t.manual_seed(0)
        model = timm.VisionTransformer(
            img_size=32, patch_size=4, embed_dim=width, depth=layers, num_heads=heads,
            num_classes=10,
        ).train()  # fmt: skip
        x, y = t.randn(batch, 3, 32, 32), t.randint(0, 10, (batch,))
        optimizer = t.optim.AdamW(model.parameters(), lr=1e-3)
        cross_entropy = t.nn.functional.cross_entropy
        return Training(
            model, lambda: model(x), lambda out: cross_entropy(out, y), optimizer, (x, y)
        )

    return make


PACKAGED: dict[str, Callable[[Any], Training]] = {
    "gpt2_tiny": gpt2(64, 2, 2, 32, 8, 65),
    "gpt2_small": gpt2(256, 4, 8, 128, 8, 1000),
    "vit_tiny": vit(64, 2, 2, 16),
    "vit_small": vit(192, 6, 3, 16),
}
