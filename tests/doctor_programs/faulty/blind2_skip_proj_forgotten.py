# expect: param-unused line 13, 19

import torch
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.attn = nn.MultiheadAttention(d, 2, batch_first=True)
        self.n1 = nn.LayerNorm(d)
        self.n2 = nn.LayerNorm(d)
        self.ff = nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d))

    def forward(self, x):
        h = self.n1(x)
        x = x + self.attn(h, h, h)[0]
        x = x + self.ff(self.n1(x))
        return x


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(20, 16)
        self.block = Block(16)
        self.cls = nn.Linear(16, 2)

    def forward(self, t):
        return self.cls(self.block(self.emb(t)).mean(1))


torch.manual_seed(0)
m = Model()
opt = torch.optim.AdamW(m.parameters(), lr=3e-3)
for s in range(25):
    t = torch.randint(0, 20, (32, 6))
    y = (t[:, 0] > 9).long()
    loss = F.cross_entropy(m(t), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
