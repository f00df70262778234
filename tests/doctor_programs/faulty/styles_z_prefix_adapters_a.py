# expect: missing-requires-grad line 55, 57, 58
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(10)


class Block(nn.Module):
    def __init__(self, d=32, heads=4):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.attn = nn.MultiheadAttention(d, heads, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))

    def forward(self, x):
        h = self.ln1(x)
        x = x + self.attn(h, h, h, need_weights=False)[0]
        return x + self.mlp(self.ln2(x))


class Backbone(nn.Module):
    def __init__(self, vocab=30, d=32, depth=2):
        super().__init__()
        self.embed = nn.Embedding(vocab, d)
        self.blocks = nn.ModuleList(Block(d) for _ in range(depth))

    def forward(self, h, adapters=None):
        for i, block in enumerate(self.blocks):
            h = block(h)
            if adapters is not None:
                h = h + adapters[i](h)
        return h


class Adapter(nn.Module):
    def __init__(self, d=32, r=4):
        super().__init__()
        self.down, self.up = nn.Linear(d, r), nn.Linear(r, d)
        nn.init.zeros_(self.up.weight)
        nn.init.zeros_(self.up.bias)

    def forward(self, x):
        return self.up(F.relu(self.down(x)))


class Tuned(nn.Module):
    def __init__(self, backbone, n_prefix=5, classes=3):
        super().__init__()
        self.backbone = backbone
        self.prefix = nn.Parameter(0.02 * torch.randn(n_prefix, 32))
        self.adapters = nn.ModuleList(Adapter() for _ in backbone.blocks)
        self.classify = nn.Linear(32, classes)
        for p in self.parameters():
            p.requires_grad = False
        for n, p in self.named_parameters():
            if n.startswith(("adapter.", "classify")):
                p.requires_grad = True

    def forward(self, ids):
        h = self.backbone.embed(ids)
        h = torch.cat([self.prefix.expand(len(ids), -1, -1), h], dim=1)
        return self.classify(self.backbone(h, self.adapters)[:, 0])


model = Tuned(Backbone())
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
ids = torch.randint(0, 30, (128, 7))
y = (ids < 10).sum(1).clamp(max=4) // 2
for epoch in range(6):
    for i in range(0, 128, 32):
        loss = F.cross_entropy(model(ids[i:i + 32]), y[i:i + 32])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print(loss.item())
