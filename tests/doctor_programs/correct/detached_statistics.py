# expect: nothing
# Detached tensors everywhere, for logging only.

import clew as torch
from clew import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(5, 20), nn.Tanh(), nn.Linear(20, 1))
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
log = {"loss": [], "pred": [], "grad": []}
for step in range(30):
    x = torch.randn(16, 5)
    pred = net(x)
    loss = nn.functional.mse_loss(pred, x[:, :1] ** 2)
    opt.zero_grad()
    loss.backward()
    log["loss"].append(loss.detach())
    log["pred"].append(pred.detach().numpy().mean())
    log["grad"].append({n: p.grad.detach().clone() for n, p in net.named_parameters()})
    opt.step()
print(torch.stack(log["loss"]).mean().item(), len(log["grad"]))
