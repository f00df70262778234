"""Functions of which PyTorch has several forms, and how many arguments each form takes.

Where the number of arguments leaves one form, PyTorch says what is wrong with them; where it
leaves several or none, it says that no form takes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import FrameType
from typing import Any

from clew import errors

# From and to how many arguments, `out` among them: of functions, one range for each form.
_OF_FUNCTIONS = {
    "1-1 0-0": "is_autocast_enabled",
    "1-1 2-2": "round_",
    "1-1 2-2 2-2": "squeeze",
    "1-1 2-4": "median nanmedian",
    "1-1 3-4 3-3 3-3 3-3": "where",
    "1-2 1-4 2-4": "all any",
    "1-2 2-2": "count_nonzero",
    "1-2 2-3": "round",
    "1-2 2-3 2-3": "squeeze_copy",
    "1-2 2-3 2-4": "max min",
    "1-2 2-5": "prod sum",
    "1-3 1-3": "clamp_ clip_",
    "1-3 2-3": "bernoulli linalg_cond trapz",
    "1-3 2-5": "mean",
    "1-4 1-4": "clamp clip",
    "1-5 1-5 2-4 2-4": "linalg_matrix_rank linalg_pinv",
    "1-6 2-6": "linalg_norm",
    "1-6 2-7": "bartlett_window blackman_window hann_window",
    "1-6 2-7 3-8": "kaiser_window",
    "1-6 2-7 3-8 4-9": "hamming_window",
    "1-7 2-7 2-9": "arange",
    "1-7 2-8": "eye",
    "2-2 1-1": "set_autocast_enabled",
    "2-2 2-2": "clamp_max_ clamp_min_ dsplit fill fill_ hsplit vsplit xlogy_",
    "2-2 2-2 2-2 2-2": "result_type",
    "2-3 1-3": "cumulative_trapezoid trapezoid",
    "2-3 2-2": "floor_divide multiply true_divide",
    "2-3 2-2 2-3": (
        "bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor remainder"
    ),
    "2-3 2-3": (
        "clamp_max clamp_min copysign eq fmod ge greater greater_equal gt le less "
        "less_equal lt ne not_equal rsub view_copy"
    ),
    "2-3 2-3 2-3": (
        "chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v "
        "chebyshev_polynomial_w float_power hermite_polynomial_h "
        "hermite_polynomial_he laguerre_polynomial_l legendre_polynomial_p pow "
        "shifted_chebyshev_polynomial_t shifted_chebyshev_polynomial_u "
        "shifted_chebyshev_polynomial_v shifted_chebyshev_polynomial_w "
        "tensor_split xlog1py xlogy zeta"
    ),
    "2-3 3-4": "bmm mm spmm",
    "2-3 3-4 1-4 2-4 3-4 2-4 3-4": "gradient",
    "2-3 3-4 2-2 3-3": "divide",
    "2-3 3-4 3-3": "div",
    "2-4": "add sub",
    "2-4 1-2 2-4": "repeat_interleave",
    "2-4 1-3": "nuclear_norm",
    "2-4 1-4 1-2": "std_mean var_mean",
    "2-4 1-4 2-4 3-10": "normal",
    "2-4 2-3": "subtract",
    "2-5 1-3": "argsort",
    "2-5 1-4": "sort",
    "2-5 1-5 1-2": "std var",
    "2-5 1-6": "histogram",
    "2-5 2-4": "bucketize",
    "2-5 2-5 2-5": "histogramdd isin",
    "2-6 2-6": "nanquantile quantile",
    "2-7 2-7": "conv1d conv2d conv3d searchsorted",
    "2-8 1-7": "rand rand_like randn randn_like randperm",
    "2-8 3-9 1-5": "sparse_coo_tensor",
    "3-10 3-10 3-10 3-10": "logspace",
    "3-3 3-3": "masked_fill moveaxis movedim",
    "3-4 3-4": "lerp",
    "3-5": "addcdiv addcmul addmv_",
    "3-6": "addbmm addmv addr sspaddmm",
    "3-6 4-7": "addmm baddbmm",
    "3-7 2-7": "linalg_matrix_norm",
    "3-9 2-8 4-10 3-9": "randint",
    "3-9 3-9 3-9 3-9": "linspace",
    "4-10 3-9": (
        "sparse_bsc_tensor sparse_bsr_tensor sparse_compressed_tensor "
        "sparse_csc_tensor sparse_csr_tensor"
    ),
    "4-10 3-9 3-9 2-8 3-9 2-8": "randint_like",
    "4-4 4-4": "index_fill narrow",
    "4-5 5-6 4-5 5-6": "scatter",
    "4-7 4-7": "ctc_loss",
    "5-5 5-5": "fake_quantize_per_tensor_affine",
    "9-9 9-9": "gru lstm rnn_relu rnn_tanh",
}
# The same of methods, without the tensor itself.
_OF_METHODS = {
    "0-0 0-2 1-2": "all any",
    "0-0 1-1": "nonzero round round_",
    "0-0 1-1 1-1": "squeeze squeeze_",
    "0-0 1-1 1-2": "max min",
    "0-0 1-1 3-4 1-1 3-4": "set_",
    "0-0 1-2": "median nanmedian",
    "0-1 1-1": "count_nonzero",
    "0-1 1-1 1-1 1-2 1-2": "new",
    "0-1 1-2": "bernoulli",
    "0-1 1-3": "mean prod sum",
    "0-1 2-3 1-2": "random_",
    "0-2 0-2": "clamp clamp_ clip clip_",
    "0-3": "cuda type",
    "0-3 1-1": "to_sparse",
    "0-5 1-4 1-4": "to",
    "1-1 1-1": (
        "bitwise_and bitwise_and_ bitwise_left_shift bitwise_left_shift_ "
        "bitwise_or bitwise_or_ bitwise_right_shift bitwise_right_shift_ "
        "bitwise_xor bitwise_xor_ clamp_max clamp_max_ clamp_min clamp_min_ "
        "copysign copysign_ dsplit eq eq_ fill_ float_power float_power_ "
        "floor_divide floor_divide_ fmod fmod_ ge ge_ greater greater_ "
        "greater_equal greater_equal_ gt gt_ hsplit le le_ less less_ less_equal "
        "less_equal_ lt lt_ multiply multiply_ ne ne_ not_equal not_equal_ pow "
        "pow_ remainder remainder_ true_divide true_divide_ view vsplit xlogy "
        "xlogy_"
    ),
    "1-1 2-2 1-1 2-2": "divide divide_",
    "1-1 2-2 2-2": "div div_",
    "1-2": "add add_ copy_ sub sub_",
    "1-2 0-2": "bernoulli_",
    "1-2 1-2": "subtract subtract_",
    "1-2 1-2 1-2": "tensor_split",
    "1-3 0-2": "argsort sort",
    "1-3 0-3 0-1": "std var",
    "1-3 0-4": "histogram",
    "1-3 1-3": "repeat_interleave",
    "1-4 1-4": "nanquantile quantile",
    "2-2 2-2": "lerp lerp_ masked_fill masked_fill_ moveaxis movedim where",
    "2-3": "addcdiv addcdiv_ addcmul addcmul_",
    "2-4": ("addbmm addbmm_ addmm addmm_ addmv addmv_ addr addr_ baddbmm baddbmm_ sspaddmm"),
    "3-3 3-3": "index_fill index_fill_ narrow",
    "3-3 4-4 3-3 4-4": "scatter scatter_",
}

Ranges = tuple[tuple[int, int], ...]


def _by_name(table: Mapping[str, str]) -> dict[str, Ranges]:
    found: dict[str, Ranges] = {}
    for forms, names in table.items():
        ranges = [form.partition("-") for form in forms.split()]
        limits = tuple((int(least), int(most)) for least, _, most in ranges)
        found.update(dict.fromkeys(names.split(), limits))
    return found


_RANGES = (_by_name(_OF_METHODS), _by_name(_OF_FUNCTIONS))


def is_ambiguous(name: str, count: int, is_function: bool) -> bool:
    """Whether PyTorch cannot tell by the number of arguments which form of `name` was meant."""
    ranges = _RANGES[is_function].get(name.removeprefix("special_"), ())
    return bool(ranges) and sum(least <= count <= most for least, most in ranges) != 1


def no_overload(function: str, args: Iterable[Any], expected: str) -> TypeError:
    """Arguments of types that no form of a function takes, where PyTorch has several forms."""
    kinds = ", ".join(map(errors.kind_name, args))
    return TypeError(
        f"{function}() received an invalid combination of arguments - got ({kinds}), but expected "
        f"{expected}" + errors.at_user_line()
    )


def no_form(
    function: str, args: Sequence[Any], kwargs: Mapping[str, Any], problem: str
) -> TypeError:
    """PyTorch's words for a call that none of its forms takes, and what is wrong with it."""
    named = [f"{name}={errors.kind_name(value)}" for name, value in kwargs.items()]
    kinds = ", ".join([*map(errors.kind_name, args), *named])
    return TypeError(
        f"{function}() received an invalid combination of arguments - got ({kinds}), but expected "
        f"one of its forms\n  {problem}"
    )


