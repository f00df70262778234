# expect: nothing
# DQN with a replay buffer of numbers, a frozen target network and hard updates.

import copy
import random
from collections import deque

import torch
import torch.nn.functional as F
from torch import nn

random.seed(226)
torch.manual_seed(226)


class Corridor:
    """Walk to the right end of a line of ten cells."""

    def reset(self):
        self.cell, self.t = 3, 0
        return self.observe()

    def observe(self):
        return [self.cell / 9.0, 1.0 - self.cell / 9.0, self.t / 30.0]

    def step(self, action):
        self.cell = max(0, self.cell - 1) if action == 0 else self.cell + 1
        self.t += 1
        done = self.cell == 9 or self.t == 30
        return self.observe(), (1.0 if self.cell == 9 else -0.02), done


q = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 2))
target = copy.deepcopy(q)
optimizer = torch.optim.Adam(q.parameters(), lr=3e-3)
memory = deque(maxlen=500)
env = Corridor()
steps, lengths = 0, []
for episode in range(25):
    obs, done, length = env.reset(), False, 0
    epsilon = max(0.05, 0.9 - 0.05 * episode)
    while not done:
        if random.random() < epsilon:
            action = random.randrange(2)
        else:
            with torch.no_grad():
                action = q(torch.tensor(obs)).argmax().item()
        nxt, reward, done = env.step(action)
        memory.append((obs, action, reward, nxt, float(done)))
        obs, length, steps = nxt, length + 1, steps + 1
        if len(memory) >= 32:
            batch = random.sample(memory, 32)
            s, a, r, s2, d = (torch.tensor(column) for column in zip(*batch))
            with torch.no_grad():
                goal = r + 0.95 * (1 - d) * target(s2).max(1).values
            value = q(s).gather(1, a.unsqueeze(1)).squeeze(1)
            loss = F.smooth_l1_loss(value, goal)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if steps % 50 == 0:
            target.load_state_dict(q.state_dict())
    lengths.append(length)
print("episode length", sum(lengths[:5]) / 5, sum(lengths[-5:]) / 5)
