"""k-means by cdist and scatter_add, and a Gaussian mixture by EM and by gradient."""

import math


def main(torch):
    g = torch.Generator().manual_seed(17)
    centers = torch.tensor([[0.0, 0.0], [3.0, 3.0], [-3.0, 2.0]])
    which = torch.randint(0, 3, (90,), generator=g)
    X = centers.index_select(0, which) + 0.6 * torch.randn(90, 2, generator=g)

    mu = X[torch.randperm(90, generator=g)[:3]].clone()
    inertia = []
    for _ in range(6):
        dist, assign = torch.cdist(X, mu).min(dim=1)
        inertia.append((dist**2).sum().item())
        sums = torch.zeros_like(mu).scatter_add_(0, assign.unsqueeze(1).expand(-1, 2), X)
        counts = torch.bincount(assign, minlength=3).clamp_(min=1)
        mu = sums / counts.unsqueeze(-1)

    log_pi = torch.full((3,), 1 / 3).log()
    var = torch.ones(3, 2)
    likelihood = []
    m = mu.clone()
    for _ in range(8):
        diff = X[:, None, :] - m[None]
        logp = -0.5 * (diff**2 / var + var.log() + math.log(2 * math.pi)).sum(-1)
        joint = logp + log_pi
        evidence = torch.logsumexp(joint, dim=1, keepdim=True)
        resp = (joint - evidence).exp()
        Nk = resp.sum(0)
        m = resp.T @ X / Nk[:, None]
        var = torch.einsum("nk,nkd->kd", resp, (X[:, None] - m) ** 2) / Nk[:, None] + 1e-4
        log_pi = (Nk / Nk.sum()).log()
        likelihood.append(evidence.mean().item())

    m2 = mu.clone().requires_grad_()
    log_sigma = torch.zeros(3, requires_grad=True)
    weights = torch.zeros(3, requires_grad=True)
    curve = []
    for _ in range(15):
        sq = (X.unsqueeze(1) - m2).square().sum(-1)
        logp = -sq / (2 * torch.exp(2 * log_sigma)) - 2 * log_sigma
        loss = -(logp + weights.log_softmax(0)).logsumexp(1).mean()
        for p, gr in zip(
            (m2, log_sigma, weights), torch.autograd.grad(loss, (m2, log_sigma, weights))
        ):
            p.data -= 0.1 * gr
        curve.append(loss.item())
    members = [torch.nonzero(assign == k, as_tuple=True)[0] for k in range(3)]
    medoids = [int(torch.cdist(X[i], X[i], p=1).sum(1).argmin()) for i in members]
    return {
        "inertia": inertia,
        "mu": mu,
        "counts": counts,
        "likelihood": likelihood,
        "m": m,
        "var": var,
        "curve": curve,
        "members": members,
        "medoids": medoids,
        "resp": resp,
    }
