# expect: param-not-in-optimizer line 22, 59
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(10)


class Expert(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.up, self.down = nn.Linear(d, h), nn.Linear(h, d)

    def forward(self, x):
        return self.down(F.gelu(self.up(x)))


class MoE(nn.Module):
    def __init__(self, d=16, h=32, n=4, k=2):
        super().__init__()
        self.router = nn.Linear(d, n, bias=False)
        self.experts = [Expert(d, h) for _ in range(n)]
        self.shared = Expert(d, h)
        self.k = k
        self.balance = None

    def forward(self, x):
        logits = self.router(x)
        probs = logits.softmax(-1)
        weight, index = probs.topk(self.k, dim=-1)
        weight = weight / weight.sum(-1, keepdim=True)
        out = self.shared(x)
        for e, expert in enumerate(self.experts):
            rows, slot = (index == e).nonzero(as_tuple=True)
            if len(rows):
                out = out.index_add(0, rows, expert(x[rows]) * weight[rows, slot, None])
        load = F.one_hot(index, len(self.experts)).float().mean((0, 1))
        self.balance = len(self.experts) * (load * probs.mean(0)).sum()
        return out


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(8, 16)
        self.moe = MoE()
        self.norm = nn.LayerNorm(16)
        self.head = nn.Linear(16, 3)

    def forward(self, x):
        h = self.embed(x)
        h = self.norm(h + self.moe(h))
        return self.head(h)


x = torch.randn(256, 8)
y = (x[:, :3].cumsum(1) + 0.5 * x[:, 3:6]).argmax(1)
model = Model()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
for step in range(40):
    i = torch.randint(0, 256, (48,))
    loss = F.cross_entropy(model(x[i]), y[i])
    loss = loss + 0.01 * model.moe.balance
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
