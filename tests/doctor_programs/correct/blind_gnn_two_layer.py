# expect: nothing
# A graph network: nodes mix through the adjacency, loss on the training mask only.

import torch
import torch.nn.functional as F
from torch import nn


class GCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(6, 16, bias=False), nn.Linear(16, 3, bias=False)

    def forward(self, x, A):
        return F.log_softmax(
            A @ self.b(F.dropout(F.relu(A @ self.a(x)), 0.3, self.training)), dim=1
        )


torch.manual_seed(0)
n = 40
E = (torch.rand(n, n) < 0.1).float()
E = ((E + E.T + torch.eye(n)) > 0).float()
d = E.sum(1).rsqrt()
A = d[:, None] * E * d
x, y = torch.randn(n, 6), torch.randint(0, 3, (n,))
tr = torch.rand(n) < 0.6
net = GCN()
opt = torch.optim.Adam(net.parameters(), 1e-2, weight_decay=5e-4)
for ep in range(25):
    net.train()
    opt.zero_grad()
    l = F.nll_loss(net(x, A)[tr], y[tr])
    l.backward()
    opt.step()
    net.eval()
    with torch.no_grad():
        acc = (net(x, A).argmax(1)[~tr] == y[~tr]).float().mean().item()
print(acc)
