"""The first notebook of a course: constructors, attributes, arithmetic, first gradients."""


def main(torch):
    out = []
    x = torch.Tensor([[1, 2], [3, 4]])
    out += [
        x,
        x.dtype,
        x.shape,
        x.ndim,
        x.size(0),
        x.numel(),
        x.dim(),
        list(x.size()),
        x.device.type,
    ]
    out += [
        torch.FloatTensor([1, 2]),
        torch.LongTensor([1, 2]),
        torch.Tensor(2, 3).shape,
        torch.IntTensor([[7]]),
        torch.ByteTensor([1]),
        torch.DoubleTensor([1.5]),
        torch.BoolTensor([1, 0]),
    ]
    out += [
        isinstance(x, torch.Tensor),
        isinstance(x, torch.FloatTensor),
        x.type(),
        torch.is_tensor(x),
        torch.is_tensor([1]),
        x.is_floating_point(),
        x.long(),
        x.int().dtype,
        x.bool(),
        x.byte(),
    ]
    out += [
        x + x,
        x - 1,
        2 * x,
        x / 2,
        x // 2,
        x % 2,
        x**2,
        -x,
        abs(-x),
        x @ x,
        x * x,
        1 / x,
        2**x,
        1 - x,
    ]
    out += [x == x.T, x > 2, (x > 1) & (x < 4), (x > 1) | (x < 4), ~(x > 2), x != 2, x >= 2, x <= 2]
    out += [
        x.T,
        x.t(),
        x.mT,
        x.transpose(0, 1),
        x.view(4),
        x.reshape(-1),
        x.flatten(),
        x.unsqueeze(0),
        x[None].squeeze(0),
        x.ravel(),
        x.contiguous() is x,
        x.permute(1, 0),
        x.H,
    ]
    out += [
        x.sum(),
        x.sum(0),
        x.sum(dim=1, keepdim=True),
        x.mean(),
        x.mean(1),
        x.std(),
        x.max(),
        x.min(),
        x.max(1),
        x.argmax(),
        x.prod(),
        x.cumsum(0),
        x.norm(),
        x.sum((0, 1)),
        x.any(),
        x.all(),
    ]
    out += [
        torch.cat([x, x]),
        torch.cat((x, x), dim=1),
        torch.stack([x, x]),
        torch.vstack((x, x)),
        torch.concat([x, x], axis=0),
        torch.hstack([x, x]),
        x.repeat(2, 1),
        x.expand(2, 2, 2),
    ]
    out += [
        torch.dot(x[0], x[1]),
        torch.mm(x, x),
        torch.matmul(x, x[0]),
        torch.mv(x, x[0]),
        x.det(),
        x.inverse(),
        x.trace(),
        torch.diag(x),
        torch.linalg.norm(x),
        x.tril(),
        torch.outer(x[0], x[1]),
    ]
    out += [
        torch.zeros(2, 2),
        torch.ones((2, 2)),
        torch.eye(2),
        torch.full((1, 2), 7),
        torch.arange(0, 10, 3),
        torch.linspace(0, 1, 5),
        torch.logspace(0, 2, 3),
        torch.empty(2, 0),
        torch.zeros_like(x),
        torch.arange(3, dtype=torch.float),
        torch.tensor(5),
        torch.tensor([1, 2.0]),
        torch.zeros([3]),
    ]
    out += [
        x.item() if x.numel() == 1 else x.tolist(),
        x[0, 0].item(),
        int(x[0, 0]),
        float(x[1, 1]),
    ]
    out += [
        x.clone().fill_(3),
        x.clone().zero_(),
        x.clone().add_(1),
        x.clone().t_(),
        x.new_zeros(1),
    ]

    a = torch.tensor(2.0, requires_grad=True)
    b = torch.tensor(3.0, requires_grad=True)
    c = a * b + a.sin() ** 2
    c.backward()
    out += [
        a.grad,
        b.grad,
        c.requires_grad,
        c.is_leaf,
        a.is_leaf,
        c.grad_fn is not None,
        a.grad_fn is None,
    ]
    v = torch.ones(2, 2, requires_grad=True)
    z = (v + 2) * (v + 2) * 3
    z.backward(torch.tensor([[1.0, 0.1], [0.01, 0.001]]))
    out += [v.grad, z.mean()]
    with torch.no_grad():
        out.append((v * 2).requires_grad)
    out += [v.detach().requires_grad, str(z.grad_fn).split(" ")[0], str(c.grad_fn)[:14]]
    for t in (
        x.grad,
        x.requires_grad,
        x.is_cuda,
        torch.cuda.is_available(),
        x.is_sparse,
        x.layout == torch.strided,
    ):
        out.append(t)
    out += [
        torch.allclose(x, x + 1e-9),
        torch.equal(x, x),
        x.eq(x).all().item(),
        (x == 1).nonzero(),
        torch.where(x > 2, x, -x),
        x.clamp(2, 3),
        x.round(),
        x.sqrt(),
        x.exp(),
        x.log(),
        x.sigmoid(),
    ]
    out += [
        len(x),
        [r.tolist() for r in x],
        x.element_size() * x.nelement(),
        x.stride(),
        x.is_contiguous(),
        x.t().is_contiguous(),
        tuple(x.shape),
        x.shape == (2, 2),
        x.shape[-1],
        torch.Size([2, 2]).numel(),
    ]
    out += [
        x.cpu().numpy(),
        torch.from_numpy(x.numpy()),
        torch.numel(x),
        x.double().dtype,
        x.half().dtype,
    ]
    out += [
        torch.pi,
        torch.inf > 1,
        torch.e,
        torch.get_default_dtype(),
        torch.tensor([]).shape,
        torch.tensor(1).shape,
    ]
    rows, cols = x.shape
    (first, second), total = x, 0
    for row in x:
        for value in row:
            total += value
    out += [rows, cols, first, second, total, x.size(-1), x.size(dim=0), sum(x.flatten()).item()]
    q = x.numpy().copy()
    q[0] = 9
    out += [
        x,
        q,
        bool(torch.tensor(1) == 1),
        torch.tensor(3) + 2,
        2 + torch.tensor(3),
        torch.tensor(True) + 1,
    ]
    out += [
        x.index_select(0, torch.tensor([1])),
        x[:, -1],
        x[x > 1],
        x[[0, 1], [1, 0]],
        x[..., 0],
        x[0][1],
    ]
    out += [
        torch.manual_seed(0) is not None,
        torch.rand(2),
        torch.randn(2, 2),
        torch.randint(0, 5, (3,)),
        torch.randperm(4),
        torch.seed() > 0,
    ]
    return out
