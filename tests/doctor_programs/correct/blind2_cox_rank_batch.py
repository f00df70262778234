# expect: nothing

import clew as torch
import clew.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), lr=2e-3)


def cox(risk, time, event):
    order = torch.argsort(time, descending=True)
    r, e = risk[order], event[order]
    return -((r - torch.logcumsumexp(r, 0)) * e).sum() / e.sum()


for i in range(30):
    x = torch.randn(48, 6)
    t = torch.exp(-x[:, 0] + 0.1 * torch.randn(48))
    e = (torch.rand(48) > 0.3).float()
    loss = cox(net(x).squeeze(-1), t, e)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
