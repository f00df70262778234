# expect: loss-broadcast line 62
import torch
import torch.nn as nn
from torch.distributions import Normal

torch.manual_seed(8)


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.pi = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2))
        self.v = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))
        self.log_std = nn.Parameter(torch.full((2,), -0.5))

    def dist(self, obs):
        return Normal(self.pi(obs), self.log_std.exp())

    def value(self, obs):
        return self.v(obs)


def gae(rewards, values, last, gamma=0.99, lam=0.95):
    adv, running = torch.zeros_like(rewards), 0.0
    for t in reversed(range(len(rewards))):
        nxt = last if t == len(rewards) - 1 else values[t + 1]
        delta = rewards[t] + gamma * nxt - values[t]
        running = delta + gamma * lam * running
        adv[t] = running
    return adv


def rollout(ac, n=64):
    obs, acts, logps, rews = [], [], [], []
    s = torch.randn(4)
    for _ in range(n):
        with torch.no_grad():
            d = ac.dist(s)
            a = d.sample()
        obs.append(s); acts.append(a); logps.append(d.log_prob(a).sum(-1))
        s = 0.8 * s + 0.1 * torch.randn(4)
        s[:2] += 0.1 * a
        rews.append(-s.pow(2).sum())
    return torch.stack(obs), torch.stack(acts), torch.stack(logps), torch.stack(rews), s


ac = ActorCritic()
opt = torch.optim.Adam(ac.parameters(), lr=3e-4)
for it in range(5):
    obs, acts, logp_old, rews, last = rollout(ac)
    with torch.no_grad():
        values = ac.v(obs).squeeze(-1)
        adv = gae(rews, values, ac.v(last).squeeze(-1))
    returns = adv + values
    for epoch in range(1 if False else 3):
        total = 0.0
        d = ac.dist(obs)
        logp = d.log_prob(acts).sum(-1)
        ratio = (logp - logp_old).exp()
        norm = (adv - adv.mean()) / (adv.std() + 1e-8)
        surr = torch.min(ratio * norm, ratio.clamp(0.8, 1.2) * norm)
        v_loss = (ac.value(obs) - returns).pow(2).mean()
        loss = -surr.mean() + 0.5 * v_loss - 0.01 * d.entropy().sum(-1).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
print(loss.item())
