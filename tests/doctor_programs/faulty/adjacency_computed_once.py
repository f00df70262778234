# expect: backward-twice line 13, 30
# The learned adjacency of the graph network is normalised in __init__, outside the loop.

import torch
import torch.nn.functional as F
from torch import nn


class GraphNet(nn.Module):
    def __init__(self, nodes, features, hidden, classes):
        super().__init__()
        self.edge_logits = nn.Parameter(torch.randn(nodes, nodes) * 0.1)
        self.adjacency = torch.softmax(self.edge_logits, dim=1)
        self.lin1 = nn.Linear(features, hidden)
        self.lin2 = nn.Linear(hidden, classes)

    def forward(self, x):
        h = F.relu(self.adjacency @ self.lin1(x))
        return self.adjacency @ self.lin2(h)


torch.manual_seed(83)
x = torch.randn(18, 5)
y = (x[:, 0] > 0).long()
net = GraphNet(18, 5, 12, 2)
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(10):
    loss = F.cross_entropy(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
