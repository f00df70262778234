"""Reading and writing by every kind of index, in loops, with gradients."""


def main(torch):
    torch.manual_seed(60)
    out = {}
    x = torch.arange(24.0).reshape(2, 3, 4)
    rows, cols = torch.tensor([0, 1, 1]), torch.tensor([2, 0, 2])
    out["reads"] = [
        x[0],
        x[-1, 1:],
        x[..., 0],
        x[:, None, 1],
        x[:, [0, 2]],
        x[rows, cols],
        x[rows, :, cols],
        x[:, cols[:2], 1:3],
        x[x > 10],
        x[:, x[0, :, 0] > 2],
        x[torch.tensor([True, False])],
        x[..., torch.tensor([[0, 1], [2, 3]])],
        x[0, :, ::2],
        x[1:, :2, -1],
        x[[0, 1], [1, 2], [2, 3]],
        x[None, ..., None].squeeze(),
        x[rows[:, None], cols[None]],
        x[()],
        x[:, 1, [3, 0]],
        x[torch.tensor(1)],
        x[True],
        x[:, :, torch.arange(4) % 2 == 0],
        x[slice(None), slice(0, 2)],
    ]
    y = torch.zeros(4, 5)
    y[1] = 1
    y[:, 2] = torch.arange(4.0)
    y[2, 3:] = torch.tensor([7.0, 8.0])
    y[torch.tensor([0, 3]), torch.tensor([4, 4])] = -1.0
    y[y == 0] = 0.5
    y[..., -1] += 10
    y[[0, 1]] = y[[1, 0]]
    y[:, 0] *= 2
    y[y > 5] /= 2
    y[1:3, ::2] = torch.full((2, 3), -3.0)
    y.T[1].add_(100)
    y.t()[0, 1:] -= 1
    y.diagonal().zero_()
    out["y"] = y

    z = torch.zeros(5, 3)
    idx = torch.tensor([0, 2, 2, 4])
    z.index_add_(0, idx, torch.ones(4, 3), alpha=0.5)
    z.index_fill_(1, torch.tensor([1]), 9)
    z.index_copy_(0, torch.tensor([3]), torch.tensor([[1.0, 2.0, 3.0]]))
    z.index_put_((idx, torch.tensor([0, 0, 0, 2])), torch.tensor(1.5), accumulate=True)
    z.masked_fill_(z > 5, -1).masked_scatter_(z < 0, torch.arange(100.0, 110))
    z.scatter_(1, torch.tensor([[0], [1]]), 42.0).scatter_add_(0, idx[None, :3], torch.ones(1, 3))
    z.scatter_reduce_(0, torch.tensor([[1, 1, 1]]), torch.full((1, 3), 50.0), reduce="amax")
    out["z"] = z
    out["take"] = [
        torch.take(x, torch.tensor([0, 23, -2])),
        x.take_along_dim(x.argsort(1), 1),
        torch.gather(x, 2, x.argmax(2, keepdim=True)),
        x.masked_select(x % 5 == 0),
        torch.where(x > 12)[1],
        x.nonzero().shape,
        x.select(1, 2),
        x.narrow(2, 1, 2),
    ]

    # Gradients through reads and writes.
    w = torch.randn(6, 4, requires_grad=True)
    buffer = torch.zeros(3, 4)
    for i in range(3):
        buffer[i] = w[i] * w[5 - i]
    buffer[:, 1:3] *= w[:3, :2].exp()
    buffer[buffer > 1] = 1.0
    mixed = w[[0, 0, 2], 1:] ** 2
    loss = buffer.sum() + mixed.sum() + w[w > 0].sum() + w.t()[1].prod()
    loss.backward()
    out["loss"], out["w_grad"], out["buffer"] = loss, w.grad, buffer
    out["names"] = [
        buffer.grad_fn.name(),
        mixed.grad_fn.name(),
        w[0].grad_fn.name(),
        w[w > 0].grad_fn.name(),
        w[:, None].grad_fn.name(),
        w[1:, 0].grad_fn.name(),
    ]

    life = (torch.rand(8, 8) < 0.4).int()
    for _ in range(5):
        n = sum(life.roll((i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1)) - life
        life = ((n == 3) | ((n == 2) & (life == 1))).int()
    out["life"] = life
    del_rows = x[:, torch.tensor([i for i in range(3) if i != 1])]
    out["del"] = del_rows
    for i, row in enumerate(x[0]):
        row *= i
    out["iterated"] = x
    return out
