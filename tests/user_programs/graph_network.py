"""Graph convolution and graph attention with scatter operations; PageRank; label propagation."""


def main(torch):
    F = torch.nn.functional
    torch.manual_seed(110)
    n = 10
    edges = torch.tensor([(i, (i + k) % n) for i in range(n) for k in (1, 3)]).t().contiguous()
    edges = torch.cat([edges, edges.flip(0), torch.arange(n).repeat(2, 1)], dim=1)
    src, dst = edges
    deg = torch.zeros(n).scatter_add_(0, dst, torch.ones(src.numel()))
    norm = deg[src].rsqrt() * deg[dst].rsqrt()
    x = torch.randn(n, 4)
    y = (torch.arange(n) >= 5).long()
    train = torch.zeros(n, dtype=torch.bool)
    train[[0, 4, 5, 9]] = True

    def propagate(h, w):
        return torch.zeros(n, h.shape[1]).index_add(0, dst, h[src] * w.unsqueeze(-1))

    W1, W2 = (torch.randn(4, 8) * 0.4).requires_grad_(), (torch.randn(8, 2) * 0.4).requires_grad_()
    att = torch.randn(16).mul(0.3).requires_grad_()
    losses = []
    for _ in range(15):
        h = F.relu(propagate(x @ W1, norm))
        e = F.leaky_relu(torch.cat([h[src], h[dst]], -1) @ att, 0.2)
        top = torch.full((n,), -1e9).scatter_reduce(0, dst, e, reduce="amax").detach()
        e = (e - top[dst]).exp()
        alpha = e / torch.zeros(n).scatter_add(0, dst, e)[dst]
        logits = propagate(h @ W2, alpha)
        loss = F.cross_entropy(logits[train], y[train])
        loss.backward()
        with torch.no_grad():
            for p in (W1, W2, att):
                p -= 0.3 * p.grad
                p.grad = None
        losses.append(loss.item())

    adj = torch.zeros(n, n)
    adj[src, dst] = 1
    P = adj / adj.sum(1, keepdim=True)
    rank = torch.full((n,), 1 / n)
    while True:
        new = 0.85 * P.T @ rank + 0.15 / n
        if torch.norm(new - rank, p=1) < 1e-6:
            break
        rank = new
    hops = torch.linalg.matrix_power(adj, 2) > 0
    lap = torch.diag(adj.sum(1)) - adj
    means = torch.zeros(2, 4).index_reduce_(0, y, x, "mean", include_self=False)
    readout = torch.stack([x[y == k].amax(0) for k in range(2)])
    return {
        "losses": losses,
        "logits": logits,
        "rank": rank,
        "hops": hops.sum(),
        "fiedler": torch.linalg.eigvalsh(lap),
        "means": means,
        "readout": readout,
        "degree": adj.sum(0).to(torch.int32),
    }
