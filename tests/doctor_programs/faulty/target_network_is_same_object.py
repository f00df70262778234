# expect: aliased-buffer line 16
# target_net is the same module as q_net and not a copy of it.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(161)


def make_q(obs=3, actions=2):
    return nn.Sequential(nn.Linear(obs, 24), nn.ReLU(), nn.Linear(24, actions))


q_net = make_q()
target_net = q_net
optimizer = torch.optim.Adam(q_net.parameters(), lr=3e-3)
gamma = 0.9

for step in range(50):
    s = torch.randn(32, 3)
    a = torch.randint(0, 2, (32, 1))
    r = torch.where(a == 1, s[:, :1], -s[:, :1])
    s2 = 0.6 * s + 0.4 * torch.randn(32, 3)
    with torch.no_grad():
        target = r + gamma * target_net(s2).max(dim=1, keepdim=True).values
    loss = F.mse_loss(q_net(s).gather(1, a), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        target_net.load_state_dict(q_net.state_dict())
        print(step, loss.item())
