"""The sweep for cliffs: every operation at ten thousand and a million elements, forward, backward.

It looks for operations that take many times as long as PyTorch's; small ratios are the business of
the other groups. Rows are in tables by kind, each with the dtypes that are commonly used with it.
"""

from collections.abc import Iterator

from clew.bench.cliffs import elementwise, linalg, nn, samplers, shapes
from clew.bench.cliffs.inputs import DTYPES, Build, Case

EXPONENTS = (4, 6)

# Which dtypes (letters of `DTYPES`) each table is run in.
_TABLES: tuple[tuple[dict[str, Build], str], ...] = (
    (elementwise.ELEMENTWISE, "fdbhi"),
    (elementwise.FLOATS, "fd"),
    (elementwise.POLYNOMIALS, "fd"),
    (elementwise.COMPLEX, "c"),
    (elementwise.INTEGERS, "i"),
    (elementwise.CONVERSIONS, "fdbhi"),
    (shapes.REDUCTIONS, "fdbhi"),
    (shapes.STATISTICS, "fd"),
    (shapes.COUNTING, "fdi"),
    (shapes.INDEXING, "fdbhi"),
    (shapes.SHAPES, "fdbhi"),
    (linalg.LINALG, "fdc"),
    (linalg.PRODUCTS, "fdbc"),
    (linalg.DISTANCES, "fd"),
    (linalg.FFT, "fd"),
    (nn.IMAGES, "fdb"),
    (nn.LAYERS, "fdb"),
    (samplers.RANDOM, "fd"),
    (samplers.CREATION, "f"),
)

_NO_INTEGERS = """
frac nn.functional.elu nn.functional.selu nn.functional.celu nn.functional.gelu nn.functional.silu
nn.functional.mish nn.functional.leaky_relu nn.functional.hardswish nn.functional.hardsigmoid
nn.functional.softplus nn.functional.softshrink nn.functional.hardshrink nn.functional.logsigmoid
nn.functional.rrelu hypot logaddexp logaddexp2 dist round_decimals lerp_scalar add_ addcdiv lerp
nn.functional.prelu nn.functional.glu mean_all std_all var_all std_mean_all var_mean_all
nanmean_all norm_all linalg.vector_norm_all mean_last std_last var_last nanmean_last norm_last
softmax_last log_softmax_last logcumsumexp_last nn.functional.softmin_last
nn.functional.normalize_last mean_first std_first var_first nanmean_first norm_first softmax_first
log_softmax_first logcumsumexp_first nn.functional.softmin_first nn.functional.normalize_first
mean_short std_short var_short nanmean_short norm_short softmax_short log_softmax_short
logcumsumexp_short nn.functional.softmin_short nn.functional.normalize_short var_two renorm norm_1
norm_3 norm_inf
"""
_NO_BFLOAT16 = """
avg_pool3d avg_pool3d_3 lp_pool3d interpolate_antialias local_response_norm multi_margin_loss
multilabel_margin_loss ctc_loss
"""
# What PyTorch has no kernel for, by dtype.
_WITHOUT = {"i": frozenset(_NO_INTEGERS.split()), "b": frozenset(_NO_BFLOAT16.split())}


def _is_quick(name: str, exponent: int) -> bool:
    """Whether it takes PyTorch itself less than seconds."""
    slow = exponent == EXPONENTS[-1] and name.endswith("_matrix")
    return not (slow and name.startswith(linalg.SLOW))


def cases() -> Iterator[Case]:
    for table, letters in _TABLES:
        for name, build in table.items():
            for letter in letters:
                if name not in _WITHOUT.get(letter, ()):
                    for exponent in EXPONENTS:
                        if _is_quick(name, exponent):
                            yield Case(name, DTYPES[letter], exponent, build)
