# expect: nothing
# %% data
import math
import torch
import torch.nn as nn
from torch.utils.data import TensorDataset, DataLoader
torch.manual_seed(404)
t = torch.arange(0, 600).float()
series = torch.sin(t / 7) + 0.3 * torch.sin(t / 2.3) + 0.05 * torch.randn(600)
LAG = 12
X = series.unfold(0, LAG, 1)[:-1].clone()
y = series[LAG:].clone()
cut = 450
train_ds = TensorDataset(X[:cut], y[:cut])
test_ds = TensorDataset(X[cut:], y[cut:])
# %% model
class TCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Conv1d(1, 12, 3, padding=2, dilation=2)
        self.b = nn.Conv1d(12, 12, 3)
        self.drop = nn.Dropout(0.1)
        self.out = nn.Linear(12, 1)
    def forward(self, x):
        h = torch.relu(self.a(x[:, None]))
        h = self.drop(torch.relu(self.b(h)))
        return self.out(h[..., -1]).squeeze(-1)
model = TCN()
epochs = 6
train_dl = DataLoader(train_ds, batch_size=50, shuffle=True)
test_dl = DataLoader(test_ds, batch_size=50)
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
sched = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, patience=1, factor=0.5)
# %% train
for epoch in range(epochs):
    model.train()
    for xb, yb in train_dl:
        loss = nn.functional.huber_loss(model(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        val = sum(((model(xb).flatten() - yb) ** 2).sum().item() for xb, yb in test_dl) / len(test_ds)
    sched.step(val)
    print(epoch, round(val, 4))
