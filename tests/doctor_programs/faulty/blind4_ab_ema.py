# expect: aliased-buffer line 10

import torch
from torch import nn


class EMA:
    def __init__(self, model, decay=0.99):
        self.decay = decay
        self.shadow = {k: v.data for k, v in model.named_parameters()}

    def update(self, model):
        for k, v in model.named_parameters():
            self.shadow[k].mul_(self.decay).add_(v.data, alpha=1 - self.decay)


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 2))
ema = EMA(net)
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for i in range(80):
    x = torch.randn(32, 6)
    loss = nn.functional.cross_entropy(net(x), (x[:, 0] > 0).long())
    opt.zero_grad()
    loss.backward()
    opt.step()
    ema.update(net)
print(loss.item())
