# expect: data-leak line 13
# The validation slice starts before the training slice ends.

import torch
from torch import nn

torch.manual_seed(150)
data = torch.randn(500, 8)
target = (data[:, :4].sum(dim=1, keepdim=True) > 0).float()

n_train = 420
train_x, train_y = data[:n_train], target[:n_train]
val_x, val_y = data[350:], target[350:]

model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
loss_fn = nn.BCEWithLogitsLoss()
for epoch in range(6):
    model.train()
    for xb, yb in zip(train_x.split(70), train_y.split(70)):
        optimizer.zero_grad()
        loss = loss_fn(model(xb), yb)
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        val_loss = loss_fn(model(val_x), val_y).item()
    print(f"epoch {epoch} train {loss.item():.4f} val {val_loss:.4f}")
