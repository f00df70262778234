# expect: nothing

import clew as torch
import clew.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
hist = {"loss": [], "gn": [], "pred": []}
for i in range(100):
    x = torch.randn(32, 4)
    p = net(x)
    loss = nn.functional.mse_loss(p, x[:, :1])
    opt.zero_grad()
    loss.backward()
    gn = torch.nn.utils.clip_grad_norm_(net.parameters(), 5.0)
    opt.step()
    hist["loss"].append(loss.detach())
    hist["gn"].append(gn)
    hist["pred"].append(p.detach().mean())
print(torch.stack(hist["loss"]).mean().item(), torch.stack(hist["gn"]).max().item())
