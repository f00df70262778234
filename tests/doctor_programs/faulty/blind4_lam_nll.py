# expect: loss-activation-mismatch line 8, 16

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 3))
X = torch.randn(192, 6)
loader = DataLoader(TensorDataset(X, X[:, :3].argmax(1)), batch_size=24, shuffle=True)
loss_fn = nn.NLLLoss()
opt = torch.optim.SGD(model.parameters(), lr=0.01)
for epoch in range(6):
    for xb, yb in loader:
        opt.zero_grad()
        loss = loss_fn(model(xb), yb)
        loss.backward()
        opt.step()
    print(epoch, loss.item())
