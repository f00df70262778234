# expect: loss-activation-mismatch line 13, 16, 29
# The policy returns softmax probabilities that are passed as logits to cross_entropy.

import torch
import torch.nn.functional as F
from torch import nn


class Policy(nn.Module):
    def __init__(self, obs=5, actions=3):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(obs, 24), nn.ReLU(), nn.Linear(24, actions))
        self.to_probs = nn.Softmax(dim=-1)

    def forward(self, obs):
        return self.to_probs(self.body(obs))


class BehaviourCloning:
    """Imitates an expert that picks the largest of the first three observations."""

    def __init__(self):
        torch.manual_seed(124)
        self.policy = Policy()
        self.optimizer = torch.optim.Adam(self.policy.parameters(), lr=5e-3)

    def update(self, obs):
        expert = obs[:, :3].argmax(dim=1)
        loss = F.cross_entropy(self.policy(obs), expert)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


cloner = BehaviourCloning()
for it in range(30):
    value = cloner.update(torch.randn(64, 5))
    if it % 10 == 0:
        print(it, value)
