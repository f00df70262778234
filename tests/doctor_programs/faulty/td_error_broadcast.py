# expect: loss-broadcast line 17
# gather keeps the last axis, the reward vector does not have one.

import clew as torch
from clew import nn

torch.manual_seed(0)
q = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 3))
tq = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 3))
tq.load_state_dict(q.state_dict())
opt = torch.optim.Adam(q.parameters(), lr=1e-3)
for i in range(25):
    s, s2 = torch.randn(20, 4), torch.randn(20, 4)
    a = torch.randint(0, 3, (20, 1))
    with torch.no_grad():
        y = s[:, 0] + 0.9 * tq(s2).max(1).values
    delta = q(s).gather(1, a) - y
    loss = delta.pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
