# expect: target-not-detached line 20, 21, 22
# The target network sits in the same optimizer and its bootstrap value is not detached.

import copy

import torch
import torch.nn.functional as F
from torch import nn


class Agent(nn.Module):
    def __init__(self, obs=5, actions=3):
        super().__init__()
        self.online = nn.Sequential(nn.Linear(obs, 32), nn.ReLU(), nn.Linear(32, actions))
        self.target = copy.deepcopy(self.online)

    def td_loss(self, s, a, r, s2, gamma=0.95):
        q = self.online(s).gather(1, a).squeeze(1)
        best = self.online(s2).argmax(dim=1, keepdim=True)
        q_next = self.target(s2).gather(1, best).squeeze(1)
        goal = r + gamma * q_next
        return F.mse_loss(q, goal)


torch.manual_seed(186)
agent = Agent()
optimizer = torch.optim.Adam(agent.parameters(), lr=1e-3)
for step in range(40):
    s = torch.randn(32, 5)
    a = torch.randint(0, 3, (32, 1))
    r = s.gather(1, a).squeeze(1)
    loss = agent.td_loss(s, a, r, 0.8 * s + 0.3 * torch.randn(32, 5))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 19:
        agent.target.load_state_dict(agent.online.state_dict())
    if step % 10 == 0:
        print(step, loss.item())
