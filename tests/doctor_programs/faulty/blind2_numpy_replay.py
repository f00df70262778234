# expect: aliased-buffer line 16

import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(0)
rng = np.random.default_rng(0)
net = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
state = np.zeros(3, dtype=np.float32)
buf = []
for t in range(80):
    state *= 0.9
    state += rng.normal(size=3).astype(np.float32)
    buf.append((torch.from_numpy(state), float(state[0])))
    if len(buf) >= 16:
        pick = rng.integers(0, len(buf), 16)
        s = torch.stack([buf[i][0] for i in pick])
        r = torch.tensor([buf[i][1] for i in pick])
        loss = nn.functional.mse_loss(net(s).squeeze(1), r)
        opt.zero_grad()
        loss.backward()
        opt.step()
print(loss.item())
