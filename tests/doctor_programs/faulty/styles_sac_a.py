# expect: target-not-detached line 46, 47
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Normal

torch.manual_seed(1)


def mlp(i, o):
    return nn.Sequential(nn.Linear(i, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, o))


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = mlp(4, 4)

    def forward(self, s):
        mu, log_std = self.net(s).chunk(2, -1)
        d = Normal(mu, log_std.clamp(-5, 2).exp())
        u = d.rsample()
        a = torch.tanh(u)
        logp = (d.log_prob(u) - torch.log(1 - a.pow(2) + 1e-6)).sum(-1)
        return a, logp


class SAC:
    def __init__(self):
        self.pi = Policy()
        self.q = nn.ModuleList([mlp(6, 1), mlp(6, 1)])
        self.q_target = copy.deepcopy(self.q).requires_grad_(False)
        self.log_alpha = torch.zeros((), requires_grad=True)
        self.pi_opt = torch.optim.Adam(self.pi.parameters(), lr=3e-4)
        self.q_opt = torch.optim.Adam(self.q.parameters(), lr=3e-4)
        self.alpha_opt = torch.optim.Adam([self.log_alpha], lr=3e-3)

    def qs(self, nets, s, a):
        x = torch.cat([s, a], -1)
        return torch.stack([q(x).squeeze(-1) for q in nets])

    def update(self, s, a, r, s2, done):
        alpha = self.log_alpha.exp()
        a2, logp2 = self.pi(s2)
        y = r + 0.99 * (1 - done) * (self.qs(self.q, s2, a2).min(0).values - alpha.detach() * logp2.detach())
        q_loss = (self.qs(self.q, s, a) - y).pow(2).mean()
        self.q_opt.zero_grad()
        q_loss.backward()
        self.q_opt.step()
        new_a, logp = self.pi(s)
        pi_loss = (alpha.detach() * logp - self.qs(self.q, s, new_a).min(0).values).mean()
        self.pi_opt.zero_grad()
        pi_loss.backward() if pi_loss.requires_grad else None
        self.pi_opt.step()
        alpha_loss = -(self.log_alpha * (logp.detach() - 2.0)).mean()
        self.alpha_opt.zero_grad()
        alpha_loss.backward()
        self.alpha_opt.step()
        with torch.no_grad():
            for p, t in zip(self.q.parameters(), self.q_target.parameters()):
                t.mul_(0.995).add_(p, alpha=0.005)


agent = SAC()
S = torch.randn(512, 4)
A = torch.rand(512, 2) * 2 - 1
R = -(S[:, :2] - A).pow(2).sum(-1)
S2 = S + 0.1 * torch.randn(512, 4)
for step in range(25):
    i = torch.randint(0, 512, (64,))
    agent.update(S[i], A[i], R[i], S2[i], torch.zeros(64))
print(agent.log_alpha.item())
