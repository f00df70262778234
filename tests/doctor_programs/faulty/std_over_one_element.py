# expect: nan-origin line 13
# Per-group standardisation with a group of one.

import torch
from torch import nn


def standardise(values, group):
    out = torch.zeros_like(values)
    for g in group.unique():
        members = group == g
        chunk = values[members]
        out[members] = (chunk - chunk.mean()) / (chunk.std() + 1e-5)
    return out


torch.manual_seed(1)
policy = nn.Linear(3, 4)
opt = torch.optim.Adam(policy.parameters(), lr=1e-2)
for it in range(8):
    obs = torch.randn(9, 3)
    dist = torch.distributions.Categorical(logits=policy(obs))
    act = dist.sample()
    reward = (act == 0).float() + obs[:, 0]
    group = torch.tensor([0, 0, 0, 0, 1, 1, 1, 1, 2])
    adv = standardise(reward, group)
    loss = -(dist.log_prob(act) * adv).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
