"""Making tensors at the borders: `out=` of another size, odd sequences, numbers too large."""

from __future__ import annotations

from typing import Any

from tests.twice import outcome, raised, twice


@twice
def test_factories_resize_out(lib: Any) -> Any:
    calls = {
        "zeros": (lib.zeros, 3), "full": (lib.full, (3,), 1.0), "eye": (lib.eye, 3),
        "linspace": (lib.linspace, 0, 1, 5), "arange": (lib.arange, 5),
        "fftfreq": (lib.fft.fftfreq, 6), "rfftfreq": (lib.fft.rfftfreq, 6),
    }  # fmt: skip
    seen = {}
    for name, (call, *args) in calls.items():
        for shape in ((), (0,), (2,), (1, 5), (5,)):
            out = lib.ones(shape)
            result = call(*args, out=out)
            seen[f"{name} {shape}"] = (result is out, result.clone())
    return seen, lib.ones(2, out=lib.empty(2), requires_grad=True).requires_grad


class Sequence:
    def __init__(self, *items: Any) -> None:
        self.items = items

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, index: int) -> Any:
        return self.items[index]


class Broken(Sequence):
    def __getitem__(self, index: int) -> Any:
        raise TypeError("nothing here")


@twice
def test_odd_sequences(lib: Any) -> Any:
    itself: list[Any] = [0]
    itself.append(itself)
    endless: list[Any] = []
    endless.append(endless)
    data = (
        Sequence(1.0, 2.0), [Sequence(1, 2), Sequence(3, 4)], Broken(1), [Broken(1)], itself,
        [[1, 2], itself], endless, [0, [1]], [0.5, [1]], {0: 1.0}, [{0: 1.0}],
    )  # fmt: skip
    seen = [outcome(lambda: lib.tensor(each)) for each in data]  # noqa: B023  # called at once
    return [*seen, raised(lib.tensor, [0, [1]], dtype=lib.float32)]


@twice
def test_sizes_that_no_memory_holds(lib: Any) -> Any:
    huge = [2, 4, 2**29, 2**29]
    return [
        raised(lib.empty, huge), raised(lib.zeros, huge), raised(lib.ones, *huge),
        raised(lib.full, huge, 1.0), raised(lib.empty, [0, 4, 2**61]),
        raised(lib.empty_strided, [8, 8], [2**61, 1], words=4),
        raised(lib.arange, 1e-38, 3e38),
    ]  # fmt: skip


@twice
def test_random_integers_beyond_the_mantissa(lib: Any) -> Any:
    lib.manual_seed(0)
    seen = [lib.ones(3).random_(0, 2**24 + 2), lib.ones(3).random_(-(2**25), 5)]
    seen.append(lib.ones(3, dtype=lib.float16).random_(0, 2**11 + 2))
    seen.append(lib.randint(0, 2**24 + 1, size=(2,), dtype=lib.float32))
    for call in (
        lambda: lib.ones(3, dtype=lib.float16).random_(0, 70000),
        lambda: lib.ones(3).uniform_(0, 1e39),
        lambda: lib.randint(-32769, 0, size=(2,), dtype=lib.int16),
        lambda: lib.randint(0.5, size=(2,)),
    ):
        seen.append(raised(call, words=8))
    return seen


@twice
def test_range_and_old_constructors(lib: Any) -> Any:
    one = lib.tensor([1])
    return [
        lib.range(0, 3), raised(lib.Tensor, one, device="cpu"), raised(one.new, one, device="cpu"),
    ]  # fmt: skip
