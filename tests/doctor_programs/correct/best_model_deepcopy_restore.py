# expect: nothing
# Best weights are kept by deepcopy and restored.

import copy

import clew as torch
from clew import nn

torch.manual_seed(0)
x, xv = torch.randn(40, 8), torch.randn(40, 8)
y, yv = x[:, :1] + 0.5 * torch.randn(40, 1), xv[:, :1] + 0.5 * torch.randn(40, 1)
net = nn.Sequential(nn.Linear(8, 40), nn.ReLU(), nn.Linear(40, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
best, state, patience = float("inf"), None, 0
for epoch in range(80):
    loss = nn.functional.mse_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        v = nn.functional.mse_loss(net(xv), yv).item()
    if v < best:
        best, state, patience = v, copy.deepcopy(net.state_dict()), 0
    else:
        patience += 1
        if patience == 8:
            break
net.load_state_dict(state)
print(epoch, best)
