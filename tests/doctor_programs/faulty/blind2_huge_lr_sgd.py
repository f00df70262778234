# expect: bad-learning-rate line 8

import clew as torch
import clew.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 3))
optimizer = torch.optim.Adam(net.parameters(), lr=3.0)
X = torch.randn(256, 8)
Y = X[:, :3].argmax(1)
for epoch in range(6):
    for xb, yb in zip(X.split(32), Y.split(32)):
        loss = nn.functional.cross_entropy(net(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
