# expect: nothing
# K-fold cross-validation: a row is held out in one fold and trained on in another, with a new
# model each.

import numpy as np
import torch
from torch import nn

rng = np.random.RandomState(0)
X = rng.randn(60, 4).astype("f4")
Y = X[:, :1] - X[:, 1:2]
scores = []
folds = np.array_split(rng.permutation(60), 3)
for k in range(3):
    te = folds[k]
    tr = np.concatenate([folds[j] for j in range(3) if j != k])
    mu, sd = X[tr].mean(0), X[tr].std(0)
    xt, xv = torch.from_numpy((X[tr] - mu) / sd), torch.from_numpy((X[te] - mu) / sd)
    torch.manual_seed(k)
    net = nn.Sequential(nn.Linear(4, 12), nn.ReLU(), nn.Linear(12, 1))
    opt = torch.optim.Adam(net.parameters(), 1e-2)
    for _ in range(25):
        net.train()
        opt.zero_grad()
        nn.functional.mse_loss(net(xt), torch.from_numpy(Y[tr])).backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        scores.append(nn.functional.mse_loss(net(xv), torch.from_numpy(Y[te])).item())
print(np.mean(scores))
