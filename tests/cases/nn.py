"""nn.functional: activations, softmax, distances, normalisation, tables, linear maps, attention.

Losses are in nn_losses.py.
"""

from __future__ import annotations

from typing import Any

import torch

from ..sampling import (
    FLOATS,
    WIDE_FLOATS,
    Maker,
    OpCase,
    Sample,
    Samples,
    also,
    at,
    extremes_unary,
    given,
    unary,
)

LONG = torch.int64
SEVEN_KINDS = (*FLOATS, torch.int64, torch.bool, torch.complex64)


def functional(name: str, samples: Samples = unary, **row: Any) -> OpCase:
    """A function of nn.functional only."""
    row.setdefault("variants", ("function",))
    row.setdefault("dtypes", SEVEN_KINDS)
    return OpCase(f"nn.functional.{name}", samples, **row)


def _activation(name: str, *parameters: dict[str, Any], **row: Any) -> OpCase:
    """An activation, with each set of parameters once."""
    extra = given(*((lambda make, p=p: Sample(make(3, 4), **p)) for p in parameters))
    row.setdefault("extremes", extremes_unary)
    return functional(name, also(unary, extra), **row)


def classes(make: Maker, *shape: int, high: int = 4) -> torch.Tensor:
    return make(*shape, dtype=LONG, low=0, high=high)


def positive(make: Maker, *shape: int) -> torch.Tensor:
    return make(*shape, low=0.5, high=2.0)


ACTIVATIONS = [
    _activation("relu6", kinks=at(0.0, 6.0), domain=(-3.0, 9.0)),
    _activation("elu", {"alpha": 0.7}, {"alpha": -1.0}, kinks=at(0.0)),
    _activation("selu", kinks=at(0.0)),
    _activation(
        "celu", {"alpha": 1.7}, kinks=at(0.0), errors=given(lambda make: Sample(make(2), 0.0))
    ),
    # Without infinities, which torch's vectorised float32 kernel turns into NaN.
    _activation(
        "gelu",
        {"approximate": "tanh"},
        extremes=at(0.0, -0.0, 30.0, -30.0, 1e4),
        errors=given(lambda make: Sample(make(2), approximate="erf")),
    ),
    _activation("silu"),
    _activation("mish"),
    _activation("softplus", {"beta": 2.0}, {"beta": 3.0, "threshold": 1.0}, {"beta": -0.5}),
    _activation("softsign"),
    _activation("tanhshrink"),
    _activation(
        "softshrink",
        {"lambd": 0.9},
        kinks=at(0.5, -0.5),
        errors=given(lambda make: Sample(make(2), -1.0)),
    ),
    _activation(
        "hardtanh",
        {"min_val": -0.5, "max_val": 2.0},
        kinks=at(-1.0, 1.0),
        errors=given(lambda make: Sample(make(2), 1.0, -1.0)),
    ),
    _activation("hardsigmoid", kinks=at(-3.0, 3.0), domain=(-5.0, 5.0)),
    _activation("hardswish", kinks=at(-3.0, 3.0), domain=(-5.0, 5.0)),
    _activation("leaky_relu", {"negative_slope": 0.3}, {"negative_slope": -0.3}, kinks=at(0.0)),
    _activation("logsigmoid"),
    functional(
        "threshold",
        given(
            lambda make: Sample(make(3, 4), 0.5, 7.0), lambda make: Sample(make.strided(3, 4), 1, 2)
        ),
        kinks=given(lambda make: Sample(make.values(0.5, 0.25), 0.5, 7.0)),
    ),
    _activation(
        "rrelu", {"lower": 0.1, "upper": 0.2}, errors=given(lambda make: Sample(make(2), 0.5, 0.2))
    ),
]

