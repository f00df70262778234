# expect: nothing

import torch
import torch.nn as nn
import torch.nn.functional as F


class MoE(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(8, 3)
        self.experts = nn.ModuleList(nn.Linear(8, 8) for _ in range(3))

    def forward(self, x):
        p = F.softmax(self.gate(x), -1)
        w, k = p.max(-1)
        out = torch.zeros_like(x)
        for e, ex in enumerate(self.experts):
            m = k == e
            if m.any():
                out[m] = ex(x[m]) * w[m].unsqueeze(1)
        frac = F.one_hot(k, 3).float().mean(0)
        return out, (frac * p.mean(0)).sum() * 3


torch.manual_seed(0)
moe, head = MoE(), nn.Linear(8, 2)
opt = torch.optim.Adam([*moe.parameters(), *head.parameters()], 1e-3)
for i in range(40):
    x = torch.randn(64, 8)
    y = (x[:, 0] * x[:, 1] > 0).long()
    h, aux = moe(x)
    loss = F.cross_entropy(head(h), y) + 0.01 * aux
    opt.zero_grad()
    loss.backward()
    opt.step()
