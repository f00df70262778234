# expect: backward-twice line 19, 28, 30
# The list of log-probabilities is not emptied, the second episode runs over the first one's graph.

import torch
from torch import nn
from torch.distributions import Categorical


class Reinforce:
    def __init__(self):
        torch.manual_seed(196)
        self.policy = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 2))
        self.optimizer = torch.optim.Adam(self.policy.parameters(), lr=1e-2)
        self.log_probs, self.rewards = [], []

    def act(self, obs):
        dist = Categorical(logits=self.policy(obs))
        action = dist.sample()
        self.log_probs.append(dist.log_prob(action))
        return action.item()

    def finish_episode(self, gamma=0.95):
        returns, total = [], 0.0
        for reward in reversed(self.rewards):
            total = reward + gamma * total
            returns.insert(0, total)
        returns = torch.tensor(returns)
        loss = -(torch.stack(self.log_probs) * returns).sum()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


agent = Reinforce()
for episode in range(6):
    obs = torch.randn(4)
    for _ in range(12):
        action = agent.act(obs)
        agent.rewards.append(1.0 if action == int(obs[0] > 0) else 0.0)
        obs = 0.5 * obs + torch.randn(4)
    print(episode, agent.finish_episode())
