"""Pipes of torch.utils.data: each does with clew what it does with PyTorch."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

from tests.twice import raised, twice


def pipes(lib: Any) -> tuple[Any, Any]:
    # PyTorch warns of functions that cannot be pickled.
    warnings.simplefilter("ignore")
    name = f"{lib.__name__}.utils.data.datapipes"
    return importlib.import_module(f"{name}.iter"), importlib.import_module(f"{name}.map")


@twice
def test_pipes_that_are_read_from_start_to_end(lib: Any) -> Any:
    wrap = pipes(lib)[0].IterableWrapper
    numbers = wrap(range(7))
    return [
        [list(batch) for batch in numbers.map(lambda x: x * x).batch(2)],
        list(numbers.filter(lambda x: x % 2 == 1)), list(wrap([[1, 2], [3]]).unbatch()),
        list(wrap(range(3)).zip(wrap("abc"))), list(wrap(range(3)).concat(wrap("abc"))),
        list(wrap(range(3)).mux(wrap("abc"))), [list(each) for each in numbers.fork(2)],
        [list(each) for each in numbers.demux(2, lambda x: x % 2)],
        [list(each) for each in wrap(["a1", "b2", "a3"]).groupby(lambda s: s[0])],
        list(wrap([(1, 2), (3, 4)]).map(lambda x: -x, input_col=1)),
        list(wrap([(1, 2)]).map(lambda x, y: x + y, input_col=[0, 1], output_col=-1)),
        list(numbers.batch(2, drop_last=True).collate()), len(numbers.batch(2)),
        list(numbers.shuffle(buffer_size=3)), list(numbers.shuffle()),
        list(numbers.shuffle().set_seed(4)), list(numbers.sharding_filter()),
        raised(lambda: numbers.nothing, words=0), raised(lambda: list(numbers.filter(lambda x: x))),
    ]  # fmt: skip


@twice
def test_pipes_with_keys(lib: Any) -> Any:
    wrap = pipes(lib)[1].SequenceWrapper
    numbers = wrap(range(5))
    return [
        numbers.map(lambda x: 10 * x)[2], len(numbers.batch(2)), list(numbers.batch(2)[1]),
        numbers.zip(wrap("abcde"))[1], numbers.concat(wrap("abc"))[6],
        sorted(numbers.shuffle()), wrap({"a": 1})["a"],
    ]  # fmt: skip


@twice
def test_a_class_becomes_a_method(lib: Any) -> Any:
    data = lib.utils.data

    @data.functional_datapipe("doubled_by_the_test")
    class Doubler(data.IterDataPipe):  # type: ignore[misc, name-defined]  # of either library
        def __init__(self, source: Any) -> None:
            self.source = source

        def __iter__(self) -> Any:
            for each in self.source:
                yield 2 * each

    wrap = pipes(lib)[0].IterableWrapper
    loader = data.DataLoader(wrap([1, 2, 3]), batch_size=2)
    return [list(wrap([1, 2]).doubled_by_the_test()), [batch.tolist() for batch in loader]]
