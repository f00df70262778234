# expect: nothing
# Gradient checkpointing through residual blocks with warm-up by LambdaLR per step.

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(5, 16)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(16), nn.Linear(16, 16), nn.GELU()) for _ in range(4)
        )
        self.out = nn.Linear(16, 1)

    def forward(self, x):
        h = self.inp(x)
        for b in self.blocks:
            h = h + checkpoint(b, h, use_reentrant=False)
        return self.out(h)


torch.manual_seed(0)
net = Net()
opt = torch.optim.AdamW(net.parameters(), lr=3e-3)
total = 30
sched = torch.optim.lr_scheduler.LambdaLR(
    opt, lambda s: min(1.0, (s + 1) / 5) * max(0.0, 1 - s / total)
)
x = torch.randn(48, 5)
y = x.norm(dim=1, keepdim=True)
for s in range(total):
    l = nn.functional.mse_loss(net(x), y)
    opt.zero_grad()
    l.backward()
    opt.step()
    sched.step()
print(l.item())
