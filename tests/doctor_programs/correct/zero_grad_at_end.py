# expect: nothing
# zero_grad() is the last statement of the iteration.

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def train(model, loader, optimizer, criterion, epochs):
    per_epoch = []
    for _ in range(epochs):
        running = 0.0
        for x, y in loader:
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            running += loss.item()
            optimizer.zero_grad()
        per_epoch.append(running / len(loader))
    return per_epoch


torch.manual_seed(215)
x = torch.randn(128, 7)
y = (x[:, :2].sum(1) > 0).float().unsqueeze(1)
loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
model = nn.Sequential(nn.Linear(7, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
result = train(model, loader, optimizer, nn.BCEWithLogitsLoss(), epochs=6)
print("epochs", result[0], result[-1])
