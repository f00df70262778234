# expect: nothing
# A graph network over one graph: nodes mix through the adjacency, only some are labelled.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(263)
n = 40
group = torch.arange(n) // 20
adjacency = torch.rand(n, n) < torch.where(group.unsqueeze(0) == group.unsqueeze(1), 0.3, 0.05)
adjacency = ((adjacency | adjacency.t()).float() + torch.eye(n)).clamp(max=1)
scale = adjacency.sum(1).rsqrt()
a_hat = scale.unsqueeze(1) * adjacency * scale.unsqueeze(0)
features = torch.randn(n, 6) + 0.3 * group.unsqueeze(1)
train_mask = torch.zeros(n, dtype=torch.bool)
train_mask[::4] = True


class GCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.w1, self.w2 = nn.Linear(6, 16), nn.Linear(16, 2)

    def forward(self, x):
        return a_hat @ self.w2(F.relu(a_hat @ self.w1(x)))


model = GCN()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, weight_decay=5e-4)
losses = []
for _ in range(50):
    logits = model(features)
    loss = F.cross_entropy(logits[train_mask], group[train_mask])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
