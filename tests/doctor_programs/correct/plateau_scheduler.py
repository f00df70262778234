# expect: nothing
# ReduceLROnPlateau stepped once per epoch with the validation loss.

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(247)
x = torch.randn(200, 5)
y = torch.tanh(x[:, :1] - x[:, 1:2]) + 0.05 * torch.randn(200, 1)
train_set, val_set = random_split(TensorDataset(x, y), [160, 40])
train_loader = DataLoader(train_set, batch_size=32, shuffle=True)
val_loader = DataLoader(val_set, batch_size=40)
model = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=2)


def validate():
    model.eval()
    with torch.no_grad():
        total = sum(nn.functional.mse_loss(model(xb), yb).item() for xb, yb in val_loader)
    model.train()
    return total / len(val_loader)


scores = [validate()]
for _ in range(12):
    for xb, yb in train_loader:
        loss = nn.functional.mse_loss(model(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    scores.append(validate())
    scheduler.step(scores[-1])
print("validation", scores[0], scores[-1])
