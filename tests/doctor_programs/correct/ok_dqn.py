# expect: nothing

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
import copy
import random

q = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
target = copy.deepcopy(q)
opt = torch.optim.Adam(q.parameters(), lr=1e-3)
memory = []
s = torch.randn(4)
for i in range(120):
    with torch.no_grad():
        a = q(s.unsqueeze(0)).argmax(1).item()
    s2 = 0.9 * s + 0.1 * torch.randn(4)
    r = float(s[a])
    memory.append((s, a, r, s2))
    s = s2
    if len(memory) >= 32:
        batch = random.sample(memory, 32)
        S = torch.stack([b[0] for b in batch])
        A = torch.tensor([b[1] for b in batch])
        R = torch.tensor([b[2] for b in batch])
        S2 = torch.stack([b[3] for b in batch])
        qa = q(S).gather(1, A.unsqueeze(1)).squeeze(1)
        with torch.no_grad():
            t = R + 0.99 * target(S2).max(1)[0]
        loss = F.smooth_l1_loss(qa, t)
        opt.zero_grad()
        loss.backward()
        opt.step()
    if i % 20 == 0:
        target.load_state_dict(q.state_dict())
