# expect: missing-step line 17, 32
# The entropy temperature has its own optimizer, gets gradients each step and is never stepped.

import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(16)


class Agent:
    def __init__(self, obs_dim=4, n_actions=3):
        self.policy = nn.Sequential(nn.Linear(obs_dim, 32), nn.Tanh(), nn.Linear(32, n_actions))
        self.log_alpha = torch.zeros(1, requires_grad=True)
        self.target_entropy = 0.5
        self.policy_opt = torch.optim.Adam(self.policy.parameters(), lr=3e-3)
        self.alpha_opt = torch.optim.Adam([self.log_alpha], lr=3e-3)

    def update(self, obs, reward_table):
        dist = Categorical(logits=self.policy(obs))
        action = dist.sample()
        reward = reward_table.gather(1, action.unsqueeze(1)).squeeze(1)
        entropy = dist.entropy()
        alpha = self.log_alpha.exp().detach()
        policy_loss = -(dist.log_prob(action) * reward).mean() - (alpha * entropy).mean()
        self.policy_opt.zero_grad()
        policy_loss.backward()
        self.policy_opt.step()

        alpha_loss = (self.log_alpha.exp() * (entropy.detach() - self.target_entropy)).mean()
        self.alpha_opt.zero_grad()
        alpha_loss.backward()
        return policy_loss.item(), alpha.item()


agent = Agent()
for step in range(40):
    obs = torch.randn(32, 4)
    loss, alpha = agent.update(obs, obs[:, :3])
    if step % 10 == 0:
        print(step, f"{loss:.4f}", f"alpha={alpha:.4f}")