def wrong_operand(name: str, argument: str, position: int, value: object) -> TypeError:
    """An operand that is neither a tensor nor a number, in a function or in a method."""
    argument = "input" if argument == "self" else argument
    is_function = errors.is_function_call()
    place = position if is_function else position - 1
    problem = errors.wrong_argument(name, argument, place, "Tensor", value)
    if not is_ambiguous(name, 2 if is_function else 1, is_function):
        return problem
    return no_form(name, (value,), {}, str(problem))


def wrong_in_method(problem: str) -> TypeError:
    """What is wrong with an argument, by the name of the method that the program called.

    Wrappers around functions know the name and the arguments, and say so themselves.
    """
    frames = _inside()
    if not frames:
        return TypeError(problem + errors.at_user_line())
    name = _method(frames[-1])
    return _of_method(frames[-1], TypeError(f"{name}(): {problem}" + errors.at_user_line()))


def not_an_int(value: object) -> TypeError:
    """A dimension that is no integer, named as the method has it that the program called."""
    frames = _inside()
    for frame in frames[:0:-1]:
        code, called = frame.f_code, _method(frame)
        for position, name in enumerate(code.co_varnames[: code.co_argcount]):
            if frame.f_locals[name] is value and called not in ("wrap_dim", "function"):
                problem = errors.wrong_argument(called, name, position, "int", value)
                return _of_method(frames[-1], problem)
    return wrong_in_method(f"argument 'dim' must be int, not {errors.kind_name(value)}")


def _inside() -> list[FrameType]:
    """clew's frames, innermost first, that the method was called with; none below a wrapper."""
    frames = [each for each in errors.own_frames() if each.f_code.co_name != "accepting"]
    return [] if not frames or errors.is_wrapper(frames[-1]) else frames


def _method(frame: FrameType) -> str:
    """The name of a method; those that are made for several names know theirs as `name`."""
    code = frame.f_code
    is_made = "<locals>" in code.co_qualname
    return str(frame.f_locals.get("name", code.co_name)) if is_made else code.co_name


def _of_method(frame: FrameType, problem: TypeError) -> TypeError:
    code, values, name = frame.f_code, frame.f_locals, _method(frame)
    parameters = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
    given = [values[each] for each in parameters if values[each] is not None]
    given = [each for each in given if each is not False]
    if is_ambiguous(name, len(given), False):
        return no_form(name, given, {}, str(problem))
    return problem
