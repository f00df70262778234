# expect: target-not-detached line 12, 13

import torch
import torch.nn as nn

torch.manual_seed(0)
fixed = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 8))
learner = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 8))
opt = torch.optim.Adam([*fixed.parameters(), *learner.parameters()], lr=1e-3)
for i in range(40):
    obs = torch.randn(64, 5)
    goal = fixed(obs)
    bonus = nn.functional.mse_loss(learner(obs), goal)
    opt.zero_grad()
    bonus.backward()
    opt.step()
