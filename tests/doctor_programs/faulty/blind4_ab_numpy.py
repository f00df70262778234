# expect: aliased-buffer line 15

import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
frame = np.zeros(4, dtype=np.float32)
net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
rng = np.random.default_rng(0)
xs, ys = [], []
for t in range(128):
    frame[:] = rng.normal(size=4)
    xs.append(torch.from_numpy(frame))
    ys.append(float(frame.sum()))
X, Y = torch.stack(xs), torch.tensor(ys).unsqueeze(1)
for ep in range(30):
    loss = nn.functional.mse_loss(net(X), Y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
