"""Convolutions, resizing, padding, folding and shuffling."""

from __future__ import annotations

from typing import Any

import torch

from ..sampling import FLOATS, WIDE_FLOATS, Maker, OpCase, Sample, Samples, given

COMPLEX = (torch.complex64, torch.complex128)
NUMBERS = (*FLOATS, torch.int64, *COMPLEX)

# Long sums of products, in another order than torch's.
SUMS = {
    "float32": (1e-5, 1e-4), "complex64": (1e-5, 1e-4),
    "float16": (4e-3, 2e-2), "bfloat16": (3.2e-2, 2e-1),
}  # fmt: skip
# torch rounds to the 16-bit type after every axis or step; clew once, at the end.
HALF_STEPS = {"float16": (4e-3, 4e-3), "bfloat16": (3.2e-2, 3.2e-2)}


def nn_row(name: str, samples: Samples, errors: Samples | None = None, **row: Any) -> OpCase:
    row.setdefault("dtypes", FLOATS)
    row.setdefault("variants", ("function",))
    if errors is not None:
        row["errors"] = errors
    return OpCase(f"nn.functional.{name}", samples, **row)


def reals(build: Samples) -> Samples:
    """Samples for real floating point only: other dtypes are refused for reasons of their own."""
    return lambda make: build(make) if make.dtype.is_floating_point else []


# ---------------------------------------------------------------- convolutions


def channels_last(tensor: torch.Tensor) -> torch.Tensor:
    laid = tensor.detach().contiguous(memory_format=torch.channels_last)
    return laid.requires_grad_(tensor.requires_grad)


def _conv1d(m: Maker) -> list[Sample]:
    return [
        Sample(m(2, 3, 7), m(4, 3, 3)), Sample(m(2, 3, 7), m(4, 3, 3), m(4)),
        Sample(m(3, 7), m(4, 3, 2), m(4), 2, 1), Sample(m(2, 4, 9), m(6, 2, 3), groups=2),
        Sample(m(2, 3, 9), m(4, 3, 3), dilation=2, stride=2, padding=(3,)),
        Sample(m(2, 3, 7), m(4, 3, 3), padding="same"),
        Sample(m(2, 3, 7), m(4, 3, 2), None, 1, "same"),
        Sample(m(2, 3, 7), m(4, 3, 2), padding="valid"), Sample(m(0, 3, 7), m(4, 3, 3), m(4)),
        Sample(m(2, 4, 7), m(8, 1, 3), m(8), groups=4),
        Sample(m.strided(2, 3, 7), m.strided(4, 3, 3)),
    ]  # fmt: skip


def _conv2d(m: Maker) -> list[Sample]:
    return [
        Sample(m(2, 3, 5, 6), m(4, 3, 3, 2)), Sample(m(2, 3, 5, 6), m(4, 3, 3, 3), m(4), 1, 1),
        Sample(m(3, 5, 6), m(4, 3, 3, 3), m(4)), Sample(m(2, 3, 6, 5), m(4, 3, 3, 3), stride=2),
        Sample(m(2, 3, 6, 7), m(4, 3, 3, 3), m(4), (2, 1), (0, 2), (1, 2)),
        Sample(m(1, 4, 5, 5), m(6, 2, 2, 2), m(6), groups=2),
        Sample(m(1, 4, 5, 5), m(4, 1, 3, 3), groups=4, padding=1),
        Sample(m(2, 4, 7, 7), m(8, 1, 3, 3), stride=2, groups=4, padding=1),
        Sample(m(2, 3, 5, 5), m(4, 3, 1, 1)), Sample(m(2, 3, 5, 5), m(4, 3, 3, 4), padding="same"),
        Sample(m(1, 2, 7, 7), m(2, 2, 3, 3), padding="same", dilation=(2, 3)),
        Sample(m(0, 3, 5, 5), m(4, 3, 3, 3), m(4)), Sample(m(1, 2, 3, 3), m(2, 2, 3, 3)),
        Sample(m.strided(2, 3, 5, 6), m.strided(4, 3, 3, 2), m(4)),
        Sample(channels_last(m(2, 3, 5, 5)), m(4, 3, 3, 3), m(4), padding=1),
        Sample(m.expanded(2, 3, 5, 5), m(4, 3, 3, 3)),
    ]  # fmt: skip


