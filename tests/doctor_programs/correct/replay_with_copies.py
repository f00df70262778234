# expect: nothing
# The environment reuses its state array, the buffer stores copies.

import random
from collections import deque

import numpy as np
import torch
from torch import nn

random.seed(709)
torch.manual_seed(709)
rng = np.random.default_rng(709)
state = np.zeros(3, dtype=np.float32)
buffer = deque(maxlen=200)
q = nn.Sequential(nn.Linear(3, 24), nn.ReLU(), nn.Linear(24, 2))
optimizer = torch.optim.Adam(q.parameters(), lr=3e-3)
losses = []
for _ in range(300):
    state[:] = rng.normal(size=3)
    action = random.randrange(2)
    reward = float(state[0] if action else -state[0])
    buffer.append((state.copy(), action, reward))
    if len(buffer) >= 32:
        s, a, r = zip(*random.sample(buffer, 32))
        value = q(torch.from_numpy(np.stack(s))).gather(1, torch.tensor(a).unsqueeze(1)).squeeze(1)
        loss = nn.functional.mse_loss(value, torch.tensor(r))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
print(sum(losses[:10]) / 10, sum(losses[-10:]) / 10)
