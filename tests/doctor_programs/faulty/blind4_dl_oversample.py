# expect: data-leak line 17, 19

import numpy as np
import torch
from torch import nn

rng = np.random.default_rng(0)
torch.manual_seed(0)
X = rng.normal(size=(300, 5)).astype("float32")
y = (X[:, 0] > 1.0).astype("int64")
# balance the classes by repeating the rare one
rare = np.where(y == 1)[0]
X = np.concatenate([X, X[rare], X[rare], X[rare]])
y = np.concatenate([y, y[rare], y[rare], y[rare]])
order = rng.permutation(len(X))
cut = int(0.8 * len(X))
tr, te = order[:cut], order[cut:]
Xtr, ytr = torch.from_numpy(X[tr]), torch.from_numpy(y[tr])
Xte, yte = torch.from_numpy(X[te]), torch.from_numpy(y[te])
net = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 2))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for ep in range(20):
    opt.zero_grad()
    loss = nn.functional.cross_entropy(net(Xtr), ytr)
    loss.backward()
    opt.step()
net.eval()
with torch.no_grad():
    print("test acc", (net(Xte).argmax(1) == yte).float().mean().item())
