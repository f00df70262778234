# expect: missing-zero-grad line 18, 28, 44, 45
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(12)


class MasterOptimizer:
    """Half-precision model, float32 copies that are updated."""

    def __init__(self, model, lr, scale=512.0):
        self.pairs = [(p, p.detach().float().clone().requires_grad_(True)) for p in model.parameters()]
        self.inner = torch.optim.Adam([m for _, m in self.pairs], lr=lr)
        self.scale = scale

    def backward(self, loss):
        (loss * self.scale).backward()

    def zero_grad(self):
        for p, _ in self.pairs:
            p.grad = None

    def step(self):
        for p, m in self.pairs:
            m.grad = p.grad.float() / self.scale
        nn.utils.clip_grad_norm_([m for _, m in self.pairs], 1.0)
        self.inner.step()
        with torch.no_grad():
            for p, m in self.pairs:
                p.copy_(m)


model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 4)).to(torch.bfloat16)
opt = MasterOptimizer(model, lr=3e-3)
x = torch.randn(256, 16)
y = (x[:, :4] + 0.3 * x[:, 4:8]).argmax(1)
for epoch in range(5):
    order = torch.randperm(256)
    for i in range(0, 256, 64):
        b = order[i:i + 64]
        out = model(x[b].to(torch.bfloat16))
        loss = F.cross_entropy(out.float(), y[b])
        opt.backward(loss)
        opt.step()
    print(epoch, loss.item())
