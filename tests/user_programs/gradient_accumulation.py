"""Micro-batches equal one large batch; checkpointing changes nothing; backward(inputs=...)."""


def main(torch):
    F = torch.nn.functional
    torch.manual_seed(13)
    x, y = torch.randn(32, 8), torch.randint(0, 3, (32,))
    W = [torch.randn(8, 16) * 0.3, torch.randn(16, 16) * 0.3, torch.randn(16, 3) * 0.3]
    for w in W:
        w.requires_grad_()

    def block(h, w):
        return F.gelu(h @ w)

    def model(h, remat=False):
        for w in W[:-1]:
            if remat:
                h = torch.utils.checkpoint.checkpoint(block, h, w, use_reentrant=False)
            else:
                h = block(h, w)
        return F.dropout(h, 0.0) @ W[-1]

    def grads():
        result = [w.grad.clone() for w in W]
        for w in W:
            w.grad = None
        return result

    F.cross_entropy(model(x), y).backward()
    whole = grads()
    for xb, yb in zip(x.chunk(4), y.split(8)):
        (F.cross_entropy(model(xb), yb) / 4).backward()
    small = grads()
    F.cross_entropy(model(x, remat=True), y).backward()
    remat = grads()
    same = [torch.allclose(a, b, atol=1e-6) for a, b in zip(whole, small)]

    def noisy(h):
        return F.dropout(h, 0.5).sin()

    h = torch.randn(6, 6, requires_grad=True)
    torch.manual_seed(1)
    z = torch.utils.checkpoint.checkpoint(noisy, h, use_reentrant=True)
    after = torch.rand(2)
    z.sum().backward()

    a, b = torch.rand(3, requires_grad=True), torch.rand(3, requires_grad=True)
    out = (a * b).sum()
    out.backward(inputs=[a], retain_graph=True)
    first = (a.grad.clone(), b.grad is None)
    torch.autograd.backward([out, (a**2).sum()], [torch.tensor(2.0), None])
    second = (a.grad, b.grad)
    c = torch.zeros(2, requires_grad=True)
    unused = torch.autograd.grad((a * 2).sum(), [a, c], allow_unused=True)
    zeros = torch.autograd.grad((a * 2).sum(), [a, c], materialize_grads=True)
    rows = torch.autograd.grad(a.exp(), a, torch.eye(3), is_grads_batched=True)
    return {
        "whole": whole,
        "small": small,
        "remat": remat,
        "same": same,
        "z": z,
        "h": h.grad,
        "after": after,
        "first": first,
        "second": second,
        "unused": unused[1] is None,
        "zeros": zeros,
        "rows": rows,
    }
