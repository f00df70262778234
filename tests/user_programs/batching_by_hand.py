"""Data handling without a DataLoader: shuffling, padding, splits, augmentations, metrics."""

import random


def main(torch):
    F = torch.nn.functional
    random.seed(0)
    g = torch.Generator().manual_seed(209)
    X = torch.randn(37, 4, generator=g)
    y = torch.randint(0, 3, (37,), generator=g)
    perm = torch.randperm(37, generator=g)
    train, valid = perm[:30], perm[30:]
    mean, std = X[train].mean(0), X[train].std(0)
    normal = (X - mean) / std
    batches = [(normal[i], y[i]) for i in train.split(8)]
    sizes = [len(b[0]) for b in batches]

    sequences = [torch.arange(random.randint(1, 6)) + 1 for _ in range(5)]
    longest = max(map(len, sequences))
    padded = torch.stack([F.pad(s, (0, longest - len(s)), value=0) for s in sequences])
    lengths = torch.tensor([len(s) for s in sequences])
    mask = torch.arange(longest).expand(5, longest) < lengths.unsqueeze(1)
    masked_mean = (padded.float() * mask).sum(1) / mask.sum(1)
    order = lengths.argsort(descending=True, stable=True)
    last = padded.gather(1, (lengths - 1)[:, None]).squeeze(1)

    images = torch.rand(4, 3, 8, 8, generator=g)
    flips = torch.rand(4, generator=g) < 0.5
    augmented = torch.where(flips[:, None, None, None], images.flip(-1), images)
    dx, dy = torch.randint(0, 3, (2, 4), generator=g)
    crops = torch.stack(
        [F.pad(im, (1, 1, 1, 1))[:, i : i + 8, j : j + 8] for im, i, j in zip(augmented, dx, dy)]
    )
    crops[:, :, 2:4, 2:4] = crops.mean(dim=(2, 3), keepdim=True)
    gray = (images * torch.tensor([0.299, 0.587, 0.114])[:, None, None]).sum(1, keepdim=True)
    as_bytes = (images * 255).clamp(0, 255).to(torch.uint8)
    weights = 1.0 / torch.bincount(y).float()
    balanced = torch.multinomial(weights[y], 20, replacement=True, generator=g)

    logits = torch.randn(37, 3, generator=g)
    pred = logits.argmax(-1)
    confusion = torch.zeros(3, 3, dtype=torch.long)
    for t, q in zip(y, pred):
        confusion[t, q] += 1
    same = torch.bincount(3 * y + pred, minlength=9).reshape(3, 3)
    tp = confusion.diag().float()
    precision, recall = tp / confusion.sum(0), tp / confusion.sum(1)
    f1 = torch.nan_to_num(2 * precision * recall / (precision + recall))
    top2 = logits.topk(2).indices.eq(y.view(-1, 1)).any(-1).float().mean()
    bins = torch.bucketize(logits.softmax(-1).amax(-1), torch.linspace(0, 1, 6)) - 1
    ece = sum((pred[bins == k] == y[bins == k]).sum() for k in range(5)) / 37
    total, count = 0.0, 0
    for xb, yb in batches:
        total += F.cross_entropy(xb[:, :3], yb, reduction="sum").item()
        count += yb.shape[0]
    cosine = [0.5 * (1 + torch.cos(torch.tensor(t * torch.pi / 10)).item()) for t in range(11)]
    window = torch.arange(10.0).unfold(0, 3, 1).mean(-1)
    kfold = [
        torch.cat([c for j, c in enumerate(torch.arange(10).chunk(5)) if j != i]) for i in range(5)
    ]
    encoded = torch.zeros(37, 3).scatter_(1, y.unsqueeze(1), 1.0)
    sparse_rows, sparse_cols = torch.nonzero(X > 1.0, as_tuple=True)
    return {
        "sizes": sizes,
        "normal": normal,
        "padded": padded,
        "masked_mean": masked_mean,
        "order": order,
        "last": last,
        "crops": crops,
        "gray": gray,
        "bytes": as_bytes,
        "balanced": balanced,
        "confusion": confusion,
        "same": torch.equal(confusion, same),
        "f1": f1,
        "top2": top2,
        "ece": ece,
        "average": total / count,
        "cosine": cosine,
        "window": window,
        "kfold": kfold,
        "encoded": encoded,
        "rows": sparse_rows,
        "cols": sparse_cols,
        "valid": valid,
    }
