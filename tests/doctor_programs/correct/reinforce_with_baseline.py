# expect: nothing
# REINFORCE: lists emptied after each episode, returns normalised, numbers stored with item().

import torch
from torch import nn
from torch.distributions import Categorical


class Agent:
    def __init__(self):
        torch.manual_seed(266)
        self.policy = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 2))
        self.optimizer = torch.optim.Adam(self.policy.parameters(), lr=1e-2)
        self.log_probs, self.rewards = [], []

    def act(self, obs):
        dist = Categorical(logits=self.policy(obs))
        action = dist.sample()
        self.log_probs.append(dist.log_prob(action))
        return action.item()

    def learn(self):
        returns = torch.tensor(self.rewards)
        returns = (returns - returns.mean()) / (returns.std() + 1e-6)
        loss = -(torch.stack(self.log_probs) * returns).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.log_probs.clear()
        self.rewards.clear()


agent, scores = Agent(), []
for _ in range(25):
    for _ in range(16):
        obs = torch.randn(4)
        action = agent.act(obs)
        agent.rewards.append(1.0 if action == int(obs[0].item() > 0) else 0.0)
    scores.append(1 - sum(agent.rewards) / 16)
    agent.learn()
print("errors", sum(scores[:5]) / 5, sum(scores[-5:]) / 5)
