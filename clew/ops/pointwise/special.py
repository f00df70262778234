"""Special functions as operations: error function, gamma and Bessel families, entropy terms.

The numerics are in `clew.kernels.numpy.special_functions`; here are types, gradients and names.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.arguments import is_real
from clew.core.elementwise import operands
from clew.core.op import OPS
from clew.core.public import public
from clew.core.tensor import Tensor
from clew.kernels import numpy as kernels
from clew.kernels.codegen.ufunc import elementwise
from clew.ops.define import out_checks, rows
from clew.ops.define.dims import is_int
from clew.ops.define.memory_layout import in_rows
from clew.ops.define.rows import FLOAT, FLOATS, REALS, Row, binary_row, require_tensors, unary_row
from clew.ops.pointwise.arithmetic import conj
from clew.ops.pointwise.clamping import WHERE

SQRT_PI = math.sqrt(math.pi)
_WIDE = "bif"  # half precision is refused


def _row(name: str, forward: Any, grad: Any, torch_kernel: str, **options: Any) -> Any:
    options = {"takes": REALS, **options}
    return unary_row(name, forward, grad, rule=FLOAT, torch_kernel=torch_kernel, **options)


def _hidden(name: str, forward: Any, grad: Any, torch_kernel: str, **options: Any) -> Any:
    """A row that PyTorch offers as `special.name` only; its op is named `special_name`."""
    return _row(
        f"special_{name}", forward, grad, torch_kernel,
        method=False, in_place=False, function=False, **options,
    )  # fmt: skip


# -- the error function ----------------------------------------------------------------------


def _compiled(name: str) -> Callable[[np.ndarray], Any]:
    """A forward over floats by a kernel, which has the function as its formula."""
    compiled = elementwise(name, 1, cost=8, half=True)(lambda x: getattr(x, name)())
    return lambda self: compiled.specialize(self)(self)


erf = _row(
    "erf",
    _compiled("erf"),
    lambda g, self: (2 / SQRT_PI) * (-(self.pow(2))).exp() * g,
    "erf_vml_cpu",
    takes_halves=True,
    doc="The error function: the integral of `2/sqrt(pi) * exp(-t²)` from 0 to `input`.",
    example=">>> clew.erf(clew.tensor([-1., 0., 1.]))\ntensor([-0.8427,  0.0000,  0.8427])",
)  # fmt: skip
erfc = _row(
    "erfc", _compiled("erfc"), lambda g, self: (-2 / SQRT_PI) * (-(self.pow(2))).exp() * g,
    "erfc_vml_cpu", takes_halves=True,
    doc="`1 - erf(input)`, which stays exact where `erf` is near 1.",
    example=(
        ">>> clew.erfc(clew.tensor([0., 1., 5.]))\n"
        "tensor([1.0000e+00, 1.5730e-01, 1.5375e-12])"
    ),
)  # fmt: skip
erfinv = _row(
    "erfinv", _compiled("erfinv"), lambda g, self: (SQRT_PI / 2) * self.erfinv().pow(2).exp() * g,
    "erfinv_vml_cpu", takes_halves=True,
    doc="The inverse of the error function; infinite at -1 and 1, NaN outside.",
    example=">>> clew.erfinv(clew.tensor([0., 0.5, 1.]))\ntensor([0.0000, 0.4769,    inf])",
)  # fmt: skip
erfcx = _hidden(
    "erfcx", lambda self: kernels.special_functions.erfcx(self),
    lambda g, self, out: (2 * self * out - 2 / SQRT_PI) * g, "erfcx_cpu",
    takes=_WIDE,
    doc=(
        "`exp(input²) * erfc(input)`: the complementary error function, scaled so that it "
        "does not underflow."
    ),
    example=">>> clew.special.erfcx(clew.tensor([0., 1., 100.]))\ntensor([1.0000, 0.4276, 0.0056])",
)  # fmt: skip
ndtri = _hidden(
    "ndtri", lambda self: kernels.special_functions.ndtri(self),
    lambda g, out: g * math.sqrt(2 * math.pi) * (out.square() / 2).exp(),
    "ndtri_cpu", takes=_WIDE,
    doc="The inverse of the normal distribution function: the quantile of a probability.",
    example=(
        ">>> clew.special.ndtri(clew.tensor([0.5, 0.975, 1.]))\n"
        "tensor([0.0000, 1.9600,    inf])"
    ),
)  # fmt: skip
log_ndtr = _hidden(
    "log_ndtr", lambda self: kernels.special_functions.log_ndtr(self),
    lambda g, self, out: g / math.sqrt(2 * math.pi) * (-(out + self.pow(2) / 2)).exp(),
    "log_ndtr_cpu", takes=_WIDE,
    doc="The logarithm of the normal distribution function, which stays exact far below 0.",
    example=(
        ">>> clew.special.log_ndtr(clew.tensor([0., -10., -100.]))\n"
        "tensor([-6.9315e-01, -5.3231e+01, -5.0055e+03])"
    ),
)  # fmt: skip


def ndtr(input: Tensor) -> Tensor:
    """The normal distribution function: how likely a standard normal number is below `input`.

    Args:
        input: a tensor

    Example:
        >>> clew.special.ndtr(clew.tensor([-1.96, 0., 1.96]))
        tensor([0.0250, 0.5000, 0.9750])
    """
    require_tensors("special_ndtr", input=input)
    return (1 + erf(input * math.sqrt(0.5))) * 0.5


# -- the gamma family ------------------------------------------------------------------------

lgamma = _row(
    "lgamma", lambda self: kernels.special_functions.lgamma(self),
    lambda g, self: g * self.digamma(), "lgamma_vml_cpu",
    doc="The logarithm of the absolute value of the gamma function.",
    example=">>> clew.lgamma(clew.tensor([3., 5., 0.5]))\ntensor([0.6931, 3.1781, 0.5724])",
)  # fmt: skip
digamma: Any = _row(
    "digamma", lambda self: kernels.special_functions.digamma(self),
    lambda g, self: g * POLYGAMMA(self, n=1), "digamma",
    doc="The derivative of `lgamma`.",
    example=">>> clew.digamma(clew.tensor([1., 0.5]))\ntensor([-0.5772, -1.9635])",
)  # fmt: skip
POLYGAMMA: Row = rows.NativeRow(
    "polygamma", lambda self, *, n: kernels.special_functions.polygamma(n, self),
    rule=FLOAT, takes=REALS,
    grads={"self": lambda g, self, n: g * POLYGAMMA(self, n=n + 1)},
)  # fmt: skip


@public(method=False)
def polygamma(n: int, input: Tensor) -> Tensor:
    """The n-th derivative of the digamma function.

    Args:
        n: which derivative; 0 is `digamma` itself
        input: a tensor

    Example:
        >>> clew.polygamma(1, clew.tensor([1., 0.5]))
        tensor([1.6449, 4.9348])
    """
    if not is_int(n):
        raise errors.wrong_argument("polygamma", "n", 1, "int", n)
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n." + errors.at_user_line())
    require_tensors("polygamma", input=input)
    return POLYGAMMA(input, n=int(n))


@public(function=False, name="polygamma", inplace=True)
def _polygamma_method(self: Tensor, n: int) -> Tensor:
    """The n-th derivative of the digamma function at each element.

    Args:
        n: which derivative; 0 is `digamma` itself

    Example:
        >>> clew.tensor([1., 0.5]).polygamma(1)
        tensor([1.6449, 4.9348])
    """
    return polygamma(n, self)


def _mvlgamma(self: np.ndarray, *, p: int) -> np.ndarray:
    halves = np.arange(p) * -0.5
    raised = self[..., np.newaxis].astype(np.float64) + halves
    constant = p * (p - 1) * 0.25 * math.log(math.pi)
    return (kernels.special_functions.lgamma(raised).sum(-1) + constant).astype(self.dtype)


def _grad_of_mvlgamma(g: Tensor, self: Tensor, p: int) -> Tensor:
    slope = self.digamma()
    for k in range(1, p):
        slope = slope + (self - 0.5 * k).digamma()
    return g * slope


MVLGAMMA = Row(
    "mvlgamma", _mvlgamma, rule=FLOAT, takes=REALS, grads={"self": _grad_of_mvlgamma},
    placement=in_rows,
)  # fmt: skip


@public(checked=True, inplace=True)
def mvlgamma(input: Tensor, p: int) -> Tensor:
    """The multivariate log-gamma function of dimension p.

    Args:
        input: a tensor; all elements are above `(p - 1) / 2`
        p: the number of dimensions; 1 is `lgamma`

    Example:
        >>> clew.mvlgamma(clew.tensor([2., 3.]), p=2)
        tensor([0.4516, 1.5502])
    """
    require_tensors("mvlgamma", input=input)
    if input.dtype is dtypes.bool_:
        raise RuntimeError("The input tensor may not be a boolean tensor." + errors.at_user_line())
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1" + errors.at_user_line())
    return MVLGAMMA(input, p=p)


def _not_by_first(g: Tensor) -> Tensor:
    raise NotImplementedError(
        "the derivative for 'zeta' is not implemented.\n"
        "  Only the one by `other` is: detach `input`." + errors.at_user_line()
    )


ZETA = Row(
    "special_zeta", lambda self, other: kernels.special_functions.zeta(self, other),
    inputs=("self", "other"), rule=FLOAT, takes=_WIDE, torch_kernel="zeta_cpu",
    grads={
        "self": _not_by_first,
        "other": lambda g, self, other: g * -self * zeta(self + 1, other),
    },
)  # fmt: skip


def zeta(input: Any, other: Any) -> Tensor:
    """The Hurwitz zeta function: the sum of `1 / (k + other)**input` over k = 0, 1, 2, …

    Args:
        input: the exponent, a tensor or a number
        other: where the sum starts, a tensor or a number; 1 gives Riemann's zeta function

    Example:
        >>> clew.special.zeta(clew.tensor([2., 4.]), 1)
        tensor([1.6449, 1.0823])
    """
    return ZETA(*operands(ZETA, input, other))


def _incomplete_gamma(name: str, forward: Any, sign: float, **docs: Any) -> Any:
    def not_by_first(g: Tensor) -> Tensor:
        raise NotImplementedError(
            f"the derivative for '{name}: input' is not implemented.\n"
            "  Only the one by `other` is: detach `input`." + errors.at_user_line()
        )

    def by_second(g: Tensor, self: Tensor, other: Tensor) -> Tensor:
        return g * (sign * ((self - 1) * other.log() - other - self.lgamma()).exp())

    return binary_row(name, forward, not_by_first, by_second, takes=FLOATS, numbers=False, **docs)


igamma = _incomplete_gamma(
    "igamma", lambda self, other: kernels.incomplete_gamma.igamma(self, other), 1.0,
    doc="The regularized lower incomplete gamma function: 0 at `other` = 0, 1 at infinity.",
    example=(
        ">>> clew.igamma(clew.tensor([4.]), clew.tensor([3., 4., 5.]))\n"
        "tensor([0.3528, 0.5665, 0.7350])"
    ),
)  # fmt: skip
igammac = _incomplete_gamma(
    "igammac", lambda self, other: kernels.incomplete_gamma.igammac(self, other), -1.0,
    doc="The regularized upper incomplete gamma function: `1 - igamma(input, other)`.",
    example=(
        ">>> clew.igammac(clew.tensor([4.]), clew.tensor([3., 4., 5.]))\n"
        "tensor([0.6472, 0.4335, 0.2650])"
    ),
)  # fmt: skip


# -- Bessel functions ------------------------------------------------------------------------


def _grad_of_i1(g: Tensor, self: Tensor, out: Tensor) -> Tensor:
    return g * _slope_at_zero("i1", self, lambda x: i0(x) - out / x)


def _grad_of_i1e(g: Tensor, self: Tensor, out: Tensor) -> Tensor:
    return g * _slope_at_zero("i1e", self, lambda x: i0e(x) - out * (x.sgn() + x.reciprocal()))


def _slope_at_zero(name: str, self: Tensor, slope: Callable[[Tensor], Tensor]) -> Tensor:
    """The slope is 1/2 at 0, where its formula divides by 0."""
    if self.dtype.np in dtypes.LOW_PRECISION:
        raise errors.no_kernel(f"{name}_backward", self.dtype)
    tiny = self.abs() <= np.finfo(self._array.dtype).eps
    safe = WHERE(tiny, float(np.finfo(self._array.dtype).eps), self)
    return WHERE(tiny, 0.5, slope(safe))


def _i0e(self: np.ndarray) -> np.ndarray:
    in_halves = self.dtype in dtypes.HALVES
    functions = kernels.special_functions
    return functions.i0e_of_halves(self) if in_halves else functions.i0e(self)


i0: Any = _row(
    "i0", lambda self: kernels.special_functions.i0(self),
    lambda g, self: g * i1(self), "i0_vml_cpu",
    doc="The modified Bessel function of the first kind, of order 0.",
    example=">>> clew.i0(clew.tensor([0., 1., 2.]))\ntensor([1.0000, 1.2661, 2.2796])",
)  # fmt: skip
i0e: Any = _hidden(
    "i0e", _i0e, lambda g, self, out: g * (i1e(self) - self.sgn() * out), "i0e_cpu",
    takes_halves=True,
    node="SpecialI0EBackward0",
    doc=(
        "`i0(input) * exp(-|input|)`: the Bessel function of order 0, scaled so that it does "
        "not overflow."
    ),
    example=">>> clew.special.i0e(clew.tensor([0., 1., 1000.]))\ntensor([1.0000, 0.4658, 0.0126])",
)  # fmt: skip
i1: Any = _hidden(
    "i1", lambda self: kernels.special_functions.i1(self), _grad_of_i1, "i1_cpu",
    doc="The modified Bessel function of the first kind, of order 1.",
    example=">>> clew.special.i1(clew.tensor([0., 1., 2.]))\ntensor([0.0000, 0.5652, 1.5906])",
)  # fmt: skip
i1e: Any = _hidden(
    "i1e", lambda self: kernels.special_functions.i1e(self),
    _grad_of_i1e, "i1e_cpu", node="SpecialI1EBackward0",
    doc=(
        "`i1(input) * exp(-|input|)`: the Bessel function of order 1, scaled so that it does "
        "not overflow."
    ),
    example=">>> clew.special.i1e(clew.tensor([0., 1., 1000.]))\ntensor([0.0000, 0.2079, 0.0126])",
)  # fmt: skip

# -- entropy terms ---------------------------------------------------------------------------


entr = _hidden(
    "entr", lambda self: kernels.special_functions.entr(self),
    lambda g, self: g * (-(1 + self.log())), "entr_cpu", takes_halves=True,
    doc="The entropy term `-input * log(input)`: 0 at 0, -inf below.",
    example=(
        ">>> clew.special.entr(clew.tensor([0., 0.5, 1., -1.]))\n"
        "tensor([0.0000, 0.3466, -0.0000,   -inf])"
    ),
)  # fmt: skip


def _product_with(log: Any) -> Callable[[Any, Any], Any]:
    """`self · log(other)`, which is 0 where self is, unless other is NaN."""

    def forward(self: Any, other: Any) -> Any:
        if not isinstance(other, np.ndarray):
            # The logarithm of a number is one of the dtype of the result, rounded as that.
            other = np.asarray(other, self.dtype)
        product = np.asarray(self * log(other))
        return np.where((np.asarray(self) == 0) & ~np.isnan(other), product.dtype.type(0), product)

    return forward


def _grad_of_factor(g: Tensor, self: Any, other: Any, name: str, pole: float) -> Tensor:
    # The same product again: it is 0 where the gradient is, also at the pole.
    op = OPS[name if isinstance(other, Tensor) else f"{name}.number"]
    return WHERE((self == 0) & (other <= pole), 0, op(g, other))


def _entropy_rows(name: str, forward: Any, pole: float, node: str) -> tuple[Row, ...]:
    """For tensors, for a number on the left, for a number on the right."""
    # Formulas are lambdas: an operation reads the names of their arguments.
    of_self = lambda g, self, other: _grad_of_factor(g, self, other, name, pole)  # noqa: E731
    of_other = lambda g, self, other: g * self / (other - pole)  # noqa: E731  # as above
    kinds = (("", {"self": of_self, "other": of_other}), (".of_number", {"other": of_other}),
             (".number", {"self": of_self}))  # fmt: skip
    return tuple(
        rows.NativeRow(
            name + suffix,
            forward,
            inputs=("self", "other"),
            rule=FLOAT,
            takes=REALS,
            torch_kernel=f"{name.removeprefix('special_')}_cpu",
            node=f"{node}Backward{index}",
            grads=grads,
            kinks="0 at self = 0",
        )
        for index, (suffix, grads) in enumerate(kinds)
    )


XLOGY = _entropy_rows("xlogy", _product_with(np.log), 0.0, "Xlogy")
XLOG1PY = _entropy_rows("special_xlog1py", _product_with(np.log1p), -1.0, "SpecialXlog1Py")


def _of_kind(kinds: tuple[Row, ...], input: Any, other: Any) -> Tensor:
    if isinstance(input, Tensor):
        op = kinds[0] if isinstance(other, Tensor) else kinds[2]
    else:
        op = kinds[1]
    return op(*operands(op, input, other))


@public(inplace=out_checks.same_or_apart, out=out_checks.same_or_apart)
def xlogy(input: Any, other: Any) -> Tensor:
    """`input * log(other)`, and 0 where input is 0.

    Args:
        input: a tensor or a number
        other: a tensor or a number; broadcasts with `input`

    Example:
        >>> clew.xlogy(clew.tensor([0., 1., 2.]), clew.tensor([0., 0., 3.]))
        tensor([0.0000,   -inf, 2.1972])
    """
    return _of_kind(XLOGY, input, other)


def xlog1py(input: Any, other: Any) -> Tensor:
    """`input * log1p(other)`, and 0 where input is 0.

    Args:
        input: a tensor or a number
        other: a tensor or a number; broadcasts with `input`

    Example:
        >>> clew.special.xlog1py(clew.tensor([0., 2.]), clew.tensor([-1., 3.]))
        tensor([0.0000, 2.7726])
    """
    return _of_kind(XLOG1PY, input, other)


# -- logit, sinc -----------------------------------------------------------------------------


def _grad_of_logit(g: Tensor, self: Tensor, eps: float | None) -> Tensor:
    product = self * (1 - self)
    # At -0.0 as at 0.
    slope = WHERE(product == 0, g * math.inf, g / product)
    if eps is None:
        outside: float = math.nan
        low, high = 0.0, 1.0
    else:
        outside = 0.0
        low, high = eps, 1 - eps
    return WHERE((self < low) | (self > high), outside, slope)


LOGIT = Row(
    "logit", lambda self, *, eps: kernels.special_functions.logit(self, eps),
    rule=FLOAT, takes=REALS, takes_halves=True, grads={"self": _grad_of_logit},
    kinks="0 outside of [eps, 1 - eps]",
)  # fmt: skip


@public(inplace=out_checks.same_or_apart, out=out_checks.same_or_apart)
def logit(input: Tensor, eps: float | None = None) -> Tensor:
    """`log(x / (1 - x))`: the inverse of the sigmoid.

    Args:
        input: a tensor of probabilities
        eps: limits `input` to [eps, 1 - eps] first, so that the result is finite; None does not

    Example:
        >>> x = clew.tensor([0., 0.5, 0.9])
        >>> clew.logit(x)
        tensor([  -inf, 0.0000, 2.1972])
        >>> clew.logit(x, eps=1e-6)
        tensor([-13.8155,   0.0000,   2.1972])
    """
    require_tensors("logit", input=input)
    if eps is not None and not is_real(eps):
        raise errors.wrong_argument("logit", "eps", 2, "float", eps)
    return LOGIT(input, eps=eps)


def _sinc(self: np.ndarray) -> Any:
    scaled = self * math.pi
    return np.where(self == 0, np.ones((), scaled.dtype), np.sin(scaled) / scaled)


def _grad_of_sinc(g: Tensor, self: Tensor) -> Tensor:
    scaled = self * math.pi
    below = self * self * math.pi
    slope = g * conj((scaled * scaled.cos() - scaled.sin()) / below)
    # Also 0 for numbers so small that their square is.
    return WHERE(below == 0, 0, slope)


sinc = unary_row(
    "sinc", _sinc, _grad_of_sinc, rule=FLOAT, kinks="0 at 0",
    doc="`sin(pi * input) / (pi * input)`, and 1 at 0.",
    example=">>> clew.sinc(clew.tensor([0., 0.5, 1.5]))\ntensor([ 1.0000,  0.6366, -0.2122])",
)  # fmt: skip
