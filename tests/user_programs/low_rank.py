"""Power iteration, SVD truncation with gradients, PCA, eigen-decompositions, pseudo-inverse."""


def main(torch):
    torch.manual_seed(40)
    A = torch.randn(8, 5, dtype=torch.float64)
    v = torch.ones(5, dtype=torch.float64)
    for _ in range(60):
        v = A.T @ (A @ v)
        v /= v.norm()
    sigma = (A @ v).norm()
    U, S, Vh = torch.linalg.svd(A, full_matrices=False)
    k = 2
    low = U[:, :k] @ torch.diag(S[:k]) @ Vh[:k]
    tail = S[k:].pow(2).sum().sqrt()

    B = A.clone().requires_grad_()
    nuclear = torch.linalg.svdvals(B).sum()
    (g_nuclear,) = torch.autograd.grad(nuclear, B)
    u, s, vh = torch.linalg.svd(B, full_matrices=False)
    approx = (u[:, :k] * s[:k]) @ vh[:k, :]
    (g_low,) = torch.autograd.grad((approx - torch.ones_like(B)).pow(2).sum(), B)

    X = torch.randn(30, 4, dtype=torch.float64) @ torch.randn(4, 4, dtype=torch.float64)
    C = torch.cov(X.T)
    evals, evecs = torch.linalg.eigh(C)
    scores = (X - X.mean(0)) @ evecs.flip(1)[:, :2]
    explained = evals.flip(0).cumsum(0) / evals.sum()

    Q, R = torch.linalg.qr(A)
    M = (C + torch.eye(4, dtype=torch.float64)).requires_grad_()
    spectral = torch.linalg.eigvalsh(M)[-1] + torch.linalg.matrix_norm(M, 2) + M.inverse().trace()
    (g_spectral,) = torch.autograd.grad(spectral, M)
    W = torch.randn(5, 5).requires_grad_()
    skew = W - W.T
    rotation = torch.matrix_exp(skew)
    (g_rot,) = torch.autograd.grad(rotation[0].sum() + rotation[:, 1].prod(), W)
    return {
        "sigma": sigma,
        "gap": (sigma - S[0]).abs() < 1e-9,
        "low": low,
        "tail": tail,
        "error": torch.dist(A, low),
        "g_nuclear": g_nuclear,
        "g_low": g_low,
        "evals": evals,
        "scores": scores.abs(),
        "explained": explained,
        "QR": Q @ R,
        "spectral": spectral,
        "g_spectral": g_spectral,
        "rotation": rotation,
        "g_rot": g_rot,
        "pinv": torch.linalg.pinv(A),
        "rank": torch.linalg.matrix_rank(low),
        "cond": torch.linalg.cond(A),
        "power": torch.linalg.matrix_power(C, 3),
        "corr": torch.corrcoef(X.T),
        "kron": torch.kron(C[:2, :2], torch.eye(2).double()),
        "lu": torch.linalg.lu_factor(C)[1],
    }
