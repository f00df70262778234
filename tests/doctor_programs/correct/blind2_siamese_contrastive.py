# expect: nothing

import clew as torch
import clew.nn as nn
import clew.nn.functional as F

torch.manual_seed(0)
enc = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 4))
opt = torch.optim.Adam(enc.parameters(), lr=2e-3)
for i in range(40):
    a = torch.randn(32, 6)
    same = torch.randint(0, 2, (32,)).float()
    b = torch.where(same[:, None] > 0, a + 0.1 * torch.randn_like(a), torch.randn_like(a))
    d = F.pairwise_distance(enc(a), enc(b))
    loss = (same * d.pow(2) + (1 - same) * F.relu(1.0 - d).pow(2)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
