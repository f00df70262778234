"""Sinkhorn in the log domain, sliced Wasserstein, soft sorting, soft-DTW, Gumbel-Sinkhorn."""


def main(torch):
    torch.manual_seed(206)
    x = torch.randn(7, 2, dtype=torch.float64, requires_grad=True)
    y = torch.randn(5, 2, dtype=torch.float64) + 1
    a = torch.full((7,), 1 / 7, dtype=torch.float64).log()
    b = torch.full((5,), 0.2, dtype=torch.float64).log()
    cost = torch.cdist(x, y, p=2) ** 2
    f, g, eps = torch.zeros_like(a), torch.zeros_like(b), 0.5
    for _ in range(25):
        f = -eps * torch.logsumexp((g[None] - cost) / eps + b, dim=1)
        g = -eps * torch.logsumexp((f[:, None] - cost) / eps + a[:, None], dim=0)
    plan = torch.exp((f[:, None] + g - cost) / eps + a[:, None] + b)
    ot = (plan * cost).sum()
    ot.backward()

    theta = torch.randn(2, 10, dtype=torch.float64)
    theta /= theta.norm(dim=0)
    z = torch.randn(7, 2, dtype=torch.float64)
    sliced = ((x @ theta).sort(0)[0] - (z @ theta).sort(0)[0]).pow(2).mean()
    (g_sliced,) = torch.autograd.grad(sliced, x)

    s = torch.randn(5, requires_grad=True)
    pair = (s[:, None] - s[None]).abs().sum(-1)
    scaling = 6 - 2 * torch.arange(1, 6)
    soft_sort = torch.softmax((scaling[:, None] * s - pair) / 0.5, dim=-1)
    (g_sort,) = torch.autograd.grad((soft_sort @ s * torch.arange(5.0)).sum(), s)

    def softmin(values, gamma=0.3):
        return -gamma * torch.logsumexp(-torch.stack(values) / gamma, 0)

    p = torch.linspace(0, 3, 6, requires_grad=True)
    q = torch.linspace(0.5, 2.5, 4)
    D = (p.sin()[:, None] - q.sin()).square()
    inf = torch.tensor(1e6)
    R = {(0, 0): torch.tensor(0.0)}
    for i in range(1, 7):
        for j in range(1, 5):
            before = [R.get((i - 1, j), inf), R.get((i, j - 1), inf), R.get((i - 1, j - 1), inf)]
            R[i, j] = D[i - 1, j - 1] + softmin(before)
    dtw = R[6, 4]
    logits = torch.randn(4, 4)
    noisy = logits - torch.log(-torch.log(torch.rand(4, 4)))
    for _ in range(10):
        noisy = noisy - noisy.logsumexp(1, keepdim=True)
        noisy = noisy - noisy.logsumexp(0, keepdim=True)
    return {
        "plan": plan,
        "ot": ot,
        "x_grad": x.grad,
        "sliced": sliced,
        "g_sliced": g_sliced,
        "sort": soft_sort,
        "g_sort": g_sort,
        "dtw": dtw,
        "g_dtw": torch.autograd.grad(dtw, p)[0],
        "doubly": noisy.exp(),
    }
