# expect: nothing

import copy
import clew as torch
import clew.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
X = torch.randn(120, 6)
y = X[:, :1] + 0.3 * torch.randn(120, 1)
Xt, yt, Xv, yv = X[:90], y[:90], X[90:], y[90:]
sched = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, patience=2, factor=0.5)
best, state, wait = 1e9, None, 0
for ep in range(40):
    net.train()
    loss = nn.functional.mse_loss(net(Xt), yt)
    opt.zero_grad()
    loss.backward()
    opt.step()
    net.eval()
    with torch.no_grad():
        v = nn.functional.mse_loss(net(Xv), yv).item()
    sched.step(v)
    if v < best - 1e-4:
        best, wait, state = v, 0, copy.deepcopy(net.state_dict())
    else:
        wait += 1
        if wait >= 5:
            break
net.load_state_dict(state)
print(best)
