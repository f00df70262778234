"""MAML on sines: inner steps with create_graph, outer gradient through them; also Reptile."""


def main(torch):
    F = torch.nn.functional
    torch.manual_seed(8)
    shapes = [(1, 20), (20,), (20, 20), (20,), (20, 1), (1,)]
    theta = [torch.randn(s) * (0.3 if len(s) == 2 else 0.0) for s in shapes]
    theta = [t.requires_grad_() for t in theta]

    def f(x, w):
        h = torch.relu(x @ w[0] + w[1])
        h = torch.tanh(h @ w[2] + w[3])
        return h @ w[4] + w[5]

    def task():
        amplitude, phase = torch.rand(2).mul(3).add(0.5).unbind()
        x = torch.empty(20, 1).uniform_(-5, 5)
        return x, amplitude * torch.sin(x + phase)

    curve = []
    for _ in range(8):
        outer = 0.0
        for _ in range(2):
            x, y = task()
            fast = theta
            for _ in range(2):
                inner = F.mse_loss(f(x[:10], fast), y[:10])
                g = torch.autograd.grad(inner, fast, create_graph=True)
                fast = [w - 0.05 * gi for w, gi in zip(fast, g)]
            outer = outer + F.mse_loss(f(x[10:], fast), y[10:])
        outer.backward()
        with torch.no_grad():
            for w in theta:
                w -= 0.01 * w.grad
                w.grad.zero_()
        curve.append(outer.item())

    reptile = [t.detach().clone() for t in theta]
    for _ in range(3):
        x, y = task()
        w = [t.clone().requires_grad_() for t in reptile]
        for _ in range(4):
            g = torch.autograd.grad(F.smooth_l1_loss(f(x, w), y), w)
            w = [(wi - 0.02 * gi).detach().requires_grad_() for wi, gi in zip(w, g)]
        for t, wi in zip(reptile, w):
            t.lerp_(wi.detach(), 0.5)
    return {"curve": curve, "theta": theta, "reptile": reptile}
