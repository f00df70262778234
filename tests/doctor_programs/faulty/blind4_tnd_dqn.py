# expect: target-not-detached line 20, 21

import copy
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
q = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.Adam(q.parameters(), lr=1e-3)
gamma = 0.95
S = torch.randn(500, 4)
A = torch.randint(0, 2, (500,))
R = ((S[:, 0] > 0).long() == A).float()
S2 = S + 0.1 * torch.randn(500, 4)
done = (torch.rand(500) < 0.1).float()
for it in range(100):
    b = torch.randint(0, 500, (32,))
    qa = q(S[b]).gather(1, A[b].unsqueeze(1)).squeeze(1)
    target = R[b] + gamma * (1 - done[b]) * q(S2[b]).max(1).values
    loss = F.smooth_l1_loss(qa, target)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 25 == 0:
        print(it, loss.item())
