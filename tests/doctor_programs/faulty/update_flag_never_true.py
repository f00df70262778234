# expect: missing-step line 11, 19
# The flag that should allow the update is never set.

import torch
from torch import nn


class Learner:
    def __init__(self):
        self.policy = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 3))
        self.optimizer = torch.optim.RMSprop(self.policy.parameters(), lr=1e-3)
        self.ready = False
        self.seen = 0

    def learn(self, obs, goal):
        self.seen += len(obs)
        loss = nn.functional.mse_loss(self.policy(obs), goal)
        self.optimizer.zero_grad()
        loss.backward()
        if self.ready:
            self.optimizer.step()
        return loss.item()


torch.manual_seed(0)
learner = Learner()
for epoch in range(3):
    for _ in range(10):
        o = torch.randn(8, 3)
        last = learner.learn(o, o.flip(1))
    print(epoch, last, learner.seen)
