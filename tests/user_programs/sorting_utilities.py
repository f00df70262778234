"""Sorting, searching, counting, cumulative tools: ROC curves, NMS, packing, quantiles."""


def main(torch):
    torch.manual_seed(80)
    scores = torch.rand(30)
    labels = (scores + 0.3 * torch.randn(30) > 0.5).long()
    order = scores.argsort(descending=True)
    tp = labels[order].cumsum(0)
    fp = (1 - labels[order]).cumsum(0)
    auc = torch.trapezoid(tp / tp[-1], fp / fp[-1])
    ap = ((tp / torch.arange(1, 31)) * labels[order]).sum() / labels.sum()

    boxes = torch.rand(12, 4) * 10
    boxes[:, 2:] += boxes[:, :2]
    conf = torch.rand(12)
    area = (boxes[:, 2:] - boxes[:, :2]).prod(1)
    lt = torch.max(boxes[:, None, :2], boxes[None, :, :2])
    rb = torch.min(boxes[:, None, 2:], boxes[None, :, 2:])
    inter = (rb - lt).clamp(min=0).prod(2)
    iou = inter / (area[:, None] + area - inter)
    keep, order2 = [], conf.sort(descending=True)[1]
    while order2.numel():
        best = order2[0]
        keep.append(int(best))
        order2 = order2[1:][iou[best, order2[1:]] <= 0.3]

    ints = torch.randint(0, 6, (20,))
    values, inverse, counts = torch.unique(ints, return_inverse=True, return_counts=True)
    edges = torch.linspace(0, 1, 6)
    data = torch.randn(4, 9)
    return {
        "auc": auc,
        "ap": ap,
        "iou": iou,
        "keep": keep,
        "unique": [values, inverse, counts, torch.unique(ints.view(4, 5), dim=0)],
        "consecutive": torch.unique_consecutive(ints.sort().values, return_counts=True),
        "bucket": [
            torch.bucketize(scores, edges),
            torch.bucketize(scores, edges, right=True),
            torch.searchsorted(edges, torch.tensor([0.2, 0.5, 2.0])),
            torch.searchsorted(edges, torch.tensor([0.2, 0.4]), side="right"),
        ],
        "quantiles": [
            torch.quantile(data, torch.tensor([0.1, 0.5, 0.9]), dim=1),
            data.median(),
            torch.nanquantile(data, 0.3),
            data.quantile(0.25, interpolation="nearest"),
        ],
        "cum": [
            data.cumsum(1),
            data.cumprod(0),
            data.cummax(1)[0],
            data.cummin(0).indices,
            torch.logcumsumexp(data, 1),
            torch.diff(data),
            data.cumsum(0).flip(0),
        ],
        "sorted": [
            data.sort(1, descending=True).values,
            data.msort(),
            ints.sort(stable=True)[1],
            data.topk(3, 1, largest=False).values,
            data.kthvalue(2).values,
            torch.sort(data.abs(), dim=0).indices,
        ],
        "extrema": [
            data.max(),
            data.max(0).indices,
            data.amin((0, 1)),
            data.aminmax(dim=1),
            data.argmin(),
            torch.minimum(data[0], data[1]),
            ints.mode().values,
        ],
        "stats": [
            data.mean(),
            data.std(),
            data.var(0, correction=0),
            torch.std_mean(data, 1),
            data.norm(),
            data.norm(1, dim=0),
            data.logsumexp((0, 1)),
            data.prod(1),
            torch.var_mean(data, dim=0),
            data.count_nonzero(1),
            data.nansum(),
            data.median(1),
        ],
        "hist": [
            torch.histc(scores, 5),
            torch.histogram(scores, 4)[0],
            ints.bincount(),
            torch.bincount(ints, weights=scores[:20], minlength=8),
        ],
        "logic": [
            (data > 0).any(1),
            (data > -9).all(),
            torch.isclose(data, data + 1e-9).all(),
            data.isnan().any(),
            torch.isin(ints, torch.tensor([1, 3])),
            torch.equal(data, data),
        ],
        "perm": torch.argsort(torch.argsort(scores)),
        "combos": [
            torch.combinations(torch.arange(4)),
            torch.tril_indices(3, 3),
            torch.cartesian_prod(torch.tensor([1, 2]), torch.tensor([3, 4, 5])),
            torch.vander(torch.tensor([1.0, 2, 3])),
            torch.block_diag(data[:1, :2], data[:2, :1]),
        ],
        "repeat": [
            torch.repeat_interleave(torch.tensor([3, 1, 2]), torch.tensor([1, 0, 2])),
            torch.tensor([1, 2]).repeat(2, 3),
            torch.tile(ints[:3], (2,)),
            data.rot90(),
        ],
    }
