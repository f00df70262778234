# expect: nothing

import copy
import random
from collections import deque
import torch
import torch.nn as nn

torch.manual_seed(0)
random.seed(0)
q = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
tgt = copy.deepcopy(q)
opt = torch.optim.Adam(q.parameters(), lr=1e-3)
mem = deque(maxlen=300)
s = torch.randn(4)
for t in range(140):
    with torch.no_grad():
        a = random.randrange(2) if random.random() < 0.2 else int(q(s).argmax())
    s2 = 0.9 * s + 0.3 * torch.randn(4)
    mem.append((s.clone(), a, float((s[0] > 0) == bool(a)), s2.clone(), float(t % 20 == 19)))
    s = s2
    if len(mem) >= 32:
        S, A, R, S2, Dn = zip(*random.sample(mem, 32))
        S, S2 = torch.stack(S), torch.stack(S2)
        A, R, Dn = torch.tensor(A), torch.tensor(R), torch.tensor(Dn)
        qv = q(S).gather(1, A[:, None]).squeeze(1)
        with torch.no_grad():
            y = R + 0.95 * (1 - Dn) * tgt(S2).max(1).values
        loss = nn.functional.smooth_l1_loss(qv, y)
        opt.zero_grad()
        loss.backward()
        for p in q.parameters():
            p.grad.data.clamp_(-1, 1)
        opt.step()
    if t % 20 == 0:
        tgt.load_state_dict(q.state_dict())
print(loss.item())
