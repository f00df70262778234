# expect: target-not-detached line 29, 30

import clew as torch
import clew.nn as nn
import random
from collections import deque

torch.manual_seed(0)
random.seed(0)
q = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.Adam(q.parameters(), lr=1e-3)
memory = deque(maxlen=500)
state = torch.randn(4)
for t in range(120):
    with torch.no_grad():
        a = random.randrange(2) if random.random() < 0.3 else q(state).argmax().item()
    nxt = 0.9 * state + 0.3 * torch.randn(4)
    r = 1.0 if (state[0] > 0) == bool(a) else 0.0
    memory.append((state, a, r, nxt))
    state = nxt
    if len(memory) < 32:
        continue
    batch = random.sample(memory, 32)
    s = torch.stack([b[0] for b in batch])
    act = torch.tensor([b[1] for b in batch])
    rew = torch.tensor([b[2] for b in batch])
    s2 = torch.stack([b[3] for b in batch])
    qsa = q(s).gather(1, act.unsqueeze(1)).squeeze(1)
    target = rew + 0.95 * q(s2).max(1)[0]
    loss = nn.functional.smooth_l1_loss(qsa, target)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
