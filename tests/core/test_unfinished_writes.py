"""In-place operations that raise: what has been written by then is what PyTorch has written."""

from __future__ import annotations

from typing import Any

import pytest

from tests.twice import raised, twice

KINDS = {
    "rows": lambda lib: lib.arange(1, 25).reshape(2, 3, 4),
    "columns": lambda lib: lib.arange(1, 25).reshape(4, 3, 2).permute(2, 1, 0),
    "gaps": lambda lib: lib.arange(1, 49).reshape(2, 3, 8)[:, :, ::2],
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8"])
def test_integers_are_divided_until_there_is_a_zero(kind: str, dtype: str) -> None:
    def scenario(lib: Any) -> Any:
        seen: list[Any] = []
        of_own = lib.full((2, 3, 4), 5)
        of_own[1, 1, 1] = 0
        turned = lib.full((4, 3, 2), 5).permute(2, 1, 0)
        turned[1, 1, 1] = 0
        for given in (of_own, turned, lib.tensor([5, 3, 0, 2]), 0, lib.tensor(0), lib.zeros(5)):
            for cast in (False, True):
                for name, options in (
                    ("fmod_", {}), ("remainder_", {}), ("floor_divide_", {}),
                    ("div_", {"rounding_mode": "floor"}), ("div_", {"rounding_mode": "trunc"}),
                ):  # fmt: skip
                    x = KINDS[kind](lib).to(getattr(lib, dtype))
                    is_int = isinstance(given, int) or not cast
                    other = given if is_int else given.to(x.dtype)
                    seen += [raised(getattr(x, name), other, **options, words=1), x, x._version]
        x = KINDS[kind](lib)
        return seen, raised(x.fmod_, x.clone().fill_(0).expand(2, 2, 3, 4), words=4), x

    twice(scenario)()


KEYS = {
    "first": lambda i: i([0, 9, 1]),
    "second": lambda i: (slice(None), i([0, 9, 1])),
    "last": lambda i: (slice(None), slice(None), i([1, 9, 1])),
    "apart": lambda i: (i([0, 3, 1]), slice(None), i([0, 9, 1])),
    "spread": lambda i: (i([0, -9]), i([[0], [1]])),
    "new": lambda i: (True, i([[0], [9]])),
    "ellipsis": lambda i: (..., i([[0, 1], [9, 0]])),
    "mask": lambda i: (i([1, 0, 1, 0]) > 0, i([1, 9])),
    "number": lambda i: (0, i([1, 9])),
    "part": lambda i: (slice(1, None), i([1, 9])),
    "turned": lambda i: (i([[0, 2], [1, 9]]).t(), i([0, 1])),
    "one": lambda i: i(9),
    "nothing": lambda i: (i([1])[:0], i(9)),
}
ARRAYS = {
    "rows": lambda lib: lib.arange(24.0).reshape(4, 3, 2),
    "columns": lambda lib: lib.arange(24.0).reshape(2, 3, 4).permute(2, 1, 0),
    "gaps": lambda lib: lib.arange(48.0).reshape(4, 3, 4)[:, :, ::2],
}


@pytest.mark.parametrize("kind", ARRAYS)
@pytest.mark.parametrize("key", KEYS)
def test_indices_are_written_until_one_is_out_of_range(key: str, kind: str) -> None:
    def scenario(lib: Any) -> Any:
        seen: list[Any] = []
        values = [
            100,
            lib.tensor(7.0),
            lib.arange(50.0, 70.0),
            lib.arange(-18.0, 0).reshape(3, 3, 2),
        ]
        for value in values:
            x = ARRAYS[kind](lib)
            seen += [raised(x.__setitem__, KEYS[key](lib.tensor), value, words=4), x, x._version]
        return seen

    twice(scenario)()


@twice
def test_sums_at_indices_until_one_is_out_of_range(lib: Any) -> Any:
    x = lib.zeros(4, 3)
    wrong = lib.tensor([0, 0, 9, 1])
    error = raised(x.index_put_, (wrong,), lib.ones(()), accumulate=True, words=4)
    return error, x, x._version


@twice
def test_what_is_no_index(lib: Any) -> Any:
    x, zero, seven = lib.arange(24.0).reshape(4, 3, 2), lib.tensor(0), lib.tensor(7.0)
    given: list[Any] = [
        (1, zero), (zero, [1]), (slice(None), zero), zero, lib.tensor([0, 1]), 0,
        (lib.tensor(0.5),), [zero],
    ]  # fmt: skip
    seen = [raised(x.index_put_, each, seven) for each in given]
    return (
        seen,
        [raised(x.index_put, each, seven) for each in given],
        raised(x.index_put_, (zero,), 7.0),
        x,
    )


CHANGES = (
    "x.add_(1)", "x.mul_(2.5)", "x.exp2_()", "x.copy_(y)", "x.fill_(3)", "x.zero_()", "x.pow_(x)",
    "x[0] = 5", "x[[0, 1]] = 5", "x[x > 1] = 7", "x[..., None] = 2", "x.view(-1).mul_(3)",
    "x.t_()", "x.unsqueeze_(0)", "x.squeeze_()", "x.resize_(1)", "x.resize_(4)", "x.set_(y)",
    "x.clamp_(0, 1)", "x.masked_fill_(x > 0, 4)", "x.index_fill_(0, i, 9)", "x.logical_not_()",
    "x.scatter_(0, i[None], 5)", "x.lerp_(y, 0.5)", "x.addcmul_(x, y)", "x.tril_()", "x.cumsum_(0)",
    "T.add(x, 1, out=x)", "T.sum(y, 0, out=x)", "T._foreach_add_([x], 1)", "x *= w", "x.copy_(w)",
    "x.pow_(w)", "x[0] = w[0]", "x.addcdiv_(w, w)", "x.fill_(w[0, 0])", "x.as_strided_((2,), (1,))",
    "x.apply_(lambda a: a + 1)", "T.autograd.graph.increment_version(x)", "x.copy_(T.ones(3, 3))",
    "x.detach().mul_(3)", "x.data.add_(1)", "x.div_(0, rounding_mode='floor')",
)  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_tensors_of_inference_mode_are_written_to_before_they_raise(change: str) -> None:
    def scenario(lib: Any) -> Any:
        seen: list[Any] = []
        for values in ([[1.0, -2.0], [3.0, 0.5]], [[1, -2], [3, 0]]):
            for needs_grad in (True, False):
                with lib.inference_mode():
                    x = lib.tensor(values)
                w = lib.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=needs_grad)
                names = {"T": lib, "x": x, "w": w, "y": lib.ones(2, 2), "i": lib.tensor([0, 1])}
                seen += [raised(exec, change, names, words=4), names["x"], x.shape]
        return seen

    twice(scenario)()


@twice
def test_of_sizes_that_do_not_fit_the_last_is_named(lib: Any) -> Any:
    x = lib.ones(1, 2)
    return [
        raised(x.__setitem__, ..., lib.ones(3, 3), words=30),
        raised(lib.ones(2, 1).expand, 3, 2, 2, words=30),
        raised(lib.ones(2, 3).expand, 3, 4, words=30),
    ]
