# expect: nothing

import clew as torch
from clew import nn

torch.manual_seed(0)
pol = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 3))
opt = torch.optim.Adam(pol.parameters(), lr=5e-3)
baseline = 0.0
for it in range(120):
    s = torch.randn(32, 4)
    dist = torch.distributions.Categorical(logits=pol(s))
    a = dist.sample()
    r = (a == s[:, :3].argmax(1)).float()
    loss = -(dist.log_prob(a) * (r - baseline)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    baseline = 0.9 * baseline + 0.1 * r.mean().item()
    if it % 30 == 0:
        print(it, baseline)
