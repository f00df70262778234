"""Programs that replace functions by counters of their own see the calls that PyTorch makes.

Layers look their functions up in `nn.functional` at every call, and functions that are made of
products do not go through the public methods of tensors.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any
from unittest.mock import patch

import pytest

from tests.twice import twice

FUNCTIONS = (
    "avg_pool1d", "avg_pool2d", "avg_pool3d", "max_pool1d", "max_pool2d", "max_pool3d",
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "lp_pool1d",
    "fractional_max_pool2d", "max_unpool1d",
    "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d",
    "bilinear", "layer_norm", "batch_norm", "embedding", "multi_head_attention_forward",
)  # fmt: skip
PRODUCTS = ("matmul", "mm", "addmm")

Scenario = Callable[[Any], Any]


def _row(lib: Any) -> Any:
    return lib.arange(1 * 4 * 8, dtype=lib.float32).reshape(1, 4, 8) / 32


LAYERS: dict[str, Scenario] = {
    "AvgPool1d": lambda lib: lib.nn.AvgPool1d(2)(_row(lib)),
    "AvgPool2d": lambda lib: lib.nn.AvgPool2d(2)(_row(lib)),
    "AvgPool3d": lambda lib: lib.nn.AvgPool3d(1)(_row(lib)[None]),
    "MaxPool1d": lambda lib: lib.nn.MaxPool1d(2)(_row(lib)),
    "MaxPool2d": lambda lib: lib.nn.MaxPool2d(2)(_row(lib)),
    "MaxPool3d": lambda lib: lib.nn.MaxPool3d(1)(_row(lib)[None]),
    "AdaptiveAvgPool1d": lambda lib: lib.nn.AdaptiveAvgPool1d(2)(_row(lib)),
    "AdaptiveAvgPool2d": lambda lib: lib.nn.AdaptiveAvgPool2d(1)(_row(lib)),
    "AdaptiveAvgPool3d": lambda lib: lib.nn.AdaptiveAvgPool3d(1)(_row(lib)[None]),
    "FractionalMaxPool2d": lambda lib: lib.nn.FractionalMaxPool2d(2, 2)(_row(lib)[None]).shape,
    "MaxUnpool1d": lambda lib: lib.nn.MaxUnpool1d(2)(
        *lib.nn.MaxPool1d(2, return_indices=True)(_row(lib))
    ),
    "Conv1d": lambda lib: lib.nn.Conv1d(4, 2, 3)(_row(lib)).shape,
    "Conv2d": lambda lib: lib.nn.Conv2d(1, 2, 3, padding_mode="circular")(_row(lib)).shape,
    "Conv3d": lambda lib: lib.nn.Conv3d(1, 2, 1)(_row(lib)[None]).shape,
    "ConvTranspose1d": lambda lib: lib.nn.ConvTranspose1d(4, 2, 3)(_row(lib)).shape,
    "ConvTranspose2d": lambda lib: lib.nn.ConvTranspose2d(1, 2, 3)(_row(lib)).shape,
    "Linear": lambda lib: lib.nn.Linear(8, 3)(_row(lib)).shape,
    "Linear of a matrix": lambda lib: lib.nn.Linear(8, 3)(_row(lib)[0]).shape,
    "Linear without bias": lambda lib: lib.nn.Linear(8, 3, bias=False)(_row(lib)).shape,
    "Bilinear": lambda lib: lib.nn.Bilinear(8, 8, 3)(_row(lib), _row(lib)).shape,
    "LayerNorm": lambda lib: lib.nn.LayerNorm(8)(_row(lib)),
    "BatchNorm1d": lambda lib: lib.nn.BatchNorm1d(4)(_row(lib)),
    "Embedding": lambda lib: lib.nn.Embedding(4, 2)(lib.tensor([1, 2])).shape,
    "LSTM": lambda lib: lib.nn.LSTM(8, 3, bidirectional=True)(_row(lib))[0].shape,
    "GRUCell": lambda lib: lib.nn.GRUCell(8, 3)(_row(lib)[0]).shape,
    "MultiheadAttention": lambda lib: (
        lib.nn.MultiheadAttention(8, 2)(*[_row(lib)] * 3, need_weights=False)[0].shape
    ),
    "attention": lambda lib: lib.nn.functional.scaled_dot_product_attention(*[_row(lib)] * 3),
    "einsum": lambda lib: lib.einsum("bij,bkj->ik", _row(lib), _row(lib)),
    "tensordot": lambda lib: lib.tensordot(_row(lib), _row(lib), ([2], [2])),
    "multi_dot": lambda lib: lib.linalg.multi_dot([lib.ones(2, 3), lib.ones(3, 4), lib.ones(4, 2)]),
    "@": lambda lib: _row(lib) @ _row(lib).mT,
}


@pytest.mark.parametrize("scenario", LAYERS.values(), ids=LAYERS)
def test_replaced_functions_see_the_calls(scenario: Scenario) -> None:
    @twice
    def calls(lib: Any) -> Any:
        seen: list[str] = []

        def counting(where: Any, name: str) -> Any:
            function = getattr(where, name)

            def counted(*args: Any, **kwargs: Any) -> Any:
                seen.append(name)
                return function(*args, **kwargs)

            return patch.object(where, name, counted)

        with ExitStack() as stack:
            for name in FUNCTIONS:
                stack.enter_context(counting(lib.nn.functional, name))
            for where in (lib, lib.Tensor):
                for name in PRODUCTS:
                    stack.enter_context(counting(where, name))
            result = scenario(lib)
        return seen, result

    calls()
