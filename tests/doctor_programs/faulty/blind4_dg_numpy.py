# expect: detached-graph line 16, 18

import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
np.random.seed(0)
feat = nn.Linear(6, 16)
head = nn.Linear(16, 1)
opt = torch.optim.Adam(list(feat.parameters()) + list(head.parameters()), lr=1e-2)
X = torch.from_numpy(np.random.randn(128, 6).astype("float32"))
y = X[:, :1] * 2 - X[:, 1:2]
for i in range(60):
    h = torch.relu(feat(X))
    h_np = h.detach().numpy()
    h_np = (h_np - h_np.mean(0)) / (h_np.std(0) + 1e-5)
    pred = head(torch.from_numpy(h_np))
    loss = ((pred - y) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