ACTIVATIONS += [
    OpCase(
        "hardshrink",
        also(unary, given(lambda make: Sample(make(3, 4), 0.2))),
        dtypes=SEVEN_KINDS,
        kinks=at(0.5, -0.5),
    ),
    OpCase(
        "prelu",
        given(
            lambda make: Sample(make(3, 4), make(4)),
            lambda make: Sample(make(2, 3, 4), make(3)),
            lambda make: Sample(make(3, 4), make(1)),
            lambda make: Sample(make(3, 4), make()),
            lambda make: Sample(make(), make(1)),
            lambda make: Sample(make(5), make(1)),
        ),
        dtypes=SEVEN_KINDS,
        kinks=given(lambda make: Sample(make.values(0.0, 1.0), make(1))),
        errors=given(
            lambda make: Sample(make(3, 4), make(3)),
            lambda make: Sample(make(3, 4), make(4, 1)),
            lambda make: Sample(make(3, 4), make(4, dtype=torch.float32)),
            lambda make: Sample(make(), make(3)),
        ),
    ),
    functional(
        "glu",
        given(
            lambda make: Sample(make(3, 4)),
            lambda make: Sample(make(6, 3), 0),
            lambda make: Sample(make.strided(2, 4, 3), dim=1),
            lambda make: Sample(make(0, 4)),
        ),
        errors=given(
            lambda make: Sample(make(3, 5)),
            lambda make: Sample(make()),
            lambda make: Sample(make(4), 2),
        ),
    ),
]


# ---------------------------------------------------------------- softmax


def _along(make: Maker) -> list[Sample]:
    return [
        Sample(make(3, 4), 1),
        Sample(make(3, 4), dim=0),
        Sample(make.strided(2, 3, 4), -2),
        Sample(make(), 0),
        Sample(make(0, 3), 1),
        Sample(make(2, 0), 0),
        Sample(make(2, 3), -1, dtype=torch.float64),
        Sample(make.expanded(3, 2), 0),
    ]


def _masked_scores(make: Maker) -> list[Sample]:
    if not make.dtype.is_floating_point:
        return []
    inf = float("inf")
    return [
        Sample(make.values(1.0, -inf, 2.0), 0),
        Sample(make.values(-inf, -inf), 0),
        Sample(make.values(inf, 1.0), 0),
        Sample(make.values(1e4, -1e4, 9.9e3), 0),
    ]


_OUT_OF_RANGE = given(lambda make: Sample(make(2, 3), 2), lambda make: Sample(make(2, 3), -3))

SOFTMAX = [
    OpCase("softmax", _along, dtypes=SEVEN_KINDS, extremes=_masked_scores, errors=_OUT_OF_RANGE),
    OpCase(
        "log_softmax", _along, dtypes=SEVEN_KINDS, extremes=_masked_scores, errors=_OUT_OF_RANGE
    ),
    functional(
        "softmax",
        also(_along, given(lambda make: Sample(make(2, 3)), lambda make: Sample(make(2, 3, 4)))),
    ),
    functional(
        "log_softmax",
        also(_along, given(lambda make: Sample(make(3)), lambda make: Sample(make(2, 3, 4, 2)))),
    ),
    functional("softmin", _along),
]


# ---------------------------------------------------------------- distances


