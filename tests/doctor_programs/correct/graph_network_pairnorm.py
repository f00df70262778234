# expect: nothing
# Node features are centred over the graph; dim 0 are nodes.

import torch
from torch import nn


class Gcn(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(5, 16), nn.Linear(16, 2)

    def forward(self, x, adj):
        h = adj @ self.a(x)
        h = h - h.mean(0, keepdim=True)
        return adj @ self.b(torch.relu(h))


torch.manual_seed(0)
x = torch.randn(24, 5)
adj = (torch.rand(24, 24) < 0.2).float() + torch.eye(24)
adj = adj / adj.sum(1, keepdim=True)
y = (x[:, 0] > 0).long()
gcn = Gcn()
opt = torch.optim.Adam(gcn.parameters(), lr=1e-2)
for epoch in range(30):
    loss = nn.functional.cross_entropy(gcn(x, adj)[:16], y[:16])
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
