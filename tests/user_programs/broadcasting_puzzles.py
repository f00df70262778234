"""Puzzles of one line each: write standard functions with broadcasting and arange only."""


def main(torch):
    def arange(i):
        return torch.tensor(range(i))

    def where(q, a, b):
        return q * a + (~q) * b

    a, b = torch.tensor([3, 1, 2, 5]), torch.tensor([2, 7, 1, 8])
    n = 4
    ones = where(arange(n) > -1, 1, 0)
    total = (ones @ a)[None]
    outer = a[:, None] * b[None, :]
    m = outer[:, :3]
    diag = m[arange(3), arange(3)]
    eye = where(arange(n)[:, None] == arange(n), 1, 0)
    triu = where(arange(n)[:, None] <= arange(n), 1, 0)
    cumsum = a @ triu
    diff = a - where(arange(n) > 0, a[arange(n) - 1], 0)
    vstack = where(arange(2)[:, None] == 0, a, b)
    roll = a[(arange(n) + 1) % n]
    flip = a[n - 1 - arange(n)]
    compress = where(torch.tensor([True, False, True, True]), a, 0) @ eye
    pad_to = a @ where(arange(n)[:, None] == arange(6), 1, 0)
    mask = arange(5)[None] < torch.tensor([2, 5, 1])[:, None]
    bincount = (eye[torch.tensor([0, 1, 1, 3])]).sum(0)
    scatter_add = b @ eye[torch.tensor([0, 1, 1, 3])]
    flatten = m[arange(12) // 3, arange(12) % 3]
    linspace = 1.0 + 4.0 * arange(5) / max(1, 4)
    heaviside = where(a - 2 == 0, b, where(a - 2 < 0, 0, 1))
    repeat = (ones[:3])[:, None] * a
    bucket = (torch.tensor([0.5, 2.5, 9])[:, None] >= torch.tensor([1.0, 2.0, 4.0])).sum(1)

    pairs = torch.cdist(a[:, None].float(), b[:, None].float(), p=1)
    causal = (arange(4)[:, None] >= arange(4)).float().log()
    weights = torch.softmax(causal, dim=-1)
    relative = (arange(4)[None] - arange(4)[:, None]).clip(-2, 2) + 2
    i, j = torch.meshgrid(arange(3), arange(4), indexing="xy")
    grid = torch.stack([i, j]).flatten(1)
    batch = torch.arange(24).view(2, 3, 4)
    mean_pool = (batch * mask[:2, :3, None]).sum(1) / mask[:2, :3].sum(1, keepdim=True)
    shapes = [
        tuple(torch.broadcast_shapes((3, 1), (1, 4), (2, 1, 1))),
        [tuple(t.shape) for t in torch.broadcast_tensors(torch.ones(3, 1), torch.ones(4))],
        torch.ones(1, 3).expand(2, -1, -1).shape,
        (torch.ones(0, 3) + torch.ones(1)).shape,
        torch.ones(2, 1, 4).mul(torch.ones(3, 1)).size(),
        torch.atleast_2d(a).shape,
    ]
    parity = torch.bitwise_xor(a, b) & 1
    binary = (a[:, None] >> torch.arange(3)) & 1
    polynomial = (torch.tensor(2.0) ** torch.arange(5)) @ torch.tensor([1.0, 0, 2, 0, 1])
    softplus = torch.logaddexp(torch.zeros(3), torch.tensor([-100.0, 0, 100]))
    primes = [
        int(p)
        for p in torch.arange(2, 30)
        if not (p % torch.arange(2, max(int(p), 3)) == 0)[: int(p) - 2].any()
    ]
    return {k: v for k, v in locals().items() if k not in ("torch", "arange", "where")}
