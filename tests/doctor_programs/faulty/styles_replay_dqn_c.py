# expect: target-not-detached line 50, 51
import random
from collections import deque, namedtuple
import numpy as np
import torch
import torch.nn as nn

random.seed(0); np.random.seed(0); torch.manual_seed(16)
Step = namedtuple("Step", "s a r s2 d")


class Grid:
    def __init__(self):
        self.pos = np.zeros(2, dtype=np.float32)

    def reset(self):
        self.pos[:] = np.random.randint(0, 5, 2)
        return self.pos.copy()

    def step(self, a):
        self.pos += [(0, 1), (0, -1), (1, 0), (-1, 0)][a]
        np.clip(self.pos, 0, 4, out=self.pos)
        done = bool((self.pos == 4).all())
        return (self.pos.copy(), 1.0 if done else -0.05, done)


def build():
    return nn.Sequential(nn.Linear(2, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 4))


q, q_t = build(), build()
q_t.load_state_dict(q.state_dict())
opt = torch.optim.RMSprop(q.parameters(), lr=1e-3)
buf = deque(maxlen=400)
env = Grid()
s = env.reset()
for t in range(260):
    eps = max(0.1, 1 - t / 150)
    with torch.no_grad():
        a = random.randrange(4) if random.random() < eps else int(q(torch.as_tensor(s).clone()[None]).argmax())
    s2, r, d = env.step(a)
    buf.append(Step(torch.from_numpy(s), a, r, torch.from_numpy(s2), float(d)))
    s = env.reset() if d else s2
    if len(buf) < 64 or t % 2:
        continue
    b = Step(*zip(*random.sample(buf, 32)))
    S, S2 = torch.stack(b.s), torch.stack(b.s2)
    A, R, D = torch.tensor(b.a), torch.tensor(b.r), torch.tensor(b.d)
    qa = q(S).gather(1, A[:, None]).squeeze(1)
    y = R + 0.95 * (1 - D) * q(S2).max(1).values
    loss = nn.functional.smooth_l1_loss(qa, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if t % 40 == 0:
        q_t.load_state_dict(q.state_dict())
print(loss.item())
