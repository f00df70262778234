# expect: nothing

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class AC(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 32)
        self.pi = nn.Linear(32, 2)
        self.v = nn.Linear(32, 1)

    def forward(self, x):
        h = torch.tanh(self.body(x))
        return self.pi(h), self.v(h).squeeze(-1)


net = AC()
opt = torch.optim.RMSprop(net.parameters(), lr=1e-3)
for i in range(40):
    s = torch.randn(32, 4)
    logits, v = net(s)
    d = torch.distributions.Categorical(logits=logits)
    a = d.sample()
    r = (a == (s[:, 0] > 0).long()).float()
    adv = r - v
    loss = (
        -(d.log_prob(a) * adv.detach()).mean() + 0.5 * adv.pow(2).mean() - 0.01 * d.entropy().mean()
    )
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 0.5)
    opt.step()
print(r.mean().item())
