# expect: inplace-saved-tensor line 18
# clamp_ writes into the tanh's output that its backward uses.
# saved: line 17

import torch
from torch import nn


class BoundedActor(nn.Module):
    def __init__(self, limit=0.8):
        super().__init__()
        self.fc1 = nn.Linear(4, 24)
        self.fc2 = nn.Linear(24, 2)
        self.limit = limit

    def forward(self, obs):
        action = torch.tanh(self.fc2(torch.relu(self.fc1(obs))))
        return action.clamp_(-self.limit, self.limit)


def main():
    torch.manual_seed(319)
    actor = BoundedActor()
    optimizer = torch.optim.Adam(actor.parameters(), lr=3e-3)
    obs = torch.randn(64, 4)
    expert = torch.tanh(obs[:, :2] - obs[:, 2:])
    for step in range(10):
        loss = nn.functional.mse_loss(actor(obs), expert)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(step, loss.item())


main()
