# expect: nothing
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class Regressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(6, 16)
        self.outer = nn.Linear(16, 1)

    def forward(self, x, y):
        h = torch.tanh(self.inner(x))
        h = (h - h.mean(1, keepdim=True)) / (h.std(1, keepdim=True) + 1e-5)
        return F.mse_loss(self.outer(h).squeeze(1), y)


torch.manual_seed(3)
x = torch.randn(256, 6)
loader = DataLoader(TensorDataset(x, x.sum(1)), batch_size=32, shuffle=True)
model = Regressor()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(3):
    for xb, yb in loader:
        loss = model(xb, yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
