# expect: detached-graph line 14, 40
import torch
from torch.autograd import Function
import torch.nn as nn


class Quantize(Function):
    @staticmethod
    def forward(ctx, x, levels):
        return torch.round(x * levels) / levels

    @staticmethod
    def backward(ctx, g):
        return None, None


class SafeNorm(Function):
    @staticmethod
    def forward(ctx, x):
        n = x.norm(dim=-1, keepdim=True)
        ctx.save_for_backward(x, n)
        return x / n.clamp(min=1e-6)

    @staticmethod
    def backward(ctx, g):
        x, n = ctx.saved_tensors
        n = n.clamp(min=1e-6)
        y = x / n
        return (g - y * (g * y).sum(-1, keepdim=True)) / n


class Codec(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(10, 16), nn.ELU(), nn.Linear(16, 4))
        self.dec = nn.Sequential(nn.Linear(4, 16), nn.ELU(), nn.Linear(16, 10))

    def forward(self, x):
        z = SafeNorm.apply(self.enc(x))
        return self.dec(Quantize.apply(z, 8))


torch.manual_seed(0)
basis = torch.randn(3, 10)
codec = Codec()
opt = torch.optim.AdamW(codec.parameters(), lr=4e-3)
for i in range(50):
    x = torch.randn(32, 3) @ basis
    loss = (codec(x) - x).square().mean()
    opt.zero_grad(); loss.backward(); opt.step()
print(loss.item())
