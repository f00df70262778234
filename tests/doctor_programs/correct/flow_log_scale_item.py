# expect: nothing

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(4, 3)
scale = nn.Parameter(torch.tensor(1.0))
spare = nn.Parameter(torch.tensor(0.5))
opt = torch.optim.Adam([*net.parameters(), scale], lr=1e-2)
for i in range(40):
    x = torch.randn(16, 4)
    loss = nn.functional.cross_entropy(net(x) * scale.exp(), x[:, :3].argmax(1))
    opt.zero_grad()
    loss.backward()
    opt.step()
    history = f"{scale.item():.3f} {spare.item():.3f}"
