# expect: train-eval-mode line 19, 26
# validate() switches to eval mode; train() was called once, before the loop.

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
net = nn.Sequential(
    nn.Linear(8, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.3), nn.Linear(32, 3)
)
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
x, xv = torch.randn(256, 8), torch.randn(64, 8)
y, yv = x[:, :3].argmax(1), xv[:, :3].argmax(1)


@torch.no_grad()
def validate():
    net.eval()
    return (net(xv).argmax(1) == yv).float().mean().item()


net.train()
for epoch in range(5):
    for xb, yb in zip(x.split(32), y.split(32)):
        loss = F.cross_entropy(net(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, validate())
