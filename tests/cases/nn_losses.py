"""nn.functional: losses."""

from __future__ import annotations

from typing import Any

import torch

from ..sampling import WIDE_FLOATS, Maker, Sample, Samples, also, given
from .nn import LONG, classes, functional, positive


def _reductions(*rows: Any, **options: Any) -> Samples:
    """Each row of arguments with each reduction."""
    return lambda make: [
        Sample(*row(make), reduction=reduction, **options)
        for row in rows
        for reduction in ("none", "mean", "sum")
    ]


_CLASS_ROWS = _reductions(
    lambda make: (make(3, 5), classes(make, 3)),
    lambda make: (make(5), classes(make)),
    lambda make: (make(2, 5, 3), classes(make, 2, 3)),
    lambda make: (make(2, 5, 2, 3), classes(make, 2, 2, 3)),
    lambda make: (make(2, 5, 2, 1, 3), classes(make, 2, 2, 1, 3)),
    lambda make: (make.strided(3, 5), classes(make, 3), make(5, low=0.1, high=2.0).detach()),
)
_IGNORING = _reductions(
    lambda make: (make(4, 5), torch.tensor([1, 2, 1, 0]), make(5, low=0.1, high=2.0).detach()),
    lambda make: (make(2, 5, 2), torch.tensor([[1, 2], [1, 4]])),
    ignore_index=1,
)
_CLASS_ERRORS = given(
    lambda make: Sample(make(3, 5), torch.tensor([0, 1, 5])),
    lambda make: Sample(make(3, 5), torch.tensor([0, 1, -1])),
    lambda make: Sample(make(3, 5), torch.tensor([0, 1])),
    lambda make: Sample(make(3, 5), torch.tensor([0.0, 1.0, 2.0])),
    lambda make: Sample(make(3, 5), torch.tensor([0, 1, 2], dtype=torch.int32)),
    lambda make: Sample(make(3, 5), torch.tensor([0, 1, 2]), make(4)),
    lambda make: Sample(make(3, 5), torch.zeros(3, 1, dtype=LONG)),
    lambda make: Sample(make(2, 5, 3), torch.zeros(2, 4, dtype=LONG)),
    lambda make: Sample(make(2, 5, 3, 2), torch.zeros(2, 3, dtype=LONG)),
    lambda make: Sample(make(2, 5, 3, 2), torch.zeros(2, 3, 3, dtype=LONG)),
    lambda make: Sample(make(2, 5, 3, 2, 2), torch.zeros(2, 3, 2, 3, dtype=LONG)),
    lambda make: Sample(make(3, 5), torch.tensor([0, 1, 2]), reduction="median"),
)
_SMOOTHED = _reductions(
    lambda make: (make(3, 5), classes(make, 3)),
    lambda make: (make(5), classes(make)),
    lambda make: (make(2, 5, 3), classes(make, 2, 3), make(5, low=0.1, high=2.0).detach()),
    lambda make: (make(3, 5), make(3, 5, low=0.0, high=1.0)),
    lambda make: (
        make(2, 5, 3),
        make(2, 5, 3, low=0.0, high=1.0),
        make(5, low=0.1, high=2.0).detach(),
    ),
    label_smoothing=0.2,
)
_PROBABILITIES = _reductions(
    lambda make: (make(3, 5), make(3, 5, low=0.0, high=1.0)),
    lambda make: (make(5), make(5, low=0.0, high=1.0), make(5, low=0.1, high=2.0).detach()),
)

_PAIR = _reductions(
    lambda make: (make(3, 4), make(3, 4)),
    lambda make: (make(), make()),
    lambda make: (make(0, 3), make(0, 3)),
    lambda make: (make.strided(3, 4), make(3, 4)),
)


def _probability(make: Maker, *shape: int) -> torch.Tensor:
    return make(*shape, low=0.05, high=0.95)


def _signs(make: Maker, *shape: int) -> torch.Tensor:
    return make(*shape, dtype=LONG, low=0, high=1).mul(2).sub(1).to(make.dtype)


def _ctc(make: Maker, inputs: list[int], targets: list[int], *rest: Any) -> Sample:
    lengths = torch.tensor(inputs), torch.tensor(targets)
    return Sample(make(6, 2, 5), classes(make, 2, 3), *lengths, *rest)


