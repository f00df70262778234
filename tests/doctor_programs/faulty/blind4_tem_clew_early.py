# expect: train-eval-mode line 22

import clew as torch
import clew.nn as nn
import copy

torch.manual_seed(1)
X = torch.randn(240, 8)
y = X[:, :1].sin() + 0.1 * torch.randn(240, 1)
tr, va = (X[:200], y[:200]), (X[200:], y[200:])
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 1))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
best, best_state, bad = 1e9, None, 0
for epoch in range(15):
    net.train()
    for i in range(0, 200, 25):
        opt.zero_grad()
        loss = nn.functional.mse_loss(net(tr[0][i : i + 25]), tr[1][i : i + 25])
        loss.backward()
        opt.step()
    with torch.no_grad():
        val = nn.functional.mse_loss(net(va[0]), va[1]).item()
    print(epoch, val)
    if val < best:
        best, best_state, bad = val, copy.deepcopy(net.state_dict()), 0
    else:
        bad += 1
        if bad > 5:
            break
net.load_state_dict(best_state)
