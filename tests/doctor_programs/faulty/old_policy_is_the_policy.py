# expect: aliased-buffer line 12
# old_policy is only a second name of policy, so PPO's ratio is always one.

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(619)
policy = nn.Sequential(nn.Linear(4, 24), nn.Tanh(), nn.Linear(24, 3))
optimizer = torch.optim.Adam(policy.parameters(), lr=5e-3)
for iteration in range(8):
    old_policy = policy
    obs = torch.randn(64, 4)
    with torch.no_grad():
        action = Categorical(logits=old_policy(obs)).sample()
    reward = (obs[:, :3].argmax(1) == action).float()
    advantage = reward - reward.mean()
    for _ in range(4):
        with torch.no_grad():
            old_log_prob = Categorical(logits=old_policy(obs)).log_prob(action)
        ratio = (Categorical(logits=policy(obs)).log_prob(action) - old_log_prob).exp()
        loss = -torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(iteration, reward.mean().item(), ratio.mean().item())
