# expect: data-leak line 13, 15
# The fold's boundaries are off, so part of the test rows were trained on.

import numpy as np
import torch
from torch import nn

rng = np.random.default_rng(0)
features = rng.normal(size=(200, 5)).astype(np.float32)
labels = (features[:, 0] - features[:, 3] > 0).astype(np.int64)
order = rng.permutation(200)
n_train = int(200 * 0.8)
train_idx, test_idx = order[:n_train], order[n_train - 30 :]
xtr, ytr = torch.from_numpy(features[train_idx]), torch.from_numpy(labels[train_idx])
xte, yte = torch.from_numpy(features[test_idx]), torch.from_numpy(labels[test_idx])
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 2))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(20):
    model.train()
    opt.zero_grad()
    nn.functional.cross_entropy(model(xtr), ytr).backward()
    opt.step()
model.eval()
with torch.no_grad():
    print("test accuracy", (model(xte).argmax(1) == yte).float().mean().item())