CASES = [
    functional("nll_loss", also(_CLASS_ROWS, _IGNORING), errors=_CLASS_ERRORS, dtypes=WIDE_FLOATS),
    functional(
        "cross_entropy",
        also(_CLASS_ROWS, _IGNORING, _SMOOTHED, _PROBABILITIES),
        errors=also(
            _CLASS_ERRORS,
            given(
                lambda make: Sample(make(3, 5), torch.tensor([0, 1, 2]), label_smoothing=1.5),
                lambda make: Sample(make(3, 5), make(3, 5), ignore_index=2),
                lambda make: Sample(make(3, 5), torch.zeros(3, 5, dtype=LONG)),
            ),
        ),
        dtypes=WIDE_FLOATS,
    ),
    functional(
        "mse_loss",
        also(
            _PAIR,
            given(
                lambda make: Sample(make(3, 4), make(3, 4), weight=make(3, 4, low=0.1, high=1.0)),
                lambda make: Sample(make(3, 4), make(3, 4), size_average=False),
                lambda make: Sample(make(3, 4), make(3, 4), reduce=False),
            ),
        ),
        errors=given(lambda make: Sample(make(3, 4), make(3))),
    ),
    functional("l1_loss", _PAIR),
    functional(
        "smooth_l1_loss",
        also(
            _PAIR,
            given(
                lambda make: Sample(make(3, 4), make(3, 4), beta=0.3),
                lambda make: Sample(make(3, 4), make(3, 4), beta=0.0),
            ),
        ),
        errors=given(lambda make: Sample(make(3), make(3), beta=-1.0)),
        kinks=given(lambda make: Sample(make.values(1.0, -1.0, 0.0), make.values(0.0, 0.0, 0.0))),
    ),
    functional(
        "huber_loss",
        also(
            _PAIR,
            given(
                lambda make: Sample(make(3, 4), make(3, 4), delta=0.3),
            ),
        ),
        errors=given(lambda make: Sample(make(3), make(3), delta=0.0)),
        kinks=given(lambda make: Sample(make.values(1.0, -1.0), make.values(0.0, 0.0))),
    ),
    functional(
        "binary_cross_entropy",
        _reductions(
            lambda make: (_probability(make, 3, 4), _probability(make, 3, 4)),
        ),
        dtypes=WIDE_FLOATS,
        extremes=given(
            lambda make: Sample(make.values(0.0, 1.0, 0.0, 1.0), make.values(1.0, 0.0, 0.0, 1.0)),
        ),
        errors=given(
            lambda make: Sample(make(3, low=0.0, high=1.0), make(1, low=0.0, high=1.0)),
            lambda make: Sample(make.values(1.5), make.values(0.5)),
        ),
    ),
    functional(
        "binary_cross_entropy_with_logits",
        _reductions(
            lambda make: (make(3, 4), _probability(make, 3, 4)),
        ),
        dtypes=(torch.float64,),
        errors=given(
            lambda make: Sample(make(3, 4), make(4)),
            lambda make: Sample(make(3, 4), make(3, 4), pos_weight=make(3)),
        ),
    ),
    functional(
        "kl_div",
        also(
            _reductions(lambda make: (make(3, 4), _probability(make, 3, 4))),
            _reductions(lambda make: (make(3, 4), make(3, 4)), log_target=True),
            given(lambda make: Sample(make(3, 4), _probability(make, 3, 4), reduction="batchmean")),
        ),
    ),
    functional(
        "poisson_nll_loss",
        also(
            _reductions(lambda make: (make(3, 4), make(3, 4, low=0.0, high=5.0))),
            _reductions(
                lambda make: (make(3, 4, low=0.5, high=3.0), make(3, 4, low=0.5, high=5.0)),
                log_input=False,
                full=True,
            ),
        ),
        dtypes=WIDE_FLOATS,
    ),
    functional(
        "gaussian_nll_loss",
        also(
            _reductions(
                lambda make: (make(3, 4), make(3, 4), positive(make, 3, 4)),
                lambda make: (make(3, 4), make(3, 4), positive(make, 3)),
                lambda make: (make(3, 4), make(3, 4), positive(make, 3, 1)),
                full=True,
            ),
            given(lambda make: Sample(make(3, 4), make(3, 4), 0.5)),
        ),
        dtypes=WIDE_FLOATS,
        errors=given(
            lambda make: Sample(make(3, 4), make(3, 4), make(2)),
            lambda make: Sample(make(3, 4), make(3, 4), -make(3, 4, low=0.5, high=1.0)),
            lambda make: Sample(make(3, 4), make(3, 4), -0.5),
        ),
    ),
    functional(
        "hinge_embedding_loss",
        _reductions(
            lambda make: (make(3, 4), _signs(make, 3, 4).detach()),
            lambda make: (make(3, 4), _signs(make, 3, 4).detach(), 0.5),
        ),
        dtypes=WIDE_FLOATS,
    ),
    functional(
        "margin_ranking_loss",
        _reductions(
            lambda make: (make(3, 4), make(3, 4), _signs(make, 3, 4).detach(), 0.3),
        ),
        dtypes=WIDE_FLOATS,
        errors=given(lambda make: Sample(make(3, 4), make(3, 4), make(4))),
    ),
    functional(
        "cosine_embedding_loss",
        _reductions(
            lambda make: (make(3, 4), make(3, 4), _signs(make, 3).detach(), 0.1),
            lambda make: (make(4), make(4), _signs(make).detach()),
        ),
        dtypes=WIDE_FLOATS,
        errors=given(
            lambda make: Sample(make(3, 4), make(3, 4), _signs(make, 3, 1)),
            lambda make: Sample(make(4), make(4), _signs(make, 3)),
        ),
    ),
    functional(
        "triplet_margin_loss",
        also(
            _reductions(
                lambda make: (make(3, 4), make(3, 4), make(3, 4)),
            ),
            _reductions(
                lambda make: (make(3, 4), make(3, 4), make(3, 4)), swap=True, p=3, margin=2.0
            ),
        ),
        dtypes=WIDE_FLOATS,
        errors=given(
            lambda make: Sample(make(3, 4), make(3, 4), make(4)),
            lambda make: Sample(make(3, 4), make(3, 4), make(3, 4), margin=-1.0),
        ),
    ),
    functional(
        "soft_margin_loss",
        _reductions(
            lambda make: (make(3, 4), _signs(make, 3, 4).detach()),
        ),
        dtypes=WIDE_FLOATS,
    ),
    functional(
        "multi_margin_loss",
        also(
            _reductions(
                lambda make: (make(3, 5), classes(make, 3)),
                lambda make: (make(5), classes(make)),
            ),
            _reductions(
                lambda make: (
                    make(3, 5),
                    classes(make, 3),
                    2,
                    0.5,
                    make(5, low=0.1, high=1.0).detach(),
                ),
            ),
        ),
        dtypes=WIDE_FLOATS,
        errors=given(
            lambda make: Sample(make(3, 5), classes(make, 3), 3),
            lambda make: Sample(make(3, 5), torch.tensor([0, 1, 5])),
            lambda make: Sample(make(3, 5), classes(make, 2)),
        ),
    ),
    functional(
        "multilabel_margin_loss",
        _reductions(
            lambda make: (make(2, 4), torch.tensor([[3, 0, -1, 1], [1, 2, 0, -1]])),
            lambda make: (make(4), torch.tensor([2, -1, 0, 0])),
        ),
        dtypes=WIDE_FLOATS,
        errors=given(
            lambda make: Sample(make(2, 4), torch.zeros(2, 3, dtype=LONG)),
            lambda make: Sample(make(2, 4), torch.full((2, 4), 4)),
        ),
    ),
    functional(
        "multilabel_soft_margin_loss",
        _reductions(
            lambda make: (make(3, 4), _probability(make, 3, 4)),
            lambda make: (make(3, 4), _probability(make, 3, 4), make(4, low=0.1, high=1.0)),
        ),
        dtypes=WIDE_FLOATS,
    ),
    functional(
        "ctc_loss",
        also(
            _reductions(
                lambda make: (
                    make(6, 2, 5),
                    classes(make, 2, 3).clamp(min=1),
                    torch.tensor([6, 5]),
                    torch.tensor([3, 2]),
                ),
                lambda make: (make(6, 2, 5), torch.tensor([1, 1, 2, 3, 3]), (6, 6), (3, 2)),
                lambda make: (
                    make(6, 5),
                    torch.tensor([1, 1, 2]),
                    torch.tensor(6),
                    torch.tensor(3),
                ),
                lambda make: (
                    make(6, 2, 5),
                    torch.tensor([1, 2]),
                    torch.tensor([4, 6]),
                    torch.tensor([0, 2]),
                    3,
                ),
            ),
            _reductions(
                lambda make: (
                    make(3, 2, 5),
                    torch.tensor([[1, 1, 2], [1, 2, 3]]),
                    torch.tensor([3, 3]),
                    torch.tensor([3, 3]),
                ),
                zero_infinity=True,
            ),
        ),
        dtypes=WIDE_FLOATS,
        errors=given(
            lambda make: _ctc(make, [7, 5], [3, 2]),
            lambda make: _ctc(make, [6, 5], [4, 2]),
            lambda make: _ctc(make, [6, 5], [3, 2], 5),
            lambda make: _ctc(make, [6], [3, 2]),
            lambda make: Sample(
                make(6, 2, 5), classes(make, 4), torch.tensor([6, 5]), torch.tensor([3, 2])
            ),
        ),
    ),
]
