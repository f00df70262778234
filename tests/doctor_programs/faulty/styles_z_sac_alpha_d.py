# expect: missing-step line 37, 70
import copy
import random
from collections import deque
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(7)
random.seed(7)


class Actor(nn.Module):
    def __init__(self, s, a):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(s, 32), nn.ReLU())
        self.mu, self.log_std = nn.Linear(32, a), nn.Linear(32, a)

    def forward(self, s):
        h = self.body(s)
        dist = torch.distributions.Normal(self.mu(h), self.log_std(h).clamp(-5, 2).exp())
        u = dist.rsample()
        a = torch.tanh(u)
        logp = (dist.log_prob(u) - torch.log(1 - a.pow(2) + 1e-6)).sum(1, keepdim=True)
        return a, logp


def critic(s, a):
    return nn.Sequential(nn.Linear(s + a, 32), nn.ReLU(), nn.Linear(32, 1))


actor, q1, q2 = Actor(3, 1), critic(3, 1), critic(3, 1)
q1_t, q2_t = copy.deepcopy(q1), copy.deepcopy(q2)
log_alpha = torch.zeros(1, requires_grad=True)
pi_opt = torch.optim.Adam(actor.parameters(), lr=3e-3)
q_opt = torch.optim.Adam(list(q1.parameters()) + list(q2.parameters()), lr=3e-3)
alpha_opt = torch.optim.Adam([log_alpha], lr=1e-2)
memory, gamma, tau = deque(maxlen=1000), 0.95, 0.02
state = torch.randn(3)
for step in range(80):
    with torch.no_grad():
        action, _ = actor(state.unsqueeze(0))
    nxt = 0.8 * state + 0.3 * action.item() + 0.1 * torch.randn(3)
    reward = -nxt.pow(2).sum()
    memory.append((state, action.squeeze(0), reward.view(1), nxt))
    state = nxt
    if len(memory) < 24:
        continue
    s, a, r, s2 = (torch.stack(c) for c in zip(*random.sample(memory, 16)))
    alpha = log_alpha.exp().detach()
    with torch.no_grad():
        a2, logp2 = actor(s2)
        both = torch.cat([s2, a2], 1)
        target = r + gamma * (torch.min(q1_t(both), q2_t(both)) - alpha * logp2)
    sa = torch.cat([s, a], 1)
    q_loss = F.mse_loss(q1(sa), target) + F.mse_loss(q2(sa), target)
    q_opt.zero_grad()
    q_loss.backward()
    q_opt.step()

    new_a, logp = actor(s)
    joint = torch.cat([s, new_a], 1)
    pi_loss = (alpha * logp - torch.min(q1(joint), q2(joint))).mean()
    pi_opt.zero_grad()
    pi_loss.backward()
    pi_opt.step()

    alpha_loss = -(log_alpha * (logp.detach() - 1.0)).mean()
    alpha_opt.zero_grad()
    alpha_loss.backward()
    with torch.no_grad():
        for net, tgt in ((q1, q1_t), (q2, q2_t)):
            for p, pt in zip(net.parameters(), tgt.parameters()):
                pt.mul_(1 - tau).add_(tau * p)
print(q_loss.item(), pi_loss.item(), log_alpha.exp().item())
