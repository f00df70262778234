"""Every operation, each defined once, by family. Importing this package registers them all.

To programs it is `torch.ops`: `torch.ops.aten` has clew's operations by PyTorch's internal names,
and any other name is a library that a program defines (`clew.library`).
"""

import importlib
import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clew import errors
from clew.ops import meta_rules, nested_methods, sparse_methods
from clew.ops.create import (
    constants,
    from_data,
    implicit_reparameterization,
    legacy_constructors,
    random,
    random_fills,
    ranges,
    sampling,
)
from clew.ops.index import (
    compressed,
    gather_scatter,
    getitem,
    index_put,
    index_select,
    masking,
    segments,
    take,
    writing,
)
from clew.ops.linalg import (
    addmm,
    cdist,
    decompositions,
    determinants,
    einsum,
    householder,
    integer,
    inverse,
    ldl,
    lobpcg,
    lowrank,
    lu,
    matmul,
    matrix_functions,
    matrix_norms,
    products,
    qr,
    removed,
    solve,
)
from clew.ops.nn import (
    attention,
    average_pooling,
    batch_norm,
    convolution,
    distance,
    dropout,
    embedding,
    embedding_bag,
    fold,
    grid_sample,
    group_norm,
    interpolate,
    layer_norm,
    linear,
    max_pooling,
    multihead_attention,
    native,
    padding,
    power_pooling,
    recurrent,
    recurrent_functions,
    rms_norm,
    torch_namespace,
    unpooling,
)
from clew.ops.nn.activation import gated, leaky, piecewise, softmax, unary
from clew.ops.nn.loss import classification, ctc, elementwise, margin
from clew.ops.pointwise import (
    apply,
    arithmetic,
    bessel,
    clamping,
    combining,
    comparison,
    complex,
    division,
    logic,
    orthogonal_polynomials,
    powers,
    relu,
    rounding,
    special,
    transcendental,
)
from clew.ops.reduce import (
    any_all,
    differences,
    extrema,
    hashing,
    histogramdd,
    histograms,
    logsumexp,
    norms,
    prod,
    quantiles,
    reductions,
    scans,
    searching,
    sorting,
    statistics,
)
from clew.ops.shape import (
    broadcasting,
    diagonals,
    joining,
    rearranging,
    resizing,
    slicing,
    splitting,
    squeezing,
    strided,
    transposing,
    view_copies,
    view_inplace,
    views,
)
from clew.ops.spectral import (
    fft,
    frequencies,
    stft,
    windows,
)
from clew.ops.tensor import conversion, copying, info, pickling, shared_memory, text, to_numpy

if TYPE_CHECKING:
    from clew.ops import aten

__all__ = [
    "addmm",
    "any_all",
    "apply",
    "arithmetic",
    "aten",
    "attention",
    "average_pooling",
    "batch_norm",
    "bessel",
    "broadcasting",
    "cdist",
    "clamping",
    "classification",
    "combining",
    "comparison",
    "complex",
    "compressed",
    "constants",
    "conversion",
    "convolution",
    "copying",
    "ctc",
    "decompositions",
    "determinants",
    "diagonals",
    "differences",
    "distance",
    "division",
    "dropout",
    "einsum",
    "elementwise",
    "embedding",
    "embedding_bag",
    "extrema",
    "fft",
    "fold",
    "frequencies",
    "from_data",
    "gated",
    "gather_scatter",
    "getitem",
    "grid_sample",
    "group_norm",
    "hashing",
    "histogramdd",
    "histograms",
    "householder",
    "integer",
    "implicit_reparameterization",
    "index_put",
    "index_select",
    "info",
    "interpolate",
    "inverse",
    "joining",
    "layer_norm",
    "ldl",
    "leaky",
    "legacy_constructors",
    "linear",
    "logsumexp",
    "lobpcg",
    "logic",
    "lowrank",
    "lu",
    "margin",
    "masking",
    "matmul",
    "matrix_functions",
    "matrix_norms",
    "max_pooling",
    "meta_rules",
    "multihead_attention",
    "native",
    "norms",
    "orthogonal_polynomials",
    "padding",
    "pickling",
    "piecewise",
    "power_pooling",
    "powers",
    "relu",
    "prod",
    "products",
    "qr",
    "quantiles",
    "random",
    "random_fills",
    "ranges",
    "rearranging",
    "recurrent",
    "recurrent_functions",
    "reductions",
    "removed",
    "resizing",
    "rms_norm",
    "rounding",
    "sampling",
    "scans",
    "searching",
    "segments",
    "shared_memory",
    "slicing",
    "softmax",
    "solve",
    "sorting",
    "nested_methods",
    "sparse_methods",
    "special",
    "splitting",
    "squeezing",
    "statistics",
    "stft",
    "strided",
    "take",
    "text",
    "to_numpy",
    "torch_namespace",
    "transcendental",
    "transposing",
    "unary",
    "unpooling",
    "view_copies",
    "view_inplace",
    "views",
    "windows",
    "writing",
]


def __getattr__(name: str) -> Any:
    """A library that a program has defined, or will: `torch.ops.mylib`."""
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if importlib.util.find_spec(f"{__name__}.{name}") is not None:
        return importlib.import_module(f"{__name__}.{name}")
    # Most programs have no libraries.
    found = globals()[name] = importlib.import_module(f"{__name__}.namespaces").namespace(name)
    return found


def load_library(path: Any) -> None:
    """Raises: compiled operations of PyTorch cannot be loaded.

    torchaudio's is passed over: its functions in Python do without it. What it is asked when it is
    imported has an answer: it was built for no GPU, and cannot align. Its operations raise when
    they are called.
    """
    if Path(path).name.partition(".")[0] in ("_torchaudio", "libtorchaudio"):
        importlib.import_module(f"{__name__}.namespaces").answer_torchaudio()
        return
    raise OSError(
        f"torch.ops.load_library: {path} is compiled for PyTorch's binary interface, which clew "
        "does not have" + errors.at_user_line()
    )


loaded_libraries: set[str] = set()
