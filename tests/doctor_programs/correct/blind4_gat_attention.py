# expect: nothing

import clew as torch
import clew.nn as nn
import clew.nn.functional as F


class GAT(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.W = nn.Linear(d, h, bias=False)
        self.a1 = nn.Linear(h, 1, bias=False)
        self.a2 = nn.Linear(h, 1, bias=False)

    def forward(self, x, adj):
        h = self.W(x)
        e = F.leaky_relu(self.a1(h) + self.a2(h).t(), 0.2)
        att = torch.softmax(e.masked_fill(adj == 0, -1e9), dim=1)
        return att @ h


torch.manual_seed(0)
N = 24
adj = ((torch.rand(N, N) < 0.2).float() + torch.eye(N) > 0).float()
x = torch.randn(N, 8)
y = (adj @ x[:, :3]).argmax(1)
g1, g2 = GAT(8, 16), GAT(16, 3)
opt = torch.optim.Adam(list(g1.parameters()) + list(g2.parameters()), lr=5e-3)
for ep in range(60):
    opt.zero_grad()
    loss = F.cross_entropy(g2(F.elu(g1(x, adj)), adj), y)
    loss.backward()
    opt.step()
    if ep % 20 == 0:
        print(ep, loss.item())
