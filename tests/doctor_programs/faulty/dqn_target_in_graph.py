# expect: target-not-detached line 41, 42
# The bootstrap target comes from the online network and keeps its gradient.

import random

import torch
import torch.nn.functional as F
from torch import nn

random.seed(60)
torch.manual_seed(60)


class QNet(nn.Module):
    def __init__(self, obs=4, actions=2):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(obs, 32), nn.ReLU(), nn.Linear(32, actions))

    def forward(self, obs):
        return self.layers(obs)


def fill_memory(n):
    memory = []
    state = torch.randn(4)
    for _ in range(n):
        action = random.randrange(2)
        reward = 1.0 if (state[0] > 0) == bool(action) else -0.2
        nxt = 0.7 * state + 0.5 * torch.randn(4)
        memory.append((state, action, reward, nxt, random.random() < 0.05))
        state = nxt
    return memory


def learn(q, optimizer, batch, gamma=0.95):
    s, a, r, s2, done = zip(*batch)
    s, s2 = torch.stack(s), torch.stack(s2)
    a, r = torch.tensor(a), torch.tensor(r)
    alive = 1.0 - torch.tensor(done, dtype=torch.float32)
    q_sa = q(s).gather(1, a.unsqueeze(1)).squeeze(1)
    target = r + gamma * alive * q(s2).max(dim=1).values
    loss = F.smooth_l1_loss(q_sa, target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


q = QNet()
optimizer = torch.optim.Adam(q.parameters(), lr=2e-3)
memory = fill_memory(300)
for step in range(40):
    value = learn(q, optimizer, random.sample(memory, 32))
    if step % 10 == 0:
        print(step, round(value, 4))
