# expect: nothing
# Weight averaging through state_dict with clones; evaluation with the averaged weights.

import copy

import clew as torch
from clew import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(5, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.05)
avg = {k: v.clone() for k, v in net.state_dict().items()}
for i in range(40):
    x = torch.randn(24, 5)
    loss = nn.functional.mse_loss(net(x), x[:, :1] - x[:, 1:2])
    opt.zero_grad()
    loss.backward()
    opt.step()
    for k, v in net.state_dict().items():
        if v.dtype.is_floating_point:
            avg[k].lerp_(v, 0.1)
best = copy.deepcopy(net)
best.load_state_dict(avg)
best.eval()
with torch.no_grad():
    x = torch.randn(64, 5)
    print(nn.functional.mse_loss(best(x), x[:, :1] - x[:, 1:2]).item())