def _conv3d(m: Maker) -> list[Sample]:
    return [
        Sample(m(1, 2, 4, 4, 5), m(3, 2, 2, 3, 2), m(3)), Sample(m(2, 4, 3, 4), m(3, 2, 2, 2, 2)),
        Sample(m(1, 2, 5, 5, 5), m(2, 2, 3, 3, 3), stride=(2, 1, 2), padding=(1, 0, 1)),
        Sample(m(1, 2, 4, 4, 4), m(4, 1, 2, 2, 2), groups=2, padding="same"),
    ]  # fmt: skip


def _conv_errors(m: Maker) -> list[Sample]:
    x, w = m(1, 3, 8, 8), m(4, 3, 3, 3)
    return [
        Sample(m(2, 3), w), Sample(m(1, 2, 3, 4, 5), w), Sample(x, m(4, 3, 3)),
        Sample(m(1, 2, 8, 8), w), Sample(m(1, 3, 2, 2), w), Sample(x, w, m(3)),
        Sample(x, w, m(4, 1)), Sample(x, w.to(torch.float32)), Sample(x, w, stride=0),
        Sample(x, w, padding=-1), Sample(x, w, dilation=0), Sample(x, w, groups=0),
        Sample(m(1, 4, 8, 8), m(3, 2, 3, 3), groups=2), Sample(x, w, stride=(1, 1, 1)),
        Sample(x, w, padding=(1, 1, 1)), Sample(x, w, dilation=(1, 1, 1)),
        Sample(x, w, stride=2, padding="same"), Sample(x, w, padding="foo"),
        Sample(m(1, 3, 0, 8), w, padding=2), Sample(x, m(0, 3, 3, 3)),
        Sample(x, m(4, 3, 0, 3)), Sample(x, w, m(4).to(torch.float32)),
    ]  # fmt: skip


def _transposed1d(m: Maker) -> list[Sample]:
    return [
        Sample(m(2, 3, 5), m(3, 4, 3), m(4)),
        Sample(m(3, 5), m(3, 2, 3), stride=2),
        Sample(m(1, 4, 5), m(4, 2, 3), m(4), 2, 1, 1, 2, 2),
    ]


def _transposed2d(m: Maker) -> list[Sample]:
    return [
        Sample(m(2, 3, 4, 5), m(3, 4, 3, 2)), Sample(m(3, 4, 4), m(3, 2, 3, 3), m(2)),
        Sample(m(2, 3, 4, 4), m(3, 4, 3, 3), m(4), 2, 1, 1),
        Sample(m(1, 4, 4, 5), m(4, 2, 3, 3), m(4), (2, 1), (1, 0), (1, 0), 2, (1, 2)),
        Sample(m(1, 2, 4, 4), m(2, 3, 3, 3), output_padding=1, dilation=2),
        Sample(m(1, 4, 3, 3), m(4, 1, 3, 3), m(4), 2, groups=4),
        Sample(m(0, 3, 4, 4), m(3, 2, 3, 3)), Sample(m.strided(2, 3, 4, 4), m.strided(3, 4, 2, 2)),
    ]  # fmt: skip


def _transposed3d(m: Maker) -> list[Sample]:
    return [
        Sample(m(1, 2, 3, 3, 3), m(2, 3, 2, 2, 3), m(3)),
        Sample(m(2, 3, 3, 2), m(2, 2, 2, 2, 2), stride=2, padding=1, output_padding=(1, 0, 1)),
    ]


def _transposed_errors(m: Maker) -> list[Sample]:
    x, w = m(1, 4, 8, 8), m(4, 3, 3, 3)
    return [
        Sample(m(1, 2, 8, 8), w), Sample(x, w, m(4)), Sample(x, w, output_padding=1),
        Sample(x, w, output_padding=-1), Sample(x, w, output_padding=(1, 1, 1)),
        Sample(m(1, 4, 1, 1), w, padding=2), Sample(x, w, groups=3), Sample(m(4, 8), w),
        Sample(x, m(4, 3, 3)), Sample(m(1, 4, 0, 8), w), Sample(x, w.to(torch.float32)),
        Sample(x, w, padding="same"),
    ]  # fmt: skip


