# expect: nothing

import clew as torch
import clew.nn as nn

torch.manual_seed(0)
actor = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 1))
critic = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 1))
log_std = nn.Parameter(torch.zeros(1))
opt = torch.optim.Adam(
    [
        {"params": list(actor.parameters()) + [log_std], "lr": 3e-3},
        {"params": critic.parameters(), "lr": 1e-2},
    ]
)
for it in range(6):
    s = torch.randn(64, 3)
    with torch.no_grad():
        d = torch.distributions.Normal(actor(s), log_std.exp())
        a = d.sample()
        old = d.log_prob(a).sum(-1)
    r = -((a[:, 0] - s[:, 0]) ** 2)
    adv = (r - critic(s).squeeze(-1)).detach()
    adv = (adv - adv.mean()) / (adv.std() + 1e-8)
    for _ in range(4):
        for idx in torch.randperm(64).split(32):
            d = torch.distributions.Normal(actor(s[idx]), log_std.exp())
            ratio = (d.log_prob(a[idx]).sum(-1) - old[idx]).exp()
            pl = -torch.min(ratio * adv[idx], ratio.clamp(0.8, 1.2) * adv[idx]).mean()
            vl = (critic(s[idx]).squeeze(-1) - r[idx]).pow(2).mean()
            loss = pl + 0.5 * vl - 0.01 * d.entropy().mean()
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(actor.parameters(), 0.5)
            opt.step()
print(r.mean().item())
