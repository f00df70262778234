"""Top-k sparse autoencoder, L1 autoencoder, dead-unit revival, a mixture-of-experts router."""


def main(torch):
    F = torch.nn.functional
    torch.manual_seed(33)
    atoms = F.normalize(torch.randn(10, 6), dim=-1)
    codes = torch.rand(40, 10) * (torch.rand(40, 10) < 0.2)
    x = codes @ atoms + 0.01 * torch.randn(40, 6)
    enc = (torch.randn(6, 16) * 0.3).requires_grad_()
    dec = enc.detach().t().clone().requires_grad_()
    bias = torch.zeros(16, requires_grad=True)
    losses, fired = [], torch.zeros(16, dtype=torch.int64)
    for _ in range(20):
        pre = (x - x.mean(0)) @ enc + bias
        values, indices = pre.topk(3, dim=-1)
        h = torch.zeros_like(pre).scatter(-1, indices, F.relu(values))
        loss = (h @ dec - x).pow(2).sum(-1).mean() + 1e-3 * h.abs().sum(-1).mean()
        loss.backward()
        with torch.no_grad():
            for p in (enc, dec, bias):
                p.sub_(p.grad, alpha=0.2)
                p.grad = None
            dec /= dec.norm(dim=1, keepdim=True).clamp(min=1e-6)
            fired.add_((h > 0).sum(0))
        losses.append(loss.item())
    dead = (fired == 0).nonzero().flatten()
    kth = pre.abs().kthvalue(14, dim=1, keepdim=True).values
    hard = torch.where(pre.abs() >= kth, pre, pre.new_zeros(()))

    gate = (torch.randn(6, 4) * 0.5).requires_grad_()
    experts = torch.randn(4, 6, 6).mul_(0.3).requires_grad_()
    scores = F.softmax(x @ gate, dim=-1)
    top, which = torch.topk(scores, 2)
    top = top / top.sum(-1, keepdim=True)
    y = torch.zeros_like(x)
    for e in range(4):
        row, slot = torch.where(which == e)
        y = y.index_add(0, row, top[row, slot, None] * (x[row] @ experts[e]))
    load = F.one_hot(which[:, 0], 4).float().mean(0)
    balance = 4 * (load * scores.mean(0)).sum()
    (y.square().mean() + 0.01 * balance).backward()
    return {
        "losses": losses,
        "fired": fired,
        "dead": dead,
        "hard": hard,
        "load": load,
        "balance": balance,
        "gate_grad": gate.grad,
        "experts_grad": experts.grad,
    }
