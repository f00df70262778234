# expect: missing-zero-grad line 27, 28
# An actor-critic where only the critic's gradients are cleared.

import clew as torch
from clew import nn

torch.manual_seed(0)
actor = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2))
critic = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))
pi_opt = torch.optim.Adam(actor.parameters(), lr=1e-3)
v_opt = torch.optim.Adam(critic.parameters(), lr=3e-3)

for it in range(30):
    obs = torch.randn(64, 4)
    dist = torch.distributions.Categorical(logits=actor(obs))
    act = dist.sample()
    ret = torch.where(act == (obs[:, 0] > 0).long(), 1.0, 0.0) + 0.1 * obs[:, 1]
    v = critic(obs).squeeze(-1)
    adv = ret - v.detach()

    v_loss = (v - ret).pow(2).mean()
    v_opt.zero_grad()
    v_loss.backward()
    v_opt.step()

    pi_loss = -(dist.log_prob(act) * adv).mean() - 0.01 * dist.entropy().mean()
    pi_loss.backward()
    pi_opt.step()
    if it % 10 == 0:
        print(it, ret.mean().item(), v_loss.item())
