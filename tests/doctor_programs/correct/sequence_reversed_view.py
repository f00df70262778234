# expect: nothing
# Heads are split and merged with permute: nothing mixes.

import torch
from torch import nn


class Mha(nn.Module):
    def __init__(self, d=12, h=3):
        super().__init__()
        self.h, self.qkv, self.o = h, nn.Linear(d, 3 * d), nn.Linear(d, d)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.h, d // self.h).permute(2, 0, 3, 1, 4)
        w = (q @ k.transpose(-1, -2) / (d // self.h) ** 0.5).softmax(-1)
        return self.o((w @ v).transpose(1, 2).reshape(b, t, d))


torch.manual_seed(0)
mha, head = Mha(), nn.Linear(12, 2)
opt = torch.optim.AdamW([*mha.parameters(), *head.parameters()], lr=2e-3)
for i in range(20):
    x = torch.randn(10, 6, 12)
    loss = nn.functional.cross_entropy(head(mha(x).mean(1)), (x[:, 0, 0] > 0).long())
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
