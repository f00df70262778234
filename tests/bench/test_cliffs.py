"""The sweep for cliffs reaches every operation of the op table, or says why not."""

from __future__ import annotations

import warnings
from typing import Any

import clew
from clew.bench.cliffs import TABLES
from clew.bench.cliffs.inputs import DTYPES, Inputs, tensors_of
from clew.core.inplace import apply_inplace
from clew.core.interception import Interceptor, install, remove
from clew.core.op import OPS, Op
from clew.core.state import local
from clew.core.unstrided import LayoutOp
from clew.ops.index.index_put import index_put_op


class _Seeing(Interceptor):
    """Notes the names of the operations that run."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    @property
    def needs_operations(self) -> bool:
        return False

    def __call__(
        self, op: Any, inputs: tuple[Any, ...], params: dict[str, Any], inplace: bool = False
    ) -> Any:
        if not isinstance(op, Op):
            return params["outputs"]
        self.names.add(op.name)
        local.state.intercept = self.outer
        try:
            return apply_inplace(op, *inputs, **params) if inplace else op(*inputs, **params)
        finally:
            local.state.intercept = self


def _reached() -> set[str]:
    """The operations that the rows of all tables run, forward and backward, in one dtype each."""
    seeing = _Seeing()
    install(seeing)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for _, table, letters in TABLES:
                for build in table.values():
                    function, inputs = build(Inputs(clew, 10**4, DTYPES[letters[0]]))
                    outputs = [t for t in tensors_of(function(*inputs)) if t.requires_grad]
                    leaves = [each for each in inputs if each.requires_grad]
                    if outputs and leaves:
                        given = [clew.ones_like(each.detach()) for each in outputs]
                        clew.autograd.grad(outputs, leaves, given, allow_unused=True)
    finally:
        remove(seeing)
    return seeing.names


def test_every_operation_is_in_the_sweep_or_on_the_list() -> None:
    index_put_op(2)  # made when first used
    listed = {name for names in NOT_SWEPT.values() for name in names.split()}
    strided = {name for name, op in OPS.items() if not isinstance(op, LayoutOp)}
    missing = strided - _reached() - listed
    assert not missing, f"neither in clew/bench/cliffs nor listed here: {sorted(missing)}"
    assert listed <= set(OPS), f"no operations: {sorted(listed - set(OPS))}"


NOT_SWEPT: dict[str, str] = {
    "swept by the function; the operation runs where nobody sees it": "cosine_similarity",
    "an older name of `solve_triangular`, which is swept": "triangular_solve",
    "a product of bytes, by a private name that packages call": "_int_mm",
    "a form with a number, a factor or in place of an operation that is swept": """
        acosh.in_place add.scaled addmm.scaled asinh.in_place atanh.in_place celu_on_result
        clamp.numbers clamp_max.number clamp_min.number copysign.number div.floor div.trunc
        div.unrounded index_put_2
        elu_on_result eq.in_place fmod.number ge.in_place gt.in_place le.in_place
        leaky_relu_on_result lerp.number lt.in_place mul.number ne.in_place pow.of_number pow.tensor
        remainder.number remainder.of_number round.decimals rrelu_with_noise_on_result
        rrelu_without_noise_on_result rsub.number rsub.scaled sort.stable special_xlog1py.number
        special_xlog1py.of_number sub.scaled threshold_in_place xlogy.number xlogy.of_number
        convolution_bias convolution_transpose_bias bernoulli_like bernoulli_tensor normal_mean
        normal_std random random_below cholesky
    """,
    "changes how memory is looked at, whatever the size": """
        _reshape_alias set_ _zero_share
        _reshape_alias as_strided_ detach_copy neg_view set_ squeeze_ squeeze_dim_ squeeze_dims
        squeeze_dims_ t_
        transpose_ unsqueeze_ view_dtype unsafe_split_with_sizes
    """,
    "a part of another operation, which is swept": """
        _chosen _linalg_cofactors _linalg_svdvals _running_average _zero_share scatter_into
        several_zeros
    """,
    "swept without gradients only": "max_pool1d_values",
    "private": "_grouped_mm",
    "has no elements": "convolution_of_nothing",
    "no function of its own: softmax where all may be masked, and a mode of interpolate": """
        _safe_softmax upsample_lanczos2d_aa upsample_lanczos2d_aa_backward
    """,
}
