# expect: bad-learning-rate or scheduler-misuse line 37, 45
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

np.random.seed(0)
torch.manual_seed(8)
t = np.arange(600)
series = np.sin(t / 8.0) + 0.5 * np.sin(t / 23.0) + 0.1 * np.random.randn(600)
W = 12
X = np.stack([series[i : i + W] for i in range(600 - W)])
Y = series[W:]
X, Y = torch.tensor(X, dtype=torch.float32), torch.tensor(Y, dtype=torch.float32)
cut = 450
train_ds = TensorDataset(X[:cut], Y[:cut])
test_ds = TensorDataset(X[cut:], Y[cut:])
loader = DataLoader(train_ds, batch_size=50, shuffle=True)
test_loader = DataLoader(test_ds, batch_size=50)


class TCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv1d(1, 16, 3, dilation=1)
        self.c2 = nn.Conv1d(16, 16, 3, dilation=2)
        self.head = nn.Linear(16, 1)

    def forward(self, x):
        h = torch.relu(self.c1(x.unsqueeze(1)))
        h = torch.relu(self.c2(h))
        return self.head(h.mean(-1)).squeeze(-1)


model = TCN()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
sched = torch.optim.lr_scheduler.ExponentialLR(opt, gamma=0.01)
for epoch in range(8):
    model.train()
    for xb, yb in loader:
        loss = nn.functional.smooth_l1_loss(model(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
    sched.step()
    model.eval()
    with torch.no_grad():
        err = torch.cat([(model(xb).reshape(-1) - yb) for xb, yb in test_loader]).abs().mean()
print(err.item())
