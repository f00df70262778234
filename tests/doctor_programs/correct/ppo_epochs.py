# expect: nothing
# PPO with several epochs per rollout and stored old log-probabilities.

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 32), nn.Tanh())
        self.pi, self.v = nn.Linear(32, 3), nn.Linear(32, 1)

    def forward(self, o):
        h = self.body(o)
        return Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


net = ActorCritic()
opt = torch.optim.Adam(net.parameters(), lr=1e-3, eps=1e-5)
for it in range(5):
    with torch.no_grad():
        obs = torch.randn(64, 4)
        d, v = net(obs)
        act = d.sample()
        logp = d.log_prob(act)
        rew = (act == obs[:, :3].argmax(1)).float()
        adv = rew - v
    adv = (adv - adv.mean()) / (adv.std() + 1e-8)
    for epoch in range(3):
        for idx in torch.randperm(64).split(16):
            d, v = net(obs[idx])
            ratio = (d.log_prob(act[idx]) - logp[idx]).exp()
            s1, s2 = ratio * adv[idx], ratio.clamp(0.8, 1.2) * adv[idx]
            loss = (
                -torch.min(s1, s2).mean()
                + 0.5 * (v - rew[idx]).pow(2).mean()
                - 0.01 * d.entropy().mean()
            )
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 0.5)
            opt.step()
print(loss.item())
