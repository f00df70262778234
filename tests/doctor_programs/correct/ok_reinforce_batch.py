# expect: nothing

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
pi = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2))
opt = torch.optim.Adam(pi.parameters(), lr=1e-2)
for ep in range(15):
    log_probs, rewards = [], []
    s = torch.randn(4)
    for t in range(20):
        dist = torch.distributions.Categorical(logits=pi(s))
        a = dist.sample()
        log_probs.append(dist.log_prob(a))
        rewards.append(float(s[a]))
        s = 0.8 * s + 0.3 * torch.randn(4)
    R, returns = 0.0, []
    for r in reversed(rewards):
        R = r + 0.95 * R
        returns.insert(0, R)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + 1e-8)
    loss = -(torch.stack(log_probs) * returns).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
