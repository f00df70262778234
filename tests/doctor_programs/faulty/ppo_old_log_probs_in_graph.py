# expect: target-not-detached line 28, 32
# The old log-probabilities stay in the graph, so the ratio's gradient cancels to zero.

import torch
from torch import nn

torch.manual_seed(62)
policy = nn.Sequential(nn.Linear(5, 32), nn.Tanh(), nn.Linear(32, 4))
critic = nn.Sequential(nn.Linear(5, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.Adam([*policy.parameters(), *critic.parameters()], lr=3e-3)


def evaluate(obs, action):
    dist = torch.distributions.Categorical(logits=policy(obs))
    return dist.log_prob(action), dist.entropy()


def collect(n=64):
    obs = torch.randn(n, 5)
    with torch.no_grad():
        action = torch.distributions.Categorical(logits=policy(obs)).sample()
    reward = (obs[:, :4].argmax(1) == action).float()
    return obs, action, reward


for iteration in range(25):
    obs, action, reward = collect()
    old_log_prob, _ = evaluate(obs, action)
    value = critic(obs).squeeze(1)
    advantage = (reward - value).detach()
    log_prob, entropy = evaluate(obs, action)
    ratio = torch.exp(log_prob - old_log_prob)
    clipped = torch.clamp(ratio, 0.8, 1.2)
    policy_loss = -torch.min(ratio * advantage, clipped * advantage).mean()
    value_loss = (value - reward).pow(2).mean()
    loss = policy_loss + 0.5 * value_loss - 0.001 * entropy.mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if iteration % 6 == 0:
        print(f"iter {iteration:2d} reward {reward.mean().item():.3f}")
