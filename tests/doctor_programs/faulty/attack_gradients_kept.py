# expect: missing-zero-grad line 32, 33
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(8)


def two_moons(n):
    t = torch.rand(n) * 3.1416
    c = torch.randint(0, 2, (n,))
    sign = 1 - 2 * c.float()
    pts = torch.stack([t.cos() * sign + c, t.sin() * sign + 0.4 * c], 1)
    return pts + 0.08 * torch.randn(n, 2), c


def fgsm(model, x, y, eps):
    delta = torch.zeros_like(x, requires_grad=True)
    F.cross_entropy(model(x + delta), y).backward()
    return (x + eps * delta.grad.sign()).detach()


def train(model, x, y, epochs=20, eps=0.1):
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for epoch in range(epochs):
        total, n = 0.0, 0
        for idx in torch.randperm(len(x)).split(64):
            xb, yb = x[idx], y[idx]
            opt.zero_grad()
            adv = fgsm(model, xb, yb, eps)
            loss = 0.5 * F.cross_entropy(model(xb), yb) + 0.5 * F.cross_entropy(model(adv), yb)
            loss.backward()
            opt.step()
            total, n = total + loss.item(), n + 1
        if epoch % 5 == 0 or epoch == epochs - 1:
            print(f"epoch {epoch} robust loss {total / n:.4f}")


x, y = two_moons(384)
model = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 2))
train(model, x, y)
