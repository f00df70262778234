"""The sweep for cliffs: every operation at ten thousand and a million elements, forward, backward.

It looks for operations that take many times as long as PyTorch's; small ratios are the business of
the other groups. Rows are in tables by kind, each with the dtypes that are commonly used with it.
"""

from collections.abc import Iterator

from clew.bench.cliffs import elementwise, linalg, nn, samplers, shapes
from clew.bench.cliffs.inputs import DTYPES, Build, Case

EXPONENTS = (4, 6)

# Which dtypes (letters of `DTYPES`) each table is run in; its name begins the names of its cases.
TABLES: tuple[tuple[str, dict[str, Build], str], ...] = (
    ("elementwise", elementwise.ELEMENTWISE, "fdbhi"),
    ("elementwise", elementwise.FLOATS, "fd"),
    ("elementwise", elementwise.POLYNOMIALS, "fd"),
    ("elementwise", elementwise.COMPLEX, "c"),
    ("elementwise", elementwise.INTEGERS, "i"),
    ("elementwise", elementwise.CONVERSIONS, "fdbhi"),
    ("shapes", shapes.REDUCTIONS, "fdbhi"),
    ("shapes", shapes.STATISTICS, "fd"),
    ("shapes", shapes.COUNTING, "fdi"),
    ("shapes", shapes.INDEXING, "fdbhi"),
    ("shapes", shapes.SHAPES, "fdbhi"),
    ("linalg", linalg.LINALG, "fdc"),
    ("linalg", linalg.LOW_RANK, "fd"),
    ("linalg", linalg.PRODUCTS, "fdbc"),
    ("linalg", linalg.DISTANCES, "fd"),
    ("linalg", linalg.FFT, "fd"),
    ("nn", nn.IMAGES, "fdb"),
    ("nn", nn.LAYERS, "fdb"),
    ("samplers", samplers.RANDOM, "fd"),
    ("samplers", samplers.CREATION, "f"),
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
avg_pool3d avg_pool3d_3 lp_pool3d interpolate_antialias interpolate_antialias_bicubic
local_response_norm multi_margin_loss multilabel_margin_loss ctc_loss
"""
# What PyTorch has no kernel for, by dtype.
_WITHOUT = {"i": frozenset(_NO_INTEGERS.split()), "b": frozenset(_NO_BFLOAT16.split())}


def _is_quick(name: str, letter: str, exponent: int) -> bool:
    """Whether it is run: what takes PyTorch itself seconds is run in float32 only."""
    slow = exponent == EXPONENTS[-1] and name.endswith("_matrix") and name.startswith(linalg.SLOW)
    return letter == "f" or not slow


def cases() -> Iterator[Case]:
    for kind, table, letters in TABLES:
        for name, build in table.items():
            for letter in letters:
                if name not in _WITHOUT.get(letter, ()):
                    for exponent in EXPONENTS:
                        if _is_quick(name, letter, exponent):
                            yield Case(f"{kind}/{name}", DTYPES[letter], exponent, build)
