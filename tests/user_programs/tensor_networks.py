"""einsum everywhere: matrix product states, a two-layer network, trilinear forms, gradients."""


def main(torch):
    torch.manual_seed(50)
    d, chi, n = 2, 3, 5
    cores = [torch.randn(1 if i == 0 else chi, d, 1 if i == n - 1 else chi) for i in range(n)]
    for c in cores:
        c.requires_grad_()

    def norm2():
        env = torch.ones(1, 1)
        for c in cores:
            env = torch.einsum("ab,asc,bsd->cd", env, c, c)
        return env.squeeze()

    full = cores[0]
    for c in cores[1:]:
        full = torch.tensordot(full, c, dims=([-1], [0]))
    full = full.squeeze(0).squeeze(-1)
    value = norm2()
    value.log().backward()

    A, B, C = torch.randn(3, 4), torch.randn(4, 5), torch.randn(5, 3)
    T = torch.randn(2, 3, 4, 5)
    results = {
        "trace": torch.einsum("ii", A @ B @ C),
        "diag": torch.einsum("ii->i", A @ B @ C),
        "outer": torch.einsum("i,j->ij", A[0], B[0]),
        "bilinear": torch.einsum(
            "bi,oij,bj->bo", torch.ones(2, 3), torch.ones(6, 3, 4), T[:, 0, :, 0]
        ),
        "chain": torch.einsum("ij,jk,kl->il", A, B, C),
        "ellipsis": torch.einsum("...ij,jk->...ik", T, C),
        "transpose": torch.einsum("abcd->dcab", T),
        "sum": torch.einsum("abcd->", T),
        "implicit": torch.einsum("ij,jk", A, B),
        "repeated": torch.einsum("bij,bij->b", T[0], T[1]),
        "multi_dot": torch.linalg.multi_dot([A, B, C]),
        "inner": torch.inner(A, B.T),
        "tensordot": torch.tensordot(T, T, dims=([2, 3], [2, 3])),
        "batched": torch.bmm(T[0], T[1].transpose(1, 2)),
        "baddbmm": torch.baddbmm(torch.ones(3, 4, 4), T[0], T[1].mT, beta=0.5, alpha=2),
        "sublist": torch.einsum(A, [0, 1], B, [1, 2], [0, 2]),
        "vecdot": torch.linalg.vecdot(A, A),
        "chain_matmul": torch.matmul(T, C).matmul(A),
        "cross": torch.linalg.cross(A.T, torch.ones(4, 3)),
    }
    K = torch.randn(4, 4, dtype=torch.cfloat).requires_grad_()
    results["hermitian"] = torch.einsum("ij,ij->", K, K.conj())
    results["hermitian"].real.backward()
    results["K_grad"] = K.grad
    results["full"], results["value"] = full, value
    results["same"] = torch.allclose(full.pow(2).sum(), value)
    results["core_grads"] = [c.grad for c in cores]
    return results
