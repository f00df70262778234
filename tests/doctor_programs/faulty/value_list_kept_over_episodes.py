# expect: graph-leak line 23
# The agent stores the critic's values of all episodes for a plot, with their graphs.

import torch
from torch import nn


class Evaluator:
    def __init__(self):
        torch.manual_seed(1110)
        self.value = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 1))
        self.optimizer = torch.optim.Adam(self.value.parameters(), lr=5e-3)
        self.trace = {"values": [], "returns": []}

    def episode(self):
        obs = torch.randn(20, 3)
        returns = obs[:, 0].flip(0).cumsum(0).flip(0) / 5
        values = self.value(obs).squeeze(1)
        loss = (values - returns).pow(2).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.trace["values"] += [values]
        self.trace["returns"] += [returns]
        return loss.item()


evaluator = Evaluator()
for episode in range(60):
    value = evaluator.episode()
    if episode % 20 == 0:
        print(episode, value)
