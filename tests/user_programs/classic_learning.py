"""A course in machine learning: perceptron, kNN, naive Bayes, SVM, NMF, t-SNE, decision stump."""


def main(torch):
    F = torch.nn.functional
    torch.manual_seed(201)
    X = torch.cat([torch.randn(25, 2) + 1.5, torch.randn(25, 2) - 1.5])
    y = torch.cat([torch.ones(25), -torch.ones(25)])
    out = {}

    w, b, mistakes = torch.zeros(2), torch.tensor(0.0), 0
    for xi, yi in zip(X, y):
        if yi * (w.dot(xi) + b) <= 0:
            w += yi * xi
            b += yi
            mistakes += 1
    out["perceptron"] = [w, b, mistakes]

    query = torch.randn(7, 2)
    d = ((query[:, None] - X[None]) ** 2).sum(-1)
    near = d.topk(5, largest=False).indices
    out["knn"] = y[near].mode(dim=1).values

    classes = [X[y == c] for c in (1, -1)]
    loglik = torch.stack(
        [(-((query - c.mean(0)) ** 2) / (2 * c.var(0)) - c.std(0).log()).sum(1) for c in classes],
        dim=1,
    )
    out["bayes"] = F.softmax(loglik, dim=1)

    wv = torch.zeros(3, requires_grad=True)
    Xb = F.pad(X, (0, 1), value=1.0)
    curve = []
    for _ in range(20):
        hinge = torch.clamp(1 - y * (Xb @ wv), min=0).mean() + 0.01 * wv[:2].dot(wv[:2])
        wv.grad = None
        hinge.backward()
        wv.data -= 0.3 * wv.grad
        curve.append(hinge.item())
    out["svm"] = curve

    V = torch.rand(6, 8)
    W, H = torch.rand(6, 3), torch.rand(3, 8)
    for _ in range(20):
        H *= (W.T @ V) / (W.T @ W @ H + 1e-9)
        W *= (V @ H.T) / (W @ H @ H.T + 1e-9)
    out["nmf"] = [torch.norm(V - W @ H), W, H]

    best = (2.0, None, None)
    for j in range(2):
        order = X[:, j].argsort()
        left = y[order].cumsum(0)
        errors = (left[-1] - 2 * left).abs() / len(y)
        k = int(errors.argmax())
        if 1 - errors[k].item() < best[0]:
            best = (1 - errors[k].item(), j, X[order[k], j].item())
    out["stump"] = list(best)

    P = F.softmax(-torch.cdist(X[:12], X[:12]).square().fill_diagonal_(float("inf")), dim=1)
    P = (P + P.T) / (2 * 12)
    Y = (torch.randn(12, 2) * 0.1).requires_grad_()
    kl_curve = []
    for _ in range(15):
        num = 1 / (1 + torch.cdist(Y, Y).pow(2))
        num = num * (1 - torch.eye(12))
        Q = num / num.sum()
        kl = (P * (P.clamp_min(1e-12) / Q.clamp_min(1e-12)).log()).sum()
        (g,) = torch.autograd.grad(kl, Y)
        Y.data.sub_(g, alpha=2.0)
        kl_curve.append(kl.item())
    out["tsne"] = kl_curve
    return out
