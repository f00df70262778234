# expect: retain-graph-misuse line 14
# retain_graph=True copied from an answer on the web.

import torch
import torch.nn.functional as F
from torch import nn


def step(model, opt, batch):
    x, y = batch
    out = model(x)
    loss = F.cross_entropy(out, y)
    opt.zero_grad()
    loss.backward(retain_graph=True)
    opt.step()
    return loss.item()


torch.manual_seed(0)
model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 2))
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for i in range(20):
    x = torch.randn(8, 1, 8, 8)
    value = step(model, opt, (x, (x.mean(dim=(1, 2, 3)) > 0).long()))
print(value)
