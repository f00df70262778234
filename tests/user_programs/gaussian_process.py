"""Gaussian process regression: Cholesky, triangular solves, evidence maximised by gradient."""

import math


def main(torch):
    torch.manual_seed(12)
    X = torch.sort(torch.rand(15, 1, dtype=torch.double) * 6, dim=0).values
    y = torch.sin(X).squeeze(-1) + 0.1 * torch.randn(15, dtype=torch.double)
    raw = torch.zeros(3, dtype=torch.double, requires_grad=True)

    def kernel(a, b, length, scale):
        return scale**2 * torch.exp(-0.5 * torch.cdist(a, b).pow(2) / length**2)

    def nll():
        length, scale, noise = torch.nn.functional.softplus(raw)
        K = kernel(X, X, length, scale) + noise.pow(2) * torch.eye(15, dtype=torch.double)
        L = torch.linalg.cholesky(K)
        alpha = torch.cholesky_solve(y[:, None], L).squeeze(1)
        return 0.5 * y @ alpha + L.diagonal().log().sum() + 7.5 * math.log(2 * math.pi)

    curve = []
    for _ in range(20):
        loss = nll()
        loss.backward()
        with torch.no_grad():
            raw -= 0.02 * raw.grad
        raw.grad = None
        curve.append(loss.item())

    with torch.no_grad():
        length, scale, noise = torch.nn.functional.softplus(raw)
        K = kernel(X, X, length, scale) + noise**2 * torch.eye(15).double()
        Xs = torch.linspace(0, 6, 7, dtype=torch.float64)[:, None]
        Ks = kernel(X, Xs, length, scale)
        mean = Ks.T @ torch.linalg.solve(K, y)
        half = torch.linalg.solve_triangular(torch.linalg.cholesky(K), Ks, upper=False)
        cov = kernel(Xs, Xs, length, scale) - half.mT @ half
        std = cov.diagonal(dim1=-2, dim2=-1).clamp(min=0).sqrt()
        logdets = torch.stack([torch.logdet(K), torch.slogdet(K)[1], torch.linalg.det(K).log()])
        jitter = cov + 1e-6 * torch.eye(7, dtype=torch.double)
        draw = mean + torch.linalg.cholesky(jitter) @ torch.randn(7, dtype=torch.double)
        inverse_error = (torch.inverse(K) @ K - torch.eye(15).double()).abs().max() < 1e-8
    return {
        "curve": curve,
        "mean": mean,
        "std": std,
        "logdets": logdets,
        "draw": draw,
        "inverse": bool(inverse_error),
    }
