"""Corners of loaders and datasets, under both libraries."""

from __future__ import annotations

from typing import Any

from tests.twice import raised, twice


@twice
def test_subsets_that_override_one_of_two(torch: Any) -> Any:
    class One(torch.utils.data.Subset):  # type: ignore[misc]  # either library's
        def __getitem__(self, index: Any) -> Any:
            return 1

    class Both(One):
        def __getitems__(self, indices: Any) -> Any:
            return [self[index] for index in indices]

    return raised(One, [1, 2], [0], words=30), Both([1, 2], [0])[0]


@twice
def test_workers_can_be_asked_after_their_end(torch: Any) -> Any:
    iterator = iter(torch.utils.data.DataLoader(list(range(8)), num_workers=1))
    workers = iterator._workers
    first = next(iterator)
    del iterator
    workers[0].join(10)
    return first, workers[0].is_alive()


@twice
def test_more_workers_than_processors(torch: Any) -> Any:
    torch.utils.data.DataLoader([1], num_workers=1000)
    return None


@twice
def test_binomial_takes_floats(torch: Any) -> Any:
    whole, part = torch.ones(2, dtype=torch.int64), torch.full((2,), 0.5)
    return [
        raised(torch.binomial, whole, part, words=8),
        raised(torch.binomial, part, whole, words=8),
        raised(torch.binomial, part, part.double(), words=6),
    ]
