# expect: detached-graph line 15, 16, 17
# The functional forward uses tensors of state_dict(), which are detached from the parameters.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(902)
net = nn.ModuleDict({"a": nn.Linear(5, 16), "b": nn.Linear(16, 2)})
scale = nn.Parameter(torch.ones(1))
optimizer = torch.optim.Adam([*net.parameters(), scale], lr=1e-2)


def forward(x):
    weights = net.state_dict()
    h = torch.relu(F.linear(x, weights["a.weight"], weights["a.bias"]))
    return scale * F.linear(h, weights["b.weight"], weights["b.bias"])


x = torch.randn(80, 5)
y = (x[:, 0] > x[:, 1]).long()
for epoch in range(12):
    loss = F.cross_entropy(forward(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 4 == 0:
        print(epoch, loss.item())
