"""Hooks: clipping, recording, retain_grad, node hooks, post-accumulate, saved-tensor packing."""


def main(torch):
    torch.manual_seed(21)
    seen, out = [], {}
    x = torch.randn(4, 3)
    w1, w2 = torch.randn(3, 5, requires_grad=True), torch.randn(5, 2, requires_grad=True)
    w1.register_hook(lambda g: g.clamp(-0.1, 0.1))
    handle = w2.register_hook(lambda g: seen.append(g.norm().item()))
    h = (x @ w1).relu()
    h.retain_grad()
    h.register_hook(lambda g: g * 2)
    y = (h @ w2).tanh()
    y.register_hook(lambda g: seen.append(tuple(g.shape)))
    y.grad_fn.register_hook(lambda gi, go: seen.append(len(gi) * 10 + len(go)))
    y.grad_fn.register_prehook(lambda go: (go[0] * 0.5,))
    y.sum().backward()
    handle.remove()
    out["w1"], out["w2"], out["h"] = w1.grad, w2.grad, h.grad
    (x @ w1 @ w2).sum().backward()
    out["accumulated"] = [w1.grad, w2.grad]

    # An optimizer folded into backward.
    def step(p):
        with torch.no_grad():
            p -= 0.1 * p.grad
        p.grad = None

    p = torch.ones(3, requires_grad=True)
    p.register_post_accumulate_grad_hook(step)
    curve = []
    for _ in range(5):
        loss = (p**2 * torch.arange(3)).sum()
        loss.backward()
        curve.append(loss.item())
    out["curve"], out["p"], out["p_grad"] = curve, p, p.grad is None

    packed = []

    def pack(t):
        packed.append(tuple(t.shape))
        return t.half()

    q = torch.linspace(0, 1, 4, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t.float()):
        z = (q.exp() * q).sum()
    z.backward()
    out["packed"], out["q"] = sorted(packed), q.grad

    multi = []
    a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    torch.autograd.graph.register_multi_grad_hook(
        (a, b), lambda grads: multi.append([g is not None for g in grads])
    )
    (a * 2).sum().backward()
    (a * b).sum().backward()
    out["multi"] = multi

    names = []
    node = ((a * b).exp().sum() + 1).sqrt().grad_fn
    while node is not None:
        names.append(node.name())
        node = node.next_functions[0][0] if node.next_functions else None
    out["names"], out["seen"] = names, seen
    return out