CONVOLUTIONS: list[OpCase] = [
    nn_row("conv1d", _conv1d, dtypes=NUMBERS, tolerance=SUMS),
    nn_row("conv2d", _conv2d, reals(_conv_errors), dtypes=NUMBERS, tolerance=SUMS),
    nn_row("conv3d", _conv3d, dtypes=NUMBERS, tolerance=SUMS),
    nn_row("conv_transpose1d", _transposed1d, dtypes=NUMBERS, tolerance=SUMS),
    nn_row("conv_transpose2d", _transposed2d, reals(_transposed_errors), dtypes=NUMBERS,
         tolerance=SUMS),
    nn_row("conv_transpose3d", _transposed3d, dtypes=NUMBERS, tolerance=SUMS),
    nn_row("conv2d", given(lambda m: Sample(m(1, 2, 4, 4), m(2, 2, 2, 2))), label="integers",
         dtypes=(torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool)),
    nn_row("conv_transpose2d", given(lambda m: Sample(m(1, 2, 4, 4), m(2, 2, 2, 2))),
         label="integers", dtypes=(torch.int64, torch.int32, torch.uint8, torch.bool)),
    OpCase("convolution", reals(given(
        lambda m: Sample(m(1, 3, 5, 5), m(4, 3, 3, 3), m(4), [1], [1], [1], False, [0], 1),
        lambda m: Sample(m(1, 4, 5), m(4, 3, 3), None, [2], [1], [1], True, [1], 1),
    )), variants=("function",), dtypes=FLOATS, tolerance=SUMS),
    OpCase("conv_tbc", reals(given(lambda m: Sample(m(6, 2, 3), m(3, 3, 4), m(4), 1))),
           variants=("function",), dtypes=FLOATS, tolerance=SUMS),
]  # fmt: skip


# ---------------------------------------------------------------- resizing and sampling


def _resize(mode: str, dims: int) -> Samples:
    corners = mode in ("linear", "bilinear", "bicubic", "trilinear")

    def samples(m: Maker) -> list[Sample]:
        space = (4, 5, 3)[:dims]
        rows = [
            Sample(m(2, 3, *space), 7, mode=mode), Sample(m(2, 3, *space), 2, mode=mode),
            Sample(m(1, 2, *space), scale_factor=1.7, mode=mode),
            Sample(m(1, 2, *space), None, (0.6,) * dims, mode, recompute_scale_factor=True),
            Sample(m.strided(1, 2, *space), scale_factor=2, mode=mode),
            Sample(m(0, 2, *space), (6,) * dims, mode=mode),
        ]  # fmt: skip
        if corners:
            rows += [
                Sample(m(1, 2, *space), 7, mode=mode, align_corners=True),
                Sample(m(1, 2, *space), 1, mode=mode, align_corners=True),
                Sample(m(1, 2, *space), scale_factor=1.3, mode=mode, align_corners=False),
            ]
        return rows

    return samples


def _antialias(m: Maker) -> list[Sample]:
    return [
        Sample(m(1, 2, 7, 9), size, mode=mode, antialias=True, align_corners=corners)
        for size in (3, (12, 5))
        for mode in ("bilinear", "bicubic")
        for corners in (None, True)
    ] + [
        Sample(m(1, 2, 7, 9), size, mode="lanczos", antialias=True) for size in (3, (12, 5), (7, 9))
    ]


def _resize_errors(m: Maker) -> list[Sample]:
    x = m(1, 2, 4, 4)
    return [
        Sample(x), Sample(x, 3, 2.0), Sample(x, 3, mode="foo"), Sample(x, 3, mode="linear"),
        Sample(x, 3, mode="trilinear"), Sample(m(1, 2, 4), 3, mode="bilinear"),
        Sample(m(1, 2, 4), 3, mode="bicubic"), Sample(m(4, 4), 3), Sample(x, (3, 3, 3)),
        Sample(x, scale_factor=(2, 2, 2)), Sample(x, 0), Sample(x, scale_factor=0.1),
        Sample(x, 3, align_corners=True), Sample(x, 3, antialias=True), Sample(x, (3, None)),
        Sample(x, 3, recompute_scale_factor=True), Sample(m(1, 0, 4, 4), 3),
        Sample(m(1, 2, 4, 0), 3), Sample(x, 3, mode="lanczos"),
        Sample(x, 3, mode="lanczos", antialias=True, align_corners=True),
    ]  # fmt: skip


