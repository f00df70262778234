# expect: retain-graph-misuse line 16

import torch
import torch.nn as nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 4))
opt = torch.optim.SGD(model.parameters(), lr=0.05)
loss_fn = nn.CrossEntropyLoss()
X = torch.randn(128, 12)
Y = X[:, :4].argmax(1)
for epoch in range(5):
    for xb, yb in zip(X.split(32), Y.split(32)):
        opt.zero_grad()
        loss = loss_fn(model(xb), yb)
        loss.backward(retain_graph=True)
        opt.step()
    print(loss.item())
