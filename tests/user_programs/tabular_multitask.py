"""Tabular data: embeddings per column, lazy layers, two heads with uncertainty weights, k folds."""

import math
from functools import partial


def main(torch):
    nn, F = torch.nn, torch.nn.functional
    torch.manual_seed(64)
    n = 60
    cats = {"city": torch.randint(0, 5, (n,)), "plan": torch.randint(0, 3, (n,))}
    nums = torch.randn(n, 4)
    nums[torch.rand(n, 4) < 0.1] = float("nan")
    price = nums.nan_to_num(0.0).sum(1) + cats["city"] * 0.3 + 0.1 * torch.randn(n)
    churn = ((cats["plan"] == 2) | (price > 1.5)).float()

    class Tabular(nn.Module):
        def __init__(self, sizes):
            super().__init__()
            self.embeddings = nn.ModuleDict(
                {k: nn.Embedding(c, min(50, (c + 1) // 2 + 1)) for k, c in sizes.items()}
            )
            self.bn = nn.BatchNorm1d(4, momentum=None)
            block = partial(nn.LazyLinear, bias=False)
            self.trunk = nn.Sequential(block(24), nn.LazyBatchNorm1d(), nn.CELU(), nn.Dropout(0.1))
            self.heads = nn.ModuleDict({"price": nn.Linear(24, 2), "churn": nn.Linear(24, 1)})
            self.log_vars = nn.Parameter(torch.zeros(2))

        def forward(self, nums, **cats):
            missing = nums.isnan()
            x = self.bn(torch.where(missing, torch.zeros_like(nums), nums))
            parts = [self.embeddings[k](v) for k, v in cats.items()]
            h = self.trunk(torch.cat([x, missing.float(), *parts], dim=1))
            return {name: head(h) for name, head in self.heads.items()}

    def losses(model, out, price, churn):
        mean, raw = out["price"].unbind(-1)
        gaussian = F.gaussian_nll_loss(mean, price, F.softplus(raw) + 1e-3)
        binary = F.binary_cross_entropy_with_logits(
            out["churn"].squeeze(-1), churn, pos_weight=torch.tensor(2.0)
        )
        both = torch.stack([gaussian, binary])
        return (torch.exp(-model.log_vars) * both + model.log_vars).sum(), both

    folds = torch.randperm(n).chunk(3)
    scores, curves = [], []
    for k, valid in enumerate(folds):
        train = torch.cat([f for i, f in enumerate(folds) if i != k])
        model = Tabular({"city": 5, "plan": 3})
        lazy = str(model.trunk)
        model(nums[:8], **{c: v[:8] for c, v in cats.items()})
        optimizer = torch.optim.ASGD(model.parameters(), lr=0.05, t0=5, lambd=1e-4)
        scheduler = torch.optim.lr_scheduler.MultiplicativeLR(optimizer, lambda e: 0.95)
        curve = []
        for epoch in range(6):
            model.train()
            for ids in train.split(20):
                out = model(nums[ids], **{c: v[ids] for c, v in cats.items()})
                loss, parts = losses(model, out, price[ids], churn[ids])
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), 2.0, norm_type=1)
                optimizer.step()
                curve.append([loss.item(), *parts.tolist()])
            scheduler.step()
        model.eval()
        with torch.inference_mode():
            out = model(nums[valid], **{c: v[valid] for c, v in cats.items()})
            rmse = math.sqrt(F.mse_loss(out["price"][:, 0], price[valid]).item())
            p = out["churn"].sigmoid().flatten()
            order = p.argsort(descending=True)
            hits = churn[valid][order].cumsum(0) / torch.arange(1, len(order) + 1)
        scores.append([rmse, hits[4].item(), (p.round() == churn[valid]).float().mean().item()])
        curves.append(curve)
    frozen = [n for n, p in model.named_parameters() if n.startswith("embeddings")]
    return {
        "scores": scores,
        "curves": curves,
        "lazy": lazy,
        "built": str(model.trunk),
        "frozen": frozen,
        "log_vars": model.log_vars,
        "bn": [model.bn.running_mean, model.bn.num_batches_tracked],
        "total": sum(p.numel() for p in model.parameters()),
    }
