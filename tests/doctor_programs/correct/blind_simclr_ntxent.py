# expect: nothing
# SimCLR: the similarity matrix over the batch is the point of the loss.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
enc = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 8))
opt = torch.optim.AdamW(enc.parameters(), lr=2e-3)
for it in range(20):
    x = torch.randn(24, 8)
    z = F.normalize(
        torch.cat([enc(x + 0.1 * torch.randn_like(x)), enc(x + 0.1 * torch.randn_like(x))]), dim=1
    )
    sim = z @ z.T / 0.5
    sim = sim.masked_fill(torch.eye(48, dtype=torch.bool), float("-inf"))
    lab = torch.cat([torch.arange(24, 48), torch.arange(24)])
    loss = F.cross_entropy(sim, lab)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
