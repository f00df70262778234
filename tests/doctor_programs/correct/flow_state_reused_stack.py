# expect: nothing

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
state = torch.zeros(3)
for ep in range(20):
    states, rewards = [], []
    for t in range(10):
        state.mul_(0.9).add_(torch.randn(3))
        states.append(state.clone())
        rewards.append(state.sum().item())
    s = torch.stack(states)
    r = torch.tensor(rewards).unsqueeze(1)
    rep = torch.stack([state] * 4)
    loss = (net(s) - r).pow(2).mean() + 0 * net(rep).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
