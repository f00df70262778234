"""Seven optimizers over the same valley, schedules, line search and L-BFGS's two loops."""

import math


def valley(torch, p):
    x, y = p[0], p[1]
    return (1.5 - x + x * y) ** 2 + (2.25 - x + x * y**2) ** 2 + 0.1 * torch.cos(3 * x)


def main(torch):
    def grad(p):
        p = p.detach().requires_grad_()
        value = valley(torch, p)
        return value.item(), torch.autograd.grad(value, p)[0]

    start = torch.tensor([0.5, -0.5])
    curves = {}
    for name in ("sgd", "momentum", "nesterov", "adagrad", "rmsprop", "adam", "lion", "adadelta"):
        p = start.clone()
        m, v, s = torch.zeros(2), torch.zeros(2), torch.zeros(2)
        curve = []
        for t in range(1, 31):
            lr = 0.02 * (0.5 * (1 + math.cos(math.pi * t / 30)) if t > 5 else t / 5)
            value, g = grad(p)
            if name == "sgd":
                p = p - lr * g
            elif name == "momentum":
                m = torch.add(g, m, alpha=0.9)
                p = p.sub(m, alpha=lr)
            elif name == "nesterov":
                m.mul_(0.9).add_(g)
                p = p - lr * (g + 0.9 * m)
            elif name == "adagrad":
                v += g.square()
                p = p - 10 * lr * g / v.sqrt().add(1e-10)
            elif name == "rmsprop":
                v = torch.lerp(v, g**2, 0.1)
                p = torch.addcdiv(p, g, v.sqrt() + 1e-8, value=-lr)
            elif name == "adam":
                m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g
                s = torch.maximum(s, v)
                p = p - lr * (m / (1 - 0.9**t)) / (torch.sqrt(s / (1 - 0.99**t)) + 1e-8)
            elif name == "lion":
                p = p - lr * torch.sign(torch.lerp(g, m, 0.9))
                m = m.lerp(g, 0.01)
            else:
                v = 0.9 * v + 0.1 * g**2
                d = (s + 1e-3).sqrt() / (v + 1e-3).sqrt() * g
                s = 0.9 * s + 0.1 * d**2
                p = p - d * 0.5
            curve.append(value)
        curves[name] = curve
        curves[name + "_end"] = p

    p, history, curve = start.double(), [], []
    value, g = grad(p)
    for _ in range(12):
        q, alphas = g.clone(), []
        for s, y in reversed(history):
            alpha = s.dot(q) / y.dot(s)
            q -= alpha * y
            alphas.append(alpha)
        if history:
            s, y = history[-1]
            q *= s.dot(y) / y.dot(y)
        for (s, y), alpha in zip(history, reversed(alphas)):
            q += s * (alpha - y.dot(q) / y.dot(s))
        step = 1.0
        while valley(torch, p - step * q) > value - 1e-4 * step * g.dot(q) and step > 1e-6:
            step /= 2
        new = p - step * q
        new_value, new_g = grad(new)
        if (new_g - g).dot(new - p) > 1e-12:
            history = [*history[-4:], (new - p, new_g - g)]
        p, value, g = new, new_value, new_g
        curve.append(value)
    curves["lbfgs"], curves["lbfgs_end"] = curve, p
    return curves
