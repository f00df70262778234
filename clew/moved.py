"""Where modules of operations were before: pickles name those of functions and classes.

Importing such a name gives a module with the names of the present one.
"""

from __future__ import annotations

import importlib
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

# By folder of clew/ops: what was a module of that name directly in it, and its name now.
_FOLDERS = {
    "define": (
        "rows dims options out_checks return_types old_forms:deprecated_forms memory:memory_layout"
    ),
    "pointwise": (
        "arithmetic clamping combining comparison complex logic powers rounding special "
        "transcendental callables:apply"
    ),
    "spectral": "fft spectrograms:stft windows",
    "reduce": (
        "extrema reductions scans statistics truth:any_all norms sorting searching histograms "
        "differences"
    ),
    "shape": "joining splitting views strided slicing transposing rearranging view_inplace",
    "index": (
        "gathering:gather_scatter index_rows:index_select index_tensors:index_put "
        "indexing:getitem masking taking:take writing"
    ),
    "linalg": (
        "addmm cdist decompositions einsum linalg:matrix_functions linalg_checks:checks lu "
        "matmul matrix_norms products reflections:householder solving:solve"
    ),
    "nn": (
        "attention attention_blocks multihead:multihead_attention average_pooling "
        "pooling:max_pooling unpooling batch_normalization:batch_norm "
        "group_normalization:group_norm normalization:layer_norm rms_normalization:rms_norm "
        "convolution dropout embedding embedding_bag folding:fold grid_sampling:grid_sample "
        "linear padding recurrent recurrent_functions resample:interpolate spatial distance"
    ),
    "nn.loss": (
        "loss:elementwise loss_class:classification loss_ctc:ctc loss_kernels:kernels "
        "loss_margin:margin reduction_argument:reduction"
    ),
    "nn.activation": (
        "activation:unary activation_gates:gated activation_pieces:piecewise "
        "activation_slopes:leaky softmax"
    ),
    "create": (
        "creation:constants ranges random sampling "
        "implicit_sampling:implicit_reparameterization from_data legacy:legacy_constructors"
    ),
    "tensor": "info text pickling conversion copying leaving:to_numpy sharing:shared_memory",
}

# What was in one folder and is in another now.
_AGAIN = {
    "batching.refusals": "define.vmap_errors",
    "shape.memory_layout": "define.memory_layout",
}

# What was part of a module, and is one of its own: the names are found in the former, too.
_PARTS = {
    "pointwise.division": "pointwise.arithmetic",
    "create.nested_data": "create.from_data",
    "create.random_fills": "create.sampling",
    "reduce.prod": "reduce.reductions",
    "reduce.logsumexp": "reduce.reductions",
    "reduce.quantiles": "reduce.statistics",
    "shape.diagonals": "shape.rearranging",
    "shape.squeezing": "shape.views",
    "linalg.qr": "linalg.decompositions",
    "linalg.determinants": "linalg.matrix_functions",
    "linalg.inverse": "linalg.solve",
    "spectral.frequencies": "spectral.fft",
    "spectral.transforms": "spectral.fft",
}


def _moved() -> dict[str, str]:
    found = {f"clew.ops.{before}": f"clew.ops.{now}" for before, now in _AGAIN.items()}
    for folder, names in _FOLDERS.items():
        for each in names.split():
            before, _, now = each.partition(":")
            found[f"clew.ops.{before}"] = f"clew.ops.{folder}.{now or before}"
    return found


class _Finder:
    """Is asked for what nobody else finds."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if not name.startswith("clew.ops."):
            return None
        self.names = self.names or _moved()
        return ModuleSpec(name, self) if name in self.names else None  # type: ignore[arg-type]  # a loader by its methods

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        now = importlib.import_module(self.names[module.__name__])
        own = {"__name__", "__spec__", "__loader__", "__package__"}
        vars(module).update({name: each for name, each in vars(now).items() if name not in own})


def install() -> None:
    """Let the import system find moved modules, and modules the names of their former parts."""
    sys.meta_path.append(_Finder())
    for now, before in _PARTS.items():
        former = vars(sys.modules[f"clew.ops.{before}"])
        for name, each in vars(sys.modules[f"clew.ops.{now}"]).items():
            former.setdefault(name, each)