def _grid_rows(mode: str) -> Samples:
    def samples(m: Maker) -> list[Sample]:
        paddings = ("zeros", "border", "reflection")
        rows = [
            Sample(m(2, 3, 4, 5), m(2, 3, 4, 2, low=-1.4, high=1.4), mode, padding, corners)
            for padding in paddings
            for corners in (False, True)
        ]
        if mode != "bicubic":
            rows += [
                Sample(m(1, 2, 3, 4, 3), m(1, 2, 3, 2, 3, low=-1.4, high=1.4), mode, padding, True)
                for padding in paddings
            ]
        rows += [
            Sample(m(0, 2, 4, 4), m(0, 3, 3, 2), mode, "zeros", False),
            Sample(
                m.strided(1, 2, 4, 4), m.strided(1, 3, 3, 2, low=-1, high=1), mode, "zeros", False
            ),
        ]
        return rows

    return samples


def _grid_errors(m: Maker) -> list[Sample]:
    x, g = m(1, 2, 4, 4), m(1, 3, 3, 2)
    return [
        Sample(x, g, "foo"), Sample(x, g, padding_mode="foo"), Sample(x, m(2, 3, 3, 2)),
        Sample(x, m(1, 3, 3, 3)), Sample(x, g.float()), Sample(m(1, 2, 4, 0), g),
        Sample(m(1, 2, 3, 3, 3), m(1, 2, 2, 2, 3), "bicubic"),
    ]  # fmt: skip


def _affine(m: Maker) -> list[Sample]:
    return (
        [Sample(m(2, 2, 3), (2, 1, 4, 5), align_corners=c) for c in (False, True)]
        + [Sample(m(2, 3, 4), (2, 1, 3, 4, 2), align_corners=c) for c in (False, True)]
        + [Sample(m(1, 2, 3), [1, 1, 1, 3], True)]
    )


def _affine_errors(m: Maker) -> list[Sample]:
    return [
        Sample(m(2, 3, 3), (2, 1, 4, 4)),
        Sample(m(2, 2, 3), (2, 1, 4, 4, 4)),
        Sample(m(2, 2, 3), (2, 1, 4)),
        Sample(m(2, 2, 3), (2, 1, 0, 4)),
        Sample(m(3, 2, 3), (2, 1, 4, 4)),
    ]


_MODES = (
    ("nearest", (1, 2, 3)),
    ("nearest-exact", (1, 2, 3)),
    ("area", (1, 2, 3)),
    ("linear", (1,)),
    ("bilinear", (2,)),
    ("bicubic", (2,)),
    ("trilinear", (3,)),
)

# torch keeps coordinates and weights of 16-bit images in 16 bits, where clew has 32.
RESAMPLING: list[OpCase] = [
    *(nn_row("interpolate", _resize(mode, n), label=f"{mode}{n}", dtypes=WIDE_FLOATS)
      for mode, dims in _MODES for n in dims),
    *(nn_row("interpolate", _resize(mode, n), label=f"{mode}{n}-half",
           dtypes=(torch.float16, torch.bfloat16))
      for mode, dims in _MODES[:2] for n in dims),
    nn_row("interpolate", _antialias, reals(_resize_errors), label="antialias", dtypes=WIDE_FLOATS),
    *(nn_row("grid_sample", _grid_rows(mode), label=mode, dtypes=WIDE_FLOATS,
           errors=reals(_grid_errors) if mode == "bilinear" else None)
      for mode in ("bilinear", "nearest", "bicubic")),
    nn_row("affine_grid", _affine, reals(_affine_errors), dtypes=WIDE_FLOATS),
]  # fmt: skip


# ---------------------------------------------------------------- padding, folding, shuffles


def _constant(m: Maker) -> list[Sample]:
    return [
        Sample(m(2, 3, 4), (1, 2)), Sample(m(2, 3, 4), (1, 0, 2, 1, 0, 3), value=2),
        Sample(m(2, 3, 4), (-1, 1, 1, -2)), Sample(m(3, 4), (-2, -2)), Sample(m(4), (1, 1)),
        Sample(m(2, 3), ()), Sample(m(0, 3), (1, 1)), Sample(m.strided(2, 3, 4), [1, 1, 0, 2]),
        Sample(m(2, 3), (0, 0, 1, 0), "constant", None),
    ]  # fmt: skip


def _copying(mode: str) -> Samples:
    return lambda m: [
        Sample(m(2, 3, 4), (1, 2), mode), Sample(m(3, 4), (3, 0), mode=mode),
        Sample(m(2, 3, 4, 5), (1, 2, 3, 0), mode), Sample(m(3, 4, 5), (2, 2, 1, 1), mode),
        Sample(m(1, 2, 3, 4, 3), (1, 2, 0, 1, 2, 1), mode), Sample(m(2, 3, 5), (-1, 2), mode),
        Sample(m(2, 3, 5), (2, -1), mode), Sample(m(2, 3, 5), (-2, -1), mode),
        Sample(m(0, 3, 4), (1, 1), mode), Sample(m.strided(2, 3, 4), (1, 1), mode),
    ]  # fmt: skip


