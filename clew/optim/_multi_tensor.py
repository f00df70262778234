"""The optimizers with `foreach=True`, which changes nothing here, at PyTorch's old place."""

from __future__ import annotations

import functools

from clew import optim

__all__ = [
    "ASGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "NAdam", "RAdam", "RMSprop", "Rprop",
    "SGD",
]  # fmt: skip

ASGD, Adadelta, Adagrad, Adam, AdamW, Adamax, NAdam, RAdam, RMSprop, Rprop, SGD = [
    functools.partial(getattr(optim, name), foreach=True) for name in __all__
]