DISTANCES = [
    functional(
        "normalize",
        given(
            lambda make: Sample(make(3, 4)),
            lambda make: Sample(make(3, 4), p=1.0, dim=0),
            lambda make: Sample(make.strided(2, 3, 4), 3.0, -1),
        ),
    ),
    OpCase(
        "cosine_similarity",
        given(
            lambda make: Sample(make(3, 4), make(3, 4)),
            lambda make: Sample(make(3, 1, 4), make(2, 4), dim=-1),
            lambda make: Sample(make(4), make(4), 0, 0.5),
        ),
        variants=("function",),
        dtypes=(*WIDE_FLOATS, LONG),
        errors=given(lambda make: Sample(make(3, 4), make(3, 4), 2)),
    ),
    OpCase(
        "pairwise_distance",
        given(
            lambda make: Sample(make(3, 4), make(3, 4)),
            lambda make: Sample(make(4), make(4), 1.0),
            lambda make: Sample(make(3, 4), make(4), 3.0, 1e-3, True),
            lambda make: Sample(make(3, 4), make(3, 4), float("inf")),
        ),
        variants=("function",),
        dtypes=WIDE_FLOATS,
    ),
    OpCase(
        "pdist",
        given(
            lambda make: Sample(make(4, 3)),
            lambda make: Sample(make(4, 3), 1.0),
            lambda make: Sample(make(4, 3), 3.0),
            lambda make: Sample(make(4, 3), float("inf")),
            lambda make: Sample(make(4, 3), 0.0),
            lambda make: Sample(make(1, 3)),
            lambda make: Sample(make(4, 0)),
        ),
        variants=("function",),
        dtypes=(*WIDE_FLOATS, LONG),
        errors=given(
            lambda make: Sample(make(3)),
            lambda make: Sample(make(3, 4), -1.0),
        ),
    ),
    functional(
        "one_hot",
        given(
            lambda make: Sample(classes(make, 2, 3)),
            lambda make: Sample(classes(make, 3), 7),
            lambda make: Sample(classes(make)),
            lambda make: Sample(classes(make, 0), 3),
        ),
        dtypes=(LONG,),
        errors=given(
            lambda make: Sample(torch.tensor([0, -1])),
            lambda make: Sample(torch.tensor([0, 3]), 3),
            lambda make: Sample(torch.tensor([], dtype=LONG)),
            lambda make: Sample(make(3)),
        ),
    ),
]


# ---------------------------------------------------------------- normalisation


NORMALISATIONS = [
    functional(
        "layer_norm",
        given(
            lambda make: Sample(make(3, 4), (4,)),
            lambda make: Sample(make(2, 3, 4), (3, 4), make(3, 4), make(3, 4)),
            lambda make: Sample(make.strided(2, 3, 4), [4], make(4)),
            lambda make: Sample(make(3, 4), (4,), make(4), None, 0.1),
            lambda make: Sample(make(4), (4,), make(4), make(4)),
            lambda make: Sample(make(0, 4), (4,), make(4), make(4)),
        ),
        errors=given(
            lambda make: Sample(make(3, 4), (5,)),
            lambda make: Sample(make(3, 4), ()),
            lambda make: Sample(make(3, 4), (4,), make(3)),
            lambda make: Sample(make(3, 4), (4,), None, make(3)),
            lambda make: Sample(make(3, 4), 4),
            lambda make: Sample(make(3, 4), (4,), make(4, dtype=torch.float32)),
        ),
    ),
    functional(
        "rms_norm",
        given(
            lambda make: Sample(make(3, 4), (4,)),
            lambda make: Sample(make(2, 3, 4), (3, 4), make(3, 4), 1e-3),
        ),
        dtypes=(*WIDE_FLOATS, LONG, torch.complex64),
        errors=given(lambda make: Sample(make(3, 4), (5,))),
    ),
    functional(
        "group_norm",
        given(
            lambda make: Sample(make(2, 4, 3), 2),
            lambda make: Sample(make(2, 6), 3, make(6), make(6)),
            lambda make: Sample(make.strided(2, 4, 3, 2), 4, make(4), None, 0.1),
        ),
        dtypes=(*WIDE_FLOATS, LONG),
        errors=given(
            lambda make: Sample(make(2, 5, 3), 2),
            lambda make: Sample(make(1, 4), 4),
            lambda make: Sample(make(2, 4, 3), 2, make(3)),
            lambda make: Sample(make(4), 2),
        ),
    ),
    functional(
        "batch_norm",
        given(
            lambda make: Sample(make(4, 3), None, None, training=True),
            lambda make: Sample(make(4, 3, 2), None, None, make(3), make(3), True),
            lambda make: Sample(
                make.strided(2, 3, 4, 2), None, None, make(3), None, True, 0.3, 0.1
            ),
            lambda make: Sample(make(4, 3), make(3).detach(), positive(make, 3).detach()),
            lambda make: Sample(
                make(2, 3, 4), make(3).detach(), positive(make, 3).detach(), make(3), make(3)
            ),
            lambda make: Sample(make(0, 3), None, None, make(3), make(3), True),
        ),
        dtypes=(*WIDE_FLOATS, LONG),
        errors=given(
            lambda make: Sample(make(1, 3), None, None, training=True),
            lambda make: Sample(make(2, 3), None, None),
            lambda make: Sample(make(2, 3), make(4), make(3)),
            lambda make: Sample(make(2, 3), make(3), make(3), make(2)),
            lambda make: Sample(make(3), None, None, training=True),
            lambda make: Sample(
                make(2, 3), None, None, make(3, dtype=torch.float32), training=True
            ),
        ),
    ),
    functional(
        "instance_norm",
        given(
            lambda make: Sample(make(2, 3, 4)),
            lambda make: Sample(make(2, 3, 4, 2), None, None, make(3), make(3)),
            lambda make: Sample(
                make(2, 3, 4), make(3).detach(), positive(make, 3).detach(), use_input_stats=False
            ),
        ),
        dtypes=WIDE_FLOATS,
        errors=given(
            lambda make: Sample(make(2, 3, 1)),
            lambda make: Sample(make(2, 3, 4), use_input_stats=False),
        ),
    ),
    functional(
        "local_response_norm",
        given(
            lambda make: Sample(make(2, 5, 3), 3),
            lambda make: Sample(make(2, 4, 3, 2), 2, alpha=0.1, beta=0.5, k=2.0),
            lambda make: Sample(make(2, 3, 2), 1),
        ),
        dtypes=WIDE_FLOATS,
        errors=given(lambda make: Sample(make(3), 2)),
    ),
]


