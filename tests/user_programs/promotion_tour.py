"""The table of result dtypes for pairs of operands and for the usual functions."""

import operator


def main(torch):
    names = [
        "bool",
        "uint8",
        "int8",
        "int16",
        "int32",
        "int64",
        "float16",
        "bfloat16",
        "float32",
        "float64",
        "complex64",
        "complex128",
    ]
    dtypes = [getattr(torch, n) for n in names]
    table = []

    def record(label, thunk):
        try:
            result = thunk()
            table.append([label, str(result.dtype), result])
        except (RuntimeError, TypeError) as error:
            table.append([label, type(error).__name__, str(error)[:24]])

    ops = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "eq", "lt", "and_"]
    for a in dtypes:
        for b in dtypes:
            if a == torch.float16 and b.is_complex:
                continue  # PyTorch answers with its half-precision complex type
            x, y = torch.tensor([1, 1]).to(a), torch.tensor([1, 1]).to(b)
            for op in ops:
                record(f"{a} {op} {b}", lambda: getattr(operator, op)(x, y))
            record(f"0d {a} {b}", lambda: x + y[0])
            record(f"result {a} {b}", lambda: torch.zeros(1, dtype=torch.result_type(x, y[0])))
            record(f"where {a} {b}", lambda: torch.where(torch.tensor([True, False]), x, y))
            record(f"cat {a} {b}", lambda: torch.cat([x, y]))
        for scalar in (True, 2, 2.5, 1j):
            if a == torch.float16 and scalar == 1j:
                continue
            for op in ("add", "mul", "truediv", "pow", "floordiv"):
                record(f"{a} {op} {scalar}", lambda: getattr(operator, op)(x, scalar))
                record(f"{scalar} {op} {a}", lambda: getattr(operator, op)(scalar, x))
    unary = [
        "sum",
        "mean",
        "prod",
        "cumsum",
        "sqrt",
        "exp",
        "abs",
        "neg",
        "sign",
        "floor",
        "round",
        "sigmoid",
        "relu",
        "std",
        "max",
        "argmax",
        "all",
        "any",
        "square",
        "norm",
        "sin",
        "log",
        "reciprocal",
        "ceil",
        "isnan",
        "logical_not",
        "bitwise_not",
        "median",
        "sort",
    ]
    for d in dtypes:
        x = torch.tensor([1, 1]).to(d)
        for name in unary:

            def call(name=name, x=x):
                result = getattr(torch, name)(x)
                return result if hasattr(result, "dtype") else result[0]

            record(f"{name} {d}", call)
        record(f"sum_dtype {d}", lambda: x.sum(dtype=torch.float64))
        record(f"softmax {d}", lambda: torch.softmax(x, 0))
        record(f"matmul {d}", lambda: x @ x)
        record(f"inplace {d}", lambda: x.clone().add_(1.5))
        record(f"iadd_float {d}", lambda: torch.zeros(2, dtype=torch.float32).add_(x))
        record(f"full {d}", lambda: torch.full((2,), 1, dtype=d))
        record(f"clamp {d}", lambda: x.clamp(0.5, 1.5))
        record(f"linspace {d}", lambda: torch.linspace(0, 1, 2, dtype=d))
        record(f"arange {d}", lambda: torch.arange(0, 2, dtype=d))
    for value in (1, 1.0, True, 1j, [1, 2.0], [True, 1], (1, 2j), []):
        record(f"tensor {value}", lambda value=value: torch.tensor(value))
    for args in ((5,), (5.0,), (1, 5), (1, 5, 2), (0, 1, 0.25), (5, 1, -1)):
        record(f"arange {args}", lambda args=args: torch.arange(*args))
    info = [
        torch.finfo(torch.float32).eps,
        torch.finfo(torch.float16).max,
        torch.finfo().tiny,
        torch.iinfo(torch.int8).min,
        torch.iinfo(torch.int64).max,
        torch.finfo(torch.bfloat16).bits,
    ]
    checks = [
        str(torch.promote_types(torch.int32, torch.float16)),
        torch.can_cast(torch.double, torch.int),
        torch.float16.is_floating_point,
        torch.cfloat.is_complex,
        torch.int8.is_signed,
        torch.half.itemsize,
        torch.tensor(1.0).element_size(),
        torch.is_floating_point(torch.ones(1)),
    ]
    return {"table": table, "info": info, "checks": checks}
