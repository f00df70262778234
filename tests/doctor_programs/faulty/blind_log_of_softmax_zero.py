# expect: nan-origin line 15
# The entropy is written as p * log(p) with a p that is exactly zero after masking.

import torch
from torch import nn

torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 4))
opt = torch.optim.Adam(policy.parameters(), 1e-3)
mask = torch.tensor([True, True, False, True])
for it in range(10):
    s = torch.randn(20, 5)
    logits = policy(s).masked_fill(~mask, float("-inf"))
    p = logits.softmax(-1)
    entropy = -(p * torch.log(p)).sum(-1).mean()
    reward = (p * s[:, :4]).sum(-1).mean()
    loss = -reward - 0.01 * entropy
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
