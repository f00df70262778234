# expect: nothing

import numpy as np
import torch
from torch import nn

rng = np.random.default_rng(0)
torch.manual_seed(0)
X = rng.normal(3.0, 2.0, size=(400, 6)).astype(np.float32)
y = (X[:, 0] * X[:, 1] > 9).astype(np.int64)
tr, te = np.split(rng.permutation(400), [320])
mu, sd = X[tr].mean(0), X[tr].std(0)
X = (X - mu) / sd
Xt, yt = torch.from_numpy(X[tr]), torch.from_numpy(y[tr])
Xe, ye = torch.from_numpy(X[te]), torch.from_numpy(y[te])
net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
hist = []
for ep in range(15):
    for i in torch.randperm(320).split(40):
        opt.zero_grad()
        out = net(Xt[i])
        loss = nn.functional.cross_entropy(out, yt[i])
        loss.backward()
        opt.step()
        hist.append(loss.detach().numpy().copy())
    with torch.no_grad():
        pred = net(Xe).numpy().argmax(1)
    print(ep, np.mean(hist[-8:]), (pred == ye.numpy()).mean())
