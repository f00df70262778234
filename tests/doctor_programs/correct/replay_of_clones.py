# expect: nothing
# Experience replay with NumPy arrays that are copied.

import numpy as np
import torch
from torch import nn

rng = np.random.default_rng(0)
torch.manual_seed(0)
state = np.zeros(4, dtype=np.float32)
memory = []
model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 4))
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
for t in range(60):
    before = state.copy()
    state += rng.normal(size=4).astype(np.float32) * 0.2
    state *= 0.95
    memory.append((before, state.copy()))
    if t >= 16:
        pick = rng.integers(0, len(memory), 16)
        s = torch.from_numpy(np.stack([memory[i][0] for i in pick]))
        s2 = torch.from_numpy(np.stack([memory[i][1] for i in pick]))
        loss = nn.functional.mse_loss(model(s), s2 - s)
        opt.zero_grad()
        loss.backward()
        opt.step()
print(loss.item())
