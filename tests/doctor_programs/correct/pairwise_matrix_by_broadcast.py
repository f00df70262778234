# expect: nothing
# A ranking loss compares all pairs on purpose.

import torch
from torch import nn

torch.manual_seed(0)
scorer = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(scorer.parameters(), lr=2e-3)
for i in range(30):
    x = torch.randn(20, 5)
    rel = x[:, 0] + 0.1 * torch.randn(20)
    s = scorer(x).squeeze(-1)
    ds = s[:, None] - s[None, :]
    dr = (rel[:, None] > rel[None, :]).float()
    loss = (nn.functional.softplus(-ds) * dr).sum() / dr.sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
