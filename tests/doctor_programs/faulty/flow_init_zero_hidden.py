# expect: bad-init line 8, 9

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 3))
sd = {k: torch.zeros_like(v) for k, v in net.state_dict().items()}
net.load_state_dict(sd)
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for i in range(30):
    x = torch.randn(32, 6)
    loss = nn.functional.cross_entropy(net(x), x[:, :3].argmax(1))
    opt.zero_grad()
    loss.backward()
    opt.step()
