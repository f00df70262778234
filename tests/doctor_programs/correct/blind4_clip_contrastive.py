# expect: nothing

import torch
from torch import nn
import torch.nn.functional as F


class Clip(nn.Module):
    def __init__(self):
        super().__init__()
        self.img = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 16))
        self.txt = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 16))
        self.logit_scale = nn.Parameter(torch.tensor(1.0))

    def forward(self, a, b):
        a, b = F.normalize(self.img(a), dim=-1), F.normalize(self.txt(b), dim=-1)
        return self.logit_scale.exp() * a @ b.t()


torch.manual_seed(0)
net = Clip()
opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
Wa = torch.randn(6, 12)
for k in range(80):
    b = torch.randn(32, 6)
    a = b @ Wa
    logits = net(a, b)
    lab = torch.arange(32)
    loss = (F.cross_entropy(logits, lab) + F.cross_entropy(logits.t(), lab)) / 2
    opt.zero_grad()
    loss.backward()
    opt.step()
    if k % 20 == 0:
        print(k, loss.item())
