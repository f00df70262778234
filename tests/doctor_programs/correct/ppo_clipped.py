# expect: nothing
# PPO with stored old log-probabilities and several epochs over each batch.

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(227)
policy = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 3))
critic = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.Adam([*policy.parameters(), *critic.parameters()], lr=5e-3)


def collect(n=128):
    obs = torch.randn(n, 4)
    with torch.no_grad():
        dist = Categorical(logits=policy(obs))
        action = dist.sample()
        log_prob = dist.log_prob(action)
        value = critic(obs).squeeze(1)
    reward = (obs[:, :3].argmax(1) == action).float()
    return obs, action, log_prob, reward, reward - value


rewards = []
for _ in range(20):
    obs, action, old_log_prob, reward, advantage = collect()
    advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    for _ in range(3):
        dist = Categorical(logits=policy(obs))
        ratio = (dist.log_prob(action) - old_log_prob).exp()
        clipped = ratio.clamp(0.8, 1.2)
        policy_loss = -torch.min(ratio * advantage, clipped * advantage).mean()
        value_loss = (critic(obs).squeeze(1) - reward).pow(2).mean()
        loss = policy_loss + 0.5 * value_loss - 0.01 * dist.entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(policy.parameters(), 0.5)
        optimizer.step()
    rewards.append(reward.mean().item())
print("misses", 1 - rewards[0], 1 - rewards[-1])
