# expect: data-leak line 13, 15

import clew as torch
import clew.nn as nn
from clew.utils.data import TensorDataset, DataLoader

torch.manual_seed(0)
N = 300
feats = torch.randn(N, 6)
target = feats[:, :1] ** 2 + feats[:, 1:2]
n_train = int(0.8 * N)
train_ds = TensorDataset(feats[:n_train], target[:n_train])
val_ds = TensorDataset(feats[N // 2 :], target[N // 2 :])
train_dl = DataLoader(train_ds, batch_size=24, shuffle=True)
val_dl = DataLoader(val_ds, batch_size=50)
model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(6):
    model.train()
    for xb, yb in train_dl:
        loss = nn.functional.mse_loss(model(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        v = sum(nn.functional.mse_loss(model(xb), yb).item() for xb, yb in val_dl) / len(val_dl)
    print(epoch, v)
