"""The kernel IR: what the validator refuses and why, the printed form, tracing."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from clew.kernels.codegen import ir
from clew.kernels.codegen.emitter import literal
from clew.kernels.codegen.ir import (
    BF16,
    BOOL,
    F16,
    F32,
    F64,
    I32,
    I64,
    Expr,
    Program,
    const,
    position,
    show,
    table,
    unlikely,
    validate,
    where,
)  # fmt: skip
from clew.kernels.codegen.tracing import FUNCTIONS, trace


def input_of(dtype: str, number: int = 0) -> Expr:
    return Expr("input", dtype, (), number)


X, Y, N, B = (input_of(dtype, number) for number, dtype in enumerate((F32, F64, I32, BOOL)))

REFUSED: list[tuple[Callable[[], Expr], str]] = [
    (lambda: X + Y, "add does not go with the types f32, f64"),
    (lambda: X & X, "band does not go with the types f32, f32"),
    (lambda: B + B, "add does not go with the types bool, bool"),
    (lambda: N / N, "div does not go with the types i32, i32"),
    (lambda: N.sqrt(), "sqrt does not go with the types i32"),
    (lambda: ~X, "not does not go with the types f32"),
    (lambda: X < N, "lt does not go with the types f32, i32"),
    (lambda: Expr("add", F32, (X,)), "add takes 2 operands, not 1"),
    (lambda: Expr("add", F64, (X, X)), "add of f32 does not give f64"),
    (lambda: Expr("lt", F32, (X, X)), "lt of f32 does not give f32"),
    (lambda: Expr("cbrt", F32, (X,)), "there is no operation cbrt"),
    (lambda: Expr("input", "f8", (), 0), "there is no type f8 to compute in"),
    (lambda: X.convert(F16), "there is no type f16 to compute in"),
    (lambda: Expr("select", F32, (B, X)), "select takes 3 operands, not 2"),
    (lambda: where(N, X, X), "select needs bool and twice one type, not i32, f32, f32"),
    (lambda: where(B, X, Y), "select needs bool and twice one type, not bool, f32, f64"),
    (lambda: unlikely(B, X, Y), "unlikely needs bool and twice one type, not bool, f32, f64"),
    (lambda: Expr("bits", I64, (X,)), "bits of f32 are not i64"),
    (lambda: Expr("from_bits", F64, (N,)), "bits of f64 are not i32"),
    (lambda: table([1.0, 2.0], X), "table needs floats and an integer index, not f32"),
    (lambda: table([], N), "table needs floats and an integer index, not i32"),
    (lambda: Expr("reduce", F32, (X,), "median"), "there is no reduction median"),
    (lambda: Expr("reduce", F64, (X,), "sum"), "reduce of f32 does not give f64"),
    (lambda: N.row_sum(), "reduce is for floats, not for i32"),
    (lambda: Expr("size", I64), "size is for floats, not for i64"),
    (lambda: position(F32), "index is an integer, not f32"),
    (lambda: X.like("one"), "'one' is not a number"),
    (lambda: N.like(1.5), "1.5 is not a constant of type i32"),
    (lambda: N.like(2**31), "2147483648 is beyond the range of i32"),
]


@pytest.mark.parametrize(("make", "text"), REFUSED, ids=[text for _, text in REFUSED])
def test_the_validator_says_what_is_wrong(make: Callable[[], Expr], text: str) -> None:
    wrong = make()
    with pytest.raises(TypeError) as raised:
        validate([where(B, X, X), wrong])
    assert str(raised.value).startswith(text + "\n")
    assert str(raised.value).endswith(f"\n{show(wrong)}")


def test_what_only_rows_have_is_refused_elsewhere() -> None:
    for expr in (X.row_sum(), X.row_mean(), X.materialize(), position()):
        validate([expr])
        with pytest.raises(TypeError, match="is for kernels over rows only"):
            validate([expr], in_rows=False)


def test_outputs_must_fit_their_formulas() -> None:
    Program([F32], [F32], [X])
    Program([F16], [BF16], [X])
    with pytest.raises(TypeError, match="output 0 is f64, its formula f32"):
        Program([F32], [F64], [X])
    with pytest.raises(TypeError, match="output 1 is f16, its formula bool"):
        Program([F32], [F32, F16], [X, X < 0.0])
    with pytest.raises(TypeError, match="the kernel has 1 outputs, its formula 2"):
        Program([F32], [F32], [X, X])
    with pytest.raises(TypeError, match=r"returns expressions, not 1\.0"):
        trace(lambda x: 1.0, [F32], [F32])


def test_python_cannot_choose_by_an_expression() -> None:
    with pytest.raises(TypeError, match=r"chooses with where\(condition, yes, no\)"):
        trace(lambda x: x if x > 0.0 else -x, [F32], [F32])
    with pytest.raises(TypeError, match=r"compares elements with x.eq\(y\)"):
        trace(lambda x: where(x == 0.0, 1.0, x), [F32], [F32])
    with pytest.raises(TypeError, match=r"where\(1.0, 0.0\) has no type"):
        trace(lambda x: where(x > 0.0, 1.0, 0.0), [F32], [F32])


def test_the_printed_form() -> None:
    def formula(x: Any, n: Any) -> Any:
        half = x * 0.5
        return where(n > 3, half, half + x), n

    program = trace(formula, [F16, I32], [F16, I32])
    assert str(program).splitlines() == [
        "f16 i32 -> f16 i32",
        "v0:i32 = input 1",
        "v1:i32 = const 3",
        "v2:bool = gt v0 v1",
        "v3:f32 = input 0",
        "v4:f32 = const 0x1.0000000000000p-1",
        "v5:f32 = mul v3 v4",
        "v6:f32 = add v5 v3",
        "v7:f32 = select v2 v5 v6",
        "return v7 v0",
    ]
    assert repr(const(True, BOOL)) == "v0:bool = const True\nreturn v0"
    assert show(table([0.5], N)).splitlines()[1] == "v1:f64 = table 0x1.0000000000000p-1 v0"


@pytest.mark.parametrize("dtype", [F32, F64])
@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_printing_is_stable(name: str, dtype: str) -> None:
    """The same formula gives the same text, which the cache of compiled code relies on."""

    def call(*args: Expr) -> Any:
        return args[0].where(args[1] > 0.0, args[1]) if name == "where" else formula(*args)

    formula = FUNCTIONS[name]
    inputs = [dtype] * (2 if name in ("pow", "where") else 1)
    first, second = (str(trace(call, inputs, [dtype])) for _ in range(2))
    assert first == second
    assert first.count("\n") > 2


def test_the_fast_path_of_expressions() -> None:
    inner = unlikely(X > 9.0, X.exp(), X * 2.0)
    outer = unlikely(inner > 9.0, inner.log(), inner + 1.0)
    first, second = ir.fast_path([outer, X])
    assert show(first, second) == show(X * 2.0 + 1.0, X)
    assert ir.fast_path([inner, inner])[0] is not inner


def test_printing_tells_constants_apart() -> None:
    texts = {show(const(value, F64)) for value in (0.1, np.nextafter(0.1, 1), 0.0, -0.0)}
    assert len(texts) == 4


def test_shared_expressions_appear_once_and_depth_is_no_limit() -> None:
    deep = X
    for _ in range(20_000):
        deep = deep + deep
    validate([deep])
    assert len(list(ir.postorder([deep, deep]))) == 20_001
    assert show(deep).count("\n") == 20_001


def test_operators_with_numbers_on_the_left() -> None:
    assert show(1.0 - X) == show(const(1.0, F32) - X)
    assert show(1.0 / X) == show(const(1.0, F32) / X)
    assert show(2.0 + X) == show(X + 2.0)
    assert show(X**2) == show(X * X)
    assert show(X**3) == show(X * X * X)
    assert show(X**0.5) == show(X.pow(0.5))
    assert show(X ** X.abs()) == show(X.pow(X.abs()))
    assert show(X.clamp(0.0, 1.0)) == show(X.maximum(0.0).minimum(1.0))
    assert X.convert(F32) is X


@pytest.mark.parametrize(
    ("value", "dtype", "text"),
    [
        (1.0, F64, "0x3FF0000000000000"),
        (0.1, F32, "0x3FB99999A0000000"),
        (float("-inf"), F32, "0xFFF0000000000000"),
        (True, BOOL, "true"),
        (-3, I64, "-3"),
    ],
)
def test_constants_in_llvm(value: Any, dtype: str, text: str) -> None:
    assert literal(value, dtype) == text
