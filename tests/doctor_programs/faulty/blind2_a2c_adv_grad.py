# expect: target-not-detached line 40, 41

import clew as torch
import clew.nn as nn

torch.manual_seed(0)


class AC(nn.Module):
    def __init__(self):
        super().__init__()
        self.base = nn.Linear(4, 32)
        self.actor = nn.Linear(32, 2)
        self.critic = nn.Linear(32, 1)

    def forward(self, x):
        h = torch.relu(self.base(x))
        return torch.softmax(self.actor(h), -1), self.critic(h)


net = AC()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for ep in range(20):
    logp, vals, rews = [], [], []
    s = torch.randn(4)
    for t in range(10):
        p, v = net(s)
        d = torch.distributions.Categorical(p)
        a = d.sample()
        logp.append(d.log_prob(a))
        vals.append(v.squeeze())
        rews.append(float(a.item() == int(s[0] > 0)))
        s = torch.randn(4)
    R, G = 0.0, []
    for r in rews[::-1]:
        R = r + 0.9 * R
        G.insert(0, R)
    G = torch.tensor(G)
    V = torch.stack(vals)
    adv = G - V
    ploss = -(torch.stack(logp) * adv).mean()
    vloss = nn.functional.mse_loss(V, G)
    loss = ploss + 0.5 * vloss
    opt.zero_grad()
    loss.backward()
    opt.step()
print(sum(rews))
