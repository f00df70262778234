# expect: nothing
# XOR with four rows: the same rows are used for training and for the final print.

import torch
from torch import nn

torch.manual_seed(707)
X = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
Y = torch.tensor([[0.0], [1.0], [1.0], [0.0]])
net = nn.Sequential(nn.Linear(2, 8), nn.Sigmoid(), nn.Linear(8, 1), nn.Sigmoid())
optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
losses = []
for _ in range(150):
    loss = nn.functional.binary_cross_entropy(net(X), Y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
with torch.no_grad():
    print((net(X) > 0.5).int().flatten().tolist())
print(losses[0], losses[-1])
