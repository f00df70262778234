# expect: nothing
# Hard Gumbel-softmax: an argmax forward with a soft gradient.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(288)
router = nn.Linear(4, 3)
experts = nn.ModuleList(nn.Linear(4, 1) for _ in range(3))
optimizer = torch.optim.Adam([*router.parameters(), *experts.parameters()], lr=2e-2)
losses = []
for step in range(80):
    x = torch.randn(64, 4)
    y = torch.where(x[:, :1] > 0, x[:, 1:2], -x[:, 2:3])
    choice = F.gumbel_softmax(router(x), tau=max(0.5, 1.0 - step / 100), hard=True)
    outputs = torch.cat([expert(x) for expert in experts], dim=1)
    loss = ((choice * outputs).sum(dim=1, keepdim=True) - y).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(sum(losses[:8]) / 8, sum(losses[-8:]) / 8)
