# expect: detached-graph line 32
"""Graph classification: attention pooling by segments, all graphs in one flat batch."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(606)


def segment_softmax(score, seg, n):
    top = torch.full((n,), -1e9).scatter_reduce(0, seg, score.detach(), "amax")
    e = torch.exp(score - top[seg])
    total = torch.zeros(n).index_add(0, seg, e)
    return e / (total[seg] + 1e-12)


class GIN(nn.Module):
    def __init__(self, d=16):
        super().__init__()
        self.inp = nn.Linear(4, d)
        self.mlps = nn.ModuleList(nn.Sequential(nn.Linear(d, d), nn.ReLU(), nn.Linear(d, d)) for _ in range(2))
        self.eps = nn.Parameter(torch.zeros(2))
        self.gate = nn.Linear(d, 1)
        self.out = nn.Linear(d, 2)

    def forward(self, x, edges, seg, n):
        h = torch.relu(self.inp(x))
        for k, mlp in enumerate(self.mlps):
            agg = torch.zeros_like(h).index_add(0, edges[1], h[edges[0]])
            h = torch.relu(mlp((1 + self.eps[k]) * h + agg / 3))
        a = segment_softmax(self.gate(h.detach()).squeeze(-1), seg, n)
        pooled = torch.zeros(n, h.shape[1]).index_add(0, seg, a[:, None] * h.clone().data)
        return self.out(pooled)


def graphs(n):
    xs, es, seg, ys, off = [], [], [], [], 0
    for g in range(n):
        k = int(torch.randint(4, 8, ()))
        y = int(torch.randint(0, 2, ()))
        x = torch.randn(k, 4)
        x[:, 0] += 1.5 * (2 * y - 1)
        ring = torch.arange(k)
        es.append(torch.stack([ring, (ring + 1) % k]) + off)
        xs.append(x); seg += [g] * k; ys.append(y); off += k
    return torch.cat(xs), torch.cat(es, 1), torch.tensor(seg), torch.tensor(ys)


model = GIN()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for it in range(25):
    x, e, seg, y = graphs(16)
    loss = F.cross_entropy(model(x, e, seg, 16), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
