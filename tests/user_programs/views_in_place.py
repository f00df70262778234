"""In-place tricks on views, with and without history."""


def main(torch):
    torch.manual_seed(70)
    out = {}
    x = torch.arange(12.0).view(3, 4)
    x[:, 0] *= 2
    x.T.add_(torch.tensor([[0.0], [1.0], [2.0], [3.0]]))
    x.view(-1)[::5] = -1
    top, bottom = x.split([1, 2])
    top.zero_()
    bottom[0].copy_(bottom[1])
    x.unsqueeze(0).squeeze(0).transpose(0, 1)[2] += 7
    a, b = x.chunk(2, dim=1)
    a.mul_(b)
    x.permute(1, 0).reshape(4, 3)[0].neg_()
    out["x"] = x
    out["meta"] = [
        x.T.is_contiguous(),
        x.T.stride(),
        x[1:, 2].storage_offset(),
        b._base is x,
        x.data_ptr() == x.view(12).data_ptr(),
        x[1].data_ptr() - x.data_ptr(),
        x.expand(2, 3, 4).stride(),
        x.unfold(1, 2, 1).stride(),
        x._version > 3,
    ]

    base = torch.randn(4, 4, requires_grad=True)
    y = base.clone()
    y[0].mul_(2)
    y.diagonal().mul_(3)
    y[1:, 1:].T[0].sin_()
    z = y.view(2, 8)
    z[:, ::3] = 5.0
    y = y + y.t().detach()
    y.clamp_(-2, 2)
    y.sum().backward()
    out["y"], out["grad"], out["z"] = y, base.grad, z
    out["names"] = [y.grad_fn.name(), y[0].grad_fn.name(), y.T.grad_fn.name()]

    leaf = torch.ones(3, requires_grad=True)
    with torch.no_grad():
        leaf[1:] = 4
        leaf.add_(1)
    p = leaf * 2
    q = p.unbind()
    r = p.mul_(0.5).sigmoid_()
    (r * leaf).sum().backward()
    out["leaf"], out["leaf_grad"], out["q"] = leaf, leaf.grad, [v.item() for v in q]
    out["as_strided"] = torch.arange(10.0).as_strided((3, 4), (2, 1)).clone()
    out["set"] = torch.zeros(2, 3).t().copy_(torch.arange(6).view(3, 2))
    s = torch.zeros(3, 3)
    s.triu_(0).fill_(2).tril_().sub_(torch.eye(3)).pow_(2).div_(3).floor_()
    out["s"] = s
    c = torch.zeros(2, dtype=torch.cfloat)
    c.real[0] = 3
    c.imag += 1
    torch.view_as_real(c)[1, 0] = -2
    out["c"] = c
    e = torch.zeros(3)
    e.view(1, 3).expand(1, 3)[0, 1] = 1
    e.resize_(4)[3] = 8
    out["e"] = e
    i = torch.tensor([5, 6, 7])
    i //= 2
    i <<= 1
    i |= 1
    i %= 4
    i **= 2
    out["i"] = i
    f = torch.tensor([1.0, 2.0]).view(torch.int32)
    out["bits"] = [f, f.view(torch.uint8), torch.tensor([1, 2], dtype=torch.int16).view(torch.int8)]
    return out
