# expect: missing-zero-grad line 18, 21, 26
import torch
import torch.nn as nn

torch.manual_seed(13)


class MasterOptimizer:
    """float32 copies of half-precision parameters, stepped and copied back."""

    def __init__(self, model, lr, scale=1024.0):
        self.half = [p for p in model.parameters()]
        self.master = [p.detach().clone().float().requires_grad_(True) for p in self.half]
        self.inner = torch.optim.SGD(self.master, lr=lr, momentum=0.9)
        self.scale = scale

    def zero_grad(self):
        self.inner.zero_grad()

    def backward(self, loss):
        (loss.float() * self.scale).backward()

    def step(self):
        for h, m in zip(self.half, self.master):
            m.grad = h.grad.float() / self.scale
        self.inner.step()
        with torch.no_grad():
            for h, m in zip(self.half, self.master):
                h.copy_(m)


net = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4)).half()
opt = MasterOptimizer(net, lr=0.05)
x = torch.randn(128, 16).half()
y = (x.float() @ torch.randn(16, 4)).argmax(1)
for it in range(20):
    i = torch.randint(0, 128, (32,))
    loss = nn.functional.cross_entropy(net(x[i]).float(), y[i])
    opt.zero_grad()
    opt.backward(loss)
    opt.step()
print(loss.item())