def _pad_errors(m: Maker) -> list[Sample]:
    x = m(1, 3, 4, 4)
    rows = [
        Sample(x, (1,)),
        Sample(x, (1,) * 10),
        Sample(x, (-3, -2)),
        Sample(x, (1, 1), "foo"),
        Sample(x, (5, 5, 5, 5), "reflect"),
        Sample(x, (5, 5, 5, 5), "circular"),
    ]
    for mode in ("reflect", "replicate", "circular"):
        rows += [Sample(x, (1, 1), mode), Sample(x, (1, 1, 1, 1), mode, 2.0)]
    rows += [Sample(m(1, 0, 4, 4), (1, 1, 1, 1), "reflect"), Sample(x, (-3, -2, 0, 0), "replicate")]
    return rows


def _unfold(m: Maker) -> list[Sample]:
    return [
        Sample(m(2, 3, 5, 6), 2), Sample(m(3, 5, 6), (2, 3), 1, (1, 0), (2, 1)),
        Sample(m(1, 2, 6, 6), 2, 2, 1, 2), Sample(m(0, 2, 4, 4), 2),
        Sample(m.strided(1, 2, 4, 5), 2),
    ]  # fmt: skip


def _unfold_errors(m: Maker) -> list[Sample]:
    x = m(1, 3, 4, 4)
    return [
        Sample(x, 0),
        Sample(x, 2, 0),
        Sample(x, 2, 1, -1),
        Sample(x, 2, 1, 0, 0),
        Sample(x, 5),
        Sample(x, (1, 2, 3)),
        Sample(m(1, 0, 4, 4), 2),
        Sample(m(1, 1, 3, 4, 4), 2),
    ]


def _fold(m: Maker) -> list[Sample]:
    return [
        Sample(m(2, 12, 9), (4, 4), 2), Sample(m(12, 9), 4, 2),
        Sample(m(1, 8, 9), (4, 5), 2, 1, (1, 0), 2),
        Sample(m(0, 4, 9), (4, 4), 2),
    ]  # fmt: skip


def _fold_errors(m: Maker) -> list[Sample]:
    c = m(1, 12, 9)
    return [
        Sample(c, (4, 4), 5),
        Sample(c, (5, 4), 2),
        Sample(c, (1, 4), 2),
        Sample(c, (4, 4), 0),
        Sample(c, (4, 4, 4), 2),
        Sample(m(9), (4, 4), 2),
        Sample(m(1, 0, 9), (4, 4), 2),
    ]


def _shuffles(m: Maker) -> list[Sample]:
    return [Sample(m(2, 8, 4, 6), 2), Sample(m(8, 2, 4), 2), Sample(m.strided(1, 4, 2, 2), 2)]


def _shuffle_errors(m: Maker) -> list[Sample]:
    return [Sample(m(2, 7, 3, 3), 2), Sample(m(3, 4), 2), Sample(m(2, 8, 4, 4), 0)]


_EXACT = (*FLOATS, torch.int64, torch.uint8, torch.bool, torch.complex128)
REARRANGING: list[OpCase] = [
    nn_row("pad", _constant, reals(_pad_errors), label="constant", dtypes=_EXACT),
    *(nn_row("pad", _copying(mode), label=mode, dtypes=_EXACT)
      for mode in ("reflect", "replicate", "circular")),
    nn_row("unfold", _unfold, reals(_unfold_errors), dtypes=_EXACT),
    nn_row("fold", _fold, reals(_fold_errors),
         dtypes=(*FLOATS, torch.int64, torch.complex128)),
    *(nn_row(name, _shuffles, _shuffle_errors, dtypes=_EXACT)
      for name in ("pixel_shuffle", "pixel_unshuffle", "channel_shuffle")),
    OpCase("constant_pad_nd", given(lambda m: Sample(m(2, 3), (1, -1, 2, 0), 3),
                                    lambda m: Sample(m(2, 3), (1, 1))),
           variants=("function",), dtypes=_EXACT),
]  # fmt: skip

CASES: list[OpCase] = [*CONVOLUTIONS, *RESAMPLING, *REARRANGING]
