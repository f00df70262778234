# expect: aliased-buffer line 17

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
import numpy as np

state = np.zeros(4, dtype="float32")
buffer = []
q = nn.Linear(4, 2)
opt = torch.optim.Adam(q.parameters(), lr=0.01)
rng = np.random.RandomState(0)
for i in range(60):
    state += rng.randn(4).astype("float32") * 0.1
    buffer.append(torch.from_numpy(state))
    if len(buffer) >= 16:
        batch = torch.stack(buffer[-16:])
        loss = (q(batch).max(1)[0] - 1).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