# ---------------------------------------------------------------- tables, maps, attention


def _bags(make: Maker) -> list[Sample]:
    indices, offsets = torch.tensor([1, 2, 4, 5, 4, 3, 2]), torch.tensor([0, 3, 3, 5])
    samples = []
    for mode in ("sum", "mean", "max"):
        samples += [
            Sample(indices, make(7, 3), offsets, mode=mode),
            Sample(indices[:6].reshape(2, 3), make(7, 3), mode=mode),
            Sample(indices, make(7, 3), offsets, mode=mode, padding_idx=4),
            Sample(
                indices, make(7, 3), torch.tensor([0, 4, 7]), mode=mode, include_last_offset=True
            ),
        ]
    return [
        *samples,
        Sample(indices, make(7, 3), offsets, mode="sum", per_sample_weights=make(7)),
        Sample(indices[:0], make(7, 3), torch.tensor([0, 0])),
    ]


_INDICES = torch.tensor([[1, 0, 3], [2, 1, 1]])

TABLES = [
    functional(
        "embedding",
        given(
            lambda make: Sample(_INDICES, make(5, 3)),
            lambda make: Sample(torch.tensor(2), make(5, 3)),
            lambda make: Sample(_INDICES.int(), make.strided(5, 3), padding_idx=1),
            lambda make: Sample(_INDICES, make(5, 3), padding_idx=-2, scale_grad_by_freq=True),
            lambda make: Sample(_INDICES[:, :0], make(5, 3)),
        ),
        errors=given(
            lambda make: Sample(torch.tensor([0, 5]), make(5, 3)),
            lambda make: Sample(torch.tensor([0, -1]), make(5, 3)),
            lambda make: Sample(torch.tensor([0.0]), make(5, 3)),
            lambda make: Sample(torch.tensor([0]), make(5)),
            lambda make: Sample(torch.tensor([0]), make(5, 3), 5),
        ),
    ),
    functional(
        "embedding_bag",
        _bags,
        dtypes=WIDE_FLOATS,
        errors=given(
            lambda make: Sample(_INDICES, make(5, 3), torch.tensor([0])),
            lambda make: Sample(_INDICES[0], make(5, 3)),
            lambda make: Sample(_INDICES, make(5, 3), mode="median"),
            lambda make: Sample(_INDICES + 4, make(5, 3)),
            lambda make: Sample(_INDICES[0], make(5, 3), torch.tensor([1])),
            lambda make: Sample(_INDICES, make(5, 3), per_sample_weights=make(2, 3)),
        ),
    ),
    functional(
        "linear",
        given(
            lambda make: Sample(make(3, 4), make(5, 4)),
            lambda make: Sample(make(3, 4), make(5, 4), make(5)),
            lambda make: Sample(make(2, 3, 4), make(5, 4), make(5)),
            lambda make: Sample(make(2, 3, 4), make(5, 4)),
            lambda make: Sample(make.strided(2, 3, 4), make.strided(5, 4), make(5)),
            lambda make: Sample(make(4), make(5, 4), make(5)),
            lambda make: Sample(make(4), make(5, 4)),
            lambda make: Sample(make(3, 4), make(4)),
            lambda make: Sample(make(0, 4), make(5, 4), make(5)),
            lambda make: Sample(make(3, 0), make(5, 0), make(5)),
        ),
        dtypes=(*WIDE_FLOATS, LONG, torch.complex64),
        errors=given(
            lambda make: Sample(make(3, 4), make(6, 5)),
            lambda make: Sample(make(2, 3, 4), make(6, 5), make(6)),
            lambda make: Sample(make(3, 4), make(6, 4), make(5)),
            lambda make: Sample(make(3, 4), make(6, 4, dtype=torch.float32)),
            lambda make: Sample(make(), make(2, 4)),
        ),
    ),
    OpCase(
        "bilinear",
        given(
            lambda make: Sample(make(3, 4), make(3, 5), make(2, 4, 5)),
            lambda make: Sample(make(2, 3, 4), make(2, 3, 5), make(2, 4, 5), make(2)),
            lambda make: Sample(make(4), make(5), make(2, 4, 5), make(2)),
        ),
        variants=("function",),
        dtypes=WIDE_FLOATS,
        errors=given(
            lambda make: Sample(make(3, 4), make(3, 4), make(2, 4, 5)),
            lambda make: Sample(make(3, 4), make(2, 5), make(2, 4, 5)),
            lambda make: Sample(make(3, 4), make(3, 5), make(2, 4, 5), make(3)),
        ),
    ),
    functional(
        "scaled_dot_product_attention",
        given(
            lambda make: Sample(make(2, 2, 4, 3), make(2, 2, 5, 3), make(2, 2, 5, 3)),
            lambda make: Sample(
                make(2, 2, 4, 3), make(2, 2, 4, 3), make(2, 2, 4, 3), is_causal=True
            ),
            lambda make: Sample(
                make(2, 2, 2, 3),
                make(2, 2, 3, 3),
                make(2, 2, 3, 3),
                torch.tensor([[True, False, True], [False, False, False]]),
            ),
            lambda make: Sample(
                make(1, 2, 4, 3), make(1, 2, 4, 3), make(1, 2, 4, 3), make(4, 4).detach(), scale=0.7
            ),
            lambda make: Sample(make(4, 3), make(5, 3), make(5, 2)),
            lambda make: Sample(make(2, 4, 3), make(2, 4, 3), make(2, 4, 3), is_causal=True),
            lambda make: Sample(make(2, 4, 3), make(2, 4, 3), make(2, 4, 3), make(4, 4)),
            lambda make: Sample(
                make(1, 4, 3, 2), make(1, 2, 3, 2), make(1, 2, 3, 2), enable_gqa=True
            ),
        ),
        dtypes=WIDE_FLOATS,
        errors=given(
            lambda make: Sample(make(3), make(3), make(3)),
            lambda make: Sample(make(2, 4, 3), make(2, 4, 3, dtype=torch.float32), make(2, 4, 3)),
            lambda make: Sample(
                make(2, 4, 3), make(2, 4, 3), make(2, 4, 3), torch.ones(4, 4, dtype=LONG)
            ),
            lambda make: Sample(make(2, 4, 3), make(2, 4, 3), make(2, 4, 3), dropout_p=1.5),
            lambda make: Sample(
                make(2, 4, 3), make(2, 4, 3), make(2, 4, 3), make(4, 4), is_causal=True
            ),
        ),
    ),
]


CASES = [*ACTIVATIONS, *SOFTMAX, *DISTANCES, *NORMALISATIONS, *TABLES]
