# expect: nothing

import torch
from torch import nn


class GCN(nn.Module):
    def __init__(self, d, h, c):
        super().__init__()
        self.l1, self.l2 = nn.Linear(d, h), nn.Linear(h, c)

    def forward(self, A, X):
        return self.l2(A @ torch.relu(self.l1(A @ X)))


torch.manual_seed(0)
n = 40
lab = torch.arange(n) % 2
P = torch.where(lab[:, None] == lab[None], 0.3, 0.05)
A = (torch.rand(n, n) < P).float().triu(1)
A = A + A.t() + torch.eye(n)
d = A.sum(1).rsqrt()
A = d[:, None] * A * d[None]
X = torch.randn(n, 6) + lab[:, None] * 0.5
mask = torch.zeros(n, dtype=torch.bool)
mask[:20] = True
net = GCN(6, 16, 2)
opt = torch.optim.Adam(net.parameters(), lr=0.01, weight_decay=5e-4)
for ep in range(80):
    out = net(A, X)
    loss = nn.functional.cross_entropy(out[mask], lab[mask])
    opt.zero_grad()
    loss.backward()
    opt.step()
with torch.no_grad():
    print((net(A, X).argmax(1)[~mask] == lab[~mask]).float().mean())
