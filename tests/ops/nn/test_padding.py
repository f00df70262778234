"""Padding with copies of elements, of images large enough to be copied as a whole."""

from __future__ import annotations

from typing import Any

import pytest

from tests.twice import twice

PADS = {"both": (3, 2, 1, 4), "left": (5, 0, 0, 0), "below": (0, 0, 0, 7), "none": (0, 0, 0, 0)}


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "complex64"])
@pytest.mark.parametrize("pads", PADS)
@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
def test_large_images(mode: str, pads: str, dtype: str) -> None:
    @twice
    def scenario(torch: Any) -> Any:
        x = torch.arange(2 * 190 * 180).remainder(251).reshape(1, 2, 190, 180)
        x = x.to(getattr(torch, dtype))
        results = []
        for image in (x, x.to(memory_format=torch.channels_last), x[..., ::2]):
            padded = torch.nn.functional.pad(image, PADS[pads], mode=mode)
            results += [padded, padded.stride()]
        return results, torch.nn.functional.pad(x[0], PADS[pads][:2], mode=mode)

    scenario()
