# expect: nothing

import copy
import random
import torch
import torch.nn as nn
import torch.nn.functional as F
from collections import deque

random.seed(0)
torch.manual_seed(0)
q = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 2))
tgt = copy.deepcopy(q)
for p in tgt.parameters():
    p.requires_grad_(False)
opt = torch.optim.Adam(q.parameters(), lr=1e-3)
mem = deque(maxlen=200)
s = torch.randn(3)
for t in range(260):
    with torch.no_grad():
        a = int(q(s).argmax()) if random.random() > 0.2 else random.randrange(2)
    r = 1.0 if a == int(s[0] > 0) else 0.0
    s2 = 0.7 * s + 0.7 * torch.randn(3)
    mem.append((s, a, r, s2))
    s = s2
    if len(mem) < 64:
        continue
    b = random.sample(mem, 32)
    S = torch.stack([e[0] for e in b])
    A = torch.tensor([e[1] for e in b])
    R = torch.tensor([e[2] for e in b])
    S2 = torch.stack([e[3] for e in b])
    with torch.no_grad():
        y = R + 0.9 * tgt(S2).max(1)[0]
    loss = F.smooth_l1_loss(q(S).gather(1, A[:, None])[:, 0], y)
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(q.parameters(), 10.0)
    opt.step()
    if t % 40 == 0:
        tgt.load_state_dict(q.state_dict())
        print(t, loss.item())
