"""Datasets, samplers, collating and loaders of one's own, with dicts, named tuples and strings."""

import collections
import random

Sample = collections.namedtuple("Sample", ["image", "label", "name"])


def main(torch):
    data = torch.utils.data
    torch.manual_seed(70)
    random.seed(70)
    result = {}

    class Squares(data.Dataset):
        def __init__(self, n, transform=None):
            self.n, self.transform = n, transform

        def __len__(self):
            return self.n

        def __getitem__(self, i):
            if i >= self.n:
                raise IndexError
            sample = {"x": torch.full((2,), float(i)), "y": i * i, "id": f"s{i}", "w": i / 2}
            return self.transform(sample) if self.transform else sample

    def noisy(sample):
        sample["x"] = sample["x"] + torch.randn(2) * 0.1
        return sample

    loader = data.DataLoader(Squares(7, noisy), batch_size=3, shuffle=True)
    result["dicts"] = [batch for epoch in range(2) for batch in loader]

    class Tuples(data.Dataset):
        def __len__(self):
            return 4

        def __getitem__(self, i):
            return Sample(torch.ones(1, 2, 2) * i, i % 2, chr(97 + i)), [i, float(i)], None or i

    sample, pair, number = next(iter(data.DataLoader(Tuples(), batch_size=4)))
    result["tuples"] = [
        type(sample).__name__,
        sample.image,
        sample.label,
        list(sample.name),
        pair,
        number,
    ]

    class BalancedBatch(data.Sampler):
        """As many of each class in a batch."""

        def __init__(self, labels, per_class, generator=None):
            self.by_class = {int(c): (labels == c).nonzero().flatten() for c in labels.unique()}
            self.per_class, self.generator = per_class, generator

        def __iter__(self):
            pools = {
                c: idx[torch.randperm(len(idx), generator=self.generator)].tolist()
                for c, idx in self.by_class.items()
            }
            while all(len(p) >= self.per_class for p in pools.values()):
                yield [p.pop() for p in pools.values() for _ in range(self.per_class)]

        def __len__(self):
            return min(len(i) for i in self.by_class.values()) // self.per_class

    labels = torch.randint(0, 3, (20,))
    ds = data.TensorDataset(torch.arange(20.0).unsqueeze(1), labels)
    g = torch.Generator()
    g.manual_seed(9)
    loader = data.DataLoader(ds, batch_sampler=BalancedBatch(labels, 1, g))
    result["balanced"] = [[x, y] for x, y in loader]
    result["length"] = len(loader)

    counts = torch.bincount(labels)
    weighted = data.WeightedRandomSampler((1.0 / counts)[labels], num_samples=12, replacement=True)
    result["weighted"] = list(weighted)
    loader = data.DataLoader(ds, batch_size=5, sampler=weighted, drop_last=True)
    result["weighted_batches"] = [y for _, y in loader]

    class Stream(data.IterableDataset):
        def __init__(self, start, end):
            self.start, self.end = start, end

        def __iter__(self):
            info = data.get_worker_info()
            assert info is None
            return iter(range(self.start, self.end))

    result["stream"] = [b.tolist() for b in data.DataLoader(Stream(3, 10), batch_size=3)]
    result["chained"] = [
        b.tolist() for b in data.DataLoader(Stream(0, 2) + Stream(5, 7), batch_size=2)
    ]
    a, b, c = data.random_split(
        range(10), [0.5, 0.3, 0.2], generator=torch.Generator().manual_seed(42)
    )
    result["split"] = [list(a), list(b), list(c)]
    both = data.ConcatDataset([Squares(3), data.Subset(Squares(10), [7, 9])])
    result["concat"] = [both[i]["y"] for i in range(len(both))] + both.cumulative_sizes
    result["subset_len"] = len(data.Subset(both, [0, 4]))
    result["batch_sampler"] = list(data.BatchSampler(data.SequentialSampler(range(8)), 3, False))

    def bucket(batch):
        batch.sort(key=lambda s: s["y"], reverse=True)
        return data.default_collate([s["x"] for s in batch]), [s["id"] for s in batch]

    loader = data.DataLoader(
        Squares(5), 2, True, collate_fn=bucket, generator=torch.Generator().manual_seed(1)
    )
    result["bucket"] = list(loader)
    uneven = [torch.ones(2), torch.ones(3)]
    errors = []
    for attempt in (
        lambda: data.default_collate(uneven),
        lambda: data.default_collate([object()]),
        lambda: data.DataLoader(ds, shuffle=True, sampler=weighted),
        lambda: data.random_split(range(5), [2, 2]),
        lambda: data.TensorDataset(torch.ones(2), torch.ones(3)),
        lambda: data.DataLoader(ds, batch_size=0),
        lambda: len(data.DataLoader(Stream(0, 3))),
    ):
        try:
            errors.append(str(attempt()))
        except Exception as e:
            errors.append(type(e).__name__ + ": " + str(e)[:22])
    result["errors"] = errors
    return result
