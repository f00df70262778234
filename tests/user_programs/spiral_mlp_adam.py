"""The two spirals, a three-layer perceptron, Adam written out."""

import math


class Adam:
    def __init__(self, torch, params, lr=1e-2, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
        self.torch, self.params, self.lr, self.betas = torch, list(params), lr, betas
        self.eps, self.weight_decay, self.t = eps, weight_decay, 0
        self.m = [torch.zeros_like(p) for p in self.params]
        self.v = [torch.zeros_like(p) for p in self.params]

    def zero_grad(self):
        for p in self.params:
            if p.grad is not None:
                p.grad.detach_()
                p.grad.zero_()

    def step(self):
        self.t += 1
        b1, b2 = self.betas
        with self.torch.no_grad():
            for p, m, v in zip(self.params, self.m, self.v):
                if p.grad is None:
                    continue
                p.mul_(1 - self.lr * self.weight_decay)
                m.lerp_(p.grad, 1 - b1)
                v.mul_(b2).addcmul_(p.grad, p.grad.conj(), value=1 - b2)
                denominator = (v.sqrt() / math.sqrt(1 - b2**self.t)).add_(self.eps)
                p.addcdiv_(m, denominator, value=-self.lr / (1 - b1**self.t))


def spirals(torch, n):
    t = torch.sqrt(torch.rand(n)) * 3 * math.pi
    arm = torch.randint(0, 2, (n,))
    sign = torch.where(arm.bool(), -1.0, 1.0)
    xy = torch.stack((sign * t * t.cos(), sign * t * t.sin()), dim=1) / (3 * math.pi)
    return xy + 0.02 * torch.randn_like(xy), arm


def main(torch):
    F = torch.nn.functional
    torch.manual_seed(7)
    x, y = spirals(torch, 200)
    sizes = [2, 32, 32, 2]
    params = []
    for fan_in, fan_out in zip(sizes[:-1], sizes[1:]):
        bound = 1 / fan_in**0.5
        params.append(torch.empty(fan_in, fan_out).uniform_(-bound, bound).requires_grad_())
        params.append(torch.zeros(fan_out, requires_grad=True))

    def net(h):
        layers = list(zip(params[::2], params[1::2]))
        for i, (w, b) in enumerate(layers):
            h = torch.addmm(b, h, w)
            if i < len(layers) - 1:
                h = F.leaky_relu(h, 0.1)
        return h

    opt = Adam(torch, params, lr=1e-2, weight_decay=1e-2)
    losses, norms = [], []
    for step in range(40):
        batch = torch.randperm(len(x))[:64]
        loss = F.cross_entropy(net(x[batch]), y[batch])
        opt.zero_grad()
        loss.backward()
        total = torch.norm(torch.stack([p.grad.norm(2) for p in params]), 2)
        scale = torch.clamp(1.0 / (total + 1e-6), max=1.0)
        for p in params:
            p.grad.mul_(scale)
        opt.step()
        losses.append(loss.item())
        norms.append(total.item())
    correct = (net(x).argmax(-1) == y).sum()
    return {
        "losses": losses,
        "norms": norms,
        "correct": correct,
        "numel": sum(p.numel() for p in params),
    }
