# expect: batch-mixing line 44
import torch
import torch.nn as nn
import torch.nn.functional as F


class Attention(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.h, self.qkv, self.proj = heads, nn.Linear(d, 3 * d), nn.Linear(d, d)

    def forward(self, x):
        B, N, C = x.shape
        q, k, v = self.qkv(x).view(B, N, 3, self.h, C // self.h).permute(2, 0, 3, 1, 4)
        att = (q @ k.transpose(-2, -1)) * (C // self.h) ** -0.5
        y = att.softmax(-1) @ v
        y = y.transpose(1, 2).reshape(B, N, C)
        return self.proj(y)


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.att = Attention(d, 2)
        self.mlp = nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d))

    def forward(self, x):
        x = x + self.att(self.n1(x))
        return x + self.mlp(self.n2(x))


class ViT(nn.Module):
    def __init__(self, d=16, depth=2):
        super().__init__()
        self.patch = nn.Conv2d(1, d, 4, stride=4)
        self.cls = nn.Parameter(torch.zeros(1, 1, d))
        self.pos = nn.Parameter(0.02 * torch.randn(1, 10, d))
        self.blocks = nn.ModuleList(Block(d) for _ in range(depth))
        self.norm, self.head = nn.LayerNorm(d), nn.Linear(d, 3)

    def forward(self, x):
        x = self.patch(x).flatten(2).reshape(len(x), -1, 16)
        x = F.layer_norm(x.permute(2, 1, 0), (len(x),)).permute(2, 1, 0)
        x = torch.cat([self.cls.expand(len(x), -1, -1), x], 1) + self.pos
        for b in self.blocks:
            x = b(x)
        return self.head(self.norm(x[:, 0]))


torch.manual_seed(80)
model = ViT()
opt = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.05)
for step in range(25):
    y = torch.randint(0, 3, (20,))
    x = 0.3 * torch.randn(20, 1, 12, 12)
    x[torch.arange(20), 0, 4 * y] += 1.0
    loss = F.cross_entropy(model(x), y, label_smoothing=0.05)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
