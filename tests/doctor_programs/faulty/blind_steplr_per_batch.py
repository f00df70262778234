# expect: scheduler-misuse line 22
# StepLR meant in epochs is stepped after every batch.

import torch
from torch import nn
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(160, 6)
loader = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=8, shuffle=True)
model = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
scheduler = StepLR(optimizer, step_size=5, gamma=0.3)
num_epochs = 10
for epoch in range(num_epochs):
    for data, target in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(data), target)
        loss.backward()
        optimizer.step()
        scheduler.step()
    print(f"epoch {epoch} lr {scheduler.get_last_lr()[0]:.2e} loss {loss.item():.4f}")
